"""PairTable: rows of a table found by (user, item), or by item alone, in the codes of some Slates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bridgeval.data.ids import Ids
from bridgeval.data.rows import Rows

Positions = npt.NDArray[np.int64]

KEYS_APART = 8


@dataclass(frozen=True)
class PairTable:
    """Pairs without repeats, sorted; of a repeated pair the first row counts.

    Attributes:
        keys: `[n]` sorted: user * V + item, or the item alone where the table has no users.
        rows: `[n]` the row of the table behind each key.
        size: V, or 1 for an empty vocabulary.
        by_user: whether the table has users.
    """

    keys: Positions
    rows: Positions
    size: int
    by_user: bool

    @staticmethod
    def of(users: Ids, items: Ids, table: Rows) -> PairTable:
        """The rows of a table whose user is in `users` and whose item is in `items`, both sorted vocabularies."""
        size = max(len(items), 1)
        keys = table.items.positions_in(items)
        known = keys >= 0
        if table.users is not None:
            owners = table.users.positions_in(users)
            known &= owners >= 0
            keys = owners * size + keys
        rows = np.flatnonzero(known)
        rows = rows[np.argsort(keys[rows], kind="stable")]
        keys = keys[rows]
        first = np.ones(len(keys), dtype=bool)
        first[1:] = keys[1:] != keys[:-1]
        return PairTable(keys[first], rows[first], size, table.users is not None)

    def find(self, users: Positions, items: npt.NDArray[Any]) -> Positions:
        """`[m]`: the row of each pair; -1 for none."""
        wanted = items.astype(np.int64)
        if self.by_user:
            wanted = wanted + users * self.size
        found = np.full(len(wanted), -1, dtype=np.int64)
        likely = np.flatnonzero(self._filter[wanted & (len(self._filter) - 1)])
        keys = wanted[likely]
        at = np.searchsorted(self.keys, keys)
        at[at == len(self.keys)] = 0
        known = self.keys[at] == keys if len(self.keys) else np.zeros(len(keys), dtype=bool)
        found[likely[known]] = self.rows[at[known]]
        return found

    @cached_property
    def _filter(self) -> npt.NDArray[np.bool_]:
        """`[2 ** b]`: whether a key ends in these b bits. Few pairs are in the table; most are told by this alone."""
        ends = np.zeros(1 << (len(self.keys) * KEYS_APART).bit_length(), dtype=bool)
        ends[self.keys & (len(ends) - 1)] = True
        return ends

    def values(self, column: npt.NDArray[Any], users: Positions, items: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """`[m]`: a column of the table beside pairs; NaN where there is no such pair."""
        at = self.find(users, items)
        values = np.full(len(at), np.nan)
        values[at >= 0] = column[at[at >= 0]]
        return values

    def between(self, start: int, stop: int) -> tuple[Positions, Positions, Positions]:
        """Users (counted from `start`), items and rows of the pairs of users `start` to `stop`."""
        low, high = np.searchsorted(self.keys, [start * self.size, stop * self.size])
        keys = self.keys[low:high]
        return keys // self.size - start, keys % self.size, self.rows[low:high]
