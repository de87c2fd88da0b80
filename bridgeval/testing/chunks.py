"""Slates cut by user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from bridgeval.data.ids import Ids
from bridgeval.data.slates import Lists, Slates


def taken(slates: Slates, users: Sequence[int]) -> Slates:
    """Some users, in this order, with a vocabulary of their own."""
    where = np.asarray(users, dtype=np.int64)
    shown, relevant = cast(Lists, slates.shown).take(where), slates.relevant.take(where)
    used = np.unique(np.concatenate([shown.items, relevant.items]))
    return replace(
        slates,
        users=slates.users.take(where),
        items=slates.items.take(used),
        shown=replace(shown, items=np.searchsorted(used, shown.items).astype(np.int32)),
        relevant=replace(relevant, items=np.searchsorted(used, relevant.items).astype(np.int32)),
        user_columns={name: column[where] for name, column in slates.user_columns.items()},
    )


def renamed(slates: Slates, copy: int) -> Slates:
    """The same lists of other users."""
    names = [f"{copy} {user}" if isinstance(user, str) else user + 1000 * copy for user in slates.users.tolist()]
    return replace(slates, users=Ids.of(names))
