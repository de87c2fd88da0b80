"""Libraries in which equal scores have no order: whom that touches, and between which values a number must lie then.

An unstable sort decides about a number only where a group of equal scores reaches into the first k places and its rows
are not alike. All other users are compared as if they had no equal scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

from bridgeval.engine.metric import Metric
from tests.golden.peer_feeds import Person

ACCIDENT = "equal scores have no order there: an unstable sort or top-k (README of the goldens, more-conventions.md 6)"
# Whether rows of a score have no order in the list of a user.
NoOrder = Callable[[Person, float], bool]
# What stands in the first k places counts there, not whether it is relevant.
OF_ITEMS = {"ItemCoverage", "PropensityHits", "IntraListDistance"}
# A relevant row that moves up never lowers these; or, of some, never raises them.
MONOTONE = {"Precision", "Recall", "F1", "HitRate", "MRR", "MAP", "nDCG", "DCG", "RPrecision", "FallOut", "RBP", "ERR"}
# Values of parameters with which the denominator depends on the order too.
MOVING = {"hits", "found"}


def find_bounds(metric: Metric) -> tuple[Metric, ...]:
    """The metric with irrelevant rows first, and with relevant ones first; nothing if others may lie beyond them."""
    given: dict[str, Any] = metric.parameters
    moving = MOVING & {given.get(name) for name in ("divide_by", "ideal", "mean_of")}
    if metric.name not in MONOTONE or moving or given.get("missed", "zero") != "zero":
        return ()
    return tuple(metric.with_parameters(ties=ties, label=None) for ties in ("pessimistic", "optimistic"))


def may_decide(one: Person, metric: Metric, no_order: NoOrder) -> bool:
    """Whether the order of a user's equal scores can change the value."""
    k = metric.cutoff or len(one.shown)
    groups = [(start, end, gains) for score, start, end, gains in _group_ties(one) if no_order(one, score)]
    if metric.name in OF_ITEMS:
        return any(start < k < end for start, end, _ in groups)
    return any(start < k and len(gains) > 1 for start, _, gains in groups)


def never_stable(one: Person, score: float) -> bool:
    return True


def _group_ties(one: Person) -> Iterator[tuple[float, int, int, set[float]]]:
    """(score, first row, row after the last, gains) of the rows of each score, the highest first."""
    gains, start = dict(one.truth), 0
    ranked = sorted(one.shown, key=lambda row: -row[1])
    for score, rows in groupby(ranked, key=lambda row: row[1]):
        items = [item for item, _ in rows]
        yield score, start, start + len(items), {max(gains.get(item, 0.0), 0.0) for item in items}
        start += len(items)


def agree(low: float, high: float) -> bool:
    return math.isclose(low, high, rel_tol=1e-12, abs_tol=1e-12) or (math.isnan(low) and math.isnan(high))
