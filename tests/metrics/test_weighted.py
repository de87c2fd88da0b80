"""Means over users with weights, by hand."""

from __future__ import annotations

import math

import pytest

import bridgeval
import bridgeval.metrics
from bridgeval.errors import BadParameterError, BadValueError, MissingContextWarning, NeedError

SHOWN = {1: ["a", "b"], 2: ["b", "a"], 3: ["c"], 4: ["a"]}
TRUTH = {1: ["a"], 2: ["a"], 3: ["a"]}
VISITS = {1: 3.0, 2: 1.0, 3: 4.0, 4: 2.0}


def ask(metric, visits=VISITS, **more):
    return bridgeval.evaluate(SHOWN, TRUTH, metric, context={"visits": visits}, **more)


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        # Users 1 to 3 have the reciprocal ranks 1, 1/2 and 0.
        ('metric="MRR", weight="visits")@2', (3 * 1 + 1 / 2) / (3 + 1 + 4)),
        ('metric="MRR@2", weight="visits")', (3 * 1 + 1 / 2) / (3 + 1 + 4)),
        # User 4 has no relevant item: 0, or 1 with the weight 2, or 1 as it is.
        ('metric="MRR(users=\\"shown\\")", weight="visits")@2', (3 * 1 + 1 / 2) / (3 + 1 + 4 + 2)),
        ('metric="MRR(users=\\"shown\\", empty=\\"one\\")", weight="visits")@2', (3 + 1 / 2 + 2) / 10),
        (
            'metric="MRR(users=\\"shown\\", empty=\\"one\\")", weight="visits", weigh_empty=False)@2',
            (3 + 1 / 2 + 1) / 10,
        ),
        # XGBoost's own spelling inside: with the suffix "-" user 4 is worth 0.
        ('metric="xgboost:map@2", weight="visits")', (3 + 1 / 2 + 2) / 10),
        ('metric="xgboost:map@2-", weight="visits")', (3 + 1 / 2) / 10),
    ],
)
def test_values_by_hand(metric, value):
    assert math.isclose(*ask(f"WeightedMean({metric}").values(), value, rel_tol=1e-12)


def test_a_user_without_a_weight_has_no_value():
    name = 'WeightedMean(metric="MRR", weight="visits")@2'
    with pytest.warns(MissingContextWarning, match="2 of 4 users have no 'visits'"):
        report = ask(name, {1: 3.0, 2: 1.0})
    assert report[name] == (3 + 1 / 2) / 4
    assert (report.results[name].users, report.results[name].undefined) == (2, 1)


def test_weights_of_zero_alone_have_no_mean():
    name = 'WeightedMean(metric="MRR", weight="visits")@2'
    assert math.isnan(ask(name, dict.fromkeys(VISITS, 0.0))[name])


def test_what_cannot_be_a_weight_is_refused():
    name = 'WeightedMean(metric="MRR", weight="visits")@2'
    with pytest.raises(BadValueError, match="1 user"):
        ask(name, {**VISITS, 2: -1.0})
    with pytest.raises(BadValueError, match="labels in the table 'visits'"):
        ask(name, dict.fromkeys(VISITS, "often"))
    with pytest.raises(NeedError, match="'visits' of each user"):
        bridgeval.evaluate(SHOWN, TRUTH, name)
    with pytest.raises(BadParameterError, match="Gini@2, a metric with one value for all"):
        bridgeval.parse('WeightedMean(metric="Gini", weight="visits")@2')
    with pytest.raises(BadParameterError, match=r"needs 'weight'; hint: add weight=... to its parameters"):
        bridgeval.parse('WeightedMean(metric="MRR")@2')
    with pytest.raises(BadParameterError, match="needs the name of a table"):
        bridgeval.parse('WeightedMean(metric="MRR", weight="")@2')


@pytest.mark.parametrize("given", [{"label": 3}, {"weigh_empty": "no"}, {"weight": None}, {"metric": "nDCG"}, {"k": 0}])
def test_parameters_of_wrong_types_are_refused(given):
    with pytest.raises(BadParameterError, match="WeightedMean"):
        bridgeval.metrics.WeightedMean(**{"metric": bridgeval.metrics.nDCG(2), "weight": "visits", **given})


def test_the_direction_is_that_of_the_metric_inside():
    up, down = (bridgeval.parse(f'WeightedMean(metric="{one}", weight="visits")')[0] for one in ("MRR@2", "RMSE"))
    assert up.higher_is_better is True
    assert down.higher_is_better is False
