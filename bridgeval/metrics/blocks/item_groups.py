"""Groups of items, and how often each is shown, found, relevant or in the history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from torch import Tensor

from bridgeval.batch.kernels import sum_by_code
from bridgeval.batch.ranking import Ranking, Relevance
from bridgeval.batch.transfer import to_tensor
from bridgeval.engine.blocks import Block, Blocks, Counted, by_item
from bridgeval.engine.cumulative import Cumulative
from bridgeval.engine.metric import TotalMetric
from bridgeval.engine.state import Floats
from bridgeval.metrics.blocks.hits import HitPlaces
from bridgeval.metrics.blocks.listed_items import HistoryCells, ItemCounts, RelevantCells, counted_items
from bridgeval.tables.context import Context
from bridgeval.tables.ids import Ids


@dataclass(frozen=True)
class GroupCodes:
    """A grouping of items.

    Attributes:
        codes: `[V + 1]` int64: the group of each item, from 0; `count` for items that are not counted, as V is not.
        count: how many groups there are.
    """

    codes: Tensor
    count: int


@dataclass(frozen=True)
class ItemGroups(Block[GroupCodes]):
    """The groups given as item_groups=: code 0 for items without a label, then 1, 2, ... by label.

    Attributes:
        known: whether only items of the catalogue are counted.
    """

    known: bool = False

    def make(self, blocks: Blocks) -> GroupCodes:
        return blocks.lookup.once(self, lambda: self._codes(blocks))

    def _codes(self, blocks: Blocks) -> GroupCodes:
        codes, count = blocks.lookup.items("groups").clone(), len(item_labels(blocks)) + 1
        if self.known:
            codes.masked_fill_(~blocks.lookup.in_catalogue, count)
        codes[-1] = count
        return GroupCodes(codes, count)


def item_labels(blocks: Blocks) -> tuple[Any, ...]:
    """Names of the codes from 1 up."""
    return blocks.context.items["groups"].labels


def group_sizes(blocks: Blocks, of: Literal["items", "interactions"] = "items") -> Floats:
    """`[G + 1]`: how many items of the catalogue, or pairs of the history with them, each group has."""
    return blocks.lookup.once(("group sizes", of), lambda: _sizes(blocks.context, blocks.lookup.catalogue, of))


def group_size_tensor(blocks: Blocks, of: Literal["items", "interactions"] = "items") -> Tensor:
    """The same beside the tensors of the batch."""
    return blocks.lookup.once(("group size tensor", of), lambda: to_tensor(group_sizes(blocks, of), blocks.device))


def _sizes(context: Context, catalogue: Ids, of: Literal["items", "interactions"]) -> Floats:
    table = context.items["groups"]
    weights = None if of == "items" else context.items["popularity"].aligned(catalogue)
    sizes = np.bincount(table.aligned(catalogue), weights=weights, minlength=len(table.labels) + 1)
    return sizes.astype(np.float64)


@dataclass(frozen=True)
class HitGroups(Block[Cumulative]):
    """The number of hits in the first k places of each group, and of none: `[item groups + 1]` float64."""

    groups: Block[GroupCodes]
    ranking: Ranking
    relevance: Relevance
    counted: Counted

    def make(self, blocks: Blocks) -> Cumulative:
        hits, groups = blocks[HitPlaces(self.ranking, self.relevance)], blocks[self.groups]
        items = counted_items(blocks, self.counted, hits.items, hits.rows)
        return hits.sum_by_code(by_item(groups.codes, items), groups.count + 1)


@dataclass(frozen=True)
class GroupCounts(Block[Tensor]):
    """The number of cells that hold an item of each group: `[item groups]` float64."""

    groups: Block[GroupCodes]
    cells: RelevantCells | HistoryCells

    def make(self, blocks: Blocks) -> Tensor:
        groups = blocks[self.groups]
        return sum_by_code(by_item(groups.codes, blocks[self.cells]), groups.count)


def shown_counts(blocks: Blocks, metric: TotalMetric, groups: Block[GroupCodes]) -> Tensor:
    """`[item groups]` float64: how many of the first k places of all lists hold an item of each group."""
    shown, of = blocks[ItemCounts(metric.ranking, metric.population)].up_to(metric.k), blocks[groups]
    return sum_by_code(of.codes[:-1], of.count, shown)


def hit_counts(blocks: Blocks, metric: TotalMetric, groups: Block[GroupCodes]) -> Tensor:
    """`[item groups]` float64: how many hits in the first k places are of each group."""
    counts = blocks[HitGroups(groups, metric.ranking, metric.relevance, metric.population)]
    return counts.up_to(metric.k)[:-1]


def relevant_counts(blocks: Blocks, metric: TotalMetric, groups: Block[GroupCodes]) -> Tensor:
    """`[item groups]` float64: how many relevant rows are of each group."""
    return blocks[GroupCounts(groups, RelevantCells(metric.relevance, metric.population))]


def history_counts(blocks: Blocks, metric: TotalMetric, groups: Block[GroupCodes]) -> Tensor:
    """`[item groups]` float64: how many items of each group are in the users' history."""
    return blocks[GroupCounts(groups, HistoryCells(metric.population))]
