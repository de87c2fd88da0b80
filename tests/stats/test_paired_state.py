"""Comparisons from sums over users: the same however users are cut, and what scipy and plain loops find."""

from __future__ import annotations

import math
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as some
from scipy import stats

import bridgeval
from bridgeval.engine.state import UserTable
from bridgeval.stats.differences import Settings
from bridgeval.stats.hashed_draws import GROUPS, POISSON, group_sums, poisson_sums, sign_sums
from bridgeval.stats.paired_results import PairedResults
from bridgeval.stats.paired_state import PairedUsers
from bridgeval.stats.paired_values import Panel
from bridgeval.stats.panel_results import PanelResults
from bridgeval.stats.signed_ranks import SignedCounts, coarsen
from bridgeval.tables.ids import Ids

HOW = Settings(resamples=400, seed=2, bootstrap="poisson")
PAIRS = [("a", "b"), ("a", "c")]


def panel(users: int, seed: int = 0, strings: bool = False) -> Panel:
    """Values of three systems in two metrics, many of them equal; some undefined, some users absent from one system."""
    rng = np.random.default_rng(seed)
    ids = Ids.of([f"u{one:05}" for one in range(users)]) if strings else Ids(np.arange(users) * 3 - 7)
    tables = {}
    for at, system in enumerate("abc"):
        here = np.flatnonzero(rng.random(users) > 0.05 * at)
        tables[system] = {}
        for metric in ("nDCG@5", "Recall@5"):
            values = rng.integers(0, 8, len(here)) / 8 + at / 32
            values[rng.random(len(here)) < 0.03] = np.nan
            tables[system][metric] = UserTable(ids.take(here), values)
    return Panel.of(tables)


def question(of: Panel, how: Settings = HOW) -> PairedUsers:
    return PairedUsers(of.systems, dict.fromkeys(of.metrics), PAIRS, how)


def numbers(row: Any) -> dict[str, float]:
    """The numbers of a row; -1 for NaN."""
    found = {name: value for name, value in asdict(row).items() if isinstance(value, int | float)}
    return {name: -1.0 if value != value else value for name, value in found.items()}


@given(
    cuts=some.lists(some.integers(0, 60), max_size=5), order=some.randoms(use_true_random=False), text=some.booleans()
)
def test_however_users_are_cut_and_merged_the_results_are_the_same(cuts: list[int], order: Any, text: bool) -> None:
    whole = panel(60, strings=text)
    asked = question(whole)
    ends = [0, *sorted(cuts), 60]
    parts = [whole.take_users(np.arange(start, stop)) for start, stop in pairwise(ends)]
    states = [asked.add_up(part, {}) for part in parts]
    while len(states) > 1:
        one, two = (states.pop(order.randrange(len(states))) for _ in range(2))
        states.append(one.merge(two))
    found = PairedResults(asked, asked.start().merge(states[0]), {})
    expected = PairedResults(asked, asked.add_up(whole, {}), {})
    rows = zip([*found.differences(), *found.means()], [*expected.differences(), *expected.means()], strict=True)
    for row, wanted in rows:
        assert numbers(row) == pytest.approx(numbers(wanted), rel=1e-12, abs=1e-12)
    assert found.notes() == expected.notes()


@pytest.mark.parametrize("users", [30, 400])
def test_all_but_the_resamples_is_what_the_values_of_all_users_give(users: int) -> None:
    """The tests of `PanelResults` are scipy's. Values are 32nds, whose differences are not rounded."""
    whole = panel(users)
    asked = question(whole)
    found = PairedResults(asked, asked.add_up(whole, {}), {})
    expected = PanelResults(whole, {}, PAIRS, {}, (), HOW)
    drawn = ("low", "high", "p_permutation")
    for row, wanted in zip(found.differences(), expected.differences(), strict=True):
        same = {name: value for name, value in numbers(wanted).items() if name not in drawn}
        assert {name: numbers(row)[name] for name in same} == pytest.approx(same, rel=1e-10)
        assert row.p_permutation == pytest.approx(wanted.p_permutation, abs=0.1)
        assert (row.low, row.high) == pytest.approx((wanted.low, wanted.high), abs=0.3 * (wanted.high - wanted.low))
    for metric, test in expected.friedman().items():
        own = found.friedman()[metric]
        assert (own.statistic, own.p) == pytest.approx((test.statistic, test.p), rel=1e-10)
        assert own.ranks.tolist() == pytest.approx(test.ranks.tolist(), rel=1e-10)
    assert found.notes() == expected.notes()


def test_draws_are_those_of_a_plain_loop() -> None:
    """splitmix64 in Python's integers: fields of 16 bits are Poisson draws, bits are signs, the lowest byte first."""

    def mix(number: int) -> int:
        number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        number = (number ^ (number >> 27)) * 0x94D049BB133111EB % 2**64
        return number ^ (number >> 31)

    groups, resamples = np.zeros((9, 1)), 130
    groups[[2, 3, 8]] = [[1.0], [10.0], [100.0]]
    weighted, signed = np.zeros(resamples), np.zeros(resamples)
    for group in (2, 3, 8):
        keys = [int(Ids(np.array([group])).hash(seed).view(np.uint64)[0]) for seed in (10, 11)]
        for draw in range(resamples):
            number = mix((keys[0] + (draw // 4 + 1) * 0x9E3779B97F4A7C15) % 2**64)
            field = number >> 16 * (draw % 4) & 0xFFFF
            # How many of the cumulative probabilities of Poisson(1), in 65,536ths, the field is not below.
            weighted[draw] += groups[group, 0] * sum(field >= round(65536 * stats.poisson.cdf(n, 1)) for n in range(9))
            number = mix((keys[1] + (draw // 64 + 1) * 0x9E3779B97F4A7C15) % 2**64)
            byte = number >> 8 * (draw % 64 // 8) & 0xFF
            signed[draw] += groups[group, 0] * (1 if byte >> 7 - draw % 8 & 1 else -1)
    assert poisson_sums(groups, resamples, seed=5).ravel().tolist() == weighted.tolist()
    assert sign_sums(groups, resamples, seed=5).ravel().tolist() == signed.tolist()


def test_users_are_dealt_to_groups_evenly_and_by_their_ids_alone() -> None:
    users = Ids.of([f"user {number}" for number in range(100_000)])
    counts = group_sums(np.ones((100_000, 1)), users, seed=3)
    assert counts.shape == (GROUPS, 1)
    assert counts.sum() == 100_000
    # Poisson counts of mean 12.2: chi-squared of GROUPS - 1 degrees of freedom, whose deviation is 128.
    mean = 100_000 / GROUPS
    assert ((counts - mean) ** 2 / mean).sum() == pytest.approx(GROUPS - 1, abs=5 * 128)
    some = np.random.default_rng(0).permutation(100_000)
    parts = [group_sums(np.ones((len(part), 1)), users.take(part), 3) for part in np.array_split(some, 7)]
    assert np.array_equal(sum(parts), counts)
    assert not np.array_equal(group_sums(np.ones((100_000, 1)), users, seed=4), counts)


@pytest.mark.parametrize("users", [200, 50_000])
def test_groups_of_users_have_the_standard_error_of_users(users: int) -> None:
    """The resampled mean spreads as s / sqrt(n) says, whether groups hold one user or several."""
    values = np.random.default_rng(users).exponential(size=(users, 1))
    sums = group_sums(np.hstack([values, np.ones((users, 1))]), Ids(np.arange(users) * 11), seed=1)
    drawn = poisson_sums(sums, 4_000, seed=1)
    spread = (drawn[:, 0] / drawn[:, 1]).std()
    # 4,000 resamples are right to 1.1 percent, 8,192 groups to 1.5 percent or, of such skewed values, a little more.
    assert spread == pytest.approx(values.std() / math.sqrt(users), rel=0.06)


def test_poisson_draws_have_mean_and_variance_1_and_do_not_depend_on_one_another() -> None:
    assert POISSON.mean() == 1
    assert POISSON.astype(float).var() == pytest.approx(1, abs=1e-4)
    draws = poisson_sums(np.eye(100), 2_000, 0)
    correlations = np.corrcoef(draws.T)[np.triu_indices(100, 1)]
    # Of 4,950 pairs, each with a standard error of 1 / sqrt(2,000) = 0.022.
    assert np.abs(correlations).max() < 5 * 0.0224
    assert correlations.std() == pytest.approx(0.0224, rel=0.05)


@pytest.mark.parametrize("count", [0, 1, 20, 60, 500])
def test_wilcoxon_by_counting_is_scipys(count: int) -> None:
    change = np.random.default_rng(count).integers(-6, 9, count) / 8  # eighths are not rounded
    parts = [SignedCounts.of(part) for part in np.array_split(change, 3)]
    statistic, p = parts[2].merge(parts[0]).merge(parts[1]).test()
    if not (change != 0).any():
        assert (statistic, math.isnan(p)) == (0, True)
        return
    theirs = stats.wilcoxon(change)
    assert (statistic, p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-10)


def test_magnitudes_are_rounded_by_at_most_an_eight_thousandth() -> None:
    values = np.random.default_rng(0).random(1_000) * 10.0 ** np.arange(-9, 1).repeat(100)
    assert (np.abs(coarsen(values) - values) <= values / 8192).all()


def test_intervals_of_means_cover_as_often_as_they_say() -> None:
    """300 studies of 80 users whose true mean is 0.3: of 95% intervals about 285 cover it, and more than 272 (4 sd)."""
    rng = np.random.default_rng(7)
    covered = 0
    for study in range(300):
        table = UserTable(Ids(np.arange(80) + 100 * study), (rng.random(80) < 0.3).astype(float))
        values = Panel.of({"a": {"HitRate@1": table}})
        asked = PairedUsers(("a",), {"HitRate@1": None}, [], HOW)
        (mean,) = PairedResults(asked, asked.add_up(values, {}), {}).means()
        covered += mean.low <= 0.3 <= mean.high
    assert 272 < covered < 299


def test_compare_draws_by_a_hash_where_it_is_asked_to() -> None:
    truth = {user: ["x"] for user in range(40)}
    old = {user: ["y", "x"] for user in truth}
    new = {user: ["x", "y"] if user % 3 else ["y", "x"] for user in truth}
    found = bridgeval.compare({"old": old, "new": new}, truth, "MRR@2", bootstrap="poisson", resamples=1_000)
    (row,) = found
    # 26 of 40 users gain 1/2: 13/40; the standard error is about 0.038.
    assert row.difference == pytest.approx(13 / 40)
    assert (row.wins, row.ties, row.losses) == (26, 14, 0)
    assert 0.23 < row.low < 0.27 < 0.37 < row.high < 0.41
    assert "1,000 Poisson resamples of users" in found.marks()
    backwards = {name: dict(reversed(recs.items())) for name, recs in (("old", old), ("new", new))}
    again = bridgeval.compare(backwards, truth, "MRR@2", bootstrap="poisson", resamples=1_000)
    assert numbers(again.differences[0]) == pytest.approx(numbers(row), rel=1e-12)
