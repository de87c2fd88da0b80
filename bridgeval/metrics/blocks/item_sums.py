"""Gains and scores, added up over the first k places: by item over all lists, or by list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bridgeval.batch.kernels import sum_by_code
from bridgeval.batch.ranking import Ranking, Relevance
from bridgeval.engine.blocks import Block, Blocks, Counted, ShownColumn
from bridgeval.engine.cumulative import Cumulative
from bridgeval.metrics.blocks.gains import DiscountedGains, Gain, HitGains
from bridgeval.metrics.blocks.hits import HitPlaces
from bridgeval.metrics.blocks.listed_items import ListedItems, ListedScores, counted_items


@dataclass(frozen=True)
class ItemGains(Block[Cumulative]):
    """The gains of each item's hits in the first k places, added up: `[V + 1]` float64; V is no item."""

    gain: Gain
    discount: Literal["log2", "none"]
    ranking: Ranking
    relevance: Relevance
    counted: Counted

    def make(self, blocks: Blocks) -> Cumulative:
        if self.discount == "log2":
            hits, gains = blocks[DiscountedGains(self.gain, "log2", self.ranking, self.relevance)]
        else:
            hits, gains = blocks[HitGains(self.gain, self.ranking, self.relevance)]
        items = counted_items(blocks, self.counted, hits.items, hits.rows)
        return hits.sum_by_code(items, blocks.batch.shown.pad + 1, gains)


@dataclass(frozen=True)
class ItemScores(Block[Cumulative]):
    """The scores that each item is shown with in the first k places, added up: `[V]` float64."""

    ranking: Ranking
    counted: Counted

    def make(self, blocks: Blocks) -> Cumulative:
        items, scores = blocks[ListedItems(self.ranking, self.counted)], blocks[ListedScores(self.ranking)]
        size = blocks.batch.shown.pad
        return Cumulative.of_places(blocks.cutoffs, lambda places: sum_by_code(items[places], size, scores[places]))


@dataclass(frozen=True)
class HitScores(Block[tuple[Cumulative, Cumulative]]):
    """The scores of each item's hits in the first k places, added up, and how many there are: `[V + 1]` each."""

    ranking: Ranking
    relevance: Relevance
    counted: Counted

    def make(self, blocks: Blocks) -> tuple[Cumulative, Cumulative]:
        hits, size = blocks[HitPlaces(self.ranking, self.relevance)], blocks.batch.shown.pad + 1
        items = counted_items(blocks, self.counted, hits.items, hits.rows)
        scores = blocks[ShownColumn("score", self.ranking)][hits.rows, hits.places].double()
        return hits.sum_by_code(items, size, scores), hits.sum_by_code(items, size)


@dataclass(frozen=True)
class ScoreSums(Block[Cumulative]):
    """The scores of the first k places of each list, added up: `[B]` float64."""

    ranking: Ranking

    def make(self, blocks: Blocks) -> Cumulative:
        no_item = blocks[ListedItems(self.ranking)] == blocks.batch.shown.pad
        scores = blocks[ListedScores(self.ranking)].masked_fill(no_item, 0)
        return Cumulative.of_cells(blocks.cutoffs, scores, dim=0)
