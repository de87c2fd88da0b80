"""Context: data about items and users beside the lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from bridgeval.tables.ids import Ids


@dataclass(frozen=True)
class Table:
    """Values by id.

    Attributes:
        ids: `[n]` sorted, without repeats.
        values: `[n]`, or `[n, F]` for features.
        labels: names of group codes (group tables) or of feature columns (feature tables).
        default: the value of an id that is not in the table.
    """

    ids: Ids
    values: npt.NDArray[Any]
    labels: tuple[Any, ...] = ()
    default: float = 0

    def aligned(self, ids: Ids) -> npt.NDArray[Any]:
        """The values of `ids`, `[len(ids)]` or `[len(ids), F]`; not to be written to."""
        if ids.equals(self.ids):
            return self.values
        where = ids.positions_in(self.ids)
        values = np.full((len(ids), *self.values.shape[1:]), self.default, dtype=self.values.dtype)
        found = where >= 0
        values[found] = self.values[where[found]]
        return values


@dataclass(frozen=True)
class Context:
    """Data about items and users, small enough to broadcast.

    Attributes:
        catalogue: all items that could have been shown, sorted; None when not known.
        items: tables by item: `popularity` (users of the history who have the item), `groups`, `features`.
        users: tables by user: `groups`.
        history_users: users of the history.
        history_pairs: distinct (user, item) pairs of the history.
        given_users: the number of users in `users=`; 0 if it was not given.
    """

    catalogue: Ids | None = None
    items: Mapping[str, Table] = field(default_factory=dict)
    users: Mapping[str, Table] = field(default_factory=dict)
    history_users: int = 0
    history_pairs: int = 0
    given_users: int = 0

    @property
    def known_users(self) -> int:
        """The number of users: those given, else those of the history."""
        return self.given_users or self.history_users
