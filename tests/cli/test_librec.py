"""`bridgeval librec`: tables, CSV, pictures, Java values and comparisons of a study."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from bridgeval.cli.librec import librec
from tests.cli.conftest import Run

STUDIES = sorted((Path(__file__).parents[1] / "golden" / "data" / "librec").glob("*/study/conf/config.xml"))


@pytest.mark.skipif(not STUDIES, reason="needs a study of the golden files")
def test_librec_prints_a_row_for_each_experiment_and_writes_csv(run: Run, folder: Path) -> None:
    study = STUDIES[0].parents[1]
    experiments = sorted(path.name for path in study.glob("exp*"))
    done = run("librec", str(study), "-m", "Precision@5", "--by", "fold")
    assert done.returncode == 0, done.stderr
    assert set(re.findall(r"^ *(exp\d+)", done.stdout, flags=re.MULTILINE)) == set(experiments)
    done = run("librec", str(study), "-m", "Precision@5", "--out", "table.csv", "--pictures", "pictures")
    assert done.returncode == 0, done.stderr
    assert pd.read_csv(folder / "table.csv")["Experiment"].to_list() == experiments
    assert list((folder / "pictures").iterdir())


def test_librec_shows_java_values_and_compares_experiments() -> None:
    study = next(path.parents[1] for path in STUDIES if "real_ranking_kcv3" in path.parts)
    done = CliRunner().invoke(librec, [str(study), "-m", "rr@10", "--java", "--compare"], catch_exceptions=False)
    rows = re.findall(r"(exp\d+) +(\d) +ReciprocalRankEvaluator +(\S+) +(\S+) +(\S+)", done.stdout)
    # What the log of the first fold says; every fold has the same users, so that means over folds are means over users.
    assert rows[0][:4] == ("exp00000", "1", "0.140377", "0.140377")
    assert max(abs(float(row[4])) for row in rows) < 1e-9
    first, second = (sum(float(row[2]) for row in rows if row[0] == f"exp0000{one}") / 3 for one in (0, 1))
    compared = re.search(r"librec:rr@10 +(\S+) +(\S+) +[+-]", done.stdout)
    assert compared is not None
    assert [float(mean) for mean in compared.groups()] == pytest.approx([second, first], abs=1e-4)
