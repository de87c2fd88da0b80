"""RePlay's modes: the summaries of the users' values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bridgeval.errors import BadParameterError
from bridgeval.plugin import Over, Result, half_width
from bridgeval.toolkits.replay.loader import FrameRules


class CalculationDescriptor:
    """The base of an author's mode: define `cpu(values)`; the class name becomes part of the result's key.

    `cpu` gets a numpy array of the users' values; for polars frames it gets a polars frame of one column.
    """

    def cpu(self, distribution: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define cpu(distribution)")

    @property
    def key(self) -> str:
        return f"-{type(self).__name__}"

    def over(self, rules: FrameRules) -> Over:
        """The native summary that `value` reads."""
        return "per_user"

    def value(self, result: Result, rules: FrameRules) -> Any:
        """The value that the metric returns."""
        values = result.per_user.values if result.per_user is not None else np.zeros(0)
        if rules.name != "polars":
            return self.cpu(values)
        import polars

        return self.cpu(polars.DataFrame({"value": values}))


class Mean(CalculationDescriptor):
    """The arithmetic mean."""

    @property
    def key(self) -> str:
        return ""

    def over(self, rules: FrameRules) -> Over:
        return "mean"

    def value(self, result: Result, rules: FrameRules) -> float:
        return _number(result)


class Median(CalculationDescriptor):
    """The median; on Spark frames the lower of the two middle values."""

    def over(self, rules: FrameRules) -> Over:
        return rules.median

    def value(self, result: Result, rules: FrameRules) -> float:
        return _number(result)


class ConfidenceInterval(CalculationDescriptor):
    """Half the width of the normal interval of the mean: its bounds are mean - value and mean + value.

    Args:
        alpha: the confidence, e.g. 0.95.
    """

    def __init__(self, alpha: float) -> None:
        if not 0 < alpha < 1:
            raise BadParameterError(
                "alpha is the confidence of the interval, between 0 and 1", f"{alpha}", "0.95 is usual"
            )
        self.alpha = alpha

    def over(self, rules: FrameRules) -> Over:
        return "mean"

    def value(self, result: Result, rules: FrameRules) -> float:
        if result.deviation is None or result.undefined:
            return math.nan
        if result.users == 1:
            return rules.lone_half_width
        deviation = float(np.float32(result.deviation)) if rules.rounds_deviation else result.deviation
        return half_width(deviation, result.users or 0, self.alpha)


class PerUser(CalculationDescriptor):
    """The values themselves, by user."""

    def value(self, result: Result, rules: FrameRules) -> dict[Any, float]:
        return {} if result.per_user is None else result.per_user.to_dict()


def _number(result: Result) -> float:
    """As in numpy, one undefined value makes the summary undefined."""
    return math.nan if result.undefined or result.value is None else result.value
