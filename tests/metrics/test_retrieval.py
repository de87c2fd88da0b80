"""Readers who stop, lists judged in part, and the parameters on which evaluators of retrieval differ; by hand."""

from __future__ import annotations

import math

import pytest

import bridgeval
from bridgeval.errors import BadParameterError, BadValueError

# Places: a (gain 2), x (judged 0), u (unjudged), b (gain 1). c is relevant and not shown; y is judged 0 and not shown.
SHOWN = {1: [("a", 4.0), ("x", 3.0), ("u", 2.0), ("b", 1.0)]}
TRUTH = {1: {"a": 2, "x": 0, "b": 1, "c": 1, "y": 0}}


def value(name: str, shown: object = SHOWN, truth: object = TRUTH) -> float:
    (found,) = bridgeval.evaluate(shown, truth, name).values()
    return found


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # R is 3/16 at place 1 and 1/16 at place 4: 3/16 + 1/4 * 13/16 * 1/16.
        ("ERR", 3 / 16 + 13 / 1024),
        ("ERR@3", 3 / 16),
        # R is 1/2 and 1/4: 1/2 + 1/4 * 1/2 * 1/4.
        ('ERR(stop="linear")', 0.5 + 1 / 32),
        # PFound: 1/2 + 0.85^3 * 1/2 * 1/4.
        ('ERR(stop="linear", decay=0.85)', 0.5 + 0.85**3 / 8),
        # (1 - p)(1 + p^3).
        ("RBP(p=0.5)", 0.5 * (1 + 0.125)),
        ("RBP(p=0.5)@3", 0.5),
        ('RBP(p=0.5, gain="linear")', 0.5 * (2 + 0.125)),
        # The unjudged place 3 weighs 0.5 * 0.25, and all places from 5 on weigh 0.5^4.
        ("RBPResidual(p=0.5)", 0.125 + 0.0625),
        # The best list of min(k, n, P) = 3 relevant items: 1 - 0.5^3.
        ("RBP(p=0.5, normalize=True)", 0.5625 / 0.875),
        ("Judged", 3 / 4),
        ("Judged@3", 2 / 3),
        ('Judged(count="unjudged", divide_by="k")@10', 1 / 10),
        # P = 3, N = 2: a has no judged irrelevant item above it, b has one: (1 + 1 - 1/2 + 0) / 3.
        ("BPref", 1.5 / 3),
        # a: 1; b at place 4 with one relevant and one irrelevant item above: 1/4 + 2/4 * 1/2; over 3.
        ("InfAP", 1.5 / 3),
        # Recall 1/3 is reached at place 1, 2/3 at place 4 with precision 1/2, 1 never.
        ("InterpolatedPrecision(recall=0.0)", 1),
        ("InterpolatedPrecision(recall=0.3)", 1),
        ("InterpolatedPrecision(recall=0.6)", 0.5),
        ("InterpolatedPrecision(recall=1.0)", 0),
        # Levels 0 to 0.3 need floor(3 r + 0.9) <= 1 hits, 0.4 to 0.7 need 2 (3 * 0.7 is just below 2.1), the rest 3.
        ("InterpolatedPrecision", (4 * 1 + 4 * 0.5 + 3 * 0) / 11),
        # Without the unjudged u, b is at place 3.
        ('MAP(unjudged="skip", divide_by="relevant")', (1 + 2 / 3) / 3),
        ('Recall(unjudged="skip")@3', 2 / 3),
        # From gain 2 on, a alone is relevant.
        ("Recall(at_least=2)@1", 1),
        ("Recall(at_least=1)@1", 1 / 3),
        # Gains 2^(2 - 1 + 1) - 1 = 3 and 1: with at_least=1 the same as exponential; with 2 only a, gain 1.
        ('DCG(gain="threshold", at_least=1)', 3 + 1 / math.log2(5)),
        ('DCG(gain="threshold", at_least=2)', 1),
        ("DCG(gain=[0, 1, 10])", 10 + 1 / math.log2(5)),
        ('DCG(gain="linear", discount="position")', 2 + 1 / 4),
        ('DCG(gain="linear", discount="ln")', 2 / math.log(2) + 1 / math.log(5)),
        # An item that scores 1 or less is no hit, but has its place.
        ("Recall(score_above=1.0)", 1 / 3),
        ("Precision(score_above=1.0)", 1 / 4),
        # Recall at 1 to 4 is 1/3, 1/3, 1/3, 2/3.
        ('MAR(divide_by="places")@4', 5 / 12),
    ],
)
def test_a_definition_worked_out_by_hand(name, expected):
    assert value(name) == pytest.approx(expected, abs=1e-5 if "InfAP" in name else 1e-12)


USERS = {1: [("a", 2.0), ("b", 1.0)], 2: [("c", 2.0), ("d", 1.0)], 3: [("e", 2.0)], 4: []}
RELEVANT = {1: ["a", "b"], 2: ["d", "x", "y", "z"], 3: [], 4: []}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # Hits 2, 1 and 0; relevant items 2, 4, 0.
        ('Recall(over="pooled")@2', 3 / 6),
        ('Precision(over="pooled", users="shown")@2', 3 / 6),
        ('Precision(over="pooled", divide_by="relevant")@2', 3 / 4),
        # Recall 1 and 1/4.
        ('Recall(over="geometric")@2', 0.5),
        ('Recall(over="min")@2', 0.25),
        # A user with 0 counts as 0.00001: (1 * 1/4 * 0.00001)^(1/3).
        ('Recall(over="geometric", users="shown")@2', (0.25 * 1e-5) ** (1 / 3)),
        # Users 3 and 4 have no relevant items; user 4 was not shown anything.
        ('Recall(users="listed")@2', 1.25 / 4),
        ('Recall(users="listed", empty="one")@2', 3.25 / 4),
        ('Recall(users="listed", empty="match")@2', 2.25 / 4),
        ('Recall(users="listed", empty="drop")@2', 1.25 / 2),
        ('RPrecision(users="listed", empty="one")', 3.25 / 4),
    ],
)
def test_a_summary_worked_out_by_hand(name, expected):
    assert value(name, USERS, RELEVANT) == pytest.approx(expected)


def test_pooled_users_have_values_of_their_own():
    report = bridgeval.evaluate(USERS, RELEVANT, 'Recall(over="pooled")@2', per_user=True)
    assert report.collected['Recall(over="pooled")@2'].to_dict() == {1: 1.0, 2: 0.25}


def test_only_ratios_can_be_pooled():
    with pytest.raises(BadParameterError, match="cannot be pooled"):
        bridgeval.parse('nDCG(over="pooled")@5')


@pytest.mark.parametrize(
    ("name", "message"),
    [("ERR(max_grade=1)", "above the highest one"), ("DCG(gain=[0, 1])", "a gain for every grade")],
)
def test_grades_that_a_parameter_does_not_know_are_refused(name, message):
    with pytest.raises(BadValueError, match=message):
        value(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [("RBP(p=1.5)", "between 0 and 1"), ("nDCG(gain='cubic')", "choose one of"), ("nDCG(ideal='k')", "needs a cutoff")],
)
def test_parameters_that_make_no_sense_are_refused(name, message):
    with pytest.raises(BadParameterError, match=message):
        bridgeval.parse(name)
