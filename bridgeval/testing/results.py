"""Comparing results."""

from __future__ import annotations

import math
from typing import Any

from bridgeval.engine.summary import Result

TOLERANCE = 1e-12


def difference(expected: Result, found: Result) -> str:
    """The first difference in words; "" if there is none."""
    pairs: dict[str, tuple[Any, Any]] = {
        name: (getattr(expected, name), getattr(found, name)) for name in ("value", "users", "undefined", "deviation")
    }
    for name in ("parts", "notes"):
        first, second = getattr(expected, name), getattr(found, name)
        if first.keys() != second.keys():
            return f"{name} {sorted(map(str, first.keys() ^ second.keys()))} on one side only"
        pairs |= {f"{name} {key}": (first[key], second[key]) for key in first}
    if expected.per_user is not None and found.per_user is not None:
        first, second = expected.per_user.to_dict(), found.per_user.to_dict()
        if [(type(user), user) for user in first] != [(type(user), user) for user in second]:
            return f"users {list(first)} became {list(second)}"
        pairs |= {f"user {user!r}": (first[user], second[user]) for user in first}
    for name, (one, other) in pairs.items():
        if not are_close(one, other):
            return f"{name} {one!r} became {other!r}"
    return "" if (expected.per_user is None) == (found.per_user is None) else "per-user values on one side only"


def are_close(one: float | None, other: float | None) -> bool:
    """Whether two numbers are equal to 1e-12; NaN equals NaN, and None equals None."""
    if one is None or other is None:
        return one is other
    both_nan = math.isnan(one) and math.isnan(other)
    return both_nan or math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
