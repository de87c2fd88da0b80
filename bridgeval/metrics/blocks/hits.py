"""Hits by themselves, one after another: few beside all that is shown, and all that most accuracy metrics look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from bridgeval.batch.ranking import Ranking, Relevance
from bridgeval.batch.tensors import picked, sums_by_code
from bridgeval.engine.blocks import Block, Blocks, HitIndex, NewHits, Ranked
from bridgeval.engine.cumulative import Running
from bridgeval.engine.state import Floats

Repeated = Literal["once", "each"]


@dataclass(frozen=True)
class PlaceList:
    """A few places of each user from left to right, n in all.

    Attributes:
        rows: `[n]` int64: whose each is, ascending.
        place_of: `[n]` int64: the place, from 1; ascending within a row.
        size: B.
        depth: how many places there are.
        cutoffs: for which sums are made together, ascending.
    """

    rows: Tensor
    place_of: Tensor
    size: int
    depth: int
    cutoffs: tuple[int, ...]

    def count(self, k: int) -> Tensor:
        """`[B]` float64: how many are in the first k places."""
        return self._counts.up_to(k)

    def running(self, values: Tensor) -> Running[Tensor]:
        """`[B]` float64: values `[n]` of those in the first k places, added up."""
        # What is kept must not keep this list: a cycle holds its tensors until it is collected.
        rows, place_of, size = self.rows, self.place_of, self.size
        sums = values.new_zeros(self._steps * size).scatter_add_(0, self._step_and_row, values)

        def between(start: int, stop: int) -> Tensor:
            chosen = _behind(place_of, start, stop)
            return values.new_zeros(size).scatter_add_(0, rows[chosen], values[chosen])

        return Running.in_steps(self.cutoffs, sums.view(self._steps, size), between)

    def by_code(self, codes: Tensor, count: int, weights: Tensor | None = None) -> Running[Floats]:
        """`[count]` float64: how many of the first k places have each code `[n]`, or what their weights come to."""
        place_of = self.place_of
        sums = sums_by_code(self._step_of * count + codes, self._steps * count, weights)

        def between(start: int, stop: int) -> Floats:
            chosen = _behind(place_of, start, stop)
            return sums_by_code(codes[chosen], count, None if weights is None else weights[chosen])

        return Running.in_steps(self.cutoffs, sums.reshape(self._steps, count), between)

    @cached_property
    def _counts(self) -> Running[Tensor]:
        return self.running(torch.ones(len(self.rows), dtype=torch.float64, device=self.rows.device))

    @property
    def _steps(self) -> int:
        """One up to each cutoff, and one for what is behind the last, if there is any."""
        return len(self.cutoffs) + (self.depth > self.cutoffs[-1])

    @cached_property
    def _step_of(self) -> Tensor:
        """`[n]` int64: the first cutoff that each is within, counted from 0."""
        steps = torch.from_numpy(np.searchsorted(self.cutoffs, np.arange(self.depth + 1)))
        return steps.to(self.rows.device).index_select(0, self.place_of)

    @cached_property
    def _step_and_row(self) -> Tensor:
        return self._step_of * self.size + self.rows


def _behind(place_of: Tensor, start: int, stop: int) -> Tensor:
    """Which places are behind the first `start`, up to the first `stop`.

    >>> _behind(torch.tensor([1, 2, 3]), 1, 2)
    tensor([False,  True, False])
    """
    return (place_of > start) & (place_of <= stop)


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
        counts = torch.bincount(self.rows, minlength=self.size)
        before = counts.cumsum(0) - counts
        return torch.arange(1, len(self.rows) + 1, device=self.rows.device) - before.index_select(0, self.rows)

    def of_relevant(self, cells: Tensor) -> Tensor:
        """`[n]`: what cells `[B, R]` of the relevant lists hold for each hit."""
        return picked(cells, self.rows, self.column_of)


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
        rows, places, columns = blocks[HitIndex(self.ranking, self.relevance)]
        shown = blocks[Ranked(self.ranking)]
        if self.new and shown.repeated:
            is_new = blocks[NewHits(self.ranking, self.relevance)][rows, places]
            rows, places, columns = rows[is_new], places[is_new], columns[is_new]
        return HitList(rows, places + 1, len(blocks), shown.items.shape[1], blocks.cutoffs, column_of=columns)


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
        return blocks[HitPlaces(self.ranking, self.relevance, new)].count(self.k)
