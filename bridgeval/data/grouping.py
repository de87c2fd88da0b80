"""Grouping: the rows of each user brought together, in one pass, and not at all where they come that way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

# What is behind `coo_array.tocsr` and `hstack`, which would copy twice more, and search for codes out of range.
from scipy.sparse._sparsetools import coo_tocsr, csr_hstack

from bridgeval.data.encoding import PEEK, Runs, encode_heads
from bridgeval.data.ids import Codes, Ids
from bridgeval.data.memory import empty
from bridgeval.data.threads import ROWS_FOR_THREADS, side_by_side

Offsets = npt.NDArray[np.int64]
Column = npt.NDArray[Any]

# In which rows are brought together side by side; more of them cost more to join than they save.
PARTS = 2


class Grouping(Protocol):
    """Which rows belong to which of U users."""

    def moved(self, items: Codes, columns: Mapping[str, Column]) -> tuple[Offsets, Codes, dict[str, Column]]:
        """The rows of each user together, in the order they came.

        Returns:
            `[U + 1]` offsets, user u's rows are `offsets[u]:offsets[u + 1]`; then items and columns.
        """
        ...


@dataclass(frozen=True)
class Together:
    """Rows that come grouped and in the order of users.

    Attributes:
        offsets: `[U + 1]`.
    """

    offsets: Offsets

    @staticmethod
    def in_lengths(lengths: npt.NDArray[np.int64]) -> Together:
        """By how many rows each user has."""
        offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return Together(offsets)

    def moved(self, items: Codes, columns: Mapping[str, Column]) -> tuple[Offsets, Codes, dict[str, Column]]:
        return self.offsets, items, dict(columns)


@dataclass(frozen=True)
class Scattered:
    """Rows in any order.

    Attributes:
        owners: `[n]` the user of each row.
        n_users: U.
    """

    owners: Codes
    n_users: int

    def moved(self, items: Codes, columns: Mapping[str, Column]) -> tuple[Offsets, Codes, dict[str, Column]]:
        # Something must stand beside the items.
        numbers = dict(columns) or {"": np.zeros(len(items), dtype=np.int8)}
        moved = {name: _joined(*self._sorted(items, np.ascontiguousarray(column))) for name, column in numbers.items()}
        offsets, items, _ = next(iter(moved.values()))
        return offsets.astype(np.int64), items, {name: moved[name][2] for name in columns}

    def _sorted(self, items: Codes, column: Column) -> tuple[Column, Column, Column]:
        """Items and a column beside them in parts, each of them sorted by user, stably and by counting.

        Returns:
            `[P, U + 1]` offsets, of each part from its own beginning; then both columns, part after part.
        """
        size = len(items)
        kind = np.dtype(np.int32 if size <= np.iinfo(np.int32).max else np.int64)
        parts = PARTS if size >= ROWS_FOR_THREADS else 1
        bounds = np.linspace(0, size, parts + 1).astype(np.int64)
        offsets: Column = np.empty((parts, self.n_users + 1), dtype=kind)
        to_items, to_column = empty(size, kind), empty(size, column.dtype)

        def sort(part: int) -> None:
            rows = slice(bounds[part], bounds[part + 1])
            own, of_items = (codes[rows].astype(kind, copy=False) for codes in (self.owners, items))
            given = own, of_items, column[rows]
            coo_tocsr(self.n_users, 1, len(own), *given, offsets[part], to_items[rows], to_column[rows])

        side_by_side([partial(sort, part) for part in range(parts)], size)
        return offsets, to_items, to_column


def _joined(offsets: Column, items: Column, column: Column) -> tuple[Column, Column, Column]:
    """The lists of each user in all parts one after another."""
    parts, n_users = len(offsets), offsets.shape[1] - 1
    if parts == 1:
        return offsets[0], items, column
    to_offsets: Column = np.zeros_like(offsets[0])
    to_items, to_column = empty(len(items), items.dtype), empty(len(column), column.dtype)

    def join(first: int, last: int) -> None:
        start, stop = offsets[:, [first, last]].sum(axis=0)
        own: Column = np.empty(last - first + 1, dtype=offsets.dtype)
        given = np.zeros(parts, items.dtype), _of_users(offsets, first, last).ravel(), items, column
        csr_hstack(parts, last - first, *given, own, to_items[start:stop], to_column[start:stop])
        to_offsets[first + 1 : last + 1] = own[1:] + start

    ends = np.linspace(0, n_users, parts + 1).astype(np.int64).tolist()
    side_by_side([partial(join, *users) for users in pairwise(ends)], len(items))
    return to_offsets, to_items, to_column


def _of_users(offsets: Column, first: int, last: int) -> Column:
    """`[P, last - first + 1]`: the offsets of some users, of each part from where those of the part before end.

    >>> _of_users(np.array([[0, 2, 5], [0, 1, 4]]), 0, 1)  # the second part, from 5 on, is found 3 behind the 2
    array([[0, 2],
           [3, 4]])
    """
    some, begins, ends = offsets[:, first : last + 1].copy(), 0, 0
    for part, size in zip(some, offsets[:, -1].tolist(), strict=True):
        part += begins - ends
        begins, ends = begins + size, ends + int(part[-1])
    return some


def grouping_of(owners: Codes, n_users: int) -> Grouping:
    """By the codes of users.

    >>> by_user = grouping_of(np.array([2, 0, 2], dtype=np.int32), 3)
    >>> items, scores = np.array([5, 6, 7], dtype=np.int32), np.array([0.1, 0.2, 0.3])
    >>> offsets, items, columns = by_user.moved(items, {"score": scores})
    >>> offsets.tolist(), items.tolist(), columns["score"].tolist()
    ([0, 1, 1, 3], [6, 5, 7], [0.2, 0.1, 0.3])
    """
    if _ascends(owners):
        return Together.in_lengths(np.bincount(owners, minlength=n_users))
    return Scattered(owners, n_users)


def grouped_rows(columns: Sequence[Ids], what: str = "user ids") -> tuple[Ids, list[Grouping]]:
    """One sorted vocabulary of all columns of users, and the grouping of each.

    >>> users, (one, other) = grouped_rows([Ids.of([7, 7, 9]), Ids.of([9, 8])])
    >>> users.tolist(), one, other
    ([7, 8, 9], Together(offsets=array([0, 2, 2, 3])), Scattered(owners=array([2, 1], dtype=int32), n_users=3))
    """
    runs = [Runs.of(column) for column in columns]
    vocabulary, codes = encode_heads(runs, what)
    return vocabulary, [_of_runs(run, code, len(vocabulary)) for run, code in zip(runs, codes, strict=True)]


def _of_runs(runs: Runs, codes: Codes, n_users: int) -> Grouping:
    if runs.starts is None or not len(codes) or not _ascends(codes, strictly=True):
        return grouping_of(runs.spread(codes), n_users)
    lengths = np.zeros(n_users, dtype=np.int64)
    lengths[codes] = runs.lengths
    return Together.in_lengths(lengths)


def order_by(codes: Codes) -> npt.NDArray[np.int32]:
    """A stable order by non-negative codes.

    >>> order_by(np.array([1, 0, 1, 0], dtype=np.int32)).tolist()
    [1, 3, 0, 2]
    """
    rows = np.arange(len(codes), dtype=np.int32)
    return Scattered(codes, int(codes.max(initial=0)) + 1).moved(rows, {})[1]


def _ascends(codes: Codes, strictly: bool = False) -> bool:
    falls = np.less_equal if strictly else np.less
    beginning = codes[:PEEK]
    return not falls(beginning[1:], beginning[:-1]).any() and not falls(codes[1:], codes[:-1]).any()
