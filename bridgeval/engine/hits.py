"""Hits by themselves, one after another: few beside all that is shown, and all that most accuracy metrics look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor

from bridgeval.data.ranking import Ranking, Relevance
from bridgeval.data.sorting import order_of_small
from bridgeval.data.tensors import picked
from bridgeval.engine.blocks import Block, Blocks, Meetings, NewHits, Ranked
from bridgeval.engine.running import Running

Repeated = Literal["once", "each"]


@dataclass(frozen=True)
class PlaceList:
    """A few places of each user from left to right, n in all.

    Attributes:
        rows: `[n]` int64: whose each is, ascending.
        place_of: `[n]` int64: the place, from 1; ascending within a row.
        size: B.
        depth: how many places there are.
    """

    rows: Tensor
    place_of: Tensor
    size: int
    depth: int
    _counts: dict[int, Tensor] = field(default_factory=dict, compare=False, repr=False)

    def count(self, k: int) -> Tensor:
        """`[B]` int64: how many are in the first k places."""
        k = min(k, self.depth)
        if k not in self._counts:
            rows = self.rows if k == self.depth else self._by_place.rows[: self._by_place.ends[k]]
            self._counts[k] = torch.bincount(rows, minlength=self.size)
        return self._counts[k]

    @cached_property
    def _by_place(self) -> PlaceOrder:
        order = order_of_small(self.place_of, self.depth)
        ends = torch.bincount(self.place_of, minlength=self.depth + 1).cumsum(0).tolist()
        return PlaceOrder(order, self.rows.index_select(0, order), ends)


@dataclass(frozen=True)
class HitList(PlaceList):
    """The hits of each user.

    Attributes:
        column_of: `[n]` int64: their columns in the relevant list.
    """

    column_of: Tensor = field(kw_only=True)

    @cached_property
    def first(self) -> Tensor:
        """`[B]` int64: the place of each user's first hit; one past the depth where there is none."""
        first = torch.full((self.size,), self.depth + 1, device=self.rows.device)
        return first.scatter_reduce_(0, self.rows, self.place_of, "amin")

    @cached_property
    def first_reciprocal(self) -> Tensor:
        """`[B]` float64: 1 / `first`."""
        return self.first.double().reciprocal_()

    @cached_property
    def ordinal(self) -> Tensor:
        """`[n]` int64: 1 for a user's first hit, 2 for the second, ..."""
        counts = self.count(self.depth)
        before = counts.cumsum(0) - counts
        return torch.arange(1, len(self.rows) + 1, device=self.rows.device) - before.index_select(0, self.rows)

    def of_relevant(self, cells: Tensor) -> Tensor:
        """`[n]`: what cells `[B, R]` of the relevant lists hold for each hit."""
        return picked(cells, self.rows, self.column_of)

    def by_place(self, values: Tensor) -> Tensor:
        """`[n]`: values of each hit in the order of their places."""
        return values.index_select(0, self._by_place.order)

    def places(self, start: int, stop: int) -> slice:
        """Which of them, by place, are in the places behind the first `start`, up to the first `stop`."""
        ends = self._by_place.ends
        return slice(ends[min(start, self.depth)], ends[min(stop, self.depth)])

    def running(self, values: Tensor) -> Running[Tensor]:
        """`[B]` float64: values `[n]` of the hits in the first k places, added up."""
        rows, by_place, places = self._by_place.rows, self.by_place(values), self.places
        size = self.size

        def between(start: int, stop: int) -> Tensor:
            chosen = places(start, stop)
            return by_place.new_zeros(size).scatter_add_(0, rows[chosen], by_place[chosen])

        return Running(between)


@dataclass(frozen=True)
class PlaceOrder:
    """Places in their order: those within a cutoff come first.

    Attributes:
        order: `[n]` int64: which of the list stands where.
        rows: `[n]` int64: whose it is.
        ends: how many there are in the first 0, 1, 2, ... places.
    """

    order: Tensor
    rows: Tensor
    ends: list[int]


@dataclass(frozen=True)
class HitPlaces(Block[HitList]):
    """Where the hits are.

    Attributes:
        new: of a repeated item only the first hit counts.
    """

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()
    new: bool = False

    def make(self, blocks: Blocks) -> HitList:
        rows, places, columns = blocks[Meetings(self.ranking, self.relevance)]
        shown = blocks[Ranked(self.ranking)]
        if self.new and shown.repeated:
            is_new = blocks[NewHits(self.ranking, self.relevance)][rows, places]
            rows, places, columns = rows[is_new], places[is_new], columns[is_new]
        return HitList(rows, places + 1, len(blocks), shown.items.shape[1], column_of=columns)


@dataclass(frozen=True)
class HitCount(Block[Tensor]):
    """Hits in the first k places: `[B]` float64.

    Attributes:
        repeated: whether an item that stands in several places, where duplicates are kept, is found "once" or "each"
            time.
    """

    k: int
    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()
    repeated: Repeated = "once"

    def make(self, blocks: Blocks) -> Tensor:
        new = self.repeated == "once" and blocks[Ranked(self.ranking)].repeated
        return blocks[HitPlaces(self.ranking, self.relevance, new)].count(self.k).double()
