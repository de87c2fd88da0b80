"""Hits as a rectangle of their own: few beside all that is shown, and all that most accuracy metrics look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from bridgeval.data.ranking import Ranking, Relevance
from bridgeval.engine.blocks import Block, Blocks, Meetings, NewHits, Ranked


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

    def count(self, k: int) -> Tensor:
        """`[B]` int64: hits in the first k places."""
        k = min(k, self.depth)
        if k not in self._counts:
            rows = self.rows if k == self.depth else self.rows[self.place_of <= k]
            self._counts[k] = torch.bincount(rows, minlength=self.size)
        return self._counts[k]

    @cached_property
    def places(self) -> Tensor:
        """`[B, H]` int64: the place (from 1) of each user's j-th hit; one past the depth where there is none."""
        return self.spread(self.place_of, self.depth + 1)

    @cached_property
    def matches(self) -> Tensor:
        """`[B, H]` int64: its column in the relevant list; 0 where there is none."""
        return self.spread(self.column_of, 0)

    @property
    def within(self) -> Tensor:
        """`[B, H]` bool: where there is a hit."""
        return self.places <= self.depth

    def spread(self, values: Tensor, fill: float) -> Tensor:
        """`[B, H]`: values `[n]` of the hits, each user's side by side."""
        row, ordinal, most = self._cells
        cells = torch.full((self.size, most), fill, dtype=values.dtype, device=values.device)
        return cells.index_put_((row, ordinal), values)

    def up_to(self, k: int, cumulative: Tensor) -> Tensor:
        """`[B]`: what `cumulative` `[B, H]` has come to within the first k places; 0 where there is no hit."""
        if not cumulative.shape[1]:
            return cumulative.new_zeros(len(cumulative))
        count = self.count(k)
        reached = cumulative.gather(1, (count - 1).clamp_(min=0)[:, None]).squeeze(1)
        return reached.masked_fill_(count == 0, 0)

    @cached_property
    def _cells(self) -> tuple[Tensor, Tensor, int]:
        counts = self.count(self.depth)
        before = counts.cumsum(0) - counts
        ordinal = torch.arange(len(self.rows), device=self.rows.device) - before[self.rows]
        return self.rows, ordinal, int(counts.max()) if len(counts) else 0


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
    """Distinct hits in the first k places: `[B]` int64."""

    k: int
    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Tensor:
        new = blocks[Ranked(self.ranking)].repeated
        return blocks[HitPlaces(self.ranking, self.relevance, new)].count(self.k)
