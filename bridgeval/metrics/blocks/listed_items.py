"""Blocks that metrics over everyone's lists share: which cells count, and how often each item is in them.

C is the largest cutoff asked for: what is laid out for it serves all cutoffs. Cells that do not count hold the code V,
one past the vocabulary, which tables send to a value that does not count either; so nothing is masked cell by cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bridgeval.batch.ranking import Ranking, Relevance
from bridgeval.batch.tensors import array_of, sums_by_code
from bridgeval.engine.blocks import Block, Blocks, Counted, Ranked, Relevant, ShownWithin, UserGroups
from bridgeval.engine.cumulative import Running
from bridgeval.engine.metric import RankingMetric, TopKMetric, TotalMetric
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import Floats, ItemSums
from bridgeval.metrics.blocks.hits import HitPlaces

Among = Literal["shown", "catalogue"]

# Places of all lists whose items are looked up at once.
PLACES_NEAR = 10


def who(blocks: Blocks, metric: RankingMetric) -> Counted | None:
    """The block of who counts; None where everyone does, so that metrics of different populations share blocks."""
    return None if bool(metric.counted(blocks).all()) else metric.population


def population(blocks: Blocks, metric: RankingMetric) -> int:
    """How many users of the batch count."""
    return int(metric.counted(blocks).sum())


def counted_items(blocks: Blocks, counted: Counted | None, items: Tensor, rows: Tensor | None = None) -> Tensor:
    """Items `[B, N]`, or `[n]` of the users `rows`, with V in place of those of users who do not count."""
    if counted is None:
        return items
    leave_out = ~blocks[counted]
    return items.masked_fill(leave_out[:, None] if rows is None else leave_out[rows], blocks.batch.shown.pad)


@dataclass(frozen=True)
class ListedItems(Block[Tensor]):
    """The items in the first C places of users who count, place by place: `[C, B]` codes, V in the other cells."""

    ranking: Ranking
    counted: Counted | None = None

    def make(self, blocks: Blocks) -> Tensor:
        items = blocks[Ranked(self.ranking)].items[:, : blocks.cutoff]
        return counted_items(blocks, self.counted, items).t().contiguous()


def sums_over_places(items: Tensor, numbers: Tensor, cutoffs: Sequence[int]) -> Tensor:
    """`[cutoffs, B]`: numbers of items, `[V + 1]`, added up over the first places of each list.

    Args:
        items: place by place, as `ListedItems` has them.

    >>> sums_over_places(torch.tensor([[0, 1], [1, 1]]), torch.tensor([1.0, 10.0]), (1, 2))
    tensor([[ 1., 10.],
            [11., 20.]])
    """
    sums = numbers.new_zeros((len(cutoffs), items.shape[1]))
    for step, found in _over_places(items, numbers, cutoffs):
        sums[step] += found.sum(0)
    for before, here in pairwise(sums):
        here += before
    return sums


def bits_over_places(items: Tensor, words: Tensor, cutoffs: Sequence[int]) -> Tensor:
    """`[cutoffs, B]`: the bits of items, `[V + 1]`, that the first places of each list have between them.

    >>> bits_over_places(torch.tensor([[0, 1], [1, 1]]), torch.tensor([0b01, 0b10]), (1, 2))
    tensor([[1, 2],
            [3, 2]])
    """
    bits = words.new_zeros((len(cutoffs), items.shape[1]))
    for step, found in _over_places(items, words, cutoffs):
        for of_place in found:
            bits[step] |= of_place
    for before, here in pairwise(bits):
        here |= before
    return bits


def _over_places(items: Tensor, numbers: Tensor, cutoffs: Sequence[int]) -> Iterator[tuple[int, Tensor]]:
    """What stands beside items in a few places at a time, `[n, B]`, and the first cutoff that these are within.

    Each time in the same memory, so that it stays in the cache.
    """
    memory = numbers.new_empty((PLACES_NEAR, items.shape[1]))
    for step, (start, stop) in enumerate(pairwise([0, *cutoffs])):
        for places in torch.split(items[start:stop], PLACES_NEAR):
            found = memory[: len(places)]
            torch.index_select(numbers, 0, places.reshape(-1), out=found.view(-1))
            yield step, found


@dataclass(frozen=True)
class HitItems(Block[Tensor]):
    """The item of each hit: `[n]` codes."""

    ranking: Ranking
    relevance: Relevance

    def make(self, blocks: Blocks) -> Tensor:
        hits = blocks[HitPlaces(self.ranking, self.relevance)]
        return hits.of_relevant(blocks[Relevant(self.relevance)].items)


@dataclass(frozen=True)
class RelevantCells(Block[Tensor]):
    """The relevant items of users who count: `[B, R]` codes, V in the other cells."""

    relevance: Relevance
    counted: Counted | None

    def make(self, blocks: Blocks) -> Tensor:
        return counted_items(blocks, self.counted, blocks[Relevant(self.relevance)].items)


@dataclass(frozen=True)
class HistoryCells(Block[Tensor]):
    """What users who count have in the history: `[B, H]` codes, V in the other cells."""

    counted: Counted | None

    def make(self, blocks: Blocks) -> Tensor:
        return counted_items(blocks, self.counted, blocks.batch.history.items)


@dataclass(frozen=True)
class ItemTally(Block[Floats]):
    """How many cells hold each item of the vocabulary: `[1, V]` float64."""

    cells: Block[Tensor]

    def make(self, blocks: Blocks) -> Floats:
        return counts_by_item(blocks[self.cells], 1, blocks.batch.shown.pad)


@dataclass(frozen=True)
class HistoryTally(Block[Floats]):
    """How many users of each group have each item in the history: `[user groups, V]` float64.

    All users are one group where `CellCounts` takes them for one.
    """

    cells: HistoryCells

    def make(self, blocks: Blocks) -> Floats:
        items, (groups, first_codes) = blocks[self.cells], codes_of_users(blocks, self.cells)
        return counts_by_item(items if groups == 1 else items + first_codes[:, None], groups, blocks.batch.shown.pad)


def listed_by(blocks: Blocks, metric: RankingMetric) -> ListedItems:
    """The block of the cells that a metric counts."""
    return ListedItems(metric.ranking, who(blocks, metric))


@dataclass(frozen=True)
class CellCounts(Block[Running[Floats]]):
    """How many of the first k places of the lists of each user group hold each item: `[user groups, V]` float64.

    All users are one group where none are known, or where there are more pairs of a group and an item than cells.
    """

    listed: ListedItems

    def make(self, blocks: Blocks) -> Running[Floats]:
        items, pad = blocks[self.listed], blocks.batch.shown.pad
        groups, first_codes = codes_of_users(blocks, self.listed)

        def between(start: int, stop: int) -> Floats:
            codes = items[start:stop] if groups == 1 else items[start:stop] + first_codes
            return counts_by_item(codes, groups, pad)

        return Running(between)


def codes_of_users(blocks: Blocks, cells: Block[Tensor]) -> tuple[int, Tensor]:
    """How many groups of users are told apart among cells; and `[B]` int32, what to add to the items of each user."""
    if not tells_user_groups(blocks, cells):
        return 1, torch.zeros(len(blocks), dtype=torch.int32, device=blocks.device)
    return user_group_count(blocks), (blocks[UserGroups()] * (blocks.batch.shown.pad + 1)).to(torch.int32)


def counts_by_item(codes: Tensor, groups: int, pad: int) -> Floats:
    """`[user groups, V]` float64: how often each item occurs, by codes of both."""
    return sums_by_code(codes, groups * (pad + 1)).reshape(groups, pad + 1)[:, :pad]


def user_group_count(blocks: Blocks) -> int:
    """Groups of users, and one for none."""
    return len(blocks.context.users["groups"].labels) + 1


def tells_user_groups(blocks: Blocks, cells: Block[Tensor]) -> bool:
    """Whether items are counted for each user group apart: one look at the cells serves all that ask."""
    if "groups" not in blocks.context.users:
        return False
    return user_group_count(blocks) * (blocks.batch.shown.pad + 1) < blocks[cells].numel()


@dataclass(frozen=True)
class ItemCounts(Block[Floats]):
    """How many of the first k places of all lists hold each item of the vocabulary: `[V]` float64."""

    listed: ListedItems
    k: int

    def make(self, blocks: Blocks) -> Floats:
        return np.add.reduce(blocks[CellCounts(self.listed)].up_to(self.k))


def cell_counts(blocks: Blocks, metric: TotalMetric | TopKMetric) -> Floats:
    """`[V]` float64: how many of the first k places of all lists hold each item."""
    return blocks[ItemCounts(listed_by(blocks, metric), metric.k)]


def among_needs(among: Among) -> Needs:
    """What it takes to count items so."""
    return Needs(context=frozenset({"catalogue"} if among == "catalogue" else ()))


def item_counts(blocks: Blocks, metric: TotalMetric, among: Among = "shown") -> ItemSums:
    """How many places hold each item of the vocabulary; 0 for what the catalogue lacks, if only that counts."""
    counts = cell_counts(blocks, metric)
    if among == "catalogue":
        counts = counts * array_of(blocks.lookup.in_catalogue)[:-1]
    return ItemSums(blocks.batch.slates.items, counts)


def places_counted(blocks: Blocks, ranking: Ranking, k: int, divide_by: Literal["shown", "k"]) -> Tensor | int:
    """What a share of the list is taken of; 0 / 0 leaves users without a list undefined."""
    return k if divide_by == "k" else blocks[ShownWithin(k, ranking)]


def spread(shares: Floats) -> float | None:
    """Standard deviation over mean, of the shares that are defined; None below two of them and for a mean of 0.

    >>> spread(np.array([0.5, 0.25, np.nan])) == 0.125 / 0.375
    True
    """
    defined = shares[~np.isnan(shares)]
    if len(defined) < 2 or not defined.mean():
        return None
    return float(defined.std() / defined.mean())


def mean_gap(means: Floats) -> float | None:
    """Mean absolute difference over all pairs of the means that are defined; None below two of them.

    >>> mean_gap(np.array([1.0, 4.0, 2.0, np.nan]))  # |1-4| + |1-2| + |4-2|, over 3 pairs
    2.0
    """
    defined = means[~np.isnan(means)]
    count = len(defined)
    if count < 2:
        return None
    with np.errstate(invalid="ignore"):
        gaps = np.abs(defined[:, None] - defined)
    # Of an infinite mean and itself it is not a number.
    np.fill_diagonal(gaps, 0)
    return float(gaps.sum() / (count * (count - 1)))


def ratio(above: Any, below: Any) -> Floats:
    """Above / below, NaN where below is 0."""
    above, below = np.asarray(above, np.float64), np.asarray(below, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below == 0, np.nan, above / below)
