"""Slices of users: tables that say who belongs where, and `sliced`, a report by such a table.

A table of users is a mapping user -> label, or a frame with the user id and one or more columns of labels, each of
which is a kind of slice. `by_history_length`, `by_popularity` and `in_quantiles` make such tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bridgeval.data.columns import USER
from bridgeval.data.context import Table
from bridgeval.data.ids import Ids, encode
from bridgeval.data.rows import as_table, is_frame, rows_of
from bridgeval.data.tables import groups_of, popularity_of
from bridgeval.errors import BadParameterError, BadValueError, InputError, MissingColumnError
from bridgeval.report import Report
from bridgeval.report.comparison import Settings
from bridgeval.report.panel import Panel
from bridgeval.report.slices import Slices, slices_of

UNLABELLED = "(no label)"


def sliced(report: Report, by: Any, *, alpha: float = 0.05, resamples: int = 2_000, seed: int = 0) -> Slices:
    """The per-user metrics of a report by slices of users.

    Args:
        report: made with per_user=True.
        by: a mapping user -> label, or a frame with the user id and columns of labels.
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
    panel = Panel.of({"": report.collected})
    return slices_of(
        panel, members(by, panel.users), [], report.metrics, Settings(alpha=alpha, resamples=resamples, seed=seed)
    )


def members(by: Any, users: Ids) -> Iterator[tuple[str, str, npt.NDArray[np.int64]]]:
    """(kind, slice, positions of its users) in the order of the labels; users without one come last."""
    for kind, table in _tables(by):
        codes = table.aligned(users)
        for code, label in [*enumerate(table.labels, start=1), (0, UNLABELLED)]:
            where = np.flatnonzero(codes == code)
            if len(where):
                yield kind, str(label), where


def _tables(by: Any) -> Iterator[tuple[str, Table]]:
    if not is_frame(by):
        yield "slice", groups_of(by, "user")
        return
    frame = as_table(by)
    ids = [name for name in frame.column_names if name.lower() in USER]
    if len(ids) != 1 or len(frame.column_names) < 2:
        raise MissingColumnError(
            "by= must have one column with the user id and at least one with labels",
            f"columns {frame.column_names}",
            f"rename the user id to {USER[0]!r}",
        )
    for name in frame.column_names:
        if name != ids[0]:
            yield name, groups_of(frame.select([ids[0], name]), "user")


def by_history_length(history: Any, cold: int = 5, columns: Mapping[str, str] | None = None) -> pa.Table:
    """User -> "cold" (fewer than `cold` different items in the history) or "warm". Users without history: no label.

    >>> by_history_length({1: ["a"], 2: ["a", "b", "c"]}, cold=2).to_pylist()
    [{'user_id': 1, 'history': 'cold (< 2)'}, {'user_id': 2, 'history': 'warm (>= 2)'}]
    """
    users, counts, _ = _histories(history, columns)
    labels = np.where(counts < cold, f"cold (< {cold})", f"warm (>= {cold})")
    return pa.table({"user_id": users.to_arrow(), "history": labels.tolist()})


def by_popularity(history: Any, into: int = 10, columns: Mapping[str, str] | None = None) -> pa.Table:
    """User -> quantile of how popular the items of the user's history are on average; deciles unless said otherwise."""
    users, counts, popularity = _histories(history, columns)
    return in_quantiles(pa.table({"user_id": users.to_arrow(), "popularity": popularity / counts}), into)


def in_quantiles(table: Any, into: int = 10) -> pa.Table:
    """Cuts the numeric columns of a frame of users into quantiles of equally many users; deciles unless said otherwise.

    Equal numbers are never parted, so that quantiles may be uneven, or fewer.

    >>> in_quantiles(pa.table({"user_id": [1, 2, 3, 4], "age": [20, 30, 40, 50]}), into=2)["age"].to_pylist()
    ['1 of 2 (20 .. 30)', '1 of 2 (20 .. 30)', '2 of 2 (40 .. 50)', '2 of 2 (40 .. 50)']
    """
    if into < 2:
        raise BadParameterError("quantiles need at least two parts", f"into={into}", "10 gives deciles")
    frame = as_table(table)
    for at, name in enumerate(frame.column_names):
        kind = frame[name].type
        if name.lower() not in USER and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            frame = frame.set_column(at, name, pa.array(_quantile_labels(frame[name], name, into)))
    return frame


def _quantile_labels(column: pa.ChunkedArray, name: str, into: int) -> list[str]:
    values = column.to_numpy().astype(np.float64)
    if np.isnan(values).any():
        raise BadValueError(
            f"the column {name!r} has {int(np.isnan(values).sum())} missing value(s)", hint="drop these users first"
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
    rows = rows_of(history, "history", columns)
    users, (user_codes,) = encode([rows.owners])
    items, (item_codes,) = encode([rows.items])
    pairs = np.unique(user_codes.astype(np.int64) * max(len(items), 1) + item_codes)
    own, item = pairs // max(len(items), 1), pairs % max(len(items), 1)
    popularity = popularity_of(rows)[0].values
    total = np.bincount(own, popularity[item], minlength=len(users)).astype(np.float64)
    return users, np.bincount(own, minlength=len(users)).astype(np.int64), total
