"""Slates cut by user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from bridgeval.data.ids import Ids
from bridgeval.data.slates import Lists, Slates


def taken(slates: Slates, users: Sequence[int]) -> Slates:
    """Some users, in this order, with a vocabulary of their own."""
    where = np.asarray(users, dtype=np.int64)
    given = {"shown": slates.shown, "relevant": slates.relevant, "history": slates.history}
    cut = {name: _taken_lists(lists, where) for name, lists in given.items() if lists is not None}
    used = np.unique(np.concatenate([lists.items for lists in cut.values()]))
    coded = {
        name: replace(lists, items=np.searchsorted(used, lists.items).astype(np.int32)) for name, lists in cut.items()
    }
    return replace(
        slates,
        **coded,
        users=slates.users.take(where),
        items=slates.items.take(used),
        user_columns={name: column[where] for name, column in slates.user_columns.items()},
    )


def _taken_lists(lists: Lists, users: npt.NDArray[np.int64]) -> Lists:
    lengths = lists.lengths[users]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    rows = np.repeat(lists.offsets[users] - offsets[:-1], lengths) + np.arange(offsets[-1])
    columns = {name: column[rows] for name, column in lists.columns.items()}
    return replace(lists, offsets=offsets, items=lists.items[rows], columns=columns)


def renamed(slates: Slates, copy: int) -> Slates:
    """The same lists of other users."""
    names = [f"{copy} {user}" if isinstance(user, str) else user + 1000 * copy for user in slates.users.tolist()]
    return replace(slates, users=Ids.of(names))
