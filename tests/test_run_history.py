"""A folder of runs: saving, finding, comparing, drawing, and runs as baselines of a gate."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats
from statsmodels.stats.multitest import multipletests

import bridgeval
from bridgeval.cli import program
from bridgeval.errors import BadParameterError, InputError
from bridgeval.report.run_files import write_runs
from tests.stats.worsened import GOOD, TRUTH, WORSE, frame, lists

OTHER_TRUTH = {**TRUTH, 0: ["another"]}


def evaluate(shown, truth=TRUTH, metrics=("MRR@10", "Recall@5")):
    return bridgeval.evaluate(shown, truth, list(metrics), per_user=True)


@pytest.fixture
def folder(tmp_path):
    """Three runs of one truth, of which the second is worse, and one of another truth, which is the best."""
    place = tmp_path / "runs"
    for shown, tags in ((GOOD, "first"), (WORSE, ("nightly", "bad")), (GOOD, "nightly")):
        evaluate(shown).save(f"{place}/", tags=tags, relevance=TRUTH)
    evaluate(OTHER_TRUTH, OTHER_TRUTH).save(place, relevance=OTHER_TRUTH)
    return place


def test_runs_are_found_by_tag_by_id_and_as_the_last_and_the_best(folder):
    runs = bridgeval.read_runs(folder)
    assert [run.tags for run in runs] == [("first",), ("nightly", "bad"), ("nightly",), ()]
    assert runs.pick("last") is runs[3]
    assert runs.pick("nightly") is runs[2]
    assert runs.pick("bad") is runs[1]
    assert runs.pick(runs[1].id) is runs.pick(runs[1].id.partition("-")[2]) is runs[1]
    # Of two equal ones the later counts; the last run has another truth, but nobody asked about truths here.
    assert runs[:3].pick("best", "mrr@10") is runs[2]
    assert runs.pick("best", "MRR@10") is runs[3]


@pytest.mark.parametrize("name", ["", "2026", "e", "night", "nosuch"])
def test_a_part_of_a_name_is_no_name(folder, name):
    with pytest.raises(InputError, match="no run is called"):
        bridgeval.read_runs(folder).pick(name)


@pytest.mark.parametrize("tag", ["best", "last", "", "a/b", "a,b"])
def test_a_tag_that_could_not_be_found_is_refused_before_anything_is_written(tmp_path, tag):
    with pytest.raises(BadParameterError, match="cannot be the tag of a run"):
        evaluate(GOOD).save(f"{tmp_path}/runs/", tags=tag)
    assert not (tmp_path / "runs").exists()


def test_the_best_is_the_lowest_where_lower_is_better_and_none_where_neither_is(tmp_path):
    metrics = ["FallOut@1", "Count@1"]
    catalogue = [f"i{item}" for item in range(50)]
    for shown in (GOOD, WORSE):
        bridgeval.evaluate(shown, TRUTH, metrics, catalogue=catalogue).save(f"{tmp_path}/")
    runs = bridgeval.read_runs(tmp_path)
    assert runs[0].rows["FallOut@1"].value < runs[1].rows["FallOut@1"].value
    assert runs.pick("best", "FallOut@1") is runs[0]
    with pytest.raises(BadParameterError, match="no better direction"):
        runs.pick("best", "Count@1")
    with pytest.raises(BadParameterError, match="a metric must decide"):
        runs.pick("best")
    with pytest.raises(InputError, match="no run has a number of Recall@3"):
        runs.pick("best", "Recall@3")


def test_filters(folder):
    runs = bridgeval.read_runs(folder)
    assert list(runs.filter(tag="nightly")) == [runs[1], runs[2]]
    assert list(runs.filter(last=1)) == [runs[3]]
    assert list(runs.filter(since=runs[2].created)) == [runs[2], runs[3]]
    assert len(runs.filter(since="2999-01-01")) == 0
    assert runs.filter(since="2020-01-01T00:00").systems == [""]
    assert runs.select(["recall@5"]).metrics == ["Recall@5"]
    with pytest.raises(BadParameterError, match="is no time"):
        runs.filter(since="yesterday")


def test_changes_are_paired_t_tests_with_holms_correction(folder):
    runs = bridgeval.read_runs(folder)
    reports = [evaluate(shown) for shown in (GOOD, WORSE, GOOD)]
    expected = []
    for before, now in ((0, 1), (1, 2)):
        for metric in ("MRR@10", "Recall@5"):
            old, new = (reports[at].per_user(metric).sort_values("user")["value"].to_numpy() for at in (before, now))
            expected.append((np.mean(new - old), stats.ttest_rel(new, old).pvalue))
    adjusted = multipletests([p for _, p in expected], method="holm")[1]
    tested = [change for change in runs.changes if change.paired]
    assert [change.paired.change for change in tested] == pytest.approx([mean for mean, _ in expected])
    assert [change.adjusted for change in tested] == pytest.approx(adjusted.tolist())
    assert [change.mark for change in tested] == ["▼", "▼", "▲", "▲"]
    assert [(change.metric, str(change)) for change in runs.changes if not change.paired] == [
        ("MRR@10", "measured with another truth"),
        ("Recall@5", "measured with another truth"),
    ]


def test_systems_have_histories_of_their_own(tmp_path):
    for one, two in ((GOOD, WORSE), (WORSE, WORSE)):
        bridgeval.Reports({"one": evaluate(one), "two": evaluate(two)}).save(f"{tmp_path}/")
    runs = bridgeval.read_runs(tmp_path)
    changes = {(change.now.system, change.metric): change for change in runs.changes}
    assert changes["one", "MRR@10"].mark == "▼"
    assert changes["two", "MRR@10"].mark == ""
    assert str(changes["two", "MRR@10"]) == "+0.0000, p = undefined, truth not recorded"


def test_runs_are_compared_on_their_users_unless_their_truths_differ(folder):
    runs = bridgeval.read_runs(folder)
    found = runs.compare("first", "bad").difference("MRR@10")
    expected = bridgeval.compare({"first": evaluate(GOOD), "bad": evaluate(WORSE)}).difference("MRR@10")
    assert (found.difference, found.p_t) == pytest.approx((expected.difference, expected.p_t))
    with pytest.raises(InputError, match="another truth"):
        runs.compare("first", "last")
    with pytest.raises(BadParameterError, match="two different runs"):
        runs.compare("nightly", runs[2].id)


def test_a_run_is_the_baseline_of_a_gate_and_the_best_is_one_of_the_same_truth(folder):
    gate = bridgeval.check(WORSE, TRUTH, f"{folder}/best", "MRR@10=1%")
    assert not gate
    runs = bridgeval.read_runs(folder)
    assert f"The baseline is the run {runs[2].id}, the best of 3 runs by MRR@10." in gate.notes
    assert bridgeval.check(WORSE, TRUTH, folder / "bad", "MRR@10=1%")
    assert not bridgeval.check(WORSE, TRUTH, runs.pick("first"), "MRR@10=1%")
    with pytest.raises(InputError, match="another truth"):
        bridgeval.check(WORSE, TRUTH, f"{folder}/last", "MRR@10=1%")
    with pytest.raises(InputError, match="no run is called 'nosuch'"):
        bridgeval.check(WORSE, TRUTH, f"{folder}/nosuch", "MRR@10=1%")


def test_a_run_without_per_user_values_is_listed_but_is_neither_tested_nor_a_baseline(folder):
    bridgeval.evaluate(TRUTH, TRUTH, "MRR@10").save(folder, tags="means", relevance=TRUTH)
    runs = bridgeval.read_runs(folder)
    assert runs.pick("means").rows["MRR@10"].value == 1
    with pytest.raises(InputError, match="no per-user values"):
        bridgeval.check(GOOD, TRUTH, f"{folder}/means", "MRR@10=1%")
    with pytest.raises(InputError, match="no per-user values"):
        runs.compare("first", "means")
    # As the best it would be no baseline, so another one is.
    assert bridgeval.check(GOOD, TRUTH, f"{folder}/best", "MRR@10=1%")


def test_many_writers_and_a_reader_see_whole_runs_alone(tmp_path):
    report = bridgeval.evaluate(lists(0.5, 2), TRUTH, "MRR@10", per_user=True)

    def write(number):
        write_runs(report, tmp_path, f"w{number}")
        return [(run.rows["MRR@10"].value, len(run.read_tables()["MRR@10"])) for run in bridgeval.read_runs(tmp_path)]

    with ThreadPoolExecutor(8) as pool:
        seen = [one for found in pool.map(write, range(40)) for one in found]
    assert set(seen) == {(report["MRR@10"], 400)}
    runs = bridgeval.read_runs(tmp_path)
    assert sorted(tag for run in runs for tag in run.tags) == sorted(f"w{number}" for number in range(40))
    assert not list(tmp_path.glob("*.tmp"))


def test_other_files_in_the_folder_are_no_runs_and_a_damaged_one_is_named(folder):
    bridgeval.save_baseline(evaluate(GOOD), folder / "old.json")
    (folder / "list.json").write_text("[1]")
    first = bridgeval.read_runs(folder)[0]
    # As a writer leaves it that is interrupted before the end.
    (folder / "20260101T000000-00000000.json.tmp").write_text("{")
    (folder / "20260101T000000-00000000.parquet").write_bytes(first.per_user.read_bytes())
    assert len(bridgeval.read_runs(folder)) == 4
    first.path.write_text(first.path.read_text()[:100])
    with pytest.raises(InputError, match=f"{first.id}.json' cannot be read as JSON.* among the runs"):
        bridgeval.read_runs(folder)


def test_a_run_that_does_not_say_what_it_is_is_named(folder):
    path = sorted(folder.glob("*.json"))[0]
    document = json.loads(path.read_text(encoding="utf-8"))
    document["manifest"]["run"] = None
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError, match=f"{path.name}' does not say what run it is"):
        bridgeval.read_runs(folder)


def test_sampled_numbers_keep_their_label(tmp_path):
    from dataclasses import replace

    for shown in (GOOD, WORSE):
        replace(evaluate(shown, metrics=["MRR@10"]), label="sampled n=9").save(f"{tmp_path}/")
    runs = bridgeval.read_runs(tmp_path)
    assert runs.metrics == ["MRR@10 (sampled n=9)"]
    assert [change.mark for change in runs.changes] == ["▼"]
    assert runs.pick("best", "MRR@10") is runs[0]


def test_the_page_draws_every_number_and_marks_significant_changes(folder, tmp_path):
    page = bridgeval.read_runs(folder).to_html(tmp_path / "runs.html", title="History")
    assert Path(tmp_path / "runs.html").read_text() == page
    charts = re.findall(r"<figure>(.*?)</figure>", page, re.DOTALL)
    assert [re.search("<code>(.*?)</code>", chart)[1] for chart in charts] == ["MRR@10", "Recall@5"]
    assert [len(re.findall('class="mark"', chart)) for chart in charts] == [4, 4]
    for chart in charts:
        changes = re.findall(r"change: (\S+) ?([▲▼]?)", chart)
        assert [mark for _, mark in changes] == ["▼", "▲", ""]
    assert "Holm-adjusted over 4 changes" in page
    assert "2 changes could not be tested" in page
    assert f"4 runs, from {datetime.now(UTC):%Y-%m}" in page


def run(*arguments):
    done = CliRunner().invoke(program, list(map(str, arguments)), catch_exceptions=False)
    return done.exit_code, done.output


def test_the_commands_store_list_compare_draw_and_gate(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, shown in (("good", GOOD), ("worse", WORSE)):
        frame(shown).to_parquet(f"{name}.parquet")
    frame(TRUTH)[["user_id", "item_id"]].to_parquet("truth.parquet")
    limit = ("--max-drop", "MRR@10=1%", "--store", "runs")
    for name, tag in (("good", "v1"), ("worse", "v2")):
        code, _ = run(
            "evaluate", f"als={name}.parquet", "truth.parquet", "-m", "MRR@10", "--store", "runs", "--tag", tag
        )
        assert code == 0
    code, text = run("check", "als=worse.parquet", "truth.parquet", "--baseline", "runs/best", *limit)
    assert code == 1
    assert len(bridgeval.read_runs("runs")) == 2, "a run that does not hold is not stored"
    assert run("check", "als=good.parquet", "truth.parquet", "--baseline", "runs/v1", *limit, "--tag", "v3")[0] == 0
    runs = bridgeval.read_runs("runs")
    assert [(one.system, one.tags) for one in runs] == [("als", ("v1",)), ("als", ("v2",)), ("als", ("v3",))]
    assert [change.mark for change in runs.changes] == ["▼", "▲"], "the truth of both commands is the same"
    code, text = run("runs")
    assert [line.split()[-2:] for line in text.splitlines()[2:]] == [
        [*one.tags, f"{one.rows['MRR@10'].value:.4f}"] for one in runs
    ]
    assert run("runs", "--format", "csv", "--last", 1)[1].count("\n") == 2
    assert "-0.1" in run("runs", "--compare", "best", "--compare", "v2", "-m", "MRR@10")[1]
    assert run("runs", "--page", "page.html") == (0, "wrote page.html\n")
    # A run records how it was made.
    assert run("verify", runs[0].path)[0] == 0


def test_a_bound_that_is_a_huge_whole_number_is_drawn(tmp_path):
    bridgeval.evaluate({1: ["a"], 2: ["b"]}, {1: ["a"], 2: ["a"]}, "MRR@2").save(f"{tmp_path}/")
    (path,) = tmp_path.glob("*.json")
    document = json.loads(path.read_text())
    document["results"][0]["high"] = 10**20
    path.write_text(json.dumps(document))
    bridgeval.read_runs(tmp_path).to_html(tmp_path / "page.html")
