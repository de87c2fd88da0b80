"""Comparison of groups: measures of their shares or means, and the result that names each group's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from bridgeval.engine.state import Floats, Tally
from bridgeval.engine.summary import Result

Unassigned = Literal["skip", "group"]
Undefined = Literal["nan", "zero"]


def spread(shares: Floats) -> float | None:
    """Standard deviation over mean, of the shares that are defined; None below two of them and for a mean of 0.

    >>> spread(np.array([0.5, 0.25, np.nan])) == 0.125 / 0.375
    True
    """
    defined = shares[~np.isnan(shares)]
    if len(defined) < 2 or not defined.mean():
        return None
    return float(defined.std() / defined.mean())


def mean_gap(means: Floats) -> float | None:
    """Mean absolute difference over all pairs of the means that are defined; None below two of them.

    >>> mean_gap(np.array([1.0, 4.0, 2.0, np.nan]))  # |1-4| + |1-2| + |4-2|, over 3 pairs
    2.0
    """
    defined = means[~np.isnan(means)]
    count = len(defined)
    if count < 2:
        return None
    with np.errstate(invalid="ignore"):
        gaps = np.abs(defined[:, None] - defined)
    # The difference of an infinite mean and itself is NaN.
    np.fill_diagonal(gaps, 0)
    return float(gaps.sum() / (count * (count - 1)))


def divide(above: Any, below: Any) -> Floats:
    """Above / below, NaN where below is 0."""
    above, below = np.asarray(above, np.float64), np.asarray(below, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below == 0, np.nan, above / below)


def compare_groups(
    state: Tally, measure: Callable[[Floats], float | None], undefined: Undefined, unassigned: Unassigned = "skip"
) -> Result:
    """A measure of the groups' shares, with the share of each labeled group as a part.

    Args:
        state: sums `found` and `there` `[G + 1]`, the unassigned first; fact `labels` `[G]`.
        measure: of the shares found / there; None if there is nothing to compare.
        undefined: the value if there is nothing to compare.
        unassigned: whether items or users without a label are compared as a group.
    """
    labels = state.facts.get("labels", ())
    shares = divide(state.sums["found"], np.broadcast_to(state.sums["there"], len(labels) + 1))
    value = measure(shares if unassigned == "group" else shares[1:])
    if value is None:
        value = 0.0 if undefined == "zero" else float("nan")
    parts = {str(label): float(share) for label, share in zip(labels, shares[1:], strict=True)}
    return Result(value, parts, users=state.sums["users"])
