"""The pytest plugin in a run of its own: it saves, passes, fails, and stores the values."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

import bridgeval
from bridgeval.baselines import save_baseline

pytest_plugins = ["pytester"]

PROJECT = """
import pytest

TRUTH = {user: ["tea"] for user in range(60)}
# The item of every user is first, except for the first {worse} users.
RECS = {user: ["rum", "tea"] if user < {worse} else ["tea", "rum"] for user in range(60)}


@pytest.mark.bridgeval_gate(baseline="baseline.json", max_drop="MRR@2=5%")
def test_quality(bridgeval_gate):
    bridgeval_gate(RECS, TRUTH)
"""


SEVERAL = """
import pytest

TRUTH = {user: ["tea"] for user in range(60)}
RECS = {user: ["tea", "rum"] for user in range(60)}
GROUPS = {user: "new" if user % 2 else "old" for user in TRUTH}


@pytest.mark.bridgeval_gate(max_drop="MRR@2=5%")
def test_quality(bridgeval_gate):
    assert bridgeval_gate(RECS, TRUTH, baseline="one.json").holds
    assert bridgeval_gate(RECS, TRUTH, baseline="two.json", max_drop=["Recall@1=1%"], by=GROUPS).holds
"""


@pytest.fixture(autouse=True, scope="module")
def everything_is_imported(tmp_path_factory):
    """What the inner runs import first would be forgotten after them, and NumPy cannot be imported twice."""
    given = ({1: ["tea"], 2: ["tea"]}, {1: ["tea"], 2: ["tea"]})
    baseline = tmp_path_factory.mktemp("gate") / "baseline.json"
    report = bridgeval.evaluate(*given, "MRR@2", per_user=True)
    save_baseline(report, baseline, columns=None, relevance=given[1], history=None)
    assert bridgeval.check(*given, baseline=baseline, max_drop="MRR@2=5%").holds


def run(pytester, *options, worse=0, project=PROJECT):
    (pytester.path / "test_quality.py").write_text(project.replace("{worse}", str(worse)))
    done = pytester.runpytest_inprocess("-q", "--strict-markers", "-p", "no:cacheprovider", *options)
    return done.ret, str(done.stdout)


def test_a_gate_is_saved_passes_and_fails_with_the_drop(pytester):
    assert run(pytester)[0] == 1  # there is no baseline yet
    code, printed = run(pytester, "--bridgeval-save")
    assert (code, f"saved the baseline {pytester.path}/baseline.json" in printed) == (0, True), printed
    code, printed = run(pytester, "--junit-xml", "tests.xml")
    assert code == 0, printed
    (stored,) = ET.parse(pytester.path / "tests.xml").iter("property")
    assert (stored.get("name"), float(stored.get("value"))) == ("MRR@2", 1.0)
    # 30 of 60 users fall from 1 to 1/2.
    code, printed = run(pytester, worse=30)
    assert code == 1
    assert "MRR@2 1.0000 -> 0.7500 over 60 users: worse, it drops by 0.2500" in printed


def test_every_gate_of_a_test_is_saved_and_then_checked(pytester):
    code, printed = run(pytester, "--bridgeval-save", project=SEVERAL)
    assert code == 0, printed
    assert {file.name for file in pytester.path.glob("*.json")} == {"one.json", "two.json"}
    assert run(pytester, project=SEVERAL)[0] == 0
    worse = SEVERAL.replace('"tea", "rum"', '"rum", "tea"')
    code, printed = run(pytester, project=worse)
    assert (code, "MRR@2 1.0000 -> 0.5000" in printed) == (1, True), printed


def test_two_gates_with_one_baseline_are_refused(pytester):
    code, printed = run(pytester, "--bridgeval-save", project=SEVERAL.replace("two.json", "one.json"))
    assert (code, "two gates save the baseline 'one.json'" in printed) == (1, True), printed


def test_loading_the_plugin_imports_nothing_heavy():
    code = "import sys, bridgeval.pytest_gate; print([n for n in ('torch', 'pandas', 'pyarrow') if n in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
