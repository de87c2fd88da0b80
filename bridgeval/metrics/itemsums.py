"""Gains and scores added up by item, over the first k places of all lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from bridgeval.data.ranking import Ranking, Relevance
from bridgeval.data.tensors import picked
from bridgeval.engine.blocks import Block, Blocks, Counted, Ranked, ShownColumn, ShownCount
from bridgeval.engine.hits import HitList, HitPlaces
from bridgeval.engine.state import Floats
from bridgeval.metrics.gains import Gain, GainInEffect, GradedHits, discounts
from bridgeval.metrics.totals import HitItems, ListedItems, Running, counted_items, sums_by_code


@dataclass(frozen=True)
class GainSums(Block[Running[Floats]]):
    """What each item is worth where it is a hit in the first k places, added up: `[V]` float64."""

    gain: Gain
    discount: Literal["log2", "none"]
    ranking: Ranking
    relevance: Relevance
    counted: Counted | None

    def make(self, blocks: Blocks) -> Running[Floats]:
        gain = blocks[GainInEffect(self.gain, self.relevance)]
        graded = blocks[GradedHits(gain, self.ranking, self.relevance)]
        gains = graded.gains
        if self.discount == "log2":
            gains = gains * discounts("log2", blocks.batch.shown.width, blocks.device)[graded.hits.place_of - 1]
        items = counted_items(blocks, self.counted, graded.items, graded.hits.rows)
        return hit_sums(blocks, graded.hits, items, gains)


@dataclass(frozen=True)
class ListedScores(Block[Tensor]):
    """The scores in the first C places, place by place: `[C, B]` float64, 0 where there is no item."""

    ranking: Ranking

    def make(self, blocks: Blocks) -> Tensor:
        scores = blocks[ShownColumn("score", self.ranking)][:, : blocks.cutoff].double().t().contiguous()
        if bool((blocks[ShownCount(self.ranking)] >= len(scores)).all()):
            return scores
        return scores.masked_fill(~blocks[Ranked(self.ranking)].valid[:, : blocks.cutoff].t(), 0)


@dataclass(frozen=True)
class ScoreSums(Block[Running[Tensor]]):
    """The scores of the first k places of each list, added up: `[B]` float64."""

    ranking: Ranking

    def make(self, blocks: Blocks) -> Running[Tensor]:
        scores = blocks[ListedScores(self.ranking)]
        return Running(lambda start, stop: scores[start:stop].sum(0))


@dataclass(frozen=True)
class CellScores(Block[Running[Floats]]):
    """The scores that each item is shown with in the first k places, added up: `[V]` float64."""

    listed: ListedItems

    def make(self, blocks: Blocks) -> Running[Floats]:
        items, pad = blocks[self.listed], blocks.batch.shown.pad
        scores = blocks[ListedScores(self.listed.ranking)]
        return Running(lambda start, stop: sums_by_code(items[start:stop], pad, scores[start:stop]))


@dataclass(frozen=True)
class HitScores(Block[tuple[Running[Floats], Running[Floats]]]):
    """The scores of each item where it is a hit in the first k places, added up, and how many: `[V]` float64 each."""

    ranking: Ranking
    relevance: Relevance
    counted: Counted | None

    def make(self, blocks: Blocks) -> tuple[Running[Floats], Running[Floats]]:
        hits = blocks[HitPlaces(self.ranking, self.relevance)]
        items = counted_items(blocks, self.counted, blocks[HitItems(self.ranking, self.relevance)], hits.rows)
        scores = picked(blocks[ShownColumn("score", self.ranking)], hits.rows, hits.place_of - 1).double()
        return hit_sums(blocks, hits, items, scores), hit_sums(blocks, hits, items, torch.ones_like(scores))


def hit_sums(blocks: Blocks, hits: HitList, items: Tensor, numbers: Tensor) -> Running[Floats]:
    """`[V]` float64: numbers `[n]` of hits in the first k places, added up by item."""
    # The blocks keep this function, so it must not keep them: a cycle holds a whole batch until it is collected.
    pad = blocks.batch.shown.pad

    def between(start: int, stop: int) -> Floats:
        chosen = hits.between(start, stop)
        return sums_by_code(items[chosen], pad, numbers[chosen])

    return Running(between)
