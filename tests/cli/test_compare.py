"""`bridgeval compare`: lists, a folder of runs, saved values; formats; errors."""

from __future__ import annotations

import contextlib
import json

import pandas as pd
import pytest
from click.testing import CliRunner

from bridgeval import evaluate
from bridgeval.cli import program
from bridgeval.errors import BadParameterError
from bridgeval.stats.paired_values import write_user_values
from tests.stats.worsened import GOOD, TRUTH, WORSE, frame

QUICK = ("-m", "MRR@10", "--resamples", "200")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("runs")
    systems = (("good", GOOD), ("worse", WORSE))
    (place / "runs").mkdir()
    frame(GOOD).to_csv(place / "runs" / "good.csv", index=False)
    frame(WORSE).to_parquet(place / "runs" / "worse.parquet")
    frame(TRUTH)[["user_id", "item_id"]].to_csv(place / "truth.csv", index=False)
    pd.DataFrame({"user_id": list(TRUTH), "half": ["first" if u < 200 else "second" for u in TRUTH]}).to_csv(
        place / "halves.csv", index=False
    )
    reports = {name: evaluate(lists, TRUTH, "MRR@10", per_user=True) for name, lists in systems}
    write_user_values({name: report.collected for name, report in reports.items()}, place / "saved.parquet")
    return place


def run(folder, *arguments):
    with contextlib.chdir(folder):
        return CliRunner().invoke(program, ["compare", *arguments], catch_exceptions=False)


def differences(result):
    assert result.exit_code == 0, result.output
    return [(d["system"], d["baseline"], round(d["difference"], 12)) for d in json.loads(result.stdout)["results"]]


def test_files_a_folder_and_saved_values_give_the_same_differences(folder):
    named = run(folder, "good=runs/good.csv", "worse=runs/worse.parquet", "truth.csv", *QUICK, "--format", "json")
    runs = run(folder, "runs", "truth.csv", *QUICK, "--format", "json")
    saved = run(folder, "saved.parquet", *QUICK, "--format", "json")
    assert differences(named) == differences(runs) == differences(saved)
    assert differences(named)[0][:2] == ("worse", "good")


def test_the_baseline_can_be_chosen_and_the_table_explains_its_marks(folder):
    done = run(folder, "runs", "truth.csv", *QUICK, "--baseline", "worse")
    assert done.exit_code == 0
    assert "▲" in done.stdout
    assert "significantly better" in done.stdout


def test_slices_and_the_page_are_written(folder):
    done = run(folder, "runs", "truth.csv", *QUICK, "--by", "halves.csv", "--report", "page.html", "--format", "md")
    assert done.exit_code == 0
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "<h2>Slices</h2>" in page
    assert "half = first" in page


def test_an_unpaired_test_is_refused(folder):
    with pytest.raises(BadParameterError, match="unpaired"):
        run(folder, "runs", "truth.csv", *QUICK, "--test", "kruskal")
