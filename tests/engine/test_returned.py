"""What a metric returns is checked where it is used, with the metric's name in the message."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
import torch

import bridgeval
from bridgeval.errors import MetricFailedError
from bridgeval.plugin import Metric, RatioMetric, Result, Sums

SHOWN = {"ann": ["tea", "rum"], "bob": ["gin"]}
RELEVANT = {"ann": ["tea"], "bob": ["rum"]}
ONES = torch.ones(2, dtype=torch.float64)


@dataclass(frozen=True)
class Ratio(RatioMetric):
    name = "Ratio"
    made: Any = None

    def ratio(self, blocks):
        return self.made


@dataclass(frozen=True)
class Returning(Metric):
    name = "Returning"
    state: Any = field(default=None, compare=False)
    result: Any = field(default=None, compare=False)

    def start(self):
        return Sums()

    def update(self, blocks):
        return self.state

    def compute(self, state):
        return self.result


@pytest.mark.parametrize("over", ["mean", "pooled"])
@pytest.mark.parametrize(
    ("ratio", "message"),
    [
        (ONES, r"ratio of Ratio.*@2 must give two things.*found: Tensor of shape \[2\]"),
        ((ONES[:1], ONES), r"the numerator of Ratio.*@2 must be one number for each of 2 users.*of shape \[1\]"),
        ((ONES, ONES[:, None]), r"the denominator of Ratio.*@2 must be .*of shape \[2, 1\]"),
        ((1.0, ONES), "the numerator of Ratio.*@2 must be .*found: float"),
    ],
)
def test_a_ratio_of_a_wrong_shape_is_told(over, ratio, message):
    with pytest.raises(MetricFailedError, match=f"(?s){message}"):
        bridgeval.evaluate(SHOWN, RELEVANT, Ratio(2, over=over, made=ratio))


@pytest.mark.parametrize("below", [2, 2.0, torch.tensor(2.0), ONES * 2])
@pytest.mark.parametrize("over", ["mean", "pooled"])
def test_a_denominator_is_a_number_or_one_for_each_user(over, below):
    metric = Ratio(2, over=over, made=(ONES, below))
    assert list(bridgeval.evaluate(SHOWN, RELEVANT, metric).values()) == [0.5]


@pytest.mark.parametrize(
    ("state", "result", "message"),
    [
        (None, None, "update of Returning.* must give a state.*found: NoneType"),
        (ONES, None, r"update of Returning.* must give a state.*found: Tensor of shape \[2\]"),
        (Sums(), None, "compute of Returning.* must give a Result; found: NoneType"),
        (Sums(), 0.5, "compute of Returning.* must give a Result; found: float"),
        (Sums(), Result("high"), "must give plain numbers: its value is none; found: str"),  # type: ignore[arg-type]
        (Sums(), Result(0.5, {"rock": ONES}), r"numbers: rock is none; found: Tensor of shape \[2\]"),  # type: ignore[dict-item]
    ],
)
def test_a_state_or_a_result_of_a_wrong_type_is_told(state, result, message):
    with pytest.raises(MetricFailedError, match=f"(?s){message}"):
        bridgeval.evaluate(SHOWN, RELEVANT, Returning(state, result))


def test_an_error_in_compute_names_the_metric():
    @dataclass(frozen=True)
    class Dividing(Returning):
        name = "Dividing"

        def compute(self, state):
            return Result(1 / state["none"])

    with pytest.raises(MetricFailedError, match=r"Dividing.* failed in compute.*ZeroDivisionError"):
        bridgeval.evaluate(SHOWN, RELEVANT, Dividing(Sums()))


@pytest.mark.parametrize("error", [RuntimeError, SystemExit])
@pytest.mark.parametrize("method", ["needs", "update", "compute"])
def test_whatever_a_method_raises_names_the_metric(method, error):
    def fail(self, *given):
        raise error("ouch")

    kind = type("Failing", (Returning,), {"name": "Failing", method: fail})
    with pytest.raises(MetricFailedError, match=rf"Failing.* failed .*{error.__name__}: ouch"):
        bridgeval.evaluate(SHOWN, RELEVANT, dataclass(frozen=True)(kind)(Sums()))


@pytest.mark.parametrize("error", [RuntimeError, SystemExit])
def test_whatever_the_merge_of_a_state_raises_names_the_metric(error):
    class Torn(Sums):
        def merge(self, other):
            raise error("ouch")

    with pytest.raises(MetricFailedError, match=rf"Returning.* failed in merge.*{error.__name__}: ouch"):
        bridgeval.evaluate(SHOWN, RELEVANT, Returning(Torn()), batch_size=1)


def test_an_exit_in_a_metric_of_lists_names_the_user():
    class Leaving(bridgeval.ListMetric):
        name = "Leaving"

        def value(self, slate):
            raise SystemExit(3)

    with pytest.raises(MetricFailedError, match=r"Leaving failed for user .*SystemExit: 3"):
        bridgeval.evaluate(SHOWN, RELEVANT, Leaving())
