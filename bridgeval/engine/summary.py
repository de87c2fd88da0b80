"""Result: the answer of a metric; and the names of the summaries of per-user values."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Literal

from bridgeval.engine.state import UserTable

Over = Literal[
    "mean",
    "sum",
    "variance",
    "median",
    "lower_median",
    "p90",
    "min",
    "max",
    "geometric",
    "pooled",
    "half_width",
    "per_user",
]
Empty = Literal["zero", "one", "match", "drop"]
Lone = Literal["undefined", "zero"]
# The lowest and the highest value; either may be infinite.
Bounds = tuple[float, float]
UNBOUNDED: Bounds = (-math.inf, math.inf)
NEVER_NEGATIVE: Bounds = (0.0, math.inf)
SHARE: Bounds = (0.0, 1.0)
# Summaries that need the moments of the values only, not every user's value.
OF_MOMENTS = ("mean", "sum", "variance", "geometric", "half_width")
# A geometric mean takes values below this one for it, as trec_eval does: one 0 would make the whole mean 0.
LEAST_IN_PRODUCT = 1e-5


@dataclass(frozen=True)
class Result:
    """The result of a metric.

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

    def interval(self, confidence: float = 0.95, bounds: Bounds = UNBOUNDED) -> tuple[float, float] | None:
        """Normal interval of the mean, clipped to the metric's bounds; None where there is no spread to take it from.

        >>> Result(0.5, users=2, deviation=0.5).interval(bounds=SHARE)
        (0.0, 1.0)
        """
        if self.value is None or not self.users or self.deviation is None:
            return None
        half = half_width(self.deviation, self.users, confidence)
        return clip(self.value - half, bounds), clip(self.value + half, bounds)


def clip(value: float, bounds: Bounds) -> float:
    """The value, or the bound that it lies beyond; NaN stays NaN.

    >>> clip(1.2, SHARE), clip(-0.1, SHARE), clip(0.3, SHARE)
    (1.0, 0.0, 0.3)
    """
    low, high = bounds
    return low if value < low else high if value > high else value


def half_width(deviation: float, count: int, confidence: float) -> float:
    """Z * s / sqrt(n).

    >>> round(half_width(1.0, 100, 0.95), 6)
    0.195996
    """
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    return z * deviation / math.sqrt(count) if count > 1 else math.nan
