"""`bridgeval check`: baselines in files, slices, and all exit codes."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from xml.etree import ElementTree

import pandas as pd
import pytest
from click.testing import CliRunner

from bridgeval import evaluate
from bridgeval.baselines import save_baseline
from bridgeval.cli import program
from tests.stats.worsened import GOOD, TRUTH, USERS, WORSE, frame

OLD = evaluate(GOOD, TRUTH, ["MRR@10", "HitRate@10"], per_user=True)
HALVES = {u: "even" if u % 2 == 0 else "odd" for u in USERS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("gate")
    frame(GOOD).to_parquet(place / "good.parquet")
    frame(WORSE).to_parquet(place / "worse.parquet")
    frame(TRUTH)[["user_id", "item_id"]].to_parquet(place / "truth.parquet")
    save_baseline(OLD, place / "old.json")
    return place


def run(folder, *arguments):
    command = [sys.executable, "-m", "bridgeval", "check", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def run_here(folder, monkeypatch, *arguments):
    """The same without a process, for cases that differ only in what they say."""
    monkeypatch.chdir(folder)
    return CliRunner().invoke(program, ["check", *arguments], catch_exceptions=False)


def evaluated(folder, *arguments):
    with contextlib.chdir(folder):
        done = CliRunner().invoke(program, ["evaluate", *arguments, "-m", "MRR@10"], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_a_report_as_json_is_a_baseline_while_its_inputs_are_what_they_were(folder, monkeypatch):
    frame(GOOD).to_parquet(folder / "recs.parquet")
    (folder / "typed.json").write_text(evaluated(folder, "recs.parquet", "truth.parquet", "--format", "json"))
    limits = ("--baseline", "typed.json", "--max-drop", "MRR@10=1%")
    done = run_here(folder, monkeypatch, "worse.parquet", "truth.parquet", *limits)
    assert done.exit_code == 1
    assert "The baseline was evaluated again from ./recs.parquet." in done.stdout
    frame(WORSE).to_parquet(folder / "recs.parquet")
    done = run_here(folder, monkeypatch, "recs.parquet", "truth.parquet", *limits)
    assert done.exit_code == 2
    assert "recommendations[recs] changed since" in done.stderr
    assert "--save old.json" in done.stderr


def test_a_report_as_json_knows_where_its_per_user_values_are(folder, monkeypatch):
    evaluated(
        folder, "good.parquet", "truth.parquet", "--format", "json", "--out", "mine.json", "--per-user", "u.parquet"
    )
    assert json.loads((folder / "mine.json").read_text())["manifest"]["per_user"] == "u.parquet"
    done = run_here(
        folder, monkeypatch, "worse.parquet", "truth.parquet", "--baseline", "mine.json", "--max-drop", "MRR@10=1%"
    )
    assert done.exit_code == 1
    assert "again" not in done.stdout


def test_slices_from_files_of_users_and_of_items(folder, monkeypatch):
    pd.DataFrame({"user_id": list(USERS), "half": [HALVES[u] for u in USERS]}).to_csv(folder / "users.csv", index=False)
    pd.DataFrame({"item_id": [f"i{n}" for n in range(50)], "low": [n < 25 for n in range(50)]}).to_csv(
        folder / "items.csv", index=False
    )
    evaluated(folder, "good.parquet", "truth.parquet", "--format", "json", "--out", "sliced.json")
    done = run_here(
        folder, monkeypatch, "worse.parquet", "truth.parquet", "--baseline", "sliced.json", "--max-drop", "MRR@10=50%",
        "--by", "users.csv", "--slice", "items.csv", "--markdown", "slices.md",
    )  # fmt: skip
    assert done.exit_code == 0
    table = (folder / "slices.md").read_text()
    assert all(f"MRR@10 · {name}" in table for name in ("half = even", "half = odd", "low = False", "low = True"))


def test_exit_code_0_where_it_holds_and_the_next_baseline_is_saved(folder, monkeypatch):
    done = run(
        folder,
        "good.parquet",
        "truth.parquet",
        "--baseline",
        "old.json",
        "--max-drop",
        "MRR@10=1%",
        "--save",
        "new.json",
    )
    assert (done.returncode, done.stderr) == (0, "wrote new.json\n")
    assert "MRR@10" in done.stdout
    assert "holds" in done.stdout
    assert json.loads((folder / "new.json").read_text())["manifest"]["per_user"] == "new.parquet"
    again = run_here(
        folder, monkeypatch, "good.parquet", "truth.parquet", "--baseline", "new.json", "--max-drop", "MRR@10=1%"
    )
    assert again.exit_code == 0


def test_exit_code_1_where_a_worsened_copy_is_checked_with_junit_and_markdown(folder):
    done = run(
        folder, "worse.parquet", "truth.parquet", "--baseline", "old.json", "--max-drop", "MRR@10=1%",
        "--max-drop", "HitRate@10=1%", "--junit", "gate.xml", "--markdown", "gate.md", "--save", "never.json",
    )  # fmt: skip
    assert done.returncode == 1
    assert "worse" in done.stdout
    suite = ElementTree.parse(folder / "gate.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [case.find("failure") is not None for case in suite] == [True, False]
    assert "**Does not hold**" in (folder / "gate.md").read_text()
    assert not (folder / "never.json").exists()


@pytest.mark.parametrize(
    ("baseline", "limit", "says"),
    [
        ("none.json", "MRR@10=1%", "there is no baseline"),
        ("means.json", "MRR@10=1%", "means but no per-user values"),
        ("gone.json", "MRR@10=1%", "it cannot be evaluated again: there is no file to read"),
        ("text.json", "MRR@10=1%", "is not a report"),
        ("old.json", "nDCG@7=1%", "no per-user values of nDCG@7"),
        ("old.json", "MRR@10=lots", "the largest acceptable drop"),
        ("old.json", "MMR@10=1%", "there is no metric"),
    ],
)
def test_exit_code_2_says_why_it_could_not_run(folder, monkeypatch, baseline, limit, says):
    evaluate(GOOD, TRUTH, "MRR@10").to_json(folder / "means.json")
    frame(GOOD).to_parquet(folder / "gone.parquet")
    evaluated(folder, "gone.parquet", "truth.parquet", "--format", "json", "--out", "gone.json")
    (folder / "gone.parquet").unlink()
    (folder / "text.json").write_text("nothing", encoding="utf-8")
    done = run_here(folder, monkeypatch, "good.parquet", "truth.parquet", "--baseline", baseline, "--max-drop", limit)
    assert done.exit_code == 2
    assert says in done.stderr
    assert "hint:" in done.stderr
    assert done.stdout == ""


def test_exit_code_2_where_the_recommendations_cannot_be_read(folder):
    done = run(folder, "nowhere.parquet", "truth.parquet", "--baseline", "old.json", "--max-drop", "MRR@10=1%")
    assert done.returncode == 2
    assert "there is no file to read" in done.stderr


def test_another_truth_is_refused_unless_it_is_asked_for(folder, monkeypatch):
    # The first 37 users are missing from the other truth, as in a split of another day.
    frame(TRUTH)[["user_id", "item_id"]].iloc[37:].to_parquet(folder / "later.parquet")
    asked = ("good.parquet", "later.parquet", "--max-drop", "MRR@10=1%")
    done = run_here(folder, monkeypatch, "good.parquet", "truth.parquet", *asked[2:], "--save", "known.json")
    assert done.exit_code == 0
    evaluated(folder, "good.parquet", "truth.parquet", "--format", "json", "--out", "e.json", "--per-user", "e.parquet")
    evaluated(folder, "good.parquet", "truth.parquet", "--format", "json", "--out", "again.json")
    for baseline, said in (
        ("known.json", "another truth"),
        ("e.json", "another truth"),
        ("again.json", "another truth"),
        ("old.json", "other users"),
        ("e.parquet", "other users"),
    ):
        same = run_here(folder, monkeypatch, "good.parquet", "truth.parquet", *asked[2:], "--baseline", baseline)
        assert same.exit_code == 0
        other = run_here(folder, monkeypatch, *asked, "--baseline", baseline)
        assert (other.exit_code, other.stdout) == (2, "")
        assert f"error: the baseline was made with {said}" in other.stderr
        assert "allow it with --other-inputs" in other.stderr
        allowed = run_here(folder, monkeypatch, *asked, "--baseline", baseline, "--other-inputs")
        assert allowed.exit_code == 0
        assert f"The baseline was made with {said}" in allowed.stdout


def test_the_same_truth_in_another_file_is_the_same(folder, monkeypatch):
    frame(TRUTH)[["user_id", "item_id"]].iloc[::-1].to_csv(folder / "truth.csv", index=False)
    limits = ("--max-drop", "MRR@10=1%")
    run_here(folder, monkeypatch, "good.parquet", "truth.parquet", *limits, "--save", "rows.json")
    done = run_here(folder, monkeypatch, "good.parquet", "truth.csv", *limits, "--baseline", "rows.json")
    assert done.exit_code == 0
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize("limit", ["MRR@10=5", "MRR@10=100%", "MRR@10=0.9"])
def test_a_limit_that_no_drop_can_exceed_is_refused(folder, monkeypatch, limit):
    asked = ("worse.parquet", "truth.parquet", "--baseline", "old.json", "--max-drop", limit)
    done = run_here(folder, monkeypatch, *asked)
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"a drop of {limit.partition('=')[2]} is no limit" in done.stderr


def test_the_truth_can_be_named(folder, monkeypatch):
    limits = ("--baseline", "old.json", "--max-drop", "MRR@10=1%")
    assert run_here(folder, monkeypatch, "good.parquet", "--truth", "truth.parquet", *limits).exit_code == 0
    done = CliRunner().invoke(program, ["check", "good.parquet", "worse.parquet", "truth.parquet", *limits])
    assert "One file of RECS is taken, but 2 were given" in done.output


LIMIT = ("--baseline", "old.json", "--max-drop", "MRR@10=1%")


def test_github_gets_an_annotation_for_each_check_and_a_table_in_the_summary(folder, monkeypatch, tmp_path):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    done = run_here(folder, monkeypatch, "worse.parquet", "truth.parquet", *LIMIT, "--github")
    assert done.exit_code == 1
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("::")]
    assert line.startswith("::error title=MRR@10::MRR@10 ")
    assert ": worse, it drops by" in line
    assert summary.read_text().startswith("before\n**Does not hold**")
    done = run_here(folder, monkeypatch, "good.parquet", "truth.parquet", *LIMIT, "--github")
    assert done.exit_code == 0
    # The limit is 1%, and a percent sign begins an escape there.
    assert "::notice title=MRR@10::" in done.stdout
    assert "a drop of 1%25 is ruled out" in done.stdout


def test_gitlab_gets_an_issue_for_each_check_that_fails(folder, monkeypatch, tmp_path):
    done = run_here(folder, monkeypatch, "worse.parquet", "truth.parquet", *LIMIT, "--gitlab", str(tmp_path / "q.json"))
    assert done.exit_code == 1
    (issue,) = json.loads((tmp_path / "q.json").read_text())
    assert issue.keys() == {"description", "check_name", "fingerprint", "severity", "location"}
    assert issue["check_name"] == "MRR@10"
    assert issue["severity"] == "critical"
    assert issue["location"] == {"path": "worse.parquet", "lines": {"begin": 1}}
    run_here(folder, monkeypatch, "good.parquet", "truth.parquet", *LIMIT, "--gitlab", str(tmp_path / "q.json"))
    assert json.loads((tmp_path / "q.json").read_text()) == []


def test_a_gate_is_printed_in_other_formats(folder, monkeypatch):
    done = run_here(folder, monkeypatch, "worse.parquet", "truth.parquet", *LIMIT, "--format", "md")
    assert done.stdout.startswith("**Does not hold**")
    done = run_here(folder, monkeypatch, "worse.parquet", "truth.parquet", *LIMIT, "--format", "json")
    assert json.loads(done.stdout)["holds"] is False
