"""Area under the ROC curve inside a cut list: are the hits above the misses?

The other AUCs (`auc.py`) need the whole ranking of the candidates. This one looks at the first k places alone, so it
says nothing about what was left out of the list.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from bridgeval.batch.ranking import Ranking, Relevance
from bridgeval.engine.blocks import Block, Blocks, ShownWithin
from bridgeval.engine.cumulative import Running
from bridgeval.engine.metric import TopKMetric
from bridgeval.metrics.blocks.hits import HitCount, HitPlaces


@dataclass(frozen=True)
class RocAuc(TopKMetric):
    """The share of (hit, miss) pairs of the first k places in which the hit stands higher (Hanley and McNeil 1982).

    Undefined for lists of hits only or of misses only: they have no such pair.

    Attributes:
        one_sided: what such lists get: "undefined"; or "bounds", 1 for hits only and 0 without a hit.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b", "c"]}, {1: ["b"]}, "RocAuc@3")["RocAuc@3"]
    0.5
    """

    name = "RocAuc"
    family = "accuracy"

    one_sided: Literal["undefined", "bounds"] = field(default="undefined", kw_only=True)

    def values(self, blocks: Blocks) -> Tensor:
        hits = blocks[HitCount(self.k, self.ranking, self.relevance, "each")]
        misses = blocks[ShownWithin(self.k, self.ranking)] - hits
        value = 1 - blocks[Inversions(self.ranking, self.relevance)].up_to(self.k) / (hits * misses)
        if self.one_sided == "bounds":
            value = torch.where(misses == 0, 1.0, value)
            value = torch.where(hits == 0, 0.0, value)
        return value


@dataclass(frozen=True)
class Inversions(Block[Running[Tensor]]):
    """The misses above each hit in the first k places, added up: `[B]` float64."""

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Running[Tensor]:
        hits = blocks[HitPlaces(self.ranking, self.relevance)]
        return hits.running((hits.place_of - hits.ordinal).double())
