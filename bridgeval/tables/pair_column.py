"""PairColumn: a column beside pairs of user and item, looked up for the pairs of a batch when it asks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bridgeval.tables.grouping import deduplicate_pairs, group_codes
from bridgeval.tables.ids import Codes, Ids
from bridgeval.tables.rows import Rows

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PairColumn:
    """A number for some pairs, NaN for the others; without `values`, whether it has the pair.

    Attributes:
        offsets: `[U + 1]`; user u's pairs are `offsets[u]:offsets[u + 1]`.
        items: `[n]` codes into the vocabulary of the Slates; of each user ascending, without repeats.
        size: V.
        values: `[n]`.
        by_user: whether users differ; else there is one list of pairs, which holds for all.
    """

    offsets: Positions
    items: Codes
    size: int
    values: npt.NDArray[Any] | None = None
    by_user: bool = True

    @staticmethod
    def of(users: Ids, items: Ids, table: Rows, column: str | None = None) -> PairColumn:
        """The pairs of a table whose user is in `users` and whose item is in `items`, both sorted vocabularies.

        Args:
            column: of the table; of a repeated pair the first row counts.
        """
        codes = table.items.positions_in(items)
        known = codes >= 0
        owners = np.zeros(len(codes), dtype=np.int64) if table.users is None else table.users.positions_in(users)
        known &= owners >= 0
        values = None if column is None else table.columns[column][known]
        by_user = group_codes(owners[known].astype(np.int32), 1 if table.users is None else len(users))
        offsets, kept, values = deduplicate_pairs(by_user, codes[known].astype(np.int32), values)
        return PairColumn(offsets, kept, len(items), values, table.users is not None)

    def part(self, start: int, stop: int) -> PairColumn:
        """The column of users `start` to `stop`, who are counted from 0 then."""
        if not self.by_user:
            return self
        offsets = self.offsets[start : stop + 1]
        rows = slice(int(offsets[0]), int(offsets[-1]))
        values = None if self.values is None else self.values[rows]
        return replace(self, offsets=offsets - offsets[0], items=self.items[rows], values=values)

    @cached_property
    def owners(self) -> Positions:
        """`[n]`: the user of each pair."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def look_up(self, users: Positions, items: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """`[m]`: the value beside each pair; there is no pair with the item V, "no item"."""
        wanted = items + users * (self.size + 1) if self.by_user else items.astype(np.int64)
        found: npt.NDArray[Any] = np.full(wanted.shape, np.nan if self.values is not None else False)
        if len(self._keys):
            at = np.searchsorted(self._keys, wanted)
            at[at == len(self._keys)] = 0
            known = self._keys[at] == wanted
            found[known] = True if self.values is None else self.values[at[known]]
        return found

    @cached_property
    def _keys(self) -> Positions:
        """`[n]` ascending: user * (V + 1) + item, or the item alone."""
        return self.items + self.owners * (self.size + 1) if self.by_user else self.items.astype(np.int64)
