"""Blocks that metrics over everyone's lists share: which cells count, and how often each item or group is in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bridgeval.data.ranking import Ranking, Relevance
from bridgeval.engine.blocks import Block, Blocks, Counted, Hits, Ranked, Users
from bridgeval.engine.metric import PolicyMetric, TotalMetric
from bridgeval.engine.state import Floats, ItemSums

Among = Literal["shown", "catalogue"]


@dataclass(frozen=True)
class Cells:
    """The first k places of the lists of users who count.

    Attributes:
        items: `[B, k]` codes, V in cells without an item and in rows of users who do not count.
        used: `[B, k]` bool: the other cells.
    """

    items: Tensor
    used: Tensor


@dataclass(frozen=True)
class ListedCells(Block[Cells]):
    """The cells that count, the same for all metrics of one cutoff, ranking and population."""

    k: int
    users: Users
    ranking: Ranking
    relevance: Relevance

    def make(self, blocks: Blocks) -> Cells:
        shown = blocks[Ranked(self.ranking)]
        counted = blocks[Counted(self.users, self.ranking, self.relevance)]
        used = shown.valid[:, : self.k] & counted[:, None]
        return Cells(shown.items[:, : self.k].masked_fill(~used, blocks.batch.shown.pad), used)


@dataclass(frozen=True)
class CellCounts(Block[Floats]):
    """How many of the cells hold each item of the vocabulary: `[V]` float64."""

    cells: ListedCells

    def make(self, blocks: Blocks) -> Floats:
        return _bincount(blocks[self.cells].items.flatten(), blocks.batch.shown.pad + 1)[:-1]


def cells_of(blocks: Blocks, metric: TotalMetric) -> Cells:
    """The cells that a metric counts."""
    return blocks[ListedCells(metric.k, metric.users, metric.ranking, metric.relevance)]


def hits_of(blocks: Blocks, metric: TotalMetric) -> Tensor:
    """Which of these cells are relevant to their user: `[B, k]` bool."""
    hits = blocks[Hits(metric.ranking, metric.relevance)]
    return hits[:, : metric.k] & cells_of(blocks, metric).used


def item_counts(blocks: Blocks, metric: TotalMetric, among: Among = "shown") -> ItemSums:
    """How many of the cells hold each item of the vocabulary; 0 for what the catalogue lacks, if only that counts."""
    counts = blocks[CellCounts(ListedCells(metric.k, metric.users, metric.ranking, metric.relevance))]
    if among == "catalogue" and blocks.context.catalogue is not None:
        counts = counts * blocks.lookup.in_catalogue[:-1].cpu().numpy()
    return ItemSums(blocks.batch.slates.items, counts)


def group_counts(codes: Tensor, items: Tensor, used: Tensor, groups: int) -> Floats:
    """`[groups]`: how many of the used cells hold an item of each group.

    Args:
        codes: `[V + 1]` the group of each item.
        items: `[B, K]` item codes.
        used: `[B, K]` bool.
        groups: how many codes there are, from 0 up.
    """
    return _bincount(codes[items[used].long()], groups)


def pair_counts(codes: Tensor, rows: Tensor, items: Tensor, used: Tensor, shape: tuple[int, int]) -> Floats:
    """`[user groups, item groups]`: how many of the used cells fall on each pair.

    Args:
        codes: `[V + 1]` the group of each item.
        rows: `[B]` the group of each user.
        items: `[B, K]` item codes.
        used: `[B, K]` bool.
        shape: how many codes there are of users, and of items.
    """
    pairs = rows[:, None] * shape[1] + codes[items.long()]
    return _bincount(pairs[used], shape[0] * shape[1]).reshape(shape)


def population(blocks: Blocks, metric: PolicyMetric) -> int:
    """How many users of the batch count."""
    return int(metric.counted(blocks).sum())


def _bincount(codes: Tensor, size: int) -> Floats:
    return torch.bincount(codes, minlength=size).double().cpu().numpy()


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
