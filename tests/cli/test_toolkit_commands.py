"""`bridgeval librec` and `bridgeval spark`, run as processes."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from bridgeval.cli.librec import librec
from bridgeval.cli.spark import spark
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


@pytest.mark.spark
def test_spark_prints_the_same_numbers(run: Run, folder: Path) -> None:
    pytest.importorskip("bridgeval.spark.job", reason="needs pyspark")
    for name in ("recs", "truth"):
        pd.read_csv(folder / f"{name}.csv").to_parquet(folder / f"{name}.parquet")
    done = run("spark", "recs.parquet", "truth.parquet", "-m", "Recall@2", "-m", "MRR@2", SPARK_LOCAL_IP="127.0.0.1")
    assert done.returncode == 0, done.stderr
    assert re.search(r"Recall@2\s+0\.7500", done.stdout)
    assert re.search(r"MRR@2\s+0\.5000", done.stdout)


@pytest.mark.parametrize("paths", [["r", "t"], ["--recs", "r", "--truth", "t"], ["--truth", "t", "r"]], ids=" ".join)
def test_spark_takes_its_paths_by_place_or_by_name(paths: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    job = pytest.importorskip("bridgeval.spark.job", reason="needs pyspark")
    given: dict[str, object] = {}
    monkeypatch.setattr(job, "run", given.update)
    monkeypatch.setattr(job, "open_session", contextlib.nullcontext)
    monkeypatch.setenv("PYSPARK_PYTHON", "python")
    done = CliRunner().invoke(spark, [*paths, "--metrics", "nDCG@5", "-m", "MRR@2", "--out", "o", "--run-id", "monday"])
    assert done.exit_code == 0, done.output
    expected = {"recs": "r", "truth": "t", "metrics": ("nDCG@5", "MRR@2"), "out": "o", "run_id": "monday"}
    assert {name: given[name] for name in expected} == expected


@pytest.mark.parametrize("paths", [["r"], ["--recs", "r"], ["r", "t", "more"]], ids=" ".join)
def test_spark_asks_for_two_paths(paths: list[str]) -> None:
    done = CliRunner().invoke(spark, paths)
    assert done.exit_code == 2
    assert "Two paths are needed" in done.output
