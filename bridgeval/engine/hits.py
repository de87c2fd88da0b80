"""Hits as a rectangle of their own: few beside all that is shown, and all that most accuracy metrics look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor

from bridgeval.data.ranking import Ranking, Relevance
from bridgeval.engine.blocks import Block, Blocks, Meetings, NewHits, Ranked

Repeated = Literal["once", "each"]


@dataclass(frozen=True)
class HitList:
    """The hits of each user from left to right; H is the most that one user of the batch has, n all there are.

    Attributes:
        rows: `[n]` int64: whose each hit is, ascending.
        place_of: `[n]` int64: its place, from 1; ascending within a row.
        column_of: `[n]` int64: its column in the relevant list.
        size: B.
        depth: how many places there are.
    """

    rows: Tensor
    place_of: Tensor
    column_of: Tensor
    size: int
    depth: int
    _counts: dict[int, Tensor] = field(default_factory=dict, compare=False, repr=False)
    _ends: dict[int, Tensor] = field(default_factory=dict, compare=False, repr=False)

    def count(self, k: int) -> Tensor:
        """`[B]` int64: hits in the first k places."""
        k = min(k, self.depth)
        if k not in self._counts:
            within = (self.place_of <= k).long()
            self._counts[k] = within.new_zeros(self.size).scatter_add_(0, self.rows, within)
        return self._counts[k]

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
        return cells.reshape(-1).index_select(0, self.rows * cells.shape[1] + self.column_of)

    def running(self, values: Tensor) -> Tensor:
        """`[B, H + 1]`: what the first 0, 1, 2, ... hits come to, of values `[n]` of each; for `up_to`."""
        cells = values.new_zeros(self.size * self._width)
        return cells.scatter_(0, self._cells, values).view(self.size, self._width).cumsum_(1)

    def up_to(self, k: int, running: Tensor) -> Tensor:
        """`[B]`: what `running` has come to within the first k places."""
        k = min(k, self.depth)
        if k not in self._ends:
            starts = torch.arange(0, self.size * self._width, self._width, device=self.rows.device)
            self._ends[k] = starts + self.count(k)
        return running.view(-1).index_select(0, self._ends[k])

    @cached_property
    def _width(self) -> int:
        """H + 1."""
        return int(self.count(self.depth).max()) + 1 if self.size else 1

    @cached_property
    def _cells(self) -> Tensor:
        """`[n]` int64: the cell of each hit in what `running` gives, counted row by row."""
        return self.rows * self._width + self.ordinal


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
        return HitList(rows, places + 1, columns, len(blocks), shown.items.shape[1])


@dataclass(frozen=True)
class HitCount(Block[Tensor]):
    """Hits in the first k places: `[B]` int64.

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
        return blocks[HitPlaces(self.ranking, self.relevance, new)].count(self.k)
