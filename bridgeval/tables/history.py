"""History: training interactions, sorted once for everything that reads them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bridgeval.parallel import run_all
from bridgeval.tables.context import Table
from bridgeval.tables.encoding import encode_ids
from bridgeval.tables.grouping import deduplicate_pairs, group_by_user
from bridgeval.tables.ids import Codes, Ids
from bridgeval.tables.pair_column import Positions
from bridgeval.tables.rows import Rows
from bridgeval.tables.slates import Lists


@dataclass(frozen=True)
class History:
    """The items of each user, each once.

    Attributes:
        users: `[U]` sorted, those with an empty list among them.
        items: `[V]` sorted.
        offsets: `[U + 1]`; user u's items are `offsets[u]:offsets[u + 1]`.
        codes: `[n]` into `items`; of each user ascending.
    """

    users: Ids
    items: Ids
    offsets: Positions
    codes: Codes

    @staticmethod
    def of(rows: Rows) -> History:
        """
        >>> from bridgeval.tables.rows import read_rows
        >>> history = History.of(read_rows({"ann": ["tea", "rum", "tea"], "bob": ["tea"]}, "history"))
        >>> history.items.tolist(), history.popularity.values.tolist(), history.pairs
        (['rum', 'tea'], [1.0, 2.0], 3)
        """
        named = [rows.owners] if rows.empty is None else [rows.owners, rows.empty]
        (users, (by_user, *_)), (items, (codes,)) = run_all(
            [lambda: group_by_user(named), lambda: encode_ids([rows.items])], len(rows)
        )
        offsets, codes, _ = deduplicate_pairs(by_user, codes)
        return History(users, items, offsets, codes)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """`[U]`: the number of items of each user."""
        return np.diff(self.offsets)

    @property
    def pairs(self) -> int:
        """The number of distinct pairs."""
        return len(self.codes)

    @property
    def popularity(self) -> Table:
        """The number of users who have each item."""
        return Table(self.items, np.bincount(self.codes, minlength=len(self.items)).astype(np.float64))

    def counts(self, users: Ids) -> npt.NDArray[np.int64]:
        """`[len(users)]`: the number of items of some users."""
        return self.lengths if users.equals(self.users) else np.append(self.lengths, 0)[self._find_users(users)]

    def lists(self, users: Ids, items: Ids) -> Lists:
        """The lists of some users; items that are not among `items`, a sorted vocabulary, are left out."""
        lists = Lists(self.offsets, self.codes)
        if not users.equals(self.users):
            lists = Lists(np.append(self.offsets, self.pairs), self.codes).take(self._find_users(users))
        if items.equals(self.items):
            return lists
        code_of = self.items.positions_in(items, "item ids of the lists and of the history").astype(np.int32)
        codes = code_of.take(lists.items)
        known = codes >= 0
        if known.all():
            return Lists(lists.offsets, codes)
        return Lists(np.concatenate([[0], np.cumsum(known)])[lists.offsets], codes[known])

    def _find_users(self, users: Ids) -> Positions:
        """The position of some users, sorted, in the history; one past the last for users it does not have."""
        found = self.users.positions_in(users, "user ids of the lists and of the history")
        known = np.flatnonzero(found >= 0)
        places = np.full(len(users), len(self.users))
        places[found[known]] = known
        return places
