"""Slices of users and of items: `sliced` slices a report by a table of labels; the other functions make such tables.

A table of users is a mapping user -> label, or a frame with the user id and one or more columns of labels, each of
which is a kind of slice. A table of items is a frame with the item id; `of_items` makes one from a mapping. A slice of
items holds the users who have a relevant item in it; they are evaluated against these items alone, with the lists that
they were shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bridgeval.errors import BadParameterError, BadValueError
from bridgeval.io.columns import ITEM, USER, Chosen, find_named
from bridgeval.io.frames import to_table
from bridgeval.report.report import sliced
from bridgeval.tables.history import History
from bridgeval.tables.ids import Ids
from bridgeval.tables.rows import read_rows

__all__ = [
    "by_history_length",
    "by_popularity",
    "in_quantiles",
    "items_by_history",
    "items_by_popularity",
    "of_items",
    "sliced",
]


def of_items(labels: Mapping[Any, Any], kind: str = "items") -> pa.Table:
    """A table of items from a mapping item -> label.

    >>> of_items({"x": "rock", "y": "jazz"}, "genre").to_pylist()
    [{'item_id': 'x', 'genre': 'rock'}, {'item_id': 'y', 'genre': 'jazz'}]
    """
    return pa.table({"item_id": pa.array(list(labels)), kind: pa.array(list(labels.values()))})


def items_by_history(history: Any, cold: int = 5, columns: Mapping[str, str | None] | None = None) -> pa.Table:
    """Item -> "cold" (fewer than `cold` different users in the history) or "warm". Items without history: no label.

    >>> items_by_history({1: ["a"], 2: ["a", "b"]}, cold=2).to_pylist()
    [{'item_id': 'a', 'item history': 'warm (>= 2)'}, {'item_id': 'b', 'item history': 'cold (< 2)'}]
    """
    popularity = History.of(read_rows(history, "history", columns)).popularity
    return pa.table({"item_id": popularity.ids.to_arrow(), "item history": _cold_or_warm(popularity.values, cold)})


def items_by_popularity(history: Any, into: int = 10, columns: Mapping[str, str | None] | None = None) -> pa.Table:
    """Item -> quantile of how many users of the history have it; deciles by default."""
    popularity = History.of(read_rows(history, "history", columns)).popularity
    table = pa.table({"item_id": popularity.ids.to_arrow(), "item popularity": popularity.values})
    return in_quantiles(table, into)


def by_history_length(history: Any, cold: int = 5, columns: Mapping[str, str | None] | None = None) -> pa.Table:
    """User -> "cold" (fewer than `cold` different items in the history) or "warm". Users without history: no label.

    >>> by_history_length({1: ["a"], 2: ["a", "b", "c"]}, cold=2).to_pylist()
    [{'user_id': 1, 'history': 'cold (< 2)'}, {'user_id': 2, 'history': 'warm (>= 2)'}]
    """
    users, counts, _ = _histories(history, columns)
    return pa.table({"user_id": users.to_arrow(), "history": _cold_or_warm(counts, cold)})


def by_popularity(history: Any, into: int = 10, columns: Mapping[str, str | None] | None = None) -> pa.Table:
    """User -> quantile of how popular the items of the user's history are on average; deciles by default."""
    users, counts, popularity = _histories(history, columns)
    return in_quantiles(pa.table({"user_id": users.to_arrow(), "popularity": popularity / counts}), into)


def in_quantiles(table: Any, into: int = 10) -> pa.Table:
    """Cuts the numeric columns of a table into quantiles of equally many rows; deciles by default.

    Equal numbers are never separated, so quantiles may be uneven, or fewer.

    >>> in_quantiles(pa.table({"user_id": [1, 2, 3, 4], "age": [20, 30, 40, 50]}), into=2)["age"].to_pylist()
    ['1 of 2 (20 .. 30)', '1 of 2 (20 .. 30)', '2 of 2 (40 .. 50)', '2 of 2 (40 .. 50)']
    """
    if into < 2:
        raise BadParameterError("quantiles need at least two parts", f"into={into}", "10 gives deciles")
    frame = to_table(table)
    for at, name in enumerate(frame.column_names):
        kind = frame[name].type
        if not find_named([name], (*USER, *ITEM)) and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            frame = frame.set_column(at, name, pa.array(_quantile_labels(frame[name], name, into)))
    return frame


def _cold_or_warm(counts: npt.NDArray[Any], cold: int) -> list[str]:
    return np.where(counts < cold, f"cold (< {cold})", f"warm (>= {cold})").tolist()


def _quantile_labels(column: pa.ChunkedArray, name: str, into: int) -> list[str]:
    values = column.to_numpy().astype(np.float64)
    if np.isnan(values).any():
        raise BadValueError(
            f"the column {name!r} has {int(np.isnan(values).sum())} missing value(s)", hint="drop these rows first"
        )
    edges = np.quantile(values, np.arange(1, into) / into, method="lower")
    part = np.searchsorted(edges, values, side="left")
    width = len(str(into))
    labels = {
        int(p): f"{p + 1:0{width}d} of {into} ({values[part == p].min():g} .. {values[part == p].max():g})"
        for p in np.unique(part)
    }
    return [labels[int(p)] for p in part]


def _histories(history: Any, columns: Chosen | None) -> tuple[Ids, npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Users of a history; how many different items each has; the sum of their popularity."""
    had = History.of(replace(read_rows(history, "history", columns), empty=None))
    owners = np.repeat(np.arange(len(had.users)), had.lengths)
    total = np.bincount(owners, had.popularity.values[had.codes], minlength=len(had.users)).astype(np.float64)
    return had.users, had.lengths, total
