"""Hits as a list, one after another: few beside all that is shown, and all that most accuracy metrics read.

Where equal scores share a place, hits have that place (`HitPlaces`). Where a metric is its mean over all orders of
equal scores (ties="average"), every place has the chance of a hit, not a hit: `ExpectedHits`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from bridgeval.batch.kernels import count_true, find_repeats, number_entries, sum_by_code, sum_by_step
from bridgeval.batch.ranking import SHARED_TIES, Ranking, Relevance, RelevantLists, match, rank
from bridgeval.batch.score_batch import ScoreBatch
from bridgeval.engine.blocks import Block, Blocks, HitIndex, JudgedGains, NewHits, Ranked, Relevant, RelevantCount
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
        ends: `[cutoffs]` int64: the same.
        together: whether hits at one place are there together, so that each counts all of them.
    """

    rows: Tensor
    places: Tensor
    columns: Tensor
    relevant: RelevantLists
    users: int
    cutoffs: tuple[int, ...]
    ends: Tensor
    together: bool = False

    @cached_property
    def items(self) -> Tensor:
        """`[n]` codes."""
        return self.relevant.items[self.rows, self.columns]

    @cached_property
    def ranks(self) -> Tensor:
        """`[n]` float64: the place, counted from 1."""
        return self.places.double() + 1

    @cached_property
    def ordinals(self) -> Tensor:
        """`[n]` int64: 1 for a user's first hit, 2 for the second, ...; of hits that are together, their last."""
        ordinals = number_entries(self.rows, self.users)
        if self.together:
            new = torch.ones_like(self.rows)
            new[1:] = (self.rows[1:] != self.rows[:-1]) | (self.places[1:] != self.places[:-1])
            group = new.cumsum(0) - 1
            ordinals = torch.zeros_like(ordinals).scatter_reduce_(0, group, ordinals, "amax")[group]
        return ordinals

    @cached_property
    def steps(self) -> Tensor:
        """`[n]` int64: the number of the first cutoff that the place is within, from 0; that of all if it is beyond."""
        return torch.searchsorted(self.ends, self.places.contiguous(), right=True)

    def sum(self, values: Tensor | None = None) -> Cumulative:
        """`[B]` float64: the values `[n]` of each user's hits in the first k places, or how many hits there are."""
        return Cumulative(self.cutoffs, sum_by_step(self._codes, len(self.cutoffs), self.users, values))

    @cached_property
    def _codes(self) -> Tensor:
        """`[n]` int64: user and step in one number."""
        return torch.add(self.rows, self.steps, alpha=self.users)

    def sum_by_code(self, codes: Tensor, size: int, values: Tensor | None = None) -> Cumulative:
        """`[size]` float64: the same over all users, by codes `[n]` below `size`."""
        steps = torch.add(codes, self.steps, alpha=size)
        return Cumulative(self.cutoffs, sum_by_step(steps, len(self.cutoffs), size, values))


@dataclass(frozen=True)
class HitPlaces(Block[HitList]):
    """The hits.

    Attributes:
        repeated: an item that a list shows several times is a hit "once", at its first place, or "each" time.
        whole: in the whole ranking, whatever the cutoffs.
    """

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()
    repeated: Repeated = "each"
    whole: bool = False

    def make(self, blocks: Blocks) -> HitList:
        if self.ranking.ties in SHARED_TIES:
            return self._share(blocks)
        if self.repeated == "once" and not blocks[Ranked(self.ranking)].repeated:
            return blocks[HitPlaces(self.ranking, self.relevance)]
        rows, places, columns = blocks[HitIndex(self.ranking, self.relevance, self.whole)]
        if self.repeated == "once":
            new = blocks[NewHits(self.ranking, self.relevance)][rows, places]
            rows, places, columns = rows[new], places[new], columns[new]
        return HitList(
            rows, places, columns, blocks[Relevant(self.relevance)], len(blocks), blocks.cutoffs, blocks.ends
        )

    def _share(self, blocks: Blocks) -> HitList:
        """Hits at the place that equal scores share, which may be beyond the depth."""
        ranked = blocks[Ranked(self.ranking, whole=True)]
        rows, places, columns = blocks[HitIndex(self.ranking, self.relevance, whole=True)]
        if self.repeated == "once" and ranked.repeated:
            new = ~find_repeats(ranked.items, ranked.pad)[rows, places]
            rows, places, columns = rows[new], places[new], columns[new]
        ties = blocks[TieGroups(self.ranking)]
        start, size = ties.start[rows, places], ties.size[rows, places]
        if self.ranking.ties != "first":
            start = start + (size - 1 if self.ranking.ties == "last" else (size - 1) // 2)
        relevant = blocks[Relevant(self.relevance)]
        return HitList(rows, start, columns, relevant, len(blocks), blocks.cutoffs, blocks.ends, together=True)


class TiedPlaces(NamedTuple):
    """The equal scores that each place of a whole list is among: `[B, K]` int64 each.

    Attributes:
        group: the number of the group in its list, from 0.
        start: the first place of the group, from 0.
        size: how many places it has.
    """

    group: Tensor
    start: Tensor
    size: Tensor

    def sum(self, values: Tensor) -> Tensor:
        """`[B, K]` float64: at each place, the sum of `[B, K]` over its group."""
        total = torch.zeros(values.shape, dtype=torch.float64, device=values.device)
        return total.scatter_add_(1, self.group, values.double()).gather(1, self.group)


@dataclass(frozen=True)
class TieGroups(Block[TiedPlaces]):
    """Groups of equal scores. Lists that are not ranked by score have groups of one."""

    ranking: Ranking = Ranking()

    def make(self, blocks: Blocks) -> TiedPlaces:
        shown, ranked = blocks.batch.shown, blocks[Ranked(self.ranking, whole=True)]
        new = torch.ones(ranked.items.shape, dtype=torch.bool, device=blocks.device)
        if shown.has("score") and not shown.ranked and self.ranking.order != "given":
            scores = ranked.gather(shown.column("score"))
            new[:, 1:] = (scores[:, 1:] != scores[:, :-1]) | ~ranked.valid[:, 1:]
        group = new.cumsum(1) - 1
        places = torch.arange(new.shape[1], device=blocks.device).expand(new.shape)
        size = torch.zeros_like(group).scatter_add_(1, group, torch.ones_like(group)).gather(1, group)
        start = torch.where(new, places, 0).cummax(1).values if new.shape[1] else group
        return TiedPlaces(group, start, size)


class HitChances(NamedTuple):
    """Means over all orders of equal scores, place by place: `[B, K]` float64 each.

    Attributes:
        hit: the chance that the item is relevant: r of the m items of the group.
        first: the chance that it is the first relevant one of the list.
        ordinal: the mean number of relevant items from the top to this place, if it is relevant.
    """

    hit: Tensor
    first: Tensor
    ordinal: Tensor


@dataclass(frozen=True)
class ExpectedHits(Block[HitChances]):
    """The chances of hits over all orders of equal scores.

    In a group of m places with r relevant items, after b relevant ones, place j (from 1) has the group's first hit with
    the chance C(m - j, r - 1) / C(m, r), and if it has a hit, (j - 1) (r - 1) / (m - 1) hits of the group above it.
    A repeated item is a hit once.
    """

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> HitChances:
        ties = blocks[TieGroups(self.ranking)]
        ranked = blocks[Ranked(self.ranking, whole=True)]
        hits = torch.zeros(ties.group.shape, dtype=torch.float64, device=blocks.device)
        rows, places, _ = blocks[HitIndex(self.ranking, self.relevance, whole=True)]
        hits[rows, places] = 1
        if ranked.repeated:
            hits.masked_fill_(find_repeats(ranked.items, ranked.pad), 0)
        m, r = ties.size.double(), ties.sum(hits)
        j = torch.arange(1, hits.shape[1] + 1, device=blocks.device) - ties.start.double()
        # Hits above the group are those up to its last place but its own.
        before = ties.sum(torch.where(j == m, hits.long().cumsum(1).double(), 0.0)) - r
        first = torch.exp(_log_choose(m - j, r - 1) - _log_choose(m, r)).nan_to_num(nan=0.0)
        first = torch.where((before == 0) & (r > 0) & (m - j >= r - 1), first, 0.0)
        return HitChances(r / m, first, before + 1 + (j - 1) * (r - 1) / (m - 1).clamp(min=1))


def _log_choose(n: Tensor, k: Tensor) -> Tensor:
    """The logarithm of the binomial coefficient; anything where k is below 0 or above n."""
    return torch.lgamma(n + 1) - torch.lgamma(k + 1) - torch.lgamma(n - k + 1)


def sum_places(blocks: Blocks, cells: Tensor) -> Cumulative:
    """Cells `[B, K]` added up over the first k places: `[B]`."""
    return Cumulative.of_cells(blocks.cutoffs, cells, dim=1)


@dataclass(frozen=True)
class JudgedPlaces(Block[Tensor]):
    """Whether the truth has a row of each shown item: `[B, D]` bool."""

    ranking: Ranking = Ranking()

    def make(self, blocks: Blocks) -> Tensor:
        ranked = blocks[Ranked(self.ranking)]
        return ranked.gather(blocks[JudgedGains()] > -torch.inf) & ranked.valid


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
        if self.ranking.ties == "average":
            return sum_places(blocks, blocks[ExpectedHits(self.ranking, self.relevance)].hit)
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
    """Hits in the first P places, P being the number of the user's relevant items: `[B]` float64.

    Attributes:
        multiple: in the first `early_places` instead.
        cut_at: hits beyond this place do not count; None counts all.
    """

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()
    multiple: float = 1.0
    cut_at: int | None = None

    def make(self, blocks: Blocks) -> Tensor:
        shown, relevant = blocks.batch.shown, blocks[Relevant(self.relevance)]
        if isinstance(shown, ScoreBatch):
            # No row of scores is sorted deeper than the longest list of relevant items asks for.
            ranked = rank(shown, self.ranking, math.ceil(relevant.items.shape[1] * self.multiple) + 1)
            rows, places, _ = match(ranked, relevant, each=self.relevance.duplicates == "each")
        else:
            rows, places, _ = blocks[HitIndex(self.ranking, self.relevance, whole=True)]
        stop = early_places(blocks[RelevantCount(self.relevance)], self.multiple)
        if self.cut_at is not None:
            stop = stop.clamp(max=self.cut_at)
        return sum_by_code(rows, len(blocks), places < stop[rows])


def early_places(relevant: Tensor, multiple: float) -> Tensor:
    """The number of places in a multiple of P, as trec_eval rounds it: int64.

    >>> early_places(torch.tensor([0, 1, 5]), 0.5)
    tensor([0, 1, 3])
    """
    return relevant if multiple == 1 else (relevant.double() * multiple + 0.9).long()


@dataclass(frozen=True)
class DistinctRelevantCount(Block[Tensor]):
    """The number of different relevant items of each user: `[B]` int64."""

    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Tensor:
        relevant = blocks[Relevant(self.relevance)]
        return count_true(relevant.distinct) if relevant.repeated else blocks[RelevantCount(self.relevance)]
