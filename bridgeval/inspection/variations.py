"""Variations: the same lists, changed in one respect, to see what that does to a metric."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from bridgeval.batch.ranking import Ranking, rank_lists
from bridgeval.tables.slates import Lists, Slates

# Every row by score, ties in the order in which the rows come.
EVERY_ROW = Ranking(ties="given", duplicates="all", masked="keep")


def best_first(slates: Slates) -> Slates:
    """Among equal scores the relevant come first, higher gains before lower: the best that a tie could do."""
    return _reorder(slates, -look_up_gains(slates))


def worst_first(slates: Slates) -> Slates:
    """Among equal scores the relevant come last, lower gains before higher."""
    return _reorder(slates, look_up_gains(slates))


def drop_seen(slates: Slates) -> Slates:
    """Lists without the items that the history has for the user; the rest moves up."""
    return replace(slates, shown=slates.shown.filter(~slates.shown.column("seen")))


def look_up_gains(slates: Slates) -> npt.NDArray[np.float64]:
    """`[n]`: the highest gain of each shown pair, 0 for pairs that the truth does not have."""
    size = max(len(slates.items), 1)
    wanted = slates.shown.row_users * size + slates.shown.items
    keys = slates.relevant.row_users * size + slates.relevant.items
    gains = np.asarray(slates.relevant.columns["gain"], dtype=np.float64)
    order = np.lexsort((gains, keys))
    keys, gains = keys[order], gains[order]
    if not len(keys):
        return np.zeros(len(wanted))
    last = np.searchsorted(keys, wanted, side="right") - 1
    return np.where((last >= 0) & (keys[last] == wanted), gains[last], 0.0)


def find_ties(lists: Lists, k: int) -> npt.NDArray[np.bool_]:
    """`[U]`: whether places k and k + 1 have the same score, so that a tie decides who is in."""
    scores = rank_lists(lists, EVERY_ROW, int(lists.items.max(initial=0)) + 1).columns["score"]
    at = lists.offsets[:-1] + k
    long_enough = lists.lengths > k
    tied = np.zeros(len(at), dtype=bool)
    at = at[long_enough]
    tied[long_enough] = (scores[at] == scores[at - 1]) & (scores[at] != -np.inf)
    return tied


def _reorder(slates: Slates, tie: npt.NDArray[np.float64]) -> Slates:
    """Lists by score; of equal scores the lowest tie first, then the highest item."""
    shown = slates.shown
    order = np.lexsort((-shown.items, tie, shown.row_users))
    columns = {name: column[order] for name, column in shown.columns.items()}
    lists = replace(shown, items=shown.items[order], columns=columns)
    return replace(slates, shown=replace(rank_lists(lists, EVERY_ROW, len(slates.items)), beside=shown.beside))
