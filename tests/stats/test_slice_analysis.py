"""Slices of users: means, the worst one, and a decomposition that adds up."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

from bridgeval import compare, evaluate, sliced
from bridgeval.errors import BadParameterError, BadValueError, InputError, MissingColumnError
from bridgeval.slices import by_history_length, by_popularity, in_quantiles

RNG = np.random.default_rng(4)
USERS = range(60)
TRUTH = {u: ["x"] for u in USERS}
A, B = ({u: ["x", "y", "z"][:: RNG.choice([-1, 1])] for u in USERS} for _ in range(2))
LABELS = {u: ("north", "south", "west")[u % 3] for u in USERS}
REPORT = evaluate(A, TRUTH, ["MRR@3", "HitRate@1"], per_user=True)


def test_each_slice_has_the_mean_of_its_users_in_plain_loops():
    values = REPORT.per_user("MRR@3").set_index("user")["value"]
    slices = sliced(REPORT, LABELS)
    for row in slices.means:
        if row.metric == "MRR@3":
            own = [values[u] for u in USERS if LABELS[u] == row.slice]
            assert (row.users, row.share) == (len(own), len(own) / 60)
            assert row.value == pytest.approx(sum(own) / len(own), abs=1e-12)
            assert row.low <= row.value <= row.high
    assert [row.slice for row in slices.means if row.metric == "MRR@3"] == ["north", "south", "west"]


def test_only_slices_of_few_users_are_resampled():
    # Resamples depend on the seed, moments do not.
    lists = {user: ["x"] if user % 3 else ["y"] for user in range(1_300)}
    report = evaluate(lists, {user: ["x"] for user in lists}, "HitRate@1", per_user=True)
    by = {user: "few" if user < 300 else "many" for user in lists}
    (few, many), (few_again, many_again) = (sliced(report, by, seed=seed).means for seed in (0, 1))
    assert (few.users, many.users) == (300, 1_000)
    assert few != few_again
    assert many == many_again
    # 666 of 1,000 hit: s = 0.01491, g = -0.7039, b = g / (6 sqrt(1000)) = -0.00371. To first order the ends of a normal
    # mean, 0.666 +- 1.96 s, move by b (1 + 2 * 1.96^2) s = -0.00048.
    assert (many.low, many.high) == (pytest.approx(0.63629, abs=2e-5), pytest.approx(0.69475, abs=2e-5))


def test_the_worst_slice_is_the_lowest_mean():
    slices = sliced(REPORT, LABELS)
    lowest = min((row for row in slices.means if row.metric == "HitRate@1"), key=lambda row: row.value)
    assert slices.worst("HitRate@1") == lowest
    assert f"worst for slice = {lowest.slice}" in str(slices)
    with pytest.raises(BadParameterError, match="no slice of 'AUC'"):
        slices.worst("AUC")


def test_contributions_of_the_slices_add_up_to_the_difference():
    found = compare({"a": A, "b": B}, TRUTH, ["MRR@3", "HitRate@1"], by=LABELS, resamples=200)
    for metric in ("MRR@3", "HitRate@1"):
        whole = found.difference(metric).difference
        moved = found.slices.movers(metric)
        assert math.fsum(row.contribution for row in moved) == pytest.approx(whole, abs=1e-15)
        assert [abs(row.contribution) for row in moved] == sorted(
            (abs(row.contribution) for row in moved), reverse=True
        )
        for row in moved:
            assert row.contribution == pytest.approx(row.share * row.difference, rel=1e-12)
    assert f"most of it in slice = {found.slices.movers('MRR@3')[0].slice}" in str(found)


def test_users_that_the_table_does_not_name_are_a_slice_of_their_own():
    slices = sliced(REPORT, {0: "known", 1: "known"})
    assert [(row.slice, row.users) for row in slices.means if row.metric == "MRR@3"] == [
        ("known", 2),
        ("(no label)", 58),
    ]


@pytest.mark.parametrize(
    "by",
    [
        {0: "known", 1: "known", 2: None},
        pd.DataFrame({"user_id": [0, 1, 2], "slice": ["known", "known", None]}),
        pd.DataFrame({"user_id": [0, 1, 2], "slice": [3.5, 3.5, math.nan]}),
        pl.DataFrame({"user_id": [0, 1, 2, None], "slice": ["known", "known", None, "unknown"]}),
    ],
    ids=["mapping", "pandas", "numbers", "polars"],
)
def test_a_missing_label_is_none(by):
    assert [(row.slice, row.users) for row in sliced(REPORT, by).means if row.metric == "MRR@3"] == [
        ("3.5" if "3.5" in str(by) else "known", 2),
        ("(no label)", 58),
    ]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_every_column_of_a_frame_is_a_kind_of_slice(frame):
    table = frame({"user_id": list(USERS), "land": [LABELS[u] for u in USERS], "even": [u % 2 == 0 for u in USERS]})
    slices = sliced(REPORT, table)
    assert slices.kinds == ["land", "even"]
    counts = {
        kind: sum(r.users for r in slices.means if r.kind == kind and r.metric == "MRR@3") for kind in slices.kinds
    }
    assert counts == {"land": 60, "even": 60}
    assert set(slices.to_pandas()["slice"]) == {"north", "south", "west", "False", "True"}


def test_cold_and_warm_by_distinct_items_of_the_history():
    history = {0: ["a", "a", "a"], 1: ["a", "b"], 2: ["a", "b", "c"]}
    assert by_history_length(history, cold=2)["history"].to_pylist() == ["cold (< 2)", "warm (>= 2)", "warm (>= 2)"]


def test_popularity_is_the_mean_popularity_of_the_items_of_a_user():
    # Item a has three users, b two, c one: means are 3, 2.5, 2.
    table = by_popularity({0: ["a", "a"], 1: ["a", "b"], 2: ["a", "b", "c"]}, into=3)
    assert table["popularity"].to_pylist() == ["3 of 3 (3 .. 3)", "2 of 3 (2.5 .. 2.5)", "1 of 3 (2 .. 2)"]


def test_deciles_hold_equally_many_users_and_equal_numbers_stay_together():
    table = pd.DataFrame({"user": range(100), "age": range(100)})
    labels = in_quantiles(table)["age"].to_pylist()
    assert sorted({labels.count(label) for label in labels}) == [10]
    tied = in_quantiles(pd.DataFrame({"user": range(10), "age": [1] * 7 + [2, 3, 4]}), into=2)["age"].to_pylist()
    assert tied == ["1 of 2 (1 .. 1)"] * 7 + ["2 of 2 (2 .. 4)"] * 3


def test_labels_that_cannot_be_read_are_called_by_their_argument():
    with pytest.raises(InputError, match="the slices cannot be read"):
        sliced(REPORT, "country")
    with pytest.raises(BadValueError, match=r"more than one label in 'land' of the slices"):
        sliced(REPORT, pd.DataFrame({"user_id": [1, 1], "land": ["north", "south"]}))


def test_what_cannot_be_sliced_is_refused():
    with pytest.raises(InputError, match="no per-user values to slice"):
        sliced(evaluate(A, TRUTH, "MRR@3"), LABELS)
    with pytest.raises(MissingColumnError, match="one column with the user id"):
        sliced(REPORT, pd.DataFrame({"who": [1], "land": ["x"]}))
    with pytest.raises(BadValueError, match="1 missing value"):
        in_quantiles(pd.DataFrame({"user": [1, 2], "age": [1.0, np.nan]}))
    with pytest.raises(BadParameterError, match="at least two parts"):
        in_quantiles(pd.DataFrame({"user": [1], "age": [1]}), into=1)


def test_slices_of_a_metric_that_is_better_when_lower_are_worst_when_high():
    truth = {u: {"x": 3.0} for u in USERS}
    recs = {u: {"x": 3.0 + (u % 3)} for u in USERS}
    slices = sliced(evaluate(recs, truth, 'MAE(average="users")', per_user=True), LABELS)
    assert slices.worst('MAE(average="users")').slice == "west"


def test_systems_that_do_not_differ_did_not_move_in_any_slice():
    lines = compare({"a": A, "b": A}, TRUTH, "MRR@3", by=LABELS, resamples=200).slices.sentences()
    assert lines[-1] == "b against a: MRR@3 did not move in any slice of slice."


def test_of_many_sentences_those_that_matter_are_told_and_the_rest_is_counted():
    labels = pd.DataFrame({"user_id": list(USERS), **{f"kind {n}": [u % (n + 2) for u in USERS] for n in range(6)}})
    # All of south miss, all others hit: the only label whose slices differ beyond chance.
    lists = {u: ["y"] if LABELS[u] == "south" else ["x"] for u in USERS}
    report = evaluate(lists, TRUTH, ["MRR@3", "HitRate@1"], by=labels.assign(region=[LABELS[u] for u in USERS]))
    assert len(report.slices.sentences()) == 14
    told = report.slices.headlines()
    assert "MRR@3 is worst for region = south: 0.0000 (20 users)." in told
    assert len(told) <= 11
    assert told[-1].startswith(f"{14 - len(told) + 1} more sentences about slices")
    assert str(report).endswith(told[-1])


def test_few_sentences_are_all_told():
    slices = sliced(REPORT, LABELS)
    assert slices.headlines() == slices.sentences()


def test_infinite_values_have_no_interval_and_are_not_compared():
    # rankereval's place of the first relevant item is infinite without one: user 0 finds it at place 1, user 1 never.
    metric = "rankereval:FirstRelevantRank@2"
    lists = {user: ["x", "y"] if user % 2 == 0 else ["y", "z"] for user in range(8)}
    truth = {user: ["x"] for user in lists}
    report = evaluate(
        lists, truth, metric, per_user=True, by={user: "even" if user % 2 == 0 else "all" for user in lists}
    )
    assert [(row.slice, row.value) for row in sliced(report, dict.fromkeys(lists, "all")).means] == [("all", math.inf)]
    assert all(math.isnan(row.low) and math.isnan(row.high) for row in sliced(report, {0: "all", 1: "all"}).means)
    assert f"{metric}" in str(report)
    with pytest.raises(
        BadValueError, match=r"FirstRelevantRank@2 cannot be compared.*4 users of 'one' with an infinite"
    ):
        compare({"one": lists, "two": lists}, truth, metrics=[metric])
