"""Lookups of lists: those of a few named users, and how often each item was shown, found and relevant.

Both are metrics, so that they run wherever a plan runs; their states are read, not their results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bridgeval.batch.kernels import sum_by_code
from bridgeval.batch.ranking import SHARED_TIES, Ranking, Relevance
from bridgeval.engine.blocks import Blocks, HitIndex, Hits, Ranked, Relevant
from bridgeval.engine.metric import Metric, RankingMetric, UserMetric
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import ItemSums
from bridgeval.engine.summary import Result
from bridgeval.metrics.blocks.listed_items import RelevantCells, counted_items
from bridgeval.tables.ids import Ids

# Of a longer history, or of more relevant items, only the first are looked up.
MOST_ITEMS = 30


def order_lists(metric: RankingMetric) -> Ranking:
    """The ranking of a metric; equal scores that have no order there get the default one, to be shown at all."""
    ranking = metric.ranking
    return replace(ranking, ties=Ranking().ties) if ranking.ties in SHARED_TIES else ranking


@dataclass(frozen=True)
class UserLists:
    """The lists of one user.

    Attributes:
        items: shown, best first; None where ranks leave a place out.
        hits: whether each of them is relevant.
        relevant: relevant items, at most MOST_ITEMS; `wanted` is the number of all.
        history: items of the history, at most MOST_ITEMS; `had` is the number of all.
    """

    items: tuple[Any, ...]
    hits: tuple[bool, ...]
    relevant: tuple[Any, ...]
    wanted: int
    history: tuple[Any, ...] = ()
    had: int = 0


@dataclass(frozen=True)
class FoundUsers:
    """The lists by user."""

    users: Mapping[Any, UserLists] = field(default_factory=dict)

    def merge(self, other: FoundUsers) -> FoundUsers:
        return FoundUsers({**self.users, **other.users})


@dataclass(frozen=True)
class NamedLists(Metric):
    """The first k items of some users, ranked and matched by the policies of a metric.

    Attributes:
        users: their ids.
        with_history: whether their history is looked up too.
    """

    name = "NamedLists"
    users: tuple[Any, ...]
    k: int
    ranking: Ranking
    relevance: Relevance
    with_history: bool = False

    def needs(self) -> Needs:
        had = frozenset({"history lists"} if self.with_history else ())
        return Needs(depth=self.k, cutoffs=frozenset({self.k}), lists=had)

    def start(self) -> FoundUsers:
        return FoundUsers()

    def update(self, blocks: Blocks) -> FoundUsers:
        batch = blocks.batch
        here = batch.slates.users.slice(batch.start, batch.stop)
        rows = np.flatnonzero(here.positions_in(Ids.of(sorted(self.users))) >= 0)
        if not len(rows):
            return FoundUsers()
        names = batch.slates.items
        shown, relevant = blocks[Ranked(self.ranking)], blocks[Relevant(self.relevance)]
        hits = blocks[Hits(self.ranking, self.relevance)]
        had = batch.history if self.with_history else None
        found = {}
        for row, user in zip(rows.tolist(), here.take(rows).tolist(), strict=True):
            places = int(shown.valid[row, : self.k].nonzero().max()) + 1 if shown.valid[row, : self.k].any() else 0
            wanted = relevant.items[row][relevant.valid[row]]
            before = None if had is None else had.items[row][had.valid[row]]
            found[user] = UserLists(
                _name(names, shown.items[row, :places]),
                tuple(hits[row, :places].tolist()),
                _name(names, wanted[:MOST_ITEMS]),
                len(wanted),
                () if before is None else _name(names, before[:MOST_ITEMS]),
                0 if before is None else len(before),
            )
        return FoundUsers(found)

    def compute(self, state: Any) -> Result:
        return Result(None)


def _name(names: Ids, codes: Tensor) -> tuple[Any, ...]:
    """The ids of codes; None for V, a place that ranks leave out."""
    found = codes.cpu().numpy()
    inside = iter(names.take(found[found < len(names)]).tolist())
    return tuple(next(inside) if code < len(names) else None for code in found.tolist())


@dataclass(frozen=True)
class ItemHits(Metric):
    """Counts by item: places among the first k, hits there, and users to whom it is relevant.

    Attributes:
        metric: whose users count, and whose policies rank and match.
    """

    name = "ItemHits"
    metric: UserMetric
    k: int

    def needs(self) -> Needs:
        return replace(self.metric.needs(), depth=self.k, cutoffs=frozenset({self.k}))

    def start(self) -> ItemSums:
        return ItemSums()

    def update(self, blocks: Blocks) -> ItemSums:
        """`[V, 3]`: shown, hits, relevant."""
        metric, size, ranking = self.metric, blocks.batch.shown.pad, order_lists(self.metric)
        shown = blocks[Ranked(ranking)].first(self.k).items
        rows, places, _ = blocks[HitIndex(ranking, metric.relevance)]
        rows, places = rows[places < self.k], places[places < self.k]
        cells = (
            counted_items(blocks, metric.population, shown),
            counted_items(blocks, metric.population, shown[rows, places], rows),
            blocks[RelevantCells(metric.relevance, metric.population)],
        )
        sums = torch.stack([sum_by_code(one.contiguous(), size) for one in cells], dim=1)
        return ItemSums.of(blocks.batch.slates.items, sums)

    def compute(self, state: Any) -> Result:
        return Result(None)
