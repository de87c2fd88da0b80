"""Slates: the lists of many users in columns. A loader yields them; everything after it reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from bridgeval.errors import BadValueError
from bridgeval.parallel import run_all
from bridgeval.tables.encoding import encode_ids
from bridgeval.tables.grouping import Grouping, group_by_user
from bridgeval.tables.ids import Codes, Ids
from bridgeval.tables.pair_column import PairColumn
from bridgeval.tables.rows import Floats, Rows

Column = npt.NDArray[Any]
ListOrder = Literal["score", "rank", "given"]


@dataclass(frozen=True)
class Lists:
    """One list for each of U users, one after another (CSR).

    Attributes:
        offsets: `[U + 1]`; user u's rows are `offsets[u]:offsets[u + 1]`.
        items: `[n]` codes into the vocabulary of the Slates.
        columns: name -> `[n]` numbers beside the pairs; `rank` only where ranks are not 1, 2, 3, ...
        order: what ranks the rows: their "score"; or their place, whatever the scores say: by the column "rank", or as
            they were "given".
        beside: further columns by user and item, looked up when a batch needs them.
    """

    offsets: npt.NDArray[np.int64]
    items: Codes
    columns: Mapping[str, Column] = field(default_factory=dict)
    order: ListOrder = "score"
    beside: Mapping[str, PairColumn] = field(default_factory=dict)

    @cached_property
    def lengths(self) -> npt.NDArray[np.int64]:
        return np.diff(self.offsets)

    @property
    def ranked(self) -> bool:
        """Whether the place of the rows is the ranking."""
        return self.order != "score"

    @property
    def row_users(self) -> npt.NDArray[np.int64]:
        """`[n]`: which user each row belongs to."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.lengths)

    def column(self, name: str) -> Column:
        """`[n]`: any column, for all rows."""
        if name in self.columns:
            return self.columns[name]
        return self.beside[name].look_up(self.row_users, self.items)

    def take(self, users: npt.NDArray[np.int64]) -> Lists:
        """The lists of some users, in the order given, with all columns."""
        lengths = self.lengths[users]
        offsets = np.zeros(len(users) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[users] - offsets[:-1], lengths)
        items, columns = self.items[rows], {name: column[rows] for name, column in self.columns.items()}
        columns |= {name: column.look_up(np.repeat(users, lengths), items) for name, column in self.beside.items()}
        return Lists(offsets, items, columns, self.order)

    def filter(self, rows: npt.NDArray[np.bool_]) -> Lists:
        """The same lists with some of their rows."""
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(rows)])[self.offsets]
        columns = {name: column[rows] for name, column in self.columns.items()}
        return replace(self, offsets=offsets, items=self.items[rows], columns=columns)

    def part(self, start: int, stop: int) -> Lists:
        """The lists of users `start` to `stop`, without a copy."""
        if start == 0 and stop >= len(self.offsets) - 1:
            return self  # Most evaluations have one batch, which knows the lengths already.
        offsets = self.offsets[start : stop + 1]
        rows = slice(int(offsets[0]), int(offsets[-1]))
        columns = {name: column[rows] for name, column in self.columns.items()}
        beside = {name: column.part(start, stop) for name, column in self.beside.items()}
        return Lists(offsets - offsets[0], self.items[rows], columns, self.order, beside)


@dataclass(frozen=True)
class Slates:
    """A columnar chunk of U users: what each was shown and what proved relevant.

    Attributes:
        users: `[U]` their ids.
        items: `[V]` the sorted vocabulary that item codes point into.
        shown: rows in the order they came, with `score` unless they come ranked. Of a score matrix they are read batch
            by batch: then they have nothing but their `lengths`.
        relevant: rows with `gain`.
        user_columns: name -> `[U]`.
        history: what each user has in the history, each item once; None when nothing needs it.
    """

    users: Ids
    items: Ids
    shown: Lists
    relevant: Lists
    user_columns: Mapping[str, Column] = field(default_factory=dict)
    history: Lists | None = None

    def __len__(self) -> int:
        return len(self.users.values)

    def of_users(self, users: npt.NDArray[np.int64], shown: Any) -> Slates:
        """Some of the users, in the order given, with what they were shown."""
        return replace(
            self,
            users=self.users.take(users),
            shown=cast(Lists, shown),
            relevant=self.relevant.take(users),
            user_columns={name: column[users] for name, column in self.user_columns.items()},
            history=None if self.history is None else self.history.take(users),
        )


def build_slates(
    shown: Rows, relevant: Rows, more_users: tuple[Ids, ...] = (), more_items: tuple[Ids, ...] = ()
) -> Slates:
    """Builds Slates of all users of either side and of `more_users`; the vocabulary has `more_items` too.

    >>> from bridgeval.tables.rows import read_rows
    >>> slates = build_slates(read_rows({7: [3, 1]}, "recommendations"), read_rows({8: [1]}, "relevance"))
    >>> slates.users.tolist(), slates.shown.offsets.tolist(), slates.relevant.offsets.tolist()
    ([7, 8], [0, 2, 2], [0, 0, 1])
    """
    check_scores(shown)
    check_gains(relevant)
    users, (by_user, truth_by_user, *_) = group_by_user([shown.owners, relevant.owners, *more_users])
    items, (shown_items, relevant_items, *_) = encode_ids([shown.items, relevant.items, *more_items], "item ids")
    gains = {"gain": relevant.columns["gain"]} if "gain" in relevant.columns else {}
    shown_lists, relevant_lists = run_all(
        [
            partial(group_lists, by_user, shown_items, shown.columns, shown.ranked),
            partial(group_lists, truth_by_user, relevant_items, gains),
        ],
        len(shown_items),
    )
    if not gains:
        relevant_lists = replace(relevant_lists, columns={"gain": np.ones(len(relevant_items))})
    return Slates(users, items, shown_lists, relevant_lists)


def group_lists(by_user: Grouping, items: Codes, columns: Mapping[str, Floats], ranked: bool = False) -> Lists:
    """Groups rows by user, in the order they came, or by the column `rank` if there is one."""
    lists = Lists(by_user.offsets, *by_user.group(items, columns), "given" if ranked else "score")
    return _sort_by_rank(lists) if "rank" in columns else lists


def check_scores(rows: Rows) -> None:
    """Raises if a score is NaN or +inf; -inf is allowed and means "not shown"."""
    scores = rows.columns.get("score")
    if scores is not None and not np.isfinite(scores).all():
        _refuse(rows, scores, np.isnan(scores), "NaN score", "drop these rows, or use -inf for masked items")
        _refuse(rows, scores, np.isposinf(scores), "+inf score", "give finite scores")


def check_gains(rows: Rows) -> None:
    gains = rows.columns.get("gain")
    if gains is not None and not np.isfinite(gains).all():
        _refuse(rows, gains, ~np.isfinite(gains), "NaN or infinite gain", "give finite gains or drop these rows")


def _refuse(rows: Rows, values: Floats, bad: npt.NDArray[np.bool_], what: str, hint: str) -> None:
    count = int(np.count_nonzero(bad))
    if not count:
        return
    first = np.flatnonzero(bad)[:3]
    users = rows.users.take(first).tolist() if rows.users is not None else [None] * len(first)
    shown = ", ".join(
        f"user {u!r} item {i!r}: {v}"
        for u, i, v in zip(users, rows.items.take(first).tolist(), values[first], strict=True)
    )
    raise BadValueError(f"{count} row(s) with a {what}", shown, hint)


def _sort_by_rank(lists: Lists) -> Lists:
    """Sorts the rows of each user by the column `rank`, which is kept only where it leaves places out."""
    rank, users = lists.columns["rank"], lists.row_users
    if np.isnan(rank).any() or (len(rank) and rank.min() < 1):
        raise BadValueError(
            "ranks must be numbers from 1 up", f"{rank[~(rank >= 1)][:3].tolist()}", "1 is the best rank"
        )
    in_order = bool(((rank[1:] > rank[:-1]) | (users[1:] != users[:-1])).all())
    order = slice(None) if in_order else np.lexsort((rank, users))
    rank = rank[order]
    repeated = (rank[1:] == rank[:-1]) & (users[1:] == users[:-1])
    if repeated.any():
        raise BadValueError(
            f"{int(repeated.sum())} rank(s) occur twice for one user",
            f"rank {rank[1:][repeated][0]:g}",
            "give every row of a user its own rank, or leave the rank column out and give scores",
        )
    columns = {name: column[order] for name, column in lists.columns.items()}
    places = np.arange(1, len(rank) + 1) - lists.offsets[users]
    if bool((rank == places).all()) or not bool((rank % 1 == 0).all()):
        del columns["rank"]
    return Lists(lists.offsets, lists.items[order], columns, order="rank")
