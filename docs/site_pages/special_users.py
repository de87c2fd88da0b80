"""Values of metrics for users at the edge: no list, nothing relevant, no hit. Measured at each build."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import Any

import bridgeval
from bridgeval import errors
from bridgeval.plugin import Metric

ITEMS = list(ascii_lowercase)
ORDINARY = "an ordinary user"
NO_LIST = "was shown nothing, but has relevant items"
# User -> relevant items with their gains. The ordinary user is there so that no mean is empty.
RELEVANT: dict[str, dict[str, int]] = {
    ORDINARY: {"a": 1, "d": 1},
    NO_LIST: {"a": 1},
    "has no relevant items": {},
    "has rows in the truth, but with gains of 0 only": {"a": 0, "b": 0},
    "was shown no relevant item": {"e": 1},
    "was shown nothing but relevant items": {"a": 1, "b": 1, "c": 1},
    "finds all items of the catalogue relevant": dict.fromkeys(ITEMS, 1),
}


def rank(items: list[str]) -> dict[str, float]:
    return {item: 1 - place / 100 for place, item in enumerate(items)}


def measure(metric: Metric) -> Mapping[str, float | None] | None:
    """User -> value; NaN if undefined, None if the user does not count. None for a metric without values by user.

    Raises:
        BridgevalError: the metric needs something else than these users have.
    """
    try:
        return _measure(metric, 3)
    except errors.NeedError:
        # It reads complete rankings; then there are no users with a list of another kind.
        return _measure(metric, len(ITEMS), [user for user in RELEVANT if user.startswith("was shown")])


def _measure(metric: Metric, depth: int, without: Sequence[str] = ()) -> Mapping[str, float | None] | None:
    shown = {user: rank(ITEMS[:depth]) for user in RELEVANT if user not in (NO_LIST, *without)}
    relevant = {user: gains for user, gains in RELEVANT.items() if gains and user not in without}
    context: dict[str, Any] = {
        "catalogue": ITEMS,
        "history": {user: ["g"] for user in RELEVANT} | {"another user": ITEMS},
        "item_groups": {item: place % 2 for place, item in enumerate(ITEMS)},
        "item_features": {item: ["x", "y"][place % 2] for place, item in enumerate(ITEMS)},
        "user_groups": {user: place % 2 for place, user in enumerate(RELEVANT)},
        "prev_scores": shown,
        "context": {"visits": dict.fromkeys(RELEVANT, 1)},
        "baseline": {user: rank(ITEMS[1 : depth + 1]) for user in RELEVANT},
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.BridgevalWarning)
        report = bridgeval.evaluate(shown, relevant, metric, per_user=True, mask_seen=False, progress=False, **context)
    tables = list(report.collected.values())
    if not tables:
        return None
    values = tables[0].to_dict()
    return {user: values.get(user) for user in RELEVANT if user not in without}


def describe(values: Mapping[str, float | None]) -> list[tuple[str, str]]:
    """Rows of a table: a kind of user, and what they get."""
    return [(user, _describe(value)) for user, value in values.items() if user != ORDINARY]


def _describe(value: float | None) -> str:
    if value is None:
        return "not counted"
    if math.isnan(value):
        return "no value: undefined, left out of the mean"
    return "0" if value == 0 else f"a value, here {value:.4g}"
