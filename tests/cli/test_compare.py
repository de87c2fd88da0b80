"""`bridgeval compare`: lists, a folder of runs, saved values; formats; errors."""

from __future__ import annotations

import contextlib
import json

import pandas as pd
import pytest
from click.testing import CliRunner

from bridgeval import evaluate
from bridgeval.cli import program
from bridgeval.errors import BadParameterError, ConfigError
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
    assert "loses most: worse over good" in page


def test_an_unpaired_test_is_refused(folder):
    with pytest.raises(BadParameterError, match="unpaired"):
        run(folder, "runs", "truth.csv", *QUICK, "--test", "kruskal")


def test_the_truth_can_be_named_and_stand_in_a_config(folder):
    (folder / "study.toml").write_text(
        'relevance = "truth.csv"\nmetrics = ["MRR@10"]\nformat = "json"\n'
        '[recommendations]\ngood = "runs/good.csv"\nworse = "runs/worse.parquet"\n'
    )
    last = run(folder, "runs", "truth.csv", *QUICK, "--format", "json")
    named = run(folder, "runs", "--truth", "truth.csv", *QUICK, "--format", "json")
    config = run(folder, "--config", "study.toml", "--resamples", "200")
    assert differences(last) == differences(named) == differences(config)


@pytest.mark.parametrize(
    "files",
    [
        ("truth.csv", "runs/good.csv", "runs/worse.parquet"),
        ("runs/good.csv", "truth.csv", "runs/worse.parquet"),
        ("runs/good.csv", "truth.csv", "truth.csv"),
        ("runs/good.csv", "truth.csv", "--truth", "truth.csv"),
        ("a=runs/good.csv", "b=truth.csv", "runs/worse.parquet"),
        ("pairs.csv", "runs/good.csv", "runs/worse.parquet"),
    ],
)
def test_a_truth_given_as_a_system_is_refused(folder, files):
    (folder / "pairs.csv").write_text((folder / "truth.csv").read_text())
    with pytest.raises(ConfigError, match=r"looks like the truth|seem to be exchanged"):
        run(folder, *files, *QUICK)


def test_a_graded_truth_and_lists_without_scores_are_not_exchanged(folder):
    # The rating is a gain; the lists are ranked as they came.
    graded = frame(TRUTH)[["user_id", "item_id"]].assign(rating=3)
    graded.to_csv(folder / "rated.csv", index=False)
    for name, lists in (("one", GOOD), ("two", WORSE)):
        frame(lists)[["user_id", "item_id"]].to_csv(folder / f"{name}.csv", index=False)
    assert run(folder, "one.csv", "two.csv", "rated.csv", *QUICK).exit_code == 0


def test_recommendations_without_a_truth_are_refused(folder):
    with contextlib.chdir(folder):
        done = CliRunner().invoke(program, ["compare", "other=runs/good.csv", "saved.parquet"])
    assert "TRUTH must be the last file" in done.output
