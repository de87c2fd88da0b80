"""Blocks about the items in everyone's lists: which cells count, how often each item is in them, sums by list.

C is the largest cutoff asked for. Lists are laid out place by place, `[C, B]`, so that the same places of all users are
one piece of memory, which sums twice as fast. Cells that do not count hold the code V, one past the vocabulary. Tables
map V to a value that does not count either, so that no cell has to be masked later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from bridgeval.batch.kernels import drop_columns, sum_by_code
from bridgeval.batch.ranking import Ranking, Relevance
from bridgeval.engine.blocks import Block, Blocks, Counted, LeftOut, Ranked, Relevant, ShownColumn, ShownCount, by_item
from bridgeval.engine.cumulative import Cumulative
from bridgeval.engine.metric import RankingMetric, TopKMetric, TotalMetric
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import ItemSums
from bridgeval.errors import BadParameterError

Among = Literal["shown", "catalogue"]
DEEPEST = 100_000


def check_depth(name: str, k: int) -> None:
    """Raises BadParameterError for a cutoff that no list comes near, where a metric holds a number for every place."""
    if k > DEEPEST:
        raise BadParameterError(
            f"{name} holds a number for every place: its cutoff is at most {DEEPEST:,}", f"{k}", "give a lower cutoff"
        )


@dataclass(frozen=True)
class CountedNumber(Block[Tensor]):
    """The number of users of the batch who count: a tensor of one int64."""

    counted: Counted

    def make(self, blocks: Blocks) -> Tensor:
        return blocks[self.counted].sum()


def population(blocks: Blocks, metric: RankingMetric) -> Tensor:
    """The number of users of the batch who count: a tensor of one int64."""
    return blocks[CountedNumber(metric.population)]


def counted_items(blocks: Blocks, counted: Counted, items: Tensor, rows: Tensor | None = None) -> Tensor:
    """Items `[B, N]`, or `[n]` of the users `rows`, with V in place of those of users who do not count."""
    leave_out = blocks[LeftOut(counted)]
    return items.masked_fill(leave_out[:, None] if rows is None else leave_out[rows], blocks.batch.shown.pad)


@dataclass(frozen=True)
class ListedItems(Block[Tensor]):
    """The items in the first C places of users who count: `[C, B]` codes, V in the other cells.

    Attributes:
        counted: who counts; None for everyone.
    """

    ranking: Ranking
    counted: Counted | None = None

    def make(self, blocks: Blocks) -> Tensor:
        if self.counted is None:
            return blocks[Ranked(self.ranking)].items[:, : blocks.cutoff].t().contiguous()
        items, left_out = blocks[ListedItems(self.ranking)], blocks[LeftOut(self.counted)]
        return drop_columns(items, left_out, blocks.batch.shown.pad)


@dataclass(frozen=True)
class ListedScores(Block[Tensor]):
    """The scores in the first C places: `[C, B]` float64; undefined where there is no item."""

    ranking: Ranking

    def make(self, blocks: Blocks) -> Tensor:
        return blocks[ShownColumn("score", self.ranking)][:, : blocks.cutoff].t().double().contiguous()


@dataclass(frozen=True)
class RelevantCells(Block[Tensor]):
    """The relevant items of users who count: `[B, R]` codes, V in the other cells."""

    relevance: Relevance
    counted: Counted

    def make(self, blocks: Blocks) -> Tensor:
        return counted_items(blocks, self.counted, blocks[Relevant(self.relevance)].items)


@dataclass(frozen=True)
class HistoryCells(Block[Tensor]):
    """The history of users who count: `[B, H]` codes, V in the other cells."""

    counted: Counted

    def make(self, blocks: Blocks) -> Tensor:
        return counted_items(blocks, self.counted, blocks.batch.history.items)


@dataclass(frozen=True)
class ItemCounts(Block[Cumulative]):
    """The number of the first k places of all lists that hold each item of the vocabulary: `[V]` float64.

    Attributes:
        p: place j counts as `p^(j - 1)`.
    """

    ranking: Ranking
    counted: Counted
    p: float = 1.0

    def make(self, blocks: Blocks) -> Cumulative:
        items, size = blocks[ListedItems(self.ranking, self.counted)], blocks.batch.shown.pad
        if self.p == 1:
            return Cumulative.of_places(blocks.cutoffs, lambda places: sum_by_code(items[places], size))
        weights = (self.p ** torch.arange(len(items), dtype=torch.float64, device=blocks.device))[:, None]
        weights = weights.expand(items.shape)
        return Cumulative.of_places(blocks.cutoffs, lambda places: sum_by_code(items[places], size, weights[places]))


def counts_by_item(blocks: Blocks, metric: TotalMetric | TopKMetric, p: float = 1.0) -> Tensor:
    """`[V]` float64: how many of the first k places of all lists hold each item."""
    return blocks[ItemCounts(metric.ranking, metric.population, p)].up_to(metric.k)


def item_counts(blocks: Blocks, metric: TotalMetric, among: Among = "shown") -> ItemSums:
    """The number of places that hold each item; with among="catalogue" it is 0 for items that the catalogue lacks."""
    counts = counts_by_item(blocks, metric)
    if among == "catalogue":
        counts = counts * blocks.lookup.in_catalogue[:-1]
    return ItemSums.of(blocks.batch.slates.items, counts)


def among_needs(among: Among) -> Needs:
    """The needs of `item_counts`."""
    return Needs(context=frozenset({"catalogue"} if among == "catalogue" else ()))


@dataclass(frozen=True)
class ListSums(Block[Cumulative]):
    """A number of each item, added up over the first k places of each list: `[B]` float64.

    Attributes:
        numbers: the block of `[V + 1]` float64, 0 for V.
    """

    numbers: Block[Tensor]
    ranking: Ranking

    def make(self, blocks: Blocks) -> Cumulative:
        numbers, items = blocks[self.numbers], blocks[ListedItems(self.ranking)]
        return Cumulative.of_places(blocks.cutoffs, lambda places: by_item(numbers, items[places]).sum(0))


def list_length(blocks: Blocks, metric: TopKMetric, divide_by: Literal["shown", "k"]) -> Tensor | int:
    """The denominator of a share of the list: n, the items in the first k places, or k itself.

    0 / 0 leaves users who were shown nothing undefined.
    """
    return metric.k if divide_by == "k" else blocks[ShownCount(metric.ranking)].clamp(max=metric.k)
