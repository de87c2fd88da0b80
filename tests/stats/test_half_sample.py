"""Numbers of everyone's lists together are compared by halves of the users."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import torch

from bridgeval import Metric, Result, compare, evaluate
from bridgeval.engine.blocks import Hits
from bridgeval.engine.needs import Needs
from bridgeval.engine.plan import Execution, Plan, merge_all
from bridgeval.engine.source import make_source
from bridgeval.engine.state import Sums
from bridgeval.spec import parse_all
from bridgeval.stats.half_sample import Dealt
from tests.stats.compared import ITEMS, QUICK, STRONG, TRUTH, USERS, WEAK


@dataclass(frozen=True)
class PooledHits(Metric):
    """The share of users with a hit, told to the engine as one number for all users."""

    name = "PooledHits"
    k: int = 5

    def needs(self):
        return Needs(depth=self.k)

    def start(self):
        return Sums()

    def update(self, blocks):
        hits = blocks[Hits()][:, : self.k].any(1)
        return Sums({"hits": float(hits.sum()), "users": float(len(hits))})

    def compute(self, state):
        return Result(state["hits"] / state["users"], parts={"twice": 2 * state["hits"] / state["users"]})


def test_a_number_without_per_user_values_gets_the_interval_that_its_users_would_give():
    rng = np.random.default_rng(5)
    users = range(2_000)
    truth = {u: ["x"] for u in users}
    a, b = ({u: ["x"] if rng.random() < p else ["y"] for u in users} for p in (0.30, 0.45))
    found = compare({"a": a, "b": b}, truth, [PooledHits(), "HitRate@5"], resamples=2_000)
    pooled, paired = found.difference("PooledHits@5"), found.difference("HitRate@5")
    assert (pooled.method, paired.method) == ("half-samples", "paired")
    assert pooled.difference == pytest.approx(paired.difference, abs=1e-12)
    assert pooled.high - pooled.low == pytest.approx(paired.high - paired.low, rel=0.25)
    assert pooled.p < 1e-6
    assert found.difference("PooledHits@5[twice]").difference == pytest.approx(2 * pooled.difference)
    assert "random halves of 2,000 users in 100 groups" in str(found)


def test_half_samples_are_the_same_for_every_form_of_lists(tmp_path):
    def frame(lists):
        rows = [(user, item, -place) for user, items in lists.items() for place, item in enumerate(items)]
        return pd.DataFrame(rows, columns=["user_id", "item_id", "score"])

    for name, lists in (("weak", WEAK), ("strong", STRONG), ("truth", TRUTH)):
        frame(lists).drop(columns=["score"] if name == "truth" else []).to_parquet(tmp_path / f"{name}.pq")
    ways = [
        ({"weak": WEAK, "strong": STRONG}, TRUTH),
        ({"weak": frame(WEAK), "strong": frame(STRONG)}, TRUTH),
        ({name: str(tmp_path / f"{name}.pq") for name in ("weak", "strong")}, str(tmp_path / "truth.pq")),
    ]
    found = [
        compare(systems, truth, PooledHits(), batch_size=size, **QUICK) for systems, truth in ways for size in (None, 7)
    ]
    assert {len(one.differences) for one in found} == {2}
    for one in found[1:]:
        assert one.differences[0].low == pytest.approx(found[0].differences[0].low, abs=1e-12)
        assert one.differences[0].p == pytest.approx(found[0].differences[0].p, rel=1e-9)


def test_the_groups_that_halves_are_made_of_keep_what_each_user_has_in_the_history():
    given = {
        "history": {user: np.random.default_rng(user).choice(ITEMS, 6).tolist() for user in range(0, USERS, 2)},
        "item_groups": {item: item % 3 for item in range(ITEMS)},
        "user_groups": {user: user % 3 for user in range(USERS)},
    }
    names = ["BiasDisparityBS", "PopRSP@5", "Novelty@5"]
    plan = Plan.of([metric for name in names for metric in parse_all(name)])
    source, how = make_source(STRONG, TRUTH, **given), Execution(torch.device("cpu"), batch_size=50)
    (dealt,) = source.run(Plan.of([Dealt(plan, seed=3)]), how)
    assert len(dealt.states) > 50
    together = plan.compute(merge_all(plan, list(dealt.states.values())))
    for metric, result in plan.compute(source.run(plan, how)).items():
        found = together[metric].numbers(str(metric))
        assert found == pytest.approx(result.numbers(str(metric)), abs=1e-12, nan_ok=True)


def test_a_median_is_compared_by_halves_and_not_by_the_mean_of_its_users():
    found = compare({"weak": WEAK, "strong": STRONG}, TRUTH, 'nDCG(over="median")@10', **QUICK)
    row = found.differences[0]
    medians = [dict(evaluate(recs, TRUTH, 'nDCG(over="median")@10')).popitem()[1] for recs in (STRONG, WEAK)]
    assert (row.method, row.difference) == ("half-samples", pytest.approx(medians[0] - medians[1]))
    assert row.low < row.difference < row.high


def test_a_median_that_happens_to_be_the_mean_in_one_system_is_compared_all_the_same():
    truth = {u: ["x"] for u in range(40)}
    a = {u: ["x"] for u in range(40)}  # everyone has 1: mean and median agree
    b = {u: ["x"] if u < 30 else ["y", "x"] for u in range(40)}
    row = compare({"a": a, "b": b}, truth, 'MRR(over="median")@2', **QUICK).differences[0]
    assert (row.method, row.difference) == ("half-samples", 0.0)


def test_a_number_without_per_user_values_in_reports_has_a_difference_and_no_interval():
    found = compare({n: evaluate(r, TRUTH, PooledHits(), per_user=True) for n, r in (("a", WEAK), ("b", STRONG))})
    row = found.difference("PooledHits@5")
    assert row.method == "none"
    assert math.isnan(row.low)
    assert not row.significant
    assert "no interval" in str(found)


def test_intervals_of_pooled_numbers_stay_within_bounds():
    # Two users, one item each, of a catalogue of two: coverage is at most 1, a difference at most 1.
    found = compare(
        {"one": {1: ["a"], 2: ["b"], 3: ["a"]}, "two": {1: ["a"], 2: ["a"], 3: ["a"]}}, {u: ["a"] for u in (1, 2, 3)},
        ["Coverage@1", "MRR@1"], catalogue=["a", "b"], **QUICK,
    )  # fmt: skip
    row = found.difference("Coverage@1")
    assert row.method == "half-samples"
    assert -1 <= row.low <= row.difference <= row.high <= 1
    assert all(0 <= mean.low <= mean.value <= mean.high <= 1 for mean in found.means if mean.metric == "Coverage@1")
