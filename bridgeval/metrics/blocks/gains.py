"""Gains: what relevant items are worth, and how places lose weight; the blocks behind nDCG and its kin."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor

from bridgeval.batch.ranking import Ranking, Relevance
from bridgeval.batch.sorting import sorted_rows
from bridgeval.engine.blocks import Block, Blocks, Relevant, RelevantCount, ShownCount, at_cutoff
from bridgeval.engine.cumulative import Running
from bridgeval.errors import BadValueError
from bridgeval.metrics.blocks.hits import HitList, HitPlaces

Gain = Literal["binary", "linear", "exponential", "shifted"]
Discount = Literal["log2", "jarvelin"]
Ideal = Literal["reachable", "k", "listed"]

# 2 ** 1024 is beyond float64; ratings come nowhere near this, play counts do.
LARGEST_EXPONENT = 1000


@lru_cache(maxsize=64)
def discounts(kind: Discount, length: int, device: torch.device) -> Tensor:
    """`[length]` float64: the weight of places 1, 2, ...; made once, so not to be written to."""
    places = torch.arange(1, length + 1, dtype=torch.float64, device=device)
    return 1 / torch.log2(places + 1) if kind == "log2" else 1 / torch.log2(places).clamp(min=1)


@lru_cache(maxsize=64)
def ideals(kind: Discount, length: int, device: torch.device) -> Tensor:
    """`[length + 1]` float64: DCG of 0, 1, 2, ... hits in the first places; 1 for none, to divide by. Made once."""
    return torch.cat([torch.ones(1, dtype=torch.float64, device=device), discounts(kind, length, device).cumsum(0)])


def gains_of(kind: Gain, grades: Tensor, valid: Tensor) -> Tensor:
    """Grades turned into gains, 0 where not valid."""
    if kind == "binary":
        return valid.double()
    gains = grades.double()
    if kind in ("exponential", "shifted"):
        if gains.numel() and float(gains.max()) > LARGEST_EXPONENT:
            raise BadValueError(
                "the gains are too large for an exponential gain",
                f"a gain of {float(gains.max()):g}",
                'use nDCG(gain="linear") or scale the gains, e.g. by their logarithm',
            )
        powers = torch.exp2(gains if kind == "exponential" else gains + 1) - 1
        gains = powers if kind == "exponential" else torch.where(gains > 0, powers, gains)
    return gains.masked_fill(~valid, 0)


@dataclass(frozen=True)
class Gains(Block[Tensor]):
    """What each relevant item is worth: `[B, R]` float64, 0 where there is none."""

    gain: Gain
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Tensor:
        relevant = blocks[Relevant(self.relevance)]
        return gains_of(self.gain, relevant.gains, relevant.valid)


@dataclass(frozen=True)
class GainInEffect(Block[Gain]):
    """The plainest gain that is the same in this batch: "binary" where every grade is 1."""

    gain: Gain
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Gain:
        if self.gain not in ("linear", "exponential"):
            return self.gain
        return "binary" if blocks[OnlyOnes(self.relevance)] else self.gain


@dataclass(frozen=True)
class OnlyOnes(Block[bool]):
    """Whether every relevant item of the batch has the grade 1."""

    relevance: Relevance

    def make(self, blocks: Blocks) -> bool:
        relevant = blocks[Relevant(self.relevance)]
        ones = relevant.gains == 1
        return bool(ones.all()) or bool((ones | ~relevant.valid).all())


@dataclass(frozen=True)
class Graded:
    """Hits and what they are worth.

    Attributes:
        gains: `[n]` float64.
        relevance: the policy by which they are hits.
    """

    hits: HitList
    gains: Tensor
    relevance: Relevance


@dataclass(frozen=True)
class GradedHits(Block[Graded]):
    """Hits with their gains; under "shifted" also shown items with a gain below 0, which take something away."""

    gain: Gain
    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Graded:
        relevance = self.relevance
        if self.gain == "shifted" and bool((blocks.batch.relevant.column("gain") < 0).any()):
            relevance = replace(relevance, above=None)
        hits = blocks[HitPlaces(self.ranking, relevance)]
        if self.gain == "binary":
            gains = torch.ones(len(hits.rows), dtype=torch.float64, device=blocks.device)
        else:
            gains = hits.of_relevant(blocks[Gains(self.gain, relevance)])
        return Graded(hits, gains, relevance)


@dataclass(frozen=True)
class DiscountedGains(Block[Tensor]):
    """What each hit adds to DCG: `[n]` float64."""

    gain: Gain
    discount: Discount
    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Tensor:
        graded = blocks[GradedHits(self.gain, self.ranking, self.relevance)]
        weights = discounts(self.discount, blocks.batch.shown.width, blocks.device)
        return graded.gains * weights.index_select(0, graded.hits.place_of - 1)


@dataclass(frozen=True)
class CumulatedGain(Block[Running[Tensor]]):
    """DCG of the first k places: `[B]` float64."""

    gain: Gain
    discount: Discount
    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Running[Tensor]:
        hits = blocks[GradedHits(self.gain, self.ranking, self.relevance)].hits
        return hits.running(blocks[DiscountedGains(self.gain, self.discount, self.ranking, self.relevance)])


@dataclass(frozen=True)
class IdealGains(Block[Tensor]):
    """DCG of the best list of 1, 2, ... places, to divide by: `[B, R]` float64, R at least 1.

    Where that is 0, so that nothing can be found either, it is 1 instead.
    """

    gain: Gain
    discount: Discount
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Tensor:
        gains = blocks[Gains(self.gain, self.relevance)]
        if not gains.shape[1]:
            return gains.new_ones((len(blocks), 1))
        weights = discounts(self.discount, gains.shape[1], blocks.device)
        if not bool((gains[:, 1:] <= gains[:, :-1]).all()):
            gains = sorted_rows(gains).flip(1)
        best = (gains * weights).cumsum_(1)
        return best.masked_fill_(best == 0, 1)


@dataclass(frozen=True)
class NormalisedGain(Block[Tensor]):
    """DCG of the first k places over that of the best list: `[B]` float64. The fields are parameters of nDCG."""

    k: int
    gain: Gain
    ideal: Ideal
    discount: Discount
    ranking: Ranking
    relevance: Relevance

    def make(self, blocks: Blocks) -> Tensor:
        gains = blocks[CumulatedGain(self.gain, self.discount, self.ranking, self.relevance)].up_to(self.k)
        return gains / self._ideal(blocks)

    def _ideal(self, blocks: Blocks) -> Tensor | float:
        if self.ideal == "k":
            return float(discounts(self.discount, self.k, blocks.device).sum())
        if self.gain == "binary":
            reached = blocks[RelevantCount(self.relevance)]
            if self.ideal == "listed":
                reached = torch.minimum(reached, blocks[ShownCount(self.ranking)])
            return ideals(self.discount, self.k, blocks.device).index_select(0, reached.clamp(max=self.k))
        best = blocks[IdealGains(self.gain, self.discount, self.relevance)]
        if self.ideal == "listed":
            # A user who was shown nothing has found nothing either, whatever that is divided by.
            listed = blocks[ShownCount(self.ranking)].clamp(min=1, max=min(self.k, best.shape[1]))
            return best.gather(1, (listed - 1)[:, None]).squeeze(1)
        return at_cutoff(best, self.k)
