"""Slice labels: tables with the slice of each user or item."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from bridgeval.errors import BadParameterError, BadValueError, MissingColumnError
from bridgeval.io.columns import ITEM, USER, find_named
from bridgeval.io.frames import is_frame, is_spark_frame, to_table
from bridgeval.tables.context import Table
from bridgeval.tables.groups import read_groups

UNLABELLED = "(no label)"
Side = Literal["user", "item"]
# A label that begins with a number, and what says that the number is an upper or a lower bound.
BELOW, ABOVE = "<=|<|≤|under|below|up to|less than", ">=|>|≥|over|above|more than|from"
NUMBER = re.compile(rf"(?:({BELOW})|({ABOVE}))?\s*(\d+(?:\.\d+)?)", re.IGNORECASE)
DIGITS = re.compile(r"(\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class Labels:
    """One kind of slice.

    Attributes:
        kind: its name: that of the column.
        side: whether users or items have the labels.
        table: codes of the labels by id; 0 for none.
    """

    kind: str
    side: Side
    table: Table

    @property
    def codes(self) -> list[tuple[int, str]]:
        """(code, label) in the natural order of the labels; what has none comes last."""
        named = [(code, str(label)) for code, label in enumerate(self.table.labels, start=1)]
        return [*sorted(named, key=lambda pair: order_label(pair[1])), (0, UNLABELLED)]


def order_label(label: str) -> tuple[Any, ...]:
    """A sort key: labels by the number that they begin with, "<20" before "20-30"; then text, "day 2" before "day 10".

    >>> sorted(["21-30", ">50", "<=20", "31-50", "100+"], key=order_label)
    ['<=20', '21-30', '31-50', '>50', '100+']
    >>> sorted(["week 10", "week 2", "7"], key=order_label)
    ['7', 'week 2', 'week 10']
    """
    texts = DIGITS.split(label.lower())
    parts = tuple((text, float(number)) for text, number in zip(texts[::2], [*texts[1::2], "-1"], strict=True))
    begins = NUMBER.match(label.strip())
    if begins is None:
        return (1, 0.0, 0, parts)
    below, above, number = begins.groups()
    return (0, float(number), -1 if below else 1 if above else 0, parts)


def read_slice_labels(by: Any) -> tuple[Labels, ...]:
    """Reads the kinds of slices in a table, or in several.

    Args:
        by: a mapping user -> label; or a frame with the id of users or of items and columns of labels, each a kind of
            slice; or a list of these. Frames of Spark are collected.

    >>> import pyarrow as pa
    >>> genres = pa.table({"item_id": ["a"], "genre": ["rock"]})
    >>> [(one.kind, one.side) for one in read_slice_labels([{7: "new"}, genres])]
    [('slice', 'user'), ('genre', 'item')]
    """
    if isinstance(by, tuple) and all(isinstance(one, Labels) for one in by):
        return by
    tables = by if isinstance(by, list | tuple) else [by]
    found = tuple(labels for table in tables for labels in _read_table(table))
    kinds = [labels.kind for labels in found]
    twice = next((kind for kind in kinds if kinds.count(kind) > 1), None)
    if twice is not None:
        raise BadParameterError(
            f"two kinds of slices are called {twice!r}", f"kinds {', '.join(kinds)}", "rename a column"
        )
    return found


def _read_table(table: Any) -> Iterator[Labels]:
    if is_spark_frame(table):
        # Labels are small, and every executor needs them.
        table = table.toArrow()
    for label in table.values() if isinstance(table, Mapping) else ():
        if isinstance(label, list | dict | set):
            raise _refuse_several("of the slices", "user", repr(label))
    if isinstance(table, Mapping) or not is_frame(table):
        yield Labels("slice", "user", read_groups(table, "user", "the slices"))
        return
    frame = to_table(table)
    aliases: dict[Side, tuple[str, ...]] = {"user": USER, "item": ITEM}
    ids = [(side, name) for side in aliases for name in find_named(frame.column_names, aliases[side])]
    if len(ids) != 1 or len(frame.column_names) < 2:
        raise MissingColumnError(
            "a table of slices must have one column with the user id or the item id, and at least one with labels",
            f"columns {frame.column_names}",
            f"rename the id to {USER[0]!r} or {ITEM[0]!r}",
            argument="by",
        )
    ((side, own),) = ids
    for name in frame.column_names:
        if name != own:
            if pa.types.is_nested(frame[name].type):
                raise _refuse_several(f"in the column {name!r} of the slices", side, f"type {frame[name].type}")
            yield Labels(name, side, read_groups(frame.select([own, name]), side, f"{name!r} of the slices"))


def _refuse_several(where: str, side: Side, found: str) -> BadValueError:
    return BadValueError(
        f"the labels {where} are lists, but each {side} has one label of a kind",
        found,
        "give one label, or a yes or no column for each of several",
        argument="by",
    )
