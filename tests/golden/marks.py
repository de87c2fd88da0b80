"""Golden numbers that know where they stand, so that the runner can tell which of them nobody compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Place = tuple[str | int, ...]
NOT_FINITE = ("nan", "inf", "-inf")


class MarkedFloat(float):
    place: Place


class MarkedInt(int):
    place: Place


def marked(value: Any, is_output: Callable[[Place], bool], place: Place = ()) -> Any:
    """A copy of a document whose numbers, where `is_output(place)`, know their place.

    >>> marked({"k": 5, "mean": [0.5, "nan"]}, lambda place: "mean" in place)["mean"][1].place
    ('mean', 1)
    """
    if isinstance(value, dict):
        return {key: marked(inner, is_output, (*place, key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [marked(inner, is_output, (*place, at)) for at, inner in enumerate(value)]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number or value in NOT_FINITE) or not is_output(place):
        return value
    number: Any = MarkedInt(value) if isinstance(value, int) else MarkedFloat(value)
    number.place = place
    return number


def places(document: Any) -> set[Place]:
    """The places of all marked numbers."""
    return {number.place for number in _numbers(document)}


def _numbers(value: Any) -> Iterator[Any]:
    if isinstance(value, MarkedFloat | MarkedInt):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _numbers(inner)
