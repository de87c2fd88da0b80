"""Sums over hits that accuracy metrics share: precision, 1 / place, and harmonic numbers of places."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bridgeval.batch.ranking import Ranking, Relevance
from bridgeval.engine.blocks import Block, Blocks
from bridgeval.engine.cumulative import Cumulative
from bridgeval.metrics.blocks.hits import ExpectedHits, HitPlaces, Repeated, sum_places


@dataclass(frozen=True)
class PrecisionSums(Block[Cumulative]):
    """Precision at each hit, added up over the first k places: `[B]` float64.

    Attributes:
        repeated: "once" adds up places, not hits: of several hits at one place the last, which counts them all.
    """

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()
    repeated: Repeated = "each"

    def make(self, blocks: Blocks) -> Cumulative:
        if self.ranking.ties == "average":
            chances = blocks[ExpectedHits(self.ranking, self.relevance)]
            return sum_places(blocks, chances.hit * chances.ordinal / blocks.ranks)
        hits = blocks[HitPlaces(self.ranking, self.relevance)]
        precision = hits.ordinals / hits.ranks
        if self.repeated == "once" and self.relevance.duplicates == "each":
            same_place = (hits.rows[1:] == hits.rows[:-1]) & (hits.places[1:] == hits.places[:-1])
            precision[:-1].masked_fill_(same_place, 0)
        return hits.sum(precision)


@dataclass(frozen=True)
class ReciprocalSums(Block[Cumulative]):
    """1 / place of the hits of the first k places, added up: `[B]` float64.

    Attributes:
        first: only the first hit; over all orders of equal scores, with the chance that it is the first.
    """

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()
    first: bool = False

    def make(self, blocks: Blocks) -> Cumulative:
        if self.ranking.ties == "average":
            chances = blocks[ExpectedHits(self.ranking, self.relevance)]
            return sum_places(blocks, (chances.first if self.first else chances.hit) / blocks.ranks)
        hits = blocks[HitPlaces(self.ranking, self.relevance, "once")]
        return hits.sum(1 / hits.ranks)


@dataclass(frozen=True)
class HarmonicSums(Block[Cumulative]):
    """1 + 1/2 + ... + 1/(p - 1) of each hit at place p of the first k, added up: `[B]` float64."""

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Cumulative:
        if self.ranking.ties == "average":
            chances = blocks[ExpectedHits(self.ranking, self.relevance)]
            return sum_places(blocks, chances.hit * harmonic(blocks, blocks.ranks - 1))
        hits = blocks[HitPlaces(self.ranking, self.relevance, "once")]
        return hits.sum(harmonic(blocks, hits.ranks - 1))


def harmonic(blocks: Blocks, count: Tensor) -> Tensor:
    """1 + 1/2 + ... + 1/count, float64, of places of the ranked lists, or of a cutoff."""
    size = blocks.count_places()

    def add_up() -> Tensor:
        # On the host: a GPU has no deterministic cumsum of floats.
        sums = (1 / torch.arange(1, size, dtype=torch.float64, device="cpu")).cumsum(0)
        return torch.nn.functional.pad(sums, (1, 0)).to(blocks.device)

    return blocks.lookup.once(("harmonic", size), add_up)[count.long()]
