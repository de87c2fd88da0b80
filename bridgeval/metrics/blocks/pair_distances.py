"""Distances of the items of a list, by their features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from bridgeval.batch.ranking import Ranking
from bridgeval.engine.blocks import Block, Blocks, by_item
from bridgeval.engine.cumulative import Cumulative
from bridgeval.metrics.blocks.feature_bits import FeatureBits, count_bits
from bridgeval.metrics.blocks.listed_items import ListedItems

Distance = Literal["jaccard", "hamming", "cosine"]


@dataclass(frozen=True)
class PairDistances(Block[Cumulative]):
    """The distances of all pairs of items in the first k places, added up: `[B]` float64."""

    distance: Distance
    ranking: Ranking

    def make(self, blocks: Blocks) -> Cumulative:
        words, items = blocks[FeatureBits()], blocks[ListedItems(self.ranking)]
        sizes = count_all(words)
        there = items != blocks.batch.shown.pad
        sums = torch.zeros(items.shape, dtype=torch.float64, device=blocks.device)
        for place in range(1, len(items)):
            own, above = items[place], items[:place]
            apart = measure_distance(self.distance, words, sizes, above, own)
            sums[place] = torch.where(there[:place] & there[place], apart, 0.0).sum(0)
        return Cumulative.of_cells(blocks.cutoffs, sums, dim=0)


def count_all(words: Tensor) -> Tensor:
    """The number of features of each item: `[V + 1]` float64."""
    return torch.stack([count_bits(word) for word in words]).sum(0).double()


def measure_distance(distance: Distance, words: Tensor, sizes: Tensor, these: Tensor, those: Tensor) -> Tensor:
    """The distance of items and others, whose codes broadcast: float64."""
    shared = torch.stack([count_bits(by_item(word, these) & by_item(word, those)) for word in words]).sum(0)
    first, second = by_item(sizes, these), by_item(sizes, those)
    if distance == "hamming":
        return torch.maximum(first, second) - shared
    if distance == "cosine":
        return 1 - shared / (first * second).sqrt().clamp(min=1)
    union = first + second - shared
    return torch.where(union > 0, 1 - shared / union.clamp(min=1), 0.0)


@dataclass(frozen=True)
class HistoryDistances(Block[Cumulative]):
    """The mean distance of each item of a list to the history of its user, added up: `[B]` float64.

    NaN for a user without history.
    """

    distance: Distance
    ranking: Ranking

    def make(self, blocks: Blocks) -> Cumulative:
        words, items, pad = blocks[FeatureBits()], blocks[ListedItems(self.ranking)], blocks.batch.shown.pad
        sizes, had = count_all(words), blocks.batch.history.items.t().contiguous()
        sums = torch.zeros(items.shape, dtype=torch.float64, device=blocks.device)
        for place in range(len(had)):
            apart = measure_distance(self.distance, words, sizes, items, had[place])
            sums += torch.where((items != pad) & (had[place] != pad), apart, 0.0)
        return Cumulative.of_cells(blocks.cutoffs, sums / (had != pad).sum(0), dim=0)
