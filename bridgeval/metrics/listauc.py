"""Area under the ROC curve inside a cut list: are the hits above the misses?

The other AUCs (`auc.py`) need the whole ranking of the candidates. This one looks at the first k places alone, so it
says nothing about what was left out of the list.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from bridgeval.data.ranking import Ranking, Relevance
from bridgeval.engine.blocks import Block, Blocks, Hits, Ranked, at_cutoff
from bridgeval.engine.metric import TopKMetric


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
        pairs = blocks[ListPairs(self.ranking, self.relevance)]
        hits = at_cutoff(pairs.hits, self.k).double()
        misses = at_cutoff(pairs.misses, self.k).double()
        value = 1 - at_cutoff(pairs.inversions, self.k).double() / (hits * misses)
        if self.one_sided == "bounds":
            value = torch.where(misses == 0, 1.0, value)
            value = torch.where(hits == 0, 0.0, value)
        return value


@dataclass(frozen=True)
class PairCounts:
    """Over the first 1, 2, ... places, each `[B, D]` int64: hits, misses, and pairs with the miss above the hit."""

    hits: Tensor
    misses: Tensor
    inversions: Tensor


@dataclass(frozen=True)
class ListPairs(Block[PairCounts]):
    """The pairs of hits and misses inside the ranked lists."""

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> PairCounts:
        hits = blocks[Hits(self.ranking, self.relevance)]
        misses = (blocks[Ranked(self.ranking)].valid & ~hits).cumsum(1)
        return PairCounts(hits.cumsum(1), misses, (misses * hits).cumsum(1))
