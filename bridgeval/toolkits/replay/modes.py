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
        raise NotImplementedError(f"{self.__name__} must define cpu(distribution)")

    @property
    def __name__(self) -> str:
        return name_class(self)

    @property
    def key(self) -> str:
        """The mode's part of a result's key."""
        return "" if self.__name__ == "Mean" else f"-{self.__name__}"

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


class _Native(CalculationDescriptor):
    """A mode that the engine computes; a subclass that redefines `cpu` is an author's mode like any other."""

    def over(self, rules: FrameRules) -> Over:
        return super().over(rules) if self._is_redefined else self._native_over(rules)

    def value(self, result: Result, rules: FrameRules) -> Any:
        return super().value(result, rules) if self._is_redefined else self._native_value(result, rules)

    @property
    def _is_redefined(self) -> bool:
        return type(self).cpu.__module__ != __name__

    def _native_over(self, rules: FrameRules) -> Over:
        return "mean"

    def _native_value(self, result: Result, rules: FrameRules) -> Any:
        # As in numpy, one undefined value makes the summary undefined.
        return math.nan if result.undefined or result.value is None else result.value


class Mean(_Native):
    """The arithmetic mean."""

    def cpu(self, distribution: Any) -> float:
        return float(np.mean(np.asarray(distribution)))


class Median(_Native):
    """The median; on Spark frames the lower of the two middle values."""

    def cpu(self, distribution: Any) -> float:
        return float(np.median(np.asarray(distribution)))

    def _native_over(self, rules: FrameRules) -> Over:
        return rules.median


class ConfidenceInterval(_Native):
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

    def cpu(self, distribution: Any) -> float:
        values = np.asarray(distribution)
        return half_width(float(np.std(values, ddof=1)), values.size, self.alpha)

    def _native_value(self, result: Result, rules: FrameRules) -> float:
        if result.deviation is None or result.undefined:
            return math.nan
        if result.users == 1:
            return rules.lone_half_width
        deviation = float(np.float32(result.deviation)) if rules.rounds_deviation else result.deviation
        return half_width(deviation, result.users or 0, self.alpha)


class PerUser(_Native):
    """The values themselves, by user."""

    def cpu(self, distribution: Any) -> Any:
        return distribution

    def _native_over(self, rules: FrameRules) -> Over:
        return "per_user"

    def _native_value(self, result: Result, rules: FrameRules) -> dict[Any, float]:
        return {} if result.per_user is None else result.per_user.to_dict()


def name_class(of: object) -> str:
    """The name of an object's class. A type checker takes `type(self).__name__` for the property of that name."""
    return type(of).__name__
