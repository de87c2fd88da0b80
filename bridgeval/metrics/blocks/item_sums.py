"""Gains and scores added up by item, over the first k places of all lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from bridgeval.batch.ranking import Ranking, Relevance
from bridgeval.batch.tensors import picked, row_sums, rows_by_code, sums_by_code
from bridgeval.engine.blocks import Block, Blocks, Counted, Ranked, ShownColumn, ShownCount, UserGroups
from bridgeval.engine.cumulative import Running
from bridgeval.engine.state import Floats
from bridgeval.metrics.blocks.gains import DiscountedGains, Gain, GainInEffect, GradedHits
from bridgeval.metrics.blocks.hits import HitPlaces
from bridgeval.metrics.blocks.listed_items import HitItems, counted_items, user_group_count


@dataclass(frozen=True)
class GainSums(Block[Running[Floats]]):
    """What each item is worth where it is a hit in the first k places, added up: `[V + 1]` float64; V is no item."""

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
            gains = blocks[DiscountedGains(gain, "log2", self.ranking, self.relevance)]
        items = blocks[HitItems(self.ranking, graded.relevance)]
        items = counted_items(blocks, self.counted, items, graded.hits.rows)
        return graded.hits.by_code(items, blocks.batch.shown.pad + 1, gains)


@dataclass(frozen=True)
class ScoreSums(Block[Running[Tensor]]):
    """The scores of the first k places of each list, added up: `[B]` float64."""

    ranking: Ranking

    def make(self, blocks: Blocks) -> Running[Tensor]:
        scores = listed_scores(blocks, self.ranking)
        if bool((blocks[ShownCount(self.ranking)] < scores.shape[1]).any()):
            scores = scores.masked_fill(~blocks[Ranked(self.ranking)].valid[:, : blocks.cutoff], 0)
        starts = [0, *(k for k in blocks.cutoffs if k < scores.shape[1])]
        return Running.in_steps(
            blocks.cutoffs, row_sums(scores, starts), lambda start, stop: row_sums(scores[:, start:stop], [0])[0]
        )


@dataclass(frozen=True)
class GroupScores(Block[Floats]):
    """The scores in each place, added up over the lists of each user group, which must be full: `[user groups, C]`."""

    ranking: Ranking

    def make(self, blocks: Blocks) -> Floats:
        return rows_by_code(listed_scores(blocks, self.ranking), blocks[UserGroups()], user_group_count(blocks))


@dataclass(frozen=True)
class CellScores(Block[Running[Floats]]):
    """The scores that each item is shown with in the first k places, added up: `[V]` float64."""

    ranking: Ranking
    counted: Counted | None

    def make(self, blocks: Blocks) -> Running[Floats]:
        pad, scores = blocks.batch.shown.pad, listed_scores(blocks, self.ranking)
        items = counted_items(blocks, self.counted, blocks[Ranked(self.ranking)].items[:, : blocks.cutoff])
        sums = sums_by_code(*_by_cutoff(items, pad + 1, blocks.cutoffs), scores).reshape(-1, pad + 1)[:, :pad]
        return Running.in_steps(
            blocks.cutoffs, sums, lambda start, stop: sums_by_code(items[:, start:stop], pad, scores[:, start:stop])
        )


def listed_scores(blocks: Blocks, ranking: Ranking) -> Tensor:
    """`[B, C]` float64: the scores in the first C places; anything where there is no item."""
    return blocks[ShownColumn("score", ranking)][:, : blocks.cutoff].double()


def _by_cutoff(items: Tensor, count: int, cutoffs: Sequence[int]) -> tuple[Tensor, int]:
    """Items `[B, C]` below `count`, each with its own code for every cutoff it is first within; and how many codes.

    >>> _by_cutoff(torch.tensor([[0, 1, 2]], dtype=torch.int32), 3, (1, 3))
    (tensor([[0, 4, 5]], dtype=torch.int32), 6)
    """
    codes = count * len(cutoffs)
    kind = torch.int32 if codes <= torch.iinfo(torch.int32).max else torch.int64
    part = np.searchsorted(cutoffs, np.arange(1, items.shape[1] + 1))
    return items + torch.from_numpy(part * count).to(items.device, kind), codes


@dataclass(frozen=True)
class HitScores(Block[tuple[Running[Floats], Running[Floats]]]):
    """The scores of each item where it is a hit in the first k places, added up, and how many: `[V + 1]` each."""

    ranking: Ranking
    relevance: Relevance
    counted: Counted | None

    def make(self, blocks: Blocks) -> tuple[Running[Floats], Running[Floats]]:
        hits = blocks[HitPlaces(self.ranking, self.relevance)]
        items = counted_items(blocks, self.counted, blocks[HitItems(self.ranking, self.relevance)], hits.rows)
        scores = picked(blocks[ShownColumn("score", self.ranking)], hits.rows, hits.place_of - 1).double()
        size = blocks.batch.shown.pad + 1
        return hits.by_code(items, size, scores), hits.by_code(items, size)
