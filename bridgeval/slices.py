"""Slices of users and of items: `sliced`, a report by a table of labels, and functions that make such tables.

A table of users is a mapping user -> label, or a frame with the user id and one or more columns of labels, each of
which is a kind of slice. A table of items is a frame with the item id; `of_items` makes one of a mapping. A slice of
items holds the users who have a relevant item in it; they are measured against these items alone, with the lists that
they were shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bridgeval.engine.metric import Metric
from bridgeval.errors import BadParameterError, BadValueError, InputError
from bridgeval.io.columns import ITEM, USER
from bridgeval.report import Report
from bridgeval.stats.comparison import Settings
from bridgeval.stats.item_slices import ItemSlices, item_slices_of
from bridgeval.stats.paired_values import Pairs, Panel, is_mean_of_users
from bridgeval.stats.slice_results import Slices, slices_of
from bridgeval.tables.history import History
from bridgeval.tables.ids import Ids
from bridgeval.tables.rows import read_rows, to_table
from bridgeval.tables.slice_labels import Labels, read_slice_labels


def sliced(report: Report, by: Any = None, *, alpha: float = 0.05, resamples: int = 2_000, seed: int = 0) -> Slices:
    """The metrics of a report that are means over users, by slices.

    Args:
        report: made with per_user=True; for slices of items with by=.
        by: a mapping user -> label, or a frame with the id of users or items and columns of labels, or several; None is
            what the report was made with.
        alpha: intervals (BCa bootstrap) have confidence 1 - alpha.
        resamples: of the bootstrap.
        seed: of the bootstrap.
    """
    if not report.collected:
        raise InputError(
            "the report has no per-user values to slice",
            f"metrics {', '.join(report.metrics)}",
            "evaluate with per_user=True",
        )
    tables = {name: table for name, table in report.collected.items() if is_mean_of_users(report, name)}
    how = Settings(alpha=alpha, resamples=resamples, seed=seed)
    chosen = report.by if by is None else read_slice_labels(by)
    return all_slices(chosen, Panel.of({"": tables}), {"": report}, [], report.metrics, how)


def all_slices(
    labels: Sequence[Labels],
    panel: Panel,
    reports: Mapping[str, Report],
    pairs: Pairs,
    known: Mapping[str, Metric],
    how: Settings,
) -> Slices:
    """Slices of users, from the values in a panel; then slices of items, from what reports made with by= hold."""
    found = slices_of(panel, members(labels, panel.users), pairs, known, how)
    found = replace(found, left_out=tuple(name for name in known if name not in panel.metrics))
    kinds = [one.kind for one in labels if one.side == "item"]
    return found.and_also(item_slices_of(panel, _item_slices(kinds, panel, reports), pairs, known, how))


def _item_slices(kinds: Sequence[str], panel: Panel, reports: Mapping[str, Report]) -> ItemSlices:
    for system in panel.systems if kinds else ():
        own = {one.kind for one in reports[system].item_slices} if system in reports else set()
        missing = [kind for kind in kinds if kind not in own]
        if missing:
            who = f"system {system!r}" if system else "the report"
            raise InputError(
                f"{who} cannot be sliced by items: the lists are needed, and per-user values do not have them",
                f"no slices by {', '.join(missing)}",
                "evaluate with {argument}, or give recommendations",
                argument="by",
            )
    return {
        system: [one for one in reports[system].item_slices if one.kind in kinds] for system in panel.systems if kinds
    }


def members(labels: Sequence[Labels], users: Ids) -> Iterator[tuple[str, str, npt.NDArray[np.int64]]]:
    """(kind, slice, positions of its users) of slices of users, in the order of the labels; users without come last."""
    for kind in labels:
        if kind.side == "user":
            codes = kind.table.aligned(users)
            for code, label in kind.codes:
                where = np.flatnonzero(codes == code)
                if len(where):
                    yield kind.kind, label, where


def of_items(labels: Mapping[Any, Any], kind: str = "items") -> pa.Table:
    """A table of items from a mapping item -> label.

    >>> of_items({"x": "rock", "y": "jazz"}, "genre").to_pylist()
    [{'item_id': 'x', 'genre': 'rock'}, {'item_id': 'y', 'genre': 'jazz'}]
    """
    return pa.table({"item_id": pa.array(list(labels)), kind: pa.array(list(labels.values()))})


def items_by_history(history: Any, cold: int = 5, columns: Mapping[str, str] | None = None) -> pa.Table:
    """Item -> "cold" (fewer than `cold` different users in the history) or "warm". Items without history: no label.

    >>> items_by_history({1: ["a"], 2: ["a", "b"]}, cold=2).to_pylist()
    [{'item_id': 'a', 'item history': 'warm (>= 2)'}, {'item_id': 'b', 'item history': 'cold (< 2)'}]
    """
    popularity = History.of(read_rows(history, "history", columns)).popularity
    return pa.table({"item_id": popularity.ids.to_arrow(), "item history": _cold_or_warm(popularity.values, cold)})


def items_by_popularity(history: Any, into: int = 10, columns: Mapping[str, str] | None = None) -> pa.Table:
    """Item -> quantile of how many users of the history have it; deciles unless said otherwise."""
    popularity = History.of(read_rows(history, "history", columns)).popularity
    table = pa.table({"item_id": popularity.ids.to_arrow(), "item popularity": popularity.values})
    return in_quantiles(table, into)


def by_history_length(history: Any, cold: int = 5, columns: Mapping[str, str] | None = None) -> pa.Table:
    """User -> "cold" (fewer than `cold` different items in the history) or "warm". Users without history: no label.

    >>> by_history_length({1: ["a"], 2: ["a", "b", "c"]}, cold=2).to_pylist()
    [{'user_id': 1, 'history': 'cold (< 2)'}, {'user_id': 2, 'history': 'warm (>= 2)'}]
    """
    users, counts, _ = _histories(history, columns)
    return pa.table({"user_id": users.to_arrow(), "history": _cold_or_warm(counts, cold)})


def by_popularity(history: Any, into: int = 10, columns: Mapping[str, str] | None = None) -> pa.Table:
    """User -> quantile of how popular the items of the user's history are on average; deciles unless said otherwise."""
    users, counts, popularity = _histories(history, columns)
    return in_quantiles(pa.table({"user_id": users.to_arrow(), "popularity": popularity / counts}), into)


def in_quantiles(table: Any, into: int = 10) -> pa.Table:
    """Cuts the numeric columns of a table into quantiles of equally many rows; deciles unless said otherwise.

    Equal numbers are never parted, so that quantiles may be uneven, or fewer.

    >>> in_quantiles(pa.table({"user_id": [1, 2, 3, 4], "age": [20, 30, 40, 50]}), into=2)["age"].to_pylist()
    ['1 of 2 (20 .. 30)', '1 of 2 (20 .. 30)', '2 of 2 (40 .. 50)', '2 of 2 (40 .. 50)']
    """
    if into < 2:
        raise BadParameterError("quantiles need at least two parts", f"into={into}", "10 gives deciles")
    frame = to_table(table)
    for at, name in enumerate(frame.column_names):
        kind = frame[name].type
        if name.lower() not in (*USER, *ITEM) and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
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


def _histories(
    history: Any, columns: Mapping[str, str] | None
) -> tuple[Ids, npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Users of a history; how many different items each has; the sum of their popularity."""
    had = History.of(replace(read_rows(history, "history", columns), empty=None))
    owners = np.repeat(np.arange(len(had.users)), had.lengths)
    total = np.bincount(owners, had.popularity.values[had.codes], minlength=len(had.users)).astype(np.float64)
    return had.users, had.lengths, total
