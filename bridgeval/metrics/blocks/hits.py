"""Hits as a list, one after another: few beside all that is shown, and all that most accuracy metrics read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor

from bridgeval.batch.kernels import count_true, sum_by_code
from bridgeval.batch.ranking import Ranking, Relevance, RelevantLists, match, rank
from bridgeval.batch.score_batch import ScoreBatch
from bridgeval.engine.blocks import Block, Blocks, HitIndex, NewHits, Ranked, Relevant, RelevantCount
from bridgeval.engine.cumulative import Cumulative

Repeated = Literal["once", "each"]


@dataclass(frozen=True)
class HitList:
    """The n hits of a batch, by user, then by place.

    Attributes:
        rows: `[n]` int64: the user, as row of the batch.
        places: `[n]` int64, counted from 0.
        columns: `[n]` int64: their columns in the relevant lists.
        relevant: the relevant lists.
        users: B.
        cutoffs: for which sums are made.
    """

    rows: Tensor
    places: Tensor
    columns: Tensor
    relevant: RelevantLists
    users: int
    cutoffs: tuple[int, ...]

    @cached_property
    def items(self) -> Tensor:
        """`[n]` codes."""
        return self.relevant.items[self.rows, self.columns]

    @cached_property
    def grades(self) -> Tensor:
        """`[n]`: the gains that the truth gives, before any formula."""
        return self.relevant.gains[self.rows, self.columns]

    @cached_property
    def ranks(self) -> Tensor:
        """`[n]` float64: the place, counted from 1."""
        return self.places.double() + 1

    @cached_property
    def ordinals(self) -> Tensor:
        """`[n]` float64: 1 for a user's first hit, 2 for the second, ..."""
        counts = torch.bincount(self.rows, minlength=self.users)
        before = counts.cumsum(0) - counts
        return (torch.arange(1, len(self.rows) + 1, device=self.rows.device) - before[self.rows]).double()

    def sum(self, values: Tensor | None = None) -> Cumulative:
        """`[B]` float64: the values `[n]` of each user's hits in the first k places, or how many hits there are."""
        return Cumulative.of_entries(self.cutoffs, self.rows, self.places, self.users, values)

    def sum_by_code(self, codes: Tensor, size: int, values: Tensor | None = None) -> Cumulative:
        """`[size]` float64: the same over all users, by codes `[n]` below `size`."""
        return Cumulative.of_entries(self.cutoffs, codes, self.places, size, values)


@dataclass(frozen=True)
class HitPlaces(Block[HitList]):
    """The hits.

    Attributes:
        repeated: an item that a list shows several times is a hit "once", at its first place, or "each" time.
    """

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()
    repeated: Repeated = "each"

    def make(self, blocks: Blocks) -> HitList:
        if self.repeated == "once" and not blocks[Ranked(self.ranking)].repeated:
            return blocks[HitPlaces(self.ranking, self.relevance)]
        rows, places, columns = blocks[HitIndex(self.ranking, self.relevance)]
        if self.repeated == "once":
            new = blocks[NewHits(self.ranking, self.relevance)][rows, places]
            rows, places, columns = rows[new], places[new], columns[new]
        return HitList(rows, places, columns, blocks[Relevant(self.relevance)], len(blocks), blocks.cutoffs)


@dataclass(frozen=True)
class HitCounts(Block[Cumulative]):
    """Hits in the first k places: `[B]` float64.

    Attributes:
        repeated: an item that a list shows several times, if duplicates are kept, is found "once", or "each" time.
    """

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()
    repeated: Repeated = "once"

    def make(self, blocks: Blocks) -> Cumulative:
        return blocks[HitPlaces(self.ranking, self.relevance, self.repeated)].sum()


@dataclass(frozen=True)
class FirstHit(Block[Tensor]):
    """The place of each user's first hit, counted from 1, infinite without a hit: `[B]` float64."""

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Tensor:
        hits = blocks[HitPlaces(self.ranking, self.relevance)]
        none = torch.full((len(blocks),), torch.inf, dtype=torch.float64, device=blocks.device)
        return none.scatter_reduce_(0, hits.rows, hits.ranks, "amin")


@dataclass(frozen=True)
class EarlyHits(Block[Tensor]):
    """Hits in the first P places, P being the number of the user's relevant items: `[B]` float64."""

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Tensor:
        shown, relevant = blocks.batch.shown, blocks[Relevant(self.relevance)]
        if isinstance(shown, ScoreBatch):
            # No row of scores is sorted deeper than the longest list of relevant items.
            ranked = rank(shown, self.ranking, relevant.items.shape[1])
            rows, places, _ = match(ranked, relevant, each=self.relevance.duplicates == "each")
        else:
            rows, places, _ = blocks[HitIndex(self.ranking, self.relevance, whole=True)]
        early = places < blocks[RelevantCount(self.relevance)][rows]
        return sum_by_code(rows[early], len(blocks))


@dataclass(frozen=True)
class DistinctRelevantCount(Block[Tensor]):
    """The number of different relevant items of each user: `[B]` int64."""

    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Tensor:
        return count_true(blocks[Relevant(self.relevance)].distinct)
