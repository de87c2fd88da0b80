"""Gain levels: measures of graded lists beside nDCG, as trec_eval and ir_measures have them.

g_j gain of the item at place j (from 1), P items with a gain above 0, i_1 >= i_2 >= ... their gains in the best order
and 0 beyond them, n items shown. All of them read the whole list.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from bridgeval.batch.kernels import cumulate, sort_rows, sum_by_code
from bridgeval.batch.ranking import Ranking, Relevance
from bridgeval.engine.blocks import Block, Blocks, Ranked, Relevant, RelevantCount, ShownCount
from bridgeval.engine.metric import RelevanceMetric
from bridgeval.engine.summary import SHARE, UNBOUNDED, Bounds
from bridgeval.errors import BadParameterError
from bridgeval.metrics.blocks.gains import (
    Gain,
    HitGains,
    RelevantGains,
    apply_gain,
    discounts,
    is_never_negative,
)
from bridgeval.metrics.blocks.hits import HitPlaces


@dataclass(frozen=True)
class PlacedGains(Block[Tensor]):
    """The gain at each place of the whole list: `[B, W]` float64, W places for the longest list or relevant list."""

    gain: Gain
    ranking: Ranking
    relevance: Relevance

    def make(self, blocks: Blocks) -> Tensor:
        hits, gains = blocks[HitGains(self.gain, self.ranking, self.relevance, whole=True)]
        width = max(blocks[Ranked(self.ranking, whole=True)].items.shape[1], hits.relevant.items.shape[1])
        cells = torch.zeros((len(blocks), width), dtype=torch.float64, device=blocks.device)
        return cells.index_put_((hits.rows, hits.places), gains, accumulate=True)


@dataclass(frozen=True)
class IdealGains(Block[Tensor]):
    """The gains of the relevant items in the best order, 0 beyond them: `[B, W]` float64, as wide as `PlacedGains`."""

    gain: Gain
    ranking: Ranking
    relevance: Relevance

    def make(self, blocks: Blocks) -> Tensor:
        relevant = blocks[Relevant(self.relevance)]
        gains = apply_gain(blocks, self.gain, relevant.gains, self.relevance.at_least).masked_fill(~relevant.valid, 0)
        best = sort_rows(gains).flip(1)
        wide = blocks[PlacedGains(self.gain, self.ranking, self.relevance)].shape[1] - best.shape[1]
        return torch.nn.functional.pad(best, (0, wide))


@dataclass(frozen=True)
class GradedMetric(RelevanceMetric):
    """The base of these measures.

    Attributes:
        gain: what an item is worth, see nDCG.
    """

    family = "graded"

    gain: Gain = field(default="linear", kw_only=True)

    @property
    def bounds(self) -> Bounds:
        plain = self.ranking.duplicates == "best" and is_never_negative(self.gain, self.relevance)
        return SHARE if plain else UNBOUNDED

    def gains(self, blocks: Blocks) -> tuple[Tensor, Tensor]:
        """`[B, W]` each: gains by place, and those of the best order."""
        parts = (self.gain, self.ranking, self.relevance)
        return blocks[PlacedGains(*parts)], blocks[IdealGains(*parts)]

    def discounted(self, blocks: Blocks) -> tuple[Tensor, Tensor]:
        """`[B, W]` each: DCG up to each place, of the list and of the best order."""
        placed, ideal = self.gains(blocks)
        weights = discounts("log2", placed.shape[1], blocks.device)
        return cumulate(placed * weights), cumulate(ideal * weights)


@dataclass(frozen=True)
class GainG(GradedMetric):
    """Normalized gain: `sum_j g_j / log2(2 + c_j - s_j)`, divided by the sum of all gains (trec_eval's `G`).

    s_j = g_1 + ... + g_j is what the list has gathered, c_j = sum of max(i_l, 1) for l = 1..j what the best order would
    have: an item is worth more the less is behind. With gain="binary" it is trec_eval's `binG`, where c_j - s_j counts
    the misses above.

    >>> import bridgeval
    >>> round(bridgeval.evaluate({1: ["a", "b"]}, {1: ["b"]}, "GainG")["GainG"], 4)
    0.6309
    """

    name = "GainG"

    @property
    def bounds(self) -> Bounds:
        # A gain below 1 costs a whole place, so that log2 may come below 1.
        return UNBOUNDED

    def values(self, blocks: Blocks) -> Tensor:
        placed, ideal = self.gains(blocks)
        behind = cumulate(ideal.clamp(min=1)) - cumulate(placed)
        total = blocks[RelevantGains(self.gain, self.relevance)]
        return (placed / torch.log2(2 + behind)).sum(1) / total.masked_fill(total == 0, 1)


@dataclass(frozen=True)
class LevelnDCG(GradedMetric):
    """nDCG averaged over the places where the gain of the best order drops (trec_eval's `Rndcg`).

    For grades 3, 3, 1 these are places 2 and 3: `(nDCG@2 + nDCG@3) / 2`. The end of the list is one more such place
    where the list has at least two places more than there are relevant items.

    Attributes:
        level: users without an item of this gain get 0, which is all that trec_eval's relevance level does here.

    >>> import bridgeval
    >>> round(bridgeval.evaluate({1: ["a", "b"]}, {1: {"a": 1, "b": 2}}, "LevelnDCG")["LevelnDCG"], 4)
    0.6799
    """

    name = "LevelnDCG"

    level: float = field(default=0.0, kw_only=True)

    def values(self, blocks: Blocks) -> Tensor:
        found, best = self.discounted(blocks)
        _, ideal = self.gains(blocks)
        share = torch.where(best > 0, found / best, 0.0)
        drops = (ideal > 0) & (ideal != torch.nn.functional.pad(ideal[:, 1:], (0, 1)))
        last = blocks[ShownCount(self.ranking)] > (ideal > 0).sum(1) + 1
        total = (share * drops).sum(1) + torch.where(last, share[:, -1:].sum(1), 0.0)
        value = total / (drops.sum(1) + last).clamp(min=1)
        relevant = blocks[Relevant(self.relevance)]
        return value.masked_fill(~(relevant.valid & (relevant.gains >= self.level)).any(1), 0)


@dataclass(frozen=True)
class HitnDCG(GradedMetric):
    """nDCG averaged over the relevant items: each counts nDCG at its place, or at the end (trec_eval's `ndcg_rel`).

    `1/P (sum over hits at j of DCG_j / IDCG_j + (P - hits) DCG_n / IDCG_P)`.

    >>> import bridgeval
    >>> round(bridgeval.evaluate({1: ["a", "b"]}, {1: ["b", "c"]}, "HitnDCG")["HitnDCG"], 4)
    0.3869
    """

    name = "HitnDCG"

    def values(self, blocks: Blocks) -> Tensor:
        found, best = self.discounted(blocks)
        share = torch.where(best > 0, found / best, 0.0)
        hits = blocks[HitPlaces(self.ranking, self.relevance, whole=True)]
        at_hits = sum_by_code(hits.rows, len(blocks), share[hits.rows, hits.places])
        relevant = blocks[RelevantCount(self.relevance)]
        missed = relevant - sum_by_code(hits.rows, len(blocks))
        return (at_hits + missed * share[:, -1:].sum(1)) / relevant.clamp(min=1)


@dataclass(frozen=True)
class Compatibility(RelevanceMetric):
    """The rank-biased overlap of the list with the nearest ideal list, over its highest value (Clarke et al. 2020).

    `sum_d p^(d-1) o_d / d` over depths d = 1..max(n, P), o_d items that the first d places of both have. The ideal list
    has relevant items by gain, and those of one gain as the list has them; those that it lacks come last.

    Attributes:
        p: how likely a reader goes on.

    >>> import bridgeval
    >>> round(bridgeval.evaluate({1: ["a", "b"]}, {1: ["b"]}, "Compatibility(p=0.5)")["Compatibility(p=0.5)"], 4)
    0.2
    """

    name = "Compatibility"
    family = "graded"
    bounds = SHARE

    p: float = field(default=0.95, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.p < 1:
            raise BadParameterError("Compatibility needs a p between 0 and 1", f"{self.p}", "0.95 is usual")

    def values(self, blocks: Blocks) -> Tensor:
        relevant, listed = blocks[Relevant(self.relevance)], blocks[Ranked(self.ranking, whole=True)]
        hits = blocks[HitPlaces(self.ranking, self.relevance, "once", whole=True)]
        width = max(listed.items.shape[1], relevant.items.shape[1])
        # The place of each relevant item in the list, beyond every list for those that it lacks: `[B, R]`.
        place = torch.full(relevant.items.shape, width, dtype=torch.int64, device=blocks.device)
        place.index_put_((hits.rows, hits.columns), hits.places)
        by_place = torch.argsort(place, dim=1, stable=True)
        gains = relevant.gains.double().masked_fill(~relevant.valid, -torch.inf).gather(1, by_place)
        order = by_place.gather(1, torch.argsort(gains, dim=1, descending=True, stable=True))
        ideal = torch.arange(order.shape[1], device=blocks.device).expand(order.shape)
        both = torch.maximum(place.gather(1, order), ideal)
        # From the depth where both lists have it, an item adds p^(d-1) / d at each depth.
        depths = torch.arange(1, width + 1, dtype=torch.float64, device=blocks.device)
        stop = torch.maximum(listed.counts, relevant.counts)[:, None]
        weights = torch.where(depths <= stop, self.p ** (depths - 1) / depths, 0.0)
        later = torch.nn.functional.pad(cumulate(weights.flip(1)).flip(1), (0, 1))
        valid = relevant.valid.gather(1, order)
        total, best = ((later.gather(1, start) * valid).sum(1) for start in (both, ideal))
        return total / best.masked_fill(best == 0, 1)
