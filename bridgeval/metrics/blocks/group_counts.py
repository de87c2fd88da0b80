"""How often each group of items is shown, found, relevant, or in the history; also by groups of users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bridgeval.batch.ranking import Ranking, Relevance
from bridgeval.batch.tensors import sums_by_code
from bridgeval.engine.blocks import Block, Blocks, Counted, UserGroups, by_item
from bridgeval.engine.cumulative import Running
from bridgeval.engine.metric import TotalMetric
from bridgeval.engine.state import Floats
from bridgeval.metrics.blocks.hits import HitPlaces
from bridgeval.metrics.blocks.listed_items import (
    CellCounts,
    HistoryCells,
    HistoryTally,
    HitItems,
    ItemTally,
    ListedItems,
    RelevantCells,
    cell_counts,
    counted_items,
    listed_by,
    tells_user_groups,
    user_group_count,
    who,
)


@dataclass(frozen=True)
class GroupCodes:
    """Groups of items.

    Attributes:
        codes: `[V + 1]` int64: the group of each item, from 0; `count` for what is not to be counted, as V is not.
        count: how many groups there are.
    """

    codes: Tensor
    count: int

    def sums(self, of_items: Floats) -> Floats:
        """`[count]`: numbers of items, `[V]`, added up by group."""
        return self.sums_by_row(of_items[None])[0]

    def sums_by_row(self, of_items: Floats) -> Floats:
        """`[rows, count]`: the same for rows of numbers, `[rows, V]`."""
        rows, size = len(of_items), self.count + 1
        codes = self.codes[:-1]
        if rows > 1:
            codes = codes + torch.arange(0, rows * size, size, device=codes.device)[:, None]
        numbers = torch.from_numpy(np.ascontiguousarray(of_items)).to(codes.device)
        return sums_by_code(codes, rows * size, numbers).reshape(rows, size)[:, : self.count]


@dataclass(frozen=True)
class Grouped:
    """The group of each cell.

    Attributes:
        codes: of each cell, int64.
        shape: (groups of users, groups of items and one for none); groups are numbered row by row.
    """

    codes: Tensor
    shape: tuple[int, int]

    def counts(self, cells: Any = ...) -> Floats:
        """`[user groups, item groups]` float64: how many of the cells, all or those of an index, are of each pair."""
        users, items = self.shape
        return sums_by_code(self.codes[cells], users * items).reshape(self.shape)[:, : items - 1]


def grouped(blocks: Blocks, groups: GroupCodes, items: Tensor, users: Tensor | None = None) -> Grouped:
    """Items of any shape by their group; with the group of each user, of a shape that fits theirs, by both."""
    codes, count = by_item(groups.codes, items), groups.count + 1
    if users is None:
        return Grouped(codes, (1, count))
    return Grouped(codes + users * count, (user_group_count(blocks), count))


@dataclass(frozen=True)
class CellGroups(Block[Running[Floats]]):
    """How many of the first k places hold an item of each group: `[user groups, item groups]` float64."""

    groups: Block[GroupCodes]
    listed: ListedItems
    by_user: bool = False

    def make(self, blocks: Blocks) -> Running[Floats]:
        users = blocks[UserGroups()] if self.by_user else None
        cells = grouped(blocks, blocks[self.groups], blocks[self.listed], users)
        return Running(lambda start, stop: cells.counts(slice(start, stop)))


@dataclass(frozen=True)
class ShownPairs(Block[Floats]):
    """How many of the first k places of each user group's lists hold an item of each group: `[user groups, groups]`."""

    groups: Block[GroupCodes]
    listed: ListedItems
    k: int

    def make(self, blocks: Blocks) -> Floats:
        if tells_user_groups(blocks, self.listed):
            return blocks[self.groups].sums_by_row(blocks[CellCounts(self.listed)].up_to(self.k))
        return blocks[CellGroups(self.groups, self.listed, by_user=True)].up_to(self.k)


@dataclass(frozen=True)
class HitGroups(Block[Running[Floats]]):
    """How many hits in the first k places are of each group, and of none: `[item groups + 1]` float64."""

    groups: Block[GroupCodes]
    ranking: Ranking
    relevance: Relevance
    counted: Counted | None

    def make(self, blocks: Blocks) -> Running[Floats]:
        hits = blocks[HitPlaces(self.ranking, self.relevance)]
        items = counted_items(blocks, self.counted, blocks[HitItems(self.ranking, self.relevance)], hits.rows)
        groups = blocks[self.groups]
        return hits.by_code(by_item(groups.codes, items), groups.count + 1)


@dataclass(frozen=True)
class GroupCounts(Block[Floats]):
    """How many cells hold an item of each group: `[item groups]` float64."""

    groups: Block[GroupCodes]
    tally: ItemTally | HistoryTally

    def make(self, blocks: Blocks) -> Floats:
        cells = self.tally.cells
        if few_items(blocks, cells):
            return blocks[self.groups].sums(np.add.reduce(blocks[self.tally]))
        return grouped(blocks, blocks[self.groups], blocks[cells]).counts()[0]


@dataclass(frozen=True)
class HistoryPairs(Block[Floats]):
    """How many items of each group the users of each group have in the history: `[user groups, item groups]`."""

    groups: Block[GroupCodes]
    counted: Counted | None

    def make(self, blocks: Blocks) -> Floats:
        items = HistoryCells(self.counted)
        if tells_user_groups(blocks, items):
            return blocks[self.groups].sums_by_row(blocks[HistoryTally(items)])
        return grouped(blocks, blocks[self.groups], blocks[items], blocks[UserGroups()][:, None]).counts()


def few_items(blocks: Blocks, cells: Block[Tensor]) -> bool:
    """Whether the vocabulary is smaller than the cells: then items are counted, once for all ways to group them."""
    return blocks.batch.shown.pad < blocks[cells].numel()


def shown_counts(blocks: Blocks, metric: TotalMetric, groups: Block[GroupCodes]) -> Floats:
    """`[item groups]`: how many of the first k places of all lists hold an item of each group."""
    listed = listed_by(blocks, metric)
    if few_items(blocks, listed):
        return blocks[groups].sums(cell_counts(blocks, metric))
    return blocks[CellGroups(groups, listed)].up_to(metric.k)[0]


def shown_pairs(blocks: Blocks, metric: TotalMetric, groups: Block[GroupCodes]) -> Floats:
    """`[user groups, item groups]`: how many of the first k places of each group's lists hold an item of each group."""
    return blocks[ShownPairs(groups, listed_by(blocks, metric), metric.k)]


def hit_counts(blocks: Blocks, metric: TotalMetric, groups: Block[GroupCodes]) -> Floats:
    """`[item groups]`: how many hits in these places are of each group."""
    return blocks[HitGroups(groups, metric.ranking, metric.relevance, who(blocks, metric))].up_to(metric.k)[:-1]


def relevant_counts(blocks: Blocks, metric: TotalMetric, groups: Block[GroupCodes]) -> Floats:
    """`[item groups]`: how many relevant rows are of each group."""
    return blocks[GroupCounts(groups, ItemTally(RelevantCells(metric.relevance, who(blocks, metric))))]


def history_counts(blocks: Blocks, metric: TotalMetric, groups: Block[GroupCodes]) -> Floats:
    """`[item groups]`: how many items of each group the users have in the history."""
    return blocks[GroupCounts(groups, HistoryTally(HistoryCells(who(blocks, metric))))]
