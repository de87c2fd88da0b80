"""Gains: what relevant items are worth, and how places lose weight; the blocks behind nDCG and its kin."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import torch
from torch import Tensor

from bridgeval.batch.kernels import sort_descending, sort_rows, sum_first
from bridgeval.batch.ranking import Ranking, Relevance
from bridgeval.engine.blocks import Block, Blocks, GainRange, Ranked, Relevant, ShownCount
from bridgeval.engine.cumulative import Cumulative
from bridgeval.errors import BadParameterError, BadValueError
from bridgeval.metrics.blocks.hits import HitList, HitPlaces, TieGroups, sum_places

Gain = Literal["binary", "linear", "exponential", "shifted", "threshold"]
# A table is the gain of grade 0, of grade 1, ...
GainOrTable = Gain | tuple[float, ...]
DiscountName = Literal["log2", "ln", "jarvelin", "position"]
# A number p is geometric: the weight of place j is p^(j - 1).
Discount = DiscountName | float

# 2 ** 1024 is beyond float64; ratings come nowhere near this, play counts do.
LARGEST_EXPONENT = 1000


# Places of a table of weights: 32 MB.
LONGEST_TABLE = 1 << 22


def apply_discount(kind: Discount, ranks: Tensor) -> Tensor:
    """The weights of places, counted from 1: float64."""
    if isinstance(kind, int | float):
        return kind ** (ranks - 1)
    if kind == "log2":
        return torch.log2(ranks + 1).reciprocal()
    if kind == "jarvelin":
        return torch.log2(ranks).clamp(min=1).reciprocal()
    return ranks.reciprocal() if kind == "position" else torch.log(ranks + 1).reciprocal()


def discounts(kind: Discount, length: int, device: torch.device) -> Tensor:
    """`[length]` float64: the weight of places 1, 2, ..."""
    return apply_discount(kind, torch.arange(1, length + 1, dtype=torch.float64, device=device))


def weigh_places(blocks: Blocks, kind: Discount, places: Tensor | int | None = None) -> Tensor:
    """float64 weights, from a table that is made once for all batches.

    Args:
        places: of these, counted from 0; of so many first ones; None gives the table, `[n]`, with at least as many
            places as a list or a cutoff has.
    """
    longest = blocks.count_places()
    # A cutoff far beyond all lists costs nothing: no table of that length is made.
    if places is not None and longest > LONGEST_TABLE:
        if isinstance(places, int):
            return discounts(kind, places, blocks.device)
        return apply_discount(kind, places.double() + 1)
    table = blocks.lookup.once((kind, longest), lambda: discounts(kind, longest, blocks.device))
    return table[:places] if places is None or isinstance(places, int) else table[places]


def check_gain(name: str, gain: GainOrTable) -> None:
    """Raises BadParameterError unless a gain is known by name, or a table of numbers."""
    is_table = isinstance(gain, tuple | list) and all(isinstance(one, int | float) for one in gain)
    if not (gain in get_args(Gain) if isinstance(gain, str) else is_table):
        raise BadParameterError(
            f"{name} has no gain={gain!r}",
            hint=f"choose one of {', '.join(map(repr, get_args(Gain)))}, or give a list: the gains of grades 0, 1, ...",
        )


def check_discount(name: str, discount: Discount) -> None:
    """Raises BadParameterError unless a discount is known by name, or a number above 0, at most 1."""
    is_number = isinstance(discount, int | float) and not isinstance(discount, bool)
    known = discount in get_args(DiscountName) if isinstance(discount, str) else is_number and 0 < discount <= 1
    if not known:
        raise BadParameterError(
            f"{name} has no discount={discount!r}",
            hint=f"choose one of {', '.join(map(repr, get_args(DiscountName)))}, or give a number p up to 1: p^(j - 1)",
        )


def _look_up(blocks: Blocks, table: tuple[float, ...], grades: Tensor) -> Tensor:
    """The gains of grades 0, 1, ..., float64."""
    codes = grades.long()
    bad = (codes != grades) | (codes < 0) | (codes >= len(table))

    def complain() -> None:
        raise BadValueError(
            "a table of gains needs whole grades from 0 up",
            f"a grade of {float(grades[bad][0]):g} for a table of {len(table)}",
            "give a gain for every grade",
        )

    blocks.check(bad.any(), complain)
    gains = blocks.lookup.once(table, lambda: torch.tensor(table, dtype=torch.float64, device=grades.device))
    return gains[codes.clamp(0, max(len(table) - 1, 0))]


def apply_gain(blocks: Blocks, kind: GainOrTable, grades: Tensor, bar: float | None = None) -> Tensor:
    """Turns grades into gains, float64.

    Args:
        bar: the lowest relevant grade, for "threshold"; None is 1.
    """
    if isinstance(kind, tuple):
        return _look_up(blocks, kind, grades)
    if kind == "binary":
        return torch.ones_like(grades, dtype=torch.float64)
    gains, (_, highest) = grades.double(), blocks[GainRange()]
    if kind == "threshold":
        raised = 1 - (1 if bar is None else bar)
        gains, highest, kind = gains + raised, highest + raised, "exponential"
    if kind == "linear":
        return gains
    # What the host knows of the truth usually tells that none of these is too large.
    if gains.numel() and highest > LARGEST_EXPONENT and float(gains.max()) > LARGEST_EXPONENT:
        raise BadValueError(
            "the gains are too large for an exponential gain",
            f"a gain of {float(gains.max()):g}",
            'use nDCG(gain="linear") or scale the gains, e.g. by their logarithm',
        )
    if kind == "exponential":
        return torch.exp2(gains) - 1
    return torch.where(gains > 0, torch.exp2(gains + 1) - 1, gains)


def is_never_negative(kind: GainOrTable, relevance: Relevance) -> bool:
    """Whether no hit is worth less than 0, whatever the grades are.

    >>> is_never_negative("linear", Relevance()), is_never_negative("linear", Relevance(above=None))
    (True, False)
    """
    if isinstance(kind, tuple):
        return min(kind, default=0) >= 0
    if kind == "binary" or (kind == "threshold" and relevance.at_least is not None):
        return True
    return kind != "shifted" and relevance.above is not None and relevance.above >= 0


@dataclass(frozen=True)
class HitGains(Block[tuple[HitList, Tensor]]):
    """Hits, and what each is worth: `[n]` float64.

    With the gain "shifted" shown items with a grade below 0 are among them: they take something away.

    Attributes:
        whole: in the whole ranking, whatever the cutoffs.
    """

    gain: GainOrTable
    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()
    whole: bool = False

    def make(self, blocks: Blocks) -> tuple[HitList, Tensor]:
        relevance = self.relevance
        if self.gain == "shifted" and blocks[GainRange()][0] < 0:
            relevance = replace(relevance, above=None)
        hits = blocks[HitPlaces(self.ranking, relevance, whole=self.whole)]
        return hits, blocks[TruthGains(self.gain, relevance)][hits.rows, hits.columns]


@dataclass(frozen=True)
class TruthGains(Block[Tensor]):
    """The gain of each relevant item, 0 where there is none: `[B, R]` float64."""

    gain: GainOrTable
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Tensor:
        relevant = blocks[Relevant(self.relevance)]
        if self.gain == "binary":
            return relevant.valid.double()
        gains = apply_gain(blocks, self.gain, relevant.gains, self.relevance.at_least)
        # A cell without an item has the grade 0, which these make a gain of 0.
        return gains if self.gain in ("linear", "exponential") else gains.masked_fill(~relevant.valid, 0)


@dataclass(frozen=True)
class GainSums(Block[Cumulative]):
    """The sum of the gains of the hits in the first k places: `[B]` float64."""

    gain: GainOrTable
    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Cumulative:
        if self.ranking.ties == "average":
            return sum_places(blocks, expect_gains(blocks, self.gain, self.ranking, self.relevance))
        hits, gains = blocks[HitGains(self.gain, self.ranking, self.relevance)]
        return hits.sum(gains)


@dataclass(frozen=True)
class RelevantGains(Block[Tensor]):
    """The sum of the gains of all relevant items of each user: `[B]` float64."""

    gain: GainOrTable
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Tensor:
        return blocks[TruthGains(self.gain, self.relevance)].sum(1)


def expect_gains(blocks: Blocks, gain: GainOrTable, ranking: Ranking, relevance: Relevance) -> Tensor:
    """`[B, K]` float64: over all orders of equal scores every place has the mean gain of its group.

    McSherry and Najork 2008.
    """
    hits, gains = blocks[HitGains(gain, replace(ranking, ties="given"), relevance, whole=True)]
    ties = blocks[TieGroups(ranking)]
    cells = torch.zeros(ties.group.shape, dtype=torch.float64, device=blocks.device)
    cells.index_put_((hits.rows, hits.places), gains, accumulate=True)
    return ties.sum(cells) / ties.size


@dataclass(frozen=True)
class DiscountedGains(Block[tuple[HitList, Tensor]]):
    """Hits, and what each adds to DCG, the gain times the weight of its place: `[n]` float64."""

    gain: GainOrTable
    discount: Discount
    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> tuple[HitList, Tensor]:
        hits, gains = blocks[HitGains(self.gain, self.ranking, self.relevance)]
        return hits, gains * weigh_places(blocks, self.discount, hits.places)


@dataclass(frozen=True)
class ListDCG(Block[Cumulative]):
    """Discounted gain of the first k places: `[B]` float64."""

    gain: GainOrTable
    discount: Discount
    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Cumulative:
        if self.ranking.ties == "average":
            mean = expect_gains(blocks, self.gain, self.ranking, self.relevance)
            return sum_places(blocks, mean * weigh_places(blocks, self.discount, mean.shape[1]))
        hits, gains = blocks[DiscountedGains(self.gain, self.discount, self.ranking, self.relevance)]
        return hits.sum(gains)


@dataclass(frozen=True)
class IdealDCG(Block[Cumulative]):
    """DCG of the best list of k places, to divide by: `[B]` float64.

    Where that is 0, so that nothing can be found either, it is 1 instead.

    Attributes:
        listed: the best list is no longer than the list that this policy ranks; None has no such limit.
        uncut: whether the best list has all relevant items, whatever the cutoff.
    """

    gain: GainOrTable
    discount: Discount
    relevance: Relevance = Relevance()
    listed: Ranking | None = None
    uncut: bool = False

    def make(self, blocks: Blocks) -> Cumulative:
        gains = blocks[TruthGains(self.gain, self.relevance)]
        best = sort_descending(gains) * weigh_places(blocks, self.discount, gains.shape[1])
        if self.listed is not None:
            places = torch.arange(gains.shape[1], device=blocks.device)
            best = best.masked_fill(places >= blocks[ShownCount(self.listed)][:, None], 0)
        if self.uncut:
            ideal = Cumulative(blocks.cutoffs, best.sum(1).expand(len(blocks.cutoffs), -1))
        else:
            ideal = Cumulative.of_cells(blocks.cutoffs, best, dim=1)
        return replace(ideal, sums=ideal.sums.masked_fill(ideal.sums == 0, 1))


@dataclass(frozen=True)
class FoundDCG(Block[Cumulative]):
    """DCG of the best order of the list itself, cut at k; 1 where that is 0: `[B]` float64.

    Attributes:
        cut: whether only the first k places of the list are put in order, not the whole list.
    """

    gain: GainOrTable
    discount: Discount
    ranking: Ranking
    relevance: Relevance
    cut: bool

    def make(self, blocks: Blocks) -> Cumulative:
        hits, gains = blocks[HitGains(self.gain, self.ranking, self.relevance, whole=True)]
        shape = blocks[Ranked(self.ranking, whole=True)].items.shape
        cells = torch.zeros(shape, dtype=torch.float64, device=blocks.device)
        cells.index_put_((hits.rows, hits.places), gains, accumulate=True)
        weights = weigh_places(blocks, self.discount, shape[1])
        if self.cut:
            best = [sort_rows(cells[:, :k]).flip(1) for k in blocks.cutoffs]
            sums = torch.stack([(one * weights[: one.shape[1]]).sum(1) for one in best])
        else:
            sums = sum_first(sort_rows(cells).flip(1) * weights, blocks.cutoffs, 1)
        return Cumulative(blocks.cutoffs, sums.masked_fill(sums == 0, 1))
