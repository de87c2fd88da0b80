"""Blocks that metrics over everyone's lists share: which cells count, and how often each item or group is in them.

C is the largest cutoff asked for: what is laid out for it serves all cutoffs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bridgeval.data.needs import Needs
from bridgeval.data.ranking import Ranking, Relevance
from bridgeval.engine.blocks import Block, Blocks, Counted, Ranked, Relevant, UserGroups, Users, by_item
from bridgeval.engine.hits import HitPlaces
from bridgeval.engine.metric import PolicyMetric, TotalMetric
from bridgeval.engine.state import Floats, ItemSums

Among = Literal["shown", "catalogue"]


@dataclass(frozen=True)
class Cells:
    """The first C places of the lists of users who count.

    Attributes:
        items: `[B, C]` codes, V in cells without an item and in rows of users who do not count.
        used: `[B, C]` bool: the other cells.
    """

    items: Tensor
    used: Tensor


@dataclass(frozen=True)
class ListedCells(Block[Cells]):
    """The cells that count, the same for all metrics of one ranking and population."""

    users: Users
    ranking: Ranking
    relevance: Relevance

    def counted(self, blocks: Blocks) -> Tensor:
        """`[B, 1]` bool: who counts."""
        return blocks[Counted(self.users, self.ranking, self.relevance)][:, None]

    def make(self, blocks: Blocks) -> Cells:
        shown = blocks[Ranked(self.ranking)]
        used = shown.valid[:, : blocks.cutoff] & self.counted(blocks)
        return Cells(shown.items[:, : blocks.cutoff].masked_fill(~used, blocks.batch.shown.pad), used)


def cells_of(metric: PolicyMetric) -> ListedCells:
    """The block of the cells that a metric counts."""
    return ListedCells(metric.users, metric.ranking, metric.relevance)


@dataclass(frozen=True)
class CellCounts(Block[Floats]):
    """How many of the first k places of all lists hold each item of the vocabulary: `[V]` float64."""

    k: int
    cells: ListedCells

    def make(self, blocks: Blocks) -> Floats:
        return bincount(blocks[self.cells].items[:, : self.k], blocks.batch.shown.pad)


def among_needs(among: Among) -> Needs:
    """What it takes to count items so."""
    return Needs(context=frozenset({"catalogue"} if among == "catalogue" else ()))


def item_counts(blocks: Blocks, metric: TotalMetric, among: Among = "shown") -> ItemSums:
    """How many places hold each item of the vocabulary; 0 for what the catalogue lacks, if only that counts."""
    counts = blocks[CellCounts(metric.k, cells_of(metric))]
    if among == "catalogue":
        counts = counts * blocks.lookup.in_catalogue[:-1].cpu().numpy()
    return ItemSums(blocks.batch.slates.items, counts)


@dataclass(frozen=True)
class Codes:
    """Groups of items.

    Attributes:
        codes: `[V + 1]` int64: the group of each item, from 0; `count` for items that are not to be counted.
        count: how many groups there are.
    """

    codes: Tensor
    count: int


@dataclass(frozen=True)
class GroupedCells:
    """The group of each cell.

    Attributes:
        codes: `[B, K]`, or `[n]` of hits, int64; `count` in cells that are not used.
        count: how many groups there are.
    """

    codes: Tensor
    count: int

    def counts(self, k: int | None = None) -> Floats:
        """`[count]`: how many cells of the first k columns are of each group."""
        return bincount(self.codes[:, :k], self.count)


def grouped(blocks: Blocks, groups: Codes, items: Tensor, used: Tensor, by_user: bool = False) -> GroupedCells:
    """Item codes by group; with `by_user` by pairs of a user group and an item group, numbered row by row."""
    codes, count = by_item(groups.codes, items), groups.count
    used = used & (codes < count)
    if by_user:
        codes = codes + blocks[UserGroups()][:, None] * count
        count = count * (len(blocks.context.users["groups"].labels) + 1)
    return GroupedCells(codes.masked_fill(~used, count), count)


@dataclass(frozen=True)
class CellGroups(Block[GroupedCells]):
    """The group of each of the first C places: `[B, C]`."""

    groups: Block[Codes]
    cells: ListedCells
    by_user: bool = False

    def make(self, blocks: Blocks) -> GroupedCells:
        cells = blocks[self.cells]
        return grouped(blocks, blocks[self.groups], cells.items, cells.used, self.by_user)


@dataclass(frozen=True)
class HitGroups(Block[GroupedCells]):
    """The group of each hit: `[n]`."""

    groups: Block[Codes]
    cells: ListedCells

    def make(self, blocks: Blocks) -> GroupedCells:
        where = self.cells
        hits = blocks[HitPlaces(where.ranking, where.relevance)]
        items = blocks[Relevant(where.relevance)].items[hits.rows, hits.column_of]
        return grouped(blocks, blocks[self.groups], items, where.counted(blocks)[hits.rows, 0])


@dataclass(frozen=True)
class RelevantGroups(Block[Floats]):
    """How many relevant rows are of each group: `[count]`."""

    groups: Block[Codes]
    cells: ListedCells

    def make(self, blocks: Blocks) -> Floats:
        truth = blocks[Relevant(self.cells.relevance)]
        used = truth.valid & self.cells.counted(blocks)
        return grouped(blocks, blocks[self.groups], truth.items, used).counts()


@dataclass(frozen=True)
class HistoryGroups(Block[Floats]):
    """How many items of each group the users who count have in the history: `[count]`."""

    groups: Block[Codes]
    cells: ListedCells
    by_user: bool = False

    def make(self, blocks: Blocks) -> Floats:
        history = blocks.batch.history
        used = history.valid & self.cells.counted(blocks)
        return grouped(blocks, blocks[self.groups], history.items, used, self.by_user).counts()


def shown_counts(blocks: Blocks, metric: TotalMetric, groups: Block[Codes]) -> Floats:
    """`[count]`: how many of the first k places of all lists hold an item of each group."""
    return blocks[CellGroups(groups, cells_of(metric))].counts(metric.k)


def hit_counts(blocks: Blocks, metric: TotalMetric, groups: Block[Codes]) -> Floats:
    """`[count]`: how many hits in these places are of each group."""
    hits = blocks[HitGroups(groups, cells_of(metric))]
    beyond = blocks[HitPlaces(metric.ranking, metric.relevance)].place_of > metric.k
    return bincount(hits.codes.masked_fill(beyond, hits.count), hits.count)


def population(blocks: Blocks, metric: PolicyMetric) -> int:
    """How many users of the batch count."""
    return int(metric.counted(blocks).sum())


def bincount(codes: Tensor, count: int) -> Floats:
    """`[count]` float64: how often each code occurs; `count` itself, which stands for none, is left out."""
    return torch.bincount(codes.reshape(-1), minlength=count + 1)[:count].double().cpu().numpy()


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
    if len(defined) < 2:
        return None
    with np.errstate(invalid="ignore"):
        gaps = np.abs(defined[:, None] - defined)
    first, second = np.triu_indices(len(defined), 1)
    return float(gaps[first, second].mean())


def ratio(above: Any, below: Any) -> Floats:
    """Above / below, NaN where below is 0."""
    above, below = np.broadcast_arrays(np.asarray(above, np.float64), np.asarray(below, np.float64))
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below != 0)
