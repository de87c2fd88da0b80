"""Counts, set measures, classification and graded lists: cases worked out by hand."""

from __future__ import annotations

from math import log2, sqrt

import pytest

import bridgeval
from bridgeval.errors import BadParameterError

# Places: a hit, x miss, b hit, y miss; c is relevant and not shown, y is judged irrelevant.
SHOWN = {1: ["a", "x", "b", "y"]}
TRUTH = {1: {"a": 1, "b": 3, "c": 1, "y": 0}}
CATALOGUE = ["a", "b", "c", "d", "e", "x", "y", "z"]
BEST = 3 + 1 / log2(3) + 1 / 2

CASES = {
    "Count": 4,
    'Count(of="relevant")': 3,
    'Count(of="hits")@2': 1,
    'Count(of="irrelevant")': 1,
    'Count(of="users")': 1,
    "Utility": 2 - 2,
    "Utility(hit=0, miss=0, lost=2)": 2 * 1,
    # 8 items, 4 shown, of the 4 others c is relevant.
    "Utility(hit=0, miss=0, left=1)": 3,
    "SetAP": 2 / 4 * (2 / 3),
    "ListFill@8": 4 / 8,
    'ListFill(fill="full")@4': 1,
    # Two places: hit a, miss x; b and c are lost; 8 - 2 - 2 others.
    "Accuracy@2": (1 + 4) / 8,
    "MCC@2": (1 * 4 - 1 * 2) / sqrt(2 * 3 * 5 * 6),
    # 5 items are irrelevant to this user, 2 of the list.
    "FallOut@2": 1 / 5,
    'FallOut(out_of="list")@2': 1 / 2,
    # a has no miss above it, b one: (2 + 1) / (2 * 3).
    "PartialAUC@2": 3 / 6,
    'PartialAUC(hits="k")@1': 1 / 1,
    # Relevant c is missing, but 2 misses are enough for k = 2.
    'PartialAUC(short="drop")@2': 3 / 6,
    # floor(0.4 * 3 + 0.9) = 2 places with one hit; floor(2 * 3 + 0.9) = 6 with two.
    "RPrecision(multiple=0.4)": 1 / 2,
    "RPrecision(multiple=2.0)": 2 / 6,
    "RPrecision(cut_at=2)": 1 / 3,
    # One of four (hit, miss) pairs is in the wrong order.
    "RocAuc": 3 / 4,
    'Precision(gain="linear", divide_by="shown")@3': (1 + 3) / 3,
    'Recall(gain="linear")@3': (1 + 3) / 5,
    # The best order has gathered 3, 4, 5, the list 1, 1, 4: behind are 2 and 1.
    "GainG": (1 / log2(2 + 2) + 3 / log2(2 + 1)) / 5,
    # Without grades: no miss above a, one above b.
    'GainG(gain="binary")': (1 / log2(2) + 1 / log2(3)) / 3,
    # The best gain drops after places 1 and 3.
    "LevelnDCG": (1 / 3 + (1 + 3 / 2) / BEST) / 2,
    # At a, at b, and at the end for c.
    "HitnDCG": (1 / 3 + 2 * (1 + 3 / 2) / BEST) / 3,
    # Ideal b, a, c: both lists have a from depth 2 and b from depth 3 on; depth 4 is the last.
    "Compatibility(p=0.5)": (0.5 / 2 + 0.25 * 2 / 3 + 0.125 * 2 / 4) / (1 + 0.5 * 2 / 2 + 0.25 * 3 / 3 + 0.125 * 3 / 4),
}


@pytest.mark.parametrize(("name", "expected"), CASES.items())
def test_worked_case(name, expected):
    report = bridgeval.evaluate(SHOWN, TRUTH, name, catalogue=CATALOGUE)
    assert next(iter(report.values())) == pytest.approx(expected, abs=1e-12)


def test_a_tied_pair_is_won_by_order_halved_or_lost():
    scores = {1: {"a": 2.0, "x": 1.0, "b": 1.0, "y": 0.5}}
    names = ['RocAuc(ties="given")', 'RocAuc(ties="given", tied="half")', 'RocAuc(ties="given", tied="lost")']
    # Pairs (a, x), (a, y), (b, y) are won; (b, x) is tied, and x was given first.
    assert list(bridgeval.evaluate(scores, TRUTH, names).values()) == pytest.approx([3 / 4, 3.5 / 4, 3 / 4])


def test_at_the_last_place_of_their_group_hits_count_against_each_other():
    scores = {1: {"a": 2.0, "x": 1.0, "b": 1.0, "c": 1.0, "y": 0.5}}
    # Of 6 pairs (b, x) and (c, x) are lost; a has place 1, b and c both have place 4.
    report = bridgeval.evaluate(scores, {1: ["a", "b", "c"]}, ['RocAuc(tied="lost")', 'RocAuc(tied="last")'])
    assert list(report.values()) == pytest.approx([4 / 6, 3 / 6])


def test_sums_variance_and_the_ninetieth_percentile_of_users():
    shown = {user: ["a"] if user < 2 else ["x"] for user in range(5)}
    truth = {user: ["a"] for user in range(5)}
    names = [f'HitRate(over="{over}")@1' for over in ("sum", "variance", "p90")]
    # 1, 1, 0, 0, 0: mean 0.4, variance 0.4 * 0.6; 0.9 * 4 = 3.6 lies between the two ones.
    assert list(bridgeval.evaluate(shown, truth, names).values()) == pytest.approx([2, 0.24, 1])


def test_users_without_an_early_hit_may_drop_out():
    shown, truth = {1: ["a"], 2: ["x"]}, {1: ["a"], 2: ["a"]}
    report = bridgeval.evaluate(shown, truth, ["RPrecision", 'RPrecision(missed="drop")'])
    assert list(report.values()) == [0.5, 1.0]


@pytest.mark.parametrize(
    "name", ["RPrecision(multiple=0)", "Compatibility(p=1.0)", 'Recall(gain="linear", divide_by="listed")@3']
)
def test_parameters_without_a_meaning_are_refused(name):
    with pytest.raises(BadParameterError):
        bridgeval.parse(name)


def test_a_number_is_a_geometric_discount():
    # Hits at places 1 and 3 of two relevant items: 1 + 1/4, of at best 1 + 1/2.
    names = ["DCG(discount=0.5)@3", "nDCG(discount=0.5)@3"]
    report = bridgeval.evaluate({1: ["a", "x", "b"]}, {1: ["a", "b"]}, names)
    assert list(report.values()) == pytest.approx([1.25, 1.25 / 1.5])
    with pytest.raises(BadParameterError, match="discount='steep'"):
        bridgeval.parse("nDCG(discount='steep')@3")
