"""Parts of Slates by user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bridgeval.tables.ids import Ids
from bridgeval.tables.slates import Slates


def taken(slates: Slates, users: Sequence[int]) -> Slates:
    """Some users, in this order, with a vocabulary of their own."""
    where = np.asarray(users, dtype=np.int64)
    given = {"shown": slates.shown, "relevant": slates.relevant, "history": slates.history}
    cut = {name: lists.take(where) for name, lists in given.items() if lists is not None}
    used = np.unique(np.concatenate([lists.items for lists in cut.values()]))
    coded: dict[str, Any] = {
        name: replace(lists, items=np.searchsorted(used, lists.items).astype(np.int32)) for name, lists in cut.items()
    }
    return replace(
        slates,
        **coded,
        users=slates.users.take(where),
        items=slates.items.take(used),
        user_columns={name: column[where] for name, column in slates.user_columns.items()},
    )


def renamed(slates: Slates, copy: int) -> Slates:
    """The same lists of other users."""
    names = [f"{copy} {user}" if isinstance(user, str) else user + 1000 * copy for user in slates.users.tolist()]
    return replace(slates, users=Ids.of(names))
