"""Non-inferiority on paired users, for everyone and for slices."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from scipy import stats

from bridgeval import check, evaluate
from bridgeval.errors import BadParameterError, InputError, MisalignedError
from bridgeval.slices import of_items
from tests.stats.worsened import GOOD, TRUTH, USERS, WORSE

OLD = evaluate(GOOD, TRUTH, ["MRR@10", "HitRate@10"], per_user=True)


def test_the_same_lists_hold_and_a_worsened_copy_does_not():
    assert check(GOOD, TRUTH, OLD, "MRR@10=1%").holds
    gate = check(WORSE, TRUTH, OLD, "MRR@10=1%")
    assert not gate.holds
    assert gate.checks[0].verdict == "worse"
    assert "worse, it drops by" in str(gate)


def test_bound_and_p_are_those_of_the_one_sided_t_test():
    gate = check(WORSE, TRUTH, OLD, "MRR@10=0.5")
    row = gate.checks[0]
    old = OLD.per_user("MRR@10")["value"].to_numpy()
    new = evaluate(WORSE, TRUTH, "MRR@10", per_user=True).per_user("MRR@10")["value"].to_numpy()
    expected = stats.ttest_1samp(new - old, -0.5, alternative="greater")
    assert row.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert row.bound == pytest.approx(expected.confidence_interval(0.95).low, rel=1e-9)
    assert row.verdict == "holds"


def test_a_limit_in_percent_is_a_share_of_the_baseline():
    row = check(GOOD, TRUTH, OLD, "MRR@10=2%").checks[0]
    assert row.margin == pytest.approx(0.02 * OLD["MRR@10"])


def test_too_few_users_to_tell_is_unsure_and_does_not_hold():
    users = range(12)
    truth = {u: ["x"] for u in users}
    old = evaluate({u: ["x", "y"] if u % 2 else ["y", "x"] for u in users}, truth, "MRR@2", per_user=True)
    gate = check({u: ["y", "x"] if u % 2 else ["x", "y"] for u in users}, truth, old, "MRR@2=5%")
    assert (gate.checks[0].verdict, gate.holds) == ("unsure", False)
    assert "more users or a wider limit" in str(gate)


def test_a_constant_drop_needs_no_test():
    users = range(10)
    truth = {u: ["x"] for u in users}
    old = evaluate({u: ["x", "y"] for u in users}, truth, "MRR@2", per_user=True)
    now = {u: ["y", "x"] for u in users}
    assert check(now, truth, old, "MRR@2=0.5").holds
    assert not check(now, truth, old, "MRR@2=0.4").holds


def test_every_metric_must_hold():
    gate = check(WORSE, TRUTH, OLD, ["HitRate@10=1%", "MRR@10=1%"])
    assert [row.verdict for row in gate.checks] == ["holds", "worse"]
    assert not gate.holds


def test_a_rise_of_what_should_be_low_is_a_drop():
    truth = {u: {"x": 3.0} for u in USERS}
    metric = 'MAE(average="users")'
    old = evaluate({u: {"x": 3.1 + 0.001 * (u % 7)} for u in USERS}, truth, metric, per_user=True)
    worse = {u: {"x": 3.3 + 0.001 * (u % 5)} for u in USERS}
    assert not check(worse, truth, old, f"{metric}=0.1").holds
    assert check({u: {"x": 3.0} for u in USERS}, truth, old, f"{metric}=0").holds


@pytest.mark.parametrize("limit", ["MRR@10", "MRR@10=", "MRR@10=-1%", "MRR@10=much", "=1%"])
def test_a_limit_that_cannot_be_read_is_refused(limit):
    with pytest.raises((BadParameterError, ValueError)):
        check(GOOD, TRUTH, OLD, limit)


def test_other_users_cannot_be_paired():
    other = evaluate({f"u{u}": ["x"] for u in USERS}, {f"u{u}": ["x"] for u in USERS}, "MRR@10", per_user=True)
    with pytest.raises(MisalignedError):
        check(GOOD, TRUTH, other, "MRR@10=1%")
    later = evaluate({u + 1000: ["x"] for u in USERS}, {u + 1000: ["x"] for u in USERS}, "MRR@10", per_user=True)
    with pytest.raises(InputError, match=r"made with other users.*400 user\(s\) only then, 400 only now"):
        check(GOOD, TRUTH, later, "MRR@10=1%")
    with pytest.raises(MisalignedError, match="too few for a test"):
        check(GOOD, TRUTH, later, "MRR@10=1%", other_inputs=True)


def test_a_baseline_without_the_metric_is_refused():
    with pytest.raises(InputError, match="no per-user values of nDCG@5"):
        check(GOOD, TRUTH, OLD, "nDCG@5=1%")
    with pytest.raises(InputError, match="no per-user values"):
        check(GOOD, TRUTH, evaluate(GOOD, TRUTH, "MRR@10"), "MRR@10=1%")


def test_a_number_that_is_no_mean_over_users_is_refused():
    truth = {u: {"x": 3.0, "y": 1.0} for u in range(9)}
    recs = {u: {"x": 3.0 + u, "y": 1.0 + u * u} for u in range(9)}
    old = evaluate(recs, truth, "RMSE", per_user=True)
    with pytest.raises(InputError, match="RMSE is not a mean over users"):
        check(recs, truth, old, "RMSE=1%")


HALVES = {u: "even" if u % 2 == 0 else "odd" for u in USERS}


def test_a_slice_that_is_shown_to_be_worse_fails_the_gate_though_everyone_holds():
    # Only one user in ten is hit, and only in the slice; over everyone a drop of 20% is ruled out.
    worse = {user: items[::-1] if user % 10 == 0 else items for user, items in GOOD.items()}
    assert check(worse, TRUTH, OLD, "MRR@10=20%").holds
    labels = {u: "hit" if u % 10 == 0 else "spared" for u in USERS}
    gate = check(worse, TRUTH, OLD, "MRR@10=20%", by=labels)
    assert not gate.holds
    assert [(row.slice, row.verdict) for row in gate.slices] == [("slice = hit", "worse"), ("slice = spared", "holds")]
    assert "MRR@10 · slice = hit" in str(gate)
    assert "1 of 2 slice(s) drop significantly by more than the limit, at 0.05 with Holm's correction." in str(gate)
    assert "| MRR@10 · slice = hit" in gate.to_markdown()
    assert ElementTree.fromstring(gate.to_junit().partition("?>")[2].strip()).get("failures") == "1"


def test_p_of_slices_are_those_of_scipy_with_holms_correction():
    gate = check(WORSE, TRUTH, OLD, "MRR@10=0.01", by=HALVES)
    old, new = (
        report.per_user("MRR@10").set_index("user")["value"]
        for report in (OLD, evaluate(WORSE, TRUTH, "MRR@10", per_user=True))
    )
    raw = [
        stats.ttest_1samp((new - old)[[u for u in USERS if HALVES[u] == label]], -0.01, alternative="less").pvalue
        for label in ("even", "odd")
    ]
    first, second = sorted(raw)
    expected = {first: min(1, 2 * first), second: min(1, max(2 * first, second))}
    assert [row.p_worse for row in gate.slices] == pytest.approx([expected[p] for p in raw], rel=1e-9)


def test_a_slice_too_small_to_tell_does_not_fail_the_gate():
    few = {u: "few" if u < 2 else "many" for u in USERS}
    gate = check({**GOOD, 0: GOOD[0][::-1], 1: GOOD[1][::-1]}, TRUTH, OLD, "MRR@10=20%", by=few)
    assert gate.holds
    assert {row.slice: row.verdict for row in gate.slices} == {"slice = few": "unsure", "slice = many": "holds"}


def test_a_constant_drop_in_a_slice_counts_as_signs_on_one_side():
    users = range(10)
    truth = {u: ["x"] for u in users}
    old = evaluate({u: ["x", "y"] for u in users}, truth, "MRR@2", per_user=True)
    now = {u: ["y", "x"] if u < 3 else ["x", "y"] for u in users}
    gate = check(now, truth, old, "MRR@2=0.4", by={u: "three" if u < 3 else "seven" for u in users})
    assert {row.slice: row.p_worse for row in gate.slices} == {"slice = seven": 1.0, "slice = three": 2 * 0.5**3}


def test_slices_of_items_are_checked_against_a_report_made_with_them():
    by = of_items({f"i{n}": "low" if n < 25 else "high" for n in range(50)})
    old = evaluate(GOOD, TRUTH, "MRR@10", by=by)
    gate = check(WORSE, TRUTH, old, "MRR@10=1%", by=by)
    assert [row.slice for row in gate.slices] == ["items = high", "items = low"]
    assert sum(row.users for row in gate.slices) == 400  # every user has one relevant item
    with pytest.raises(InputError, match="the baseline cannot be sliced by items"):
        check(WORSE, TRUTH, OLD, "MRR@10=1%", by=by)
