"""Distances of the items of a list, by their features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

from bridgeval.batch.ranking import Ranking
from bridgeval.engine.blocks import Block, Blocks, by_item
from bridgeval.engine.cumulative import Cumulative
from bridgeval.metrics.blocks.feature_bits import FeatureBits, count_bits
from bridgeval.metrics.blocks.listed_items import ListedItems

Distance = Literal["jaccard", "hamming"]


@dataclass(frozen=True)
class PairDistances(Block[Cumulative]):
    """The distances of all pairs of items in the first k places, added up: `[B]` float64."""

    distance: Distance
    ranking: Ranking

    def make(self, blocks: Blocks) -> Cumulative:
        words, items = blocks[FeatureBits()], blocks[ListedItems(self.ranking)]
        sizes = torch.stack([count_bits(word) for word in words]).sum(0).double()
        there = items != blocks.batch.shown.pad
        sums = torch.zeros(items.shape, dtype=torch.float64, device=blocks.device)
        for place in range(1, len(items)):
            own, above = items[place], items[:place]
            shared = torch.stack([count_bits(by_item(word, above) & by_item(word, own)) for word in words]).sum(0)
            large, small = by_item(sizes, above), by_item(sizes, own)
            if self.distance == "jaccard":
                union = large + small - shared
                apart = torch.where(union > 0, 1 - shared / union.clamp(min=1), 0.0)
            else:
                apart = torch.maximum(large, small) - shared
            sums[place] = torch.where(there[:place] & there[place], apart, 0.0).sum(0)
        return Cumulative.of_cells(blocks.cutoffs, sums, dim=0)
