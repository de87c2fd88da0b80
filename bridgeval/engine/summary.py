"""Summaries: from per-user values to a result. The parameter `over` of every per-user metric names one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any, Literal

from bridgeval.engine.state import Collected, Floats, Moments, UserTable
from bridgeval.tables.ids import Ids

Over = Literal["mean", "median", "lower_median", "max", "half_width", "per_user"]
Lone = Literal["undefined", "zero"]
# Summaries that need no single user's value.
OF_MOMENTS = ("mean", "half_width")


@dataclass(frozen=True)
class Result:
    """What a metric came to.

    Attributes:
        value: the headline number; NaN where undefined; None for metrics that only have parts.
        parts: named numbers, e.g. one per cluster.
        users: how many users the value was taken over; None where it is not taken over users.
        undefined: users that count but have no value.
        deviation: sample standard deviation of the per-user values.
        per_user: the values themselves, when they were collected.
        notes: counts that help to trust the value, e.g. pairs without a prediction.
    """

    value: float | None
    parts: dict[str, float] = field(default_factory=dict)
    users: int | None = None
    undefined: int = 0
    deviation: float | None = None
    per_user: UserTable | None = None
    notes: dict[str, float] = field(default_factory=dict)

    def numbers(self, name: str) -> dict[str, float]:
        """The value under a metric's name and the parts as `name[part]`.

        >>> Result(0.5, parts={"rock": 0.2}).numbers("REO@5")
        {'REO@5': 0.5, 'REO@5[rock]': 0.2}
        """
        value = {} if self.value is None else {name: self.value}
        return value | {f"{name}[{part}]": number for part, number in self.parts.items()}

    def interval(self, confidence: float = 0.95) -> tuple[float, float] | None:
        """Normal interval of the mean; None where there is no spread to take it from."""
        if self.value is None or not self.users or self.deviation is None:
            return None
        half = half_width(self.deviation, self.users, confidence)
        return self.value - half, self.value + half


def half_width(deviation: float, count: int, confidence: float) -> float:
    """Z * s / sqrt(n).

    >>> round(half_width(1.0, 100, 0.95), 6)
    0.195996
    """
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    return z * deviation / math.sqrt(count) if count > 1 else math.nan


def start(over: Over) -> Moments | Collected:
    return Moments() if over in OF_MOMENTS else Collected()


def state_of(over: Over, users: Ids, values: Floats) -> Moments | Collected:
    """The state of one batch."""
    if over in OF_MOMENTS:
        return Moments.of(values)
    return Collected(((users, values),)) if len(values) else Collected()


def result_of(over: Over, state: Any, confidence: float = 0.95, lone: Lone = "undefined") -> Result:
    """The result of all; `lone` is the half width of a single value, which has no spread."""
    if over in OF_MOMENTS:
        value = state.mean if state.count else math.nan
        deviation = state.deviation
        if over == "half_width":
            alone = lone == "zero" and state.count == 1
            value = 0.0 if alone else half_width(deviation, state.count, confidence)
            deviation = None
        return Result(value, users=state.count, undefined=state.undefined, deviation=deviation)
    table = state.table()
    result = Result(None, users=table.defined, undefined=table.undefined)
    if over == "per_user":
        return replace(result, per_user=table)
    value = table.largest() if over == "max" else table.median(lower=over == "lower_median")
    return replace(result, value=value)


def summarize(over: Over, users: Ids, values: Floats) -> Result:
    """The result of values that users already have.

    >>> import numpy as np
    >>> summarize("mean", Ids.of([1, 2], "users"), np.array([0.0, 1.0])).value
    0.5
    """
    return result_of(over, state_of(over, users, values))
