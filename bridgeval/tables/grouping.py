"""Grouping: the rows of each user brought together by counting, and not at all where they come that way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

# What is behind `coo_array.tocsr`, which would copy twice more, and search for codes out of range.
from scipy.sparse._sparsetools import coo_tocsr

from bridgeval.batch.memory import empty
from bridgeval.parallel import ROWS_FOR_THREADS, run_all
from bridgeval.tables.encoding import PEEK, Runs, encode_heads
from bridgeval.tables.ids import Codes, Ids

Offsets = npt.NDArray[np.int64]
Column = npt.NDArray[Any]

# In which rows are brought together side by side.
PARTS = 8
# Rows of users near one another that are sorted together, so few that they stay in the cache; and to how many such
# neighbourhoods rows are spread at the most, so few that the end of each does.
ROWS_NEAR = 1 << 15
MOST_NEIGHBOURHOODS = 1 << 10


class Grouping(Protocol):
    """Which rows belong to which of U users."""

    def group(
        self, items: Codes, n_items: int, columns: Mapping[str, Column]
    ) -> tuple[Offsets, Codes, dict[str, Column]]:
        """The rows of each user together, in the order they came; items are below `n_items`.

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

    def group(
        self, items: Codes, n_items: int, columns: Mapping[str, Column]
    ) -> tuple[Offsets, Codes, dict[str, Column]]:
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

    def group(
        self, items: Codes, n_items: int, columns: Mapping[str, Column]
    ) -> tuple[Offsets, Codes, dict[str, Column]]:
        # Something must stand beside the items.
        numbers = dict(columns) or {"": np.zeros(len(items), dtype=np.int8)}
        by_user = self._by_user if len(items) < ROWS_FOR_THREADS else self._by_neighbourhood
        moved = {name: by_user(items, n_items, np.ascontiguousarray(column)) for name, column in numbers.items()}
        offsets, items, _ = next(iter(moved.values()))
        return offsets, items, {name: moved[name][2] for name in columns}

    def _by_user(self, items: Codes, n_items: int, column: Column) -> tuple[Offsets, Codes, Column]:
        """Few items and a column beside them, sorted by user, stably and by counting."""
        offsets: Column = np.empty(self.n_users + 1, dtype=np.int32)
        to_items, to_column = np.empty(len(items), dtype=np.int32), np.empty_like(column)
        given = _short(self.owners), _short(items), column
        coo_tocsr(self.n_users, 1, len(items), *given, offsets, to_items, to_column)
        return offsets.astype(np.int64), to_items, to_column

    def _by_neighbourhood(self, items: Codes, n_items: int, column: Column) -> tuple[Offsets, Codes, Column]:
        """The same for many: by neighbourhoods of users first, each of which then is sorted within the cache."""
        near = Neighbourhoods.of(self.owners, self.n_users, items, n_items, column)
        offsets = np.empty(self.n_users + 1, dtype=np.int64)
        to_items, to_column = empty(len(items), np.int32), empty(len(items), column.dtype)
        starts = near.starts

        def put_in_order(some: range) -> None:
            for number in some:
                users = slice(number << near.user_bits, min((number + 1) << near.user_bits, self.n_users))
                rows = slice(starts[number], starts[number + 1])
                own = np.empty(users.stop - users.start + 1, dtype=np.int32)
                given = near.rows(number)
                coo_tocsr(len(own) - 1, 1, len(given[0]), *given, own, to_items[rows], to_column[rows])
                offsets[users] = own[:-1].astype(np.int64) + rows.start

        cuts = np.linspace(0, len(starts) - 1, PARTS + 1).astype(np.int64).tolist()
        run_all([partial(put_in_order, range(*ends)) for ends in pairwise(cuts)], len(items))
        offsets[-1] = len(items)
        return offsets, to_items, to_column


@dataclass(frozen=True)
class Neighbourhoods:
    """Rows of users who stand near one another brought together, in the order they came, in parts.

    Attributes:
        ends: `[P, N + 1]`; in part p, the rows of neighbourhood n are `ends[p, n]:ends[p, n + 1]`.
        keys: `[n]` which user of the neighbourhood it is, and in the lowest `item_bits` the item.
        column: `[n]` what stands beside.
        user_bits: of how many bits numbers of users in a neighbourhood are.
    """

    ends: Offsets
    keys: npt.NDArray[Any]
    column: Column
    user_bits: int
    item_bits: int

    @staticmethod
    def of(owners: Codes, n_users: int, items: Codes, n_items: int, column: Column) -> Neighbourhoods:
        size = len(items)
        most = min(max(size // ROWS_NEAR, 1), MOST_NEIGHBOURHOODS)
        user_bits = max((n_users - 1).bit_length() - (most - 1).bit_length(), 0)
        item_bits = max(n_items - 1, 0).bit_length()
        kind = np.dtype(np.int32 if user_bits + item_bits < 32 and size <= np.iinfo(np.int32).max else np.int64)
        count = ((n_users - 1) >> user_bits) + 1
        keys, beside = empty(size, kind), empty(size, column.dtype)
        ends: Column = np.empty((PARTS, count + 1), dtype=kind)
        bounds = np.linspace(0, size, PARTS + 1).astype(np.int64)

        def spread(part: int) -> None:
            rows = slice(bounds[part], bounds[part + 1])
            own = owners[rows].astype(kind, copy=False)
            given = own & ((1 << user_bits) - 1)
            given <<= item_bits
            np.bitwise_or(given, items[rows], out=given, casting="unsafe")
            coo_tocsr(count, 1, len(own), own >> user_bits, given, column[rows], ends[part], keys[rows], beside[rows])

        run_all([partial(spread, part) for part in range(PARTS)], size)
        return Neighbourhoods(ends + bounds[:-1, None], keys, beside, user_bits, item_bits)

    @cached_property
    def starts(self) -> list[int]:
        """How many rows there are before each neighbourhood, and in all."""
        return (self.ends - self.ends[:, :1]).sum(axis=0).tolist()

    def rows(self, number: int) -> tuple[Codes, Codes, Column]:
        """Of a neighbourhood: the user of each row, counted from its first one, the item, and what stands beside."""
        parts = [slice(*ends) for ends in self.ends[:, number : number + 2].tolist()]
        keys = np.concatenate([self.keys[rows] for rows in parts])
        items = keys & ((1 << self.item_bits) - 1)
        return _short(keys >> self.item_bits), _short(items), np.concatenate([self.column[rows] for rows in parts])


def _short(codes: npt.NDArray[Any]) -> Codes:
    return codes.astype(np.int32, copy=False)


def group_codes(owners: Codes, n_users: int) -> Grouping:
    """By the codes of users.

    >>> by_user = group_codes(np.array([2, 0, 2], dtype=np.int32), 3)
    >>> items, scores = np.array([5, 6, 7], dtype=np.int32), np.array([0.1, 0.2, 0.3])
    >>> offsets, items, columns = by_user.group(items, 8, {"score": scores})
    >>> offsets.tolist(), items.tolist(), columns["score"].tolist()
    ([0, 1, 1, 3], [6, 5, 7], [0.2, 0.1, 0.3])
    """
    if _ascends(owners):
        return Together.in_lengths(np.bincount(owners, minlength=n_users))
    return Scattered(owners, n_users)


def group_by_user(columns: Sequence[Ids], what: str = "user ids") -> tuple[Ids, list[Grouping]]:
    """One sorted vocabulary of all columns of users, and the grouping of each.

    >>> users, (one, other) = group_by_user([Ids.of([7, 7, 9]), Ids.of([9, 8])])
    >>> users.tolist(), one, other
    ([7, 8, 9], Together(offsets=array([0, 2, 2, 3])), Scattered(owners=array([2, 1], dtype=int32), n_users=3))
    """
    runs = [Runs.of(column) for column in columns]
    vocabulary, codes = encode_heads(runs, what)
    return vocabulary, [_of_runs(run, code, len(vocabulary)) for run, code in zip(runs, codes, strict=True)]


def _of_runs(runs: Runs, codes: Codes, n_users: int) -> Grouping:
    if runs.starts is None or not len(codes) or not _ascends(codes, strictly=True):
        return group_codes(runs.spread(codes), n_users)
    lengths = np.zeros(n_users, dtype=np.int64)
    lengths[codes] = runs.lengths
    return Together.in_lengths(lengths)


def sort_by_code(codes: Codes) -> npt.NDArray[np.int32]:
    """A stable order by non-negative codes.

    >>> sort_by_code(np.array([1, 0, 1, 0], dtype=np.int32)).tolist()
    [1, 3, 0, 2]
    """
    rows = np.arange(len(codes), dtype=np.int32)
    return Scattered(codes, int(codes.max(initial=0)) + 1).group(rows, len(rows), {})[1]


def _ascends(codes: Codes, strictly: bool = False) -> bool:
    falls = np.less_equal if strictly else np.less
    beginning = codes[:PEEK]
    return not falls(beginning[1:], beginning[:-1]).any() and not falls(codes[1:], codes[:-1]).any()
