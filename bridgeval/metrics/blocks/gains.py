"""Gains: what relevant items are worth, and how places lose weight; the blocks behind nDCG and its kin."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor

from bridgeval.batch.kernels import sort_rows
from bridgeval.batch.ranking import Ranking, Relevance
from bridgeval.engine.blocks import Block, Blocks, Relevant, ShownCount
from bridgeval.engine.cumulative import Cumulative
from bridgeval.errors import BadValueError
from bridgeval.metrics.blocks.hits import HitList, HitPlaces

Gain = Literal["binary", "linear", "exponential", "shifted"]
Discount = Literal["log2", "jarvelin"]

# 2 ** 1024 is beyond float64; ratings come nowhere near this, play counts do.
LARGEST_EXPONENT = 1000


def apply_discount(kind: Discount, ranks: Tensor) -> Tensor:
    """The weights of places, counted from 1: float64."""
    return 1 / torch.log2(ranks + 1) if kind == "log2" else 1 / torch.log2(ranks).clamp(min=1)


@lru_cache(maxsize=64)
def discounts(kind: Discount, length: int, device: torch.device) -> Tensor:
    """`[length]` float64: the weight of places 1, 2, ...; cached, so do not write to it."""
    return apply_discount(kind, torch.arange(1, length + 1, dtype=torch.float64, device=device))


def apply_gain(kind: Gain, grades: Tensor) -> Tensor:
    """Turns grades into gains, float64."""
    if kind == "binary":
        return torch.ones_like(grades, dtype=torch.float64)
    gains = grades.double()
    if kind == "linear":
        return gains
    if gains.numel() and float(gains.max()) > LARGEST_EXPONENT:
        raise BadValueError(
            "the gains are too large for an exponential gain",
            f"a gain of {float(gains.max()):g}",
            'use nDCG(gain="linear") or scale the gains, e.g. by their logarithm',
        )
    if kind == "exponential":
        return torch.exp2(gains) - 1
    return torch.where(gains > 0, torch.exp2(gains + 1) - 1, gains)


def is_never_negative(kind: Gain, relevance: Relevance) -> bool:
    """Whether no hit is worth less than 0, whatever the grades are.

    >>> is_never_negative("linear", Relevance()), is_never_negative("linear", Relevance(above=None))
    (True, False)
    """
    if kind == "binary":
        return True
    return kind != "shifted" and relevance.above is not None and relevance.above >= 0


@dataclass(frozen=True)
class HitGains(Block[tuple[HitList, Tensor]]):
    """Hits, and what each is worth: `[n]` float64.

    With the gain "shifted" shown items with a grade below 0 are among them: they take something away.
    """

    gain: Gain
    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> tuple[HitList, Tensor]:
        relevance = self.relevance
        if self.gain == "shifted" and bool((blocks.batch.relevant.column("gain") < 0).any()):
            relevance = replace(relevance, above=None)
        hits = blocks[HitPlaces(self.ranking, relevance)]
        return hits, apply_gain(self.gain, hits.grades)


@dataclass(frozen=True)
class DiscountedGains(Block[tuple[HitList, Tensor]]):
    """Hits, and what each adds to DCG, the gain times the weight of its place: `[n]` float64."""

    gain: Gain
    discount: Discount
    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> tuple[HitList, Tensor]:
        hits, gains = blocks[HitGains(self.gain, self.ranking, self.relevance)]
        return hits, gains * apply_discount(self.discount, hits.places.double() + 1)


@dataclass(frozen=True)
class DCG(Block[Cumulative]):
    """Discounted gain of the first k places: `[B]` float64."""

    gain: Gain
    discount: Discount
    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Cumulative:
        hits, gains = blocks[DiscountedGains(self.gain, self.discount, self.ranking, self.relevance)]
        return hits.sum(gains)


@dataclass(frozen=True)
class IdealDCG(Block[Cumulative]):
    """DCG of the best list of k places, to divide by: `[B]` float64.

    Where that is 0, so that nothing can be found either, it is 1 instead.

    Attributes:
        listed: the best list is no longer than the list that this policy ranks; None has no such limit.
    """

    gain: Gain
    discount: Discount
    relevance: Relevance = Relevance()
    listed: Ranking | None = None

    def make(self, blocks: Blocks) -> Cumulative:
        relevant = blocks[Relevant(self.relevance)]
        gains = apply_gain(self.gain, relevant.gains).masked_fill(~relevant.valid, 0)
        # Without grades all gains are equal, and there is nothing to sort.
        if not bool((gains[:, 1:] <= gains[:, :-1]).all()):
            gains = sort_rows(gains).flip(1)
        best = gains * discounts(self.discount, gains.shape[1], blocks.device)
        if self.listed is not None:
            places = torch.arange(gains.shape[1], device=blocks.device)
            best = best.masked_fill(places >= blocks[ShownCount(self.listed)][:, None], 0)
        ideal = Cumulative.of_places(blocks.cutoffs, lambda places: best[:, places].sum(1))
        return replace(ideal, sums=ideal.sums.masked_fill(ideal.sums == 0, 1))
