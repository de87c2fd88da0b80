"""Metrics of accuracy that librec-auto and LibRec define in a way that no parameter of a native metric covers."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bridgeval.plugin import (
    Blocks,
    Matches,
    Needs,
    Ranked,
    Relevant,
    RelevantCount,
    ShownCount,
    TopKMetric,
    UserMetric,
    by_item,
    discounts,
)

# How Java's HashMap starts before it grows.
SMALLEST_TABLE = 16


@dataclass(frozen=True)
class TestOrderNDCG(TopKMetric):
    """nDCG whose gains are the places of items in the test file, as in librec-auto 0.2.13 of PyPI.

    With n test rows the item in row p (from 0) gains `2^(n - p) - 1`, whatever its rating. The ideal list is the first
    min(k, n) rows. Only useful to reproduce that package's numbers. Gains are scaled by 2^-n, so no n is too large.

    >>> import bridgeval
    >>> from bridgeval.toolkits.librec import TestOrderNDCG
    >>> round(bridgeval.evaluate({1: ["b"]}, {1: {"a": 1, "b": 5}}, TestOrderNDCG(1))["TestOrderNDCG@1"], 4)
    0.3333
    """

    # Not a test, whatever its name starts with.
    __test__ = False

    name = "TestOrderNDCG"
    family = "accuracy"

    def values(self, blocks: Blocks) -> Tensor:
        at = blocks[Matches(self.ranking, self.relevance)][:, : self.k]
        relevant = blocks[Relevant(self.relevance)]
        rows = blocks[RelevantCount(self.relevance)].double()[:, None]
        if not relevant.index.shape[1]:
            return torch.zeros(len(blocks), dtype=torch.float64, device=blocks.device)
        gains = torch.exp2(-relevant.index.gather(1, at.clamp(min=0)).double()) - torch.exp2(-rows)
        found = (gains.masked_fill(at < 0, 0) * discounts("log2", at.shape[1], blocks.device)).sum(1)
        places = torch.arange(min(self.k, relevant.index.shape[1]), dtype=torch.float64, device=blocks.device)
        best = (torch.exp2(-places) - torch.exp2(-rows)).masked_fill(places >= rows, 0)
        ideal = (best * discounts("log2", len(places), blocks.device)).sum(1)
        return torch.where(ideal > 0, found / ideal, 0.0)


@dataclass(frozen=True)
class IdealDCG(UserMetric):
    """The denominator of a binary nDCG without a cutoff: `sum_{j=1..P} 1 / log2(j + 1)`, P relevant rows.

    It tells how much there was to find, and nothing about the lists. LibRec: IdealDCGEvaluator.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, "IdealDCG")["IdealDCG"]
    1.0
    """

    name = "IdealDCG"
    family = "accuracy"
    higher_is_better = None

    def values(self, blocks: Blocks) -> Tensor:
        relevant = blocks[RelevantCount(self.relevance)]
        width = int(relevant.max()) if len(relevant) else 0
        sums = discounts("log2", width, torch.device("cpu")).cumsum(0).to(blocks.device)
        return torch.cat([sums.new_zeros(1), sums])[relevant]


@dataclass(frozen=True)
class OneItemReciprocalRank(TopKMetric):
    """1 / place of one relevant item of the user, 0 if it is not in the first k places.

    The item is the one that LibRec numbered first (by first appearance in the ratings); the others do not matter. So
    with several test items per user this is not the average reciprocal hit rank of Deshpande and Karypis (2004) that
    LibRec's AverageReciprocalHitRankEvaluator is named after. If the ratings are not known, items are numbered by
    their place in the sorted catalogue.

    >>> import bridgeval
    >>> options = {"catalogue": ["a", "b", "c"], "metrics": "OneItemReciprocalRank@2"}
    >>> bridgeval.evaluate({1: ["c", "b"]}, {1: ["b", "c"]}, **options)["OneItemReciprocalRank@2"]
    0.5
    """

    name = "OneItemReciprocalRank"
    family = "accuracy"

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"catalogue"}), optional=frozenset({"item internal_id"}))

    def values(self, blocks: Blocks) -> Tensor:
        relevant, shown = blocks[Relevant(self.relevance)], blocks[Ranked(self.ranking)]
        if not relevant.items.shape[1] or not shown.items.shape[1]:
            return torch.zeros(len(blocks), dtype=torch.float64, device=blocks.device)
        ids = by_item(number_items(blocks), relevant.items)
        first = ids.masked_fill(~relevant.valid, torch.iinfo(ids.dtype).max).argmin(1, keepdim=True)
        hit = (shown.items == relevant.items.gather(1, first))[:, : self.k] & shown.valid[:, : self.k]
        return (hit / blocks.ranks[: hit.shape[1]]).sum(1)


@dataclass(frozen=True)
class SetOrderAUC(TopKMetric):
    """The area under the ROC curve as LibRec's AUCEvaluator estimates it from the first k places.

    With c candidates (the catalogue without the user's training items), n items shown and r hits among them, a user
    scores `(r (c - n - (k - r)) + w) / (r (c - r))`, 0.5 without hits. w counts how many hits come before each miss,
    with the user's test items in the order in which Java's hash set iterates over their numbers. So the value depends
    on how items are numbered; `GAUC` is a sound measure if whole rankings are known.

    >>> import bridgeval
    >>> known = {"history": {1: ["a"]}, "catalogue": ["a", "b", "c", "d", "e"]}
    >>> bridgeval.evaluate({1: ["b"]}, {1: ["b"]}, "SetOrderAUC@1", **known)["SetOrderAUC@1"]  # 3 of 3 pairs
    1.0
    """

    name = "SetOrderAUC"
    family = "accuracy"

    def needs(self) -> Needs:
        return super().needs() | Needs(
            pairs=frozenset({"seen"}), context=frozenset({"catalogue"}), optional=frozenset({"item internal_id"})
        )

    def values(self, blocks: Blocks) -> Tensor:
        relevant = blocks[Relevant(self.relevance)]
        listed = blocks[ShownCount(self.ranking)].clamp(max=self.k)
        candidates = len(blocks.lookup.catalogue) - blocks.batch.user_column("history_count")
        found = self._find(blocks)
        hits = found.sum(1)
        dropped = candidates - blocks[Ranked(self.ranking, whole=True)].counts
        walked = _count_pairs(by_item(number_items(blocks), relevant.items), found, relevant.valid)
        correct = walked + hits * (dropped - (listed - hits))
        pairs = (candidates - hits) * hits
        return torch.where(pairs > 0, correct.double() / pairs.clamp(min=1), 0.5)

    def _find(self, blocks: Blocks) -> Tensor:
        """`[B, R]` bool: which relevant items are in the first k places."""
        at = blocks[Matches(self.ranking, self.relevance)][:, : self.k]
        relevant = blocks[Relevant(self.relevance)].items
        found = torch.zeros((len(blocks), relevant.shape[1] + 1), dtype=torch.bool, device=blocks.device)
        return found.scatter_(1, at.masked_fill(at < 0, relevant.shape[1]), True)[:, :-1]


def _count_pairs(numbers: Tensor, found: Tensor, valid: Tensor) -> Tensor:
    """`[B]`: the sum of the hits before each miss, with items in the order of a Java hash set of their numbers."""
    # Java's HashMap doubles its table above a load of 3/4, and mixes the upper half of a hash into the lower.
    sizes = valid.sum(1, keepdim=True)
    buckets = torch.full_like(sizes, SMALLEST_TABLE)
    while bool((grown := sizes * 4 > buckets * 3).any()):
        buckets = torch.where(grown, buckets * 2, buckets)
    hashed = (numbers ^ (numbers >> 16)) % buckets
    # By bucket, then by number; items that are not there come last.
    order = torch.argsort((hashed << 32) + numbers + ((~valid).long() << 62), dim=1)
    hit, there = found.gather(1, order), valid.gather(1, order)
    return (hit.cumsum(1) * (~hit & there)).sum(1)


def number_items(blocks: Blocks) -> Tensor:
    """`[V + 1]` int64: the number that LibRec gives each item; if unknown, its place in the sorted catalogue."""
    if "internal_id" in blocks.context.items:
        return blocks.lookup.items("internal_id")
    places = torch.from_numpy(blocks.batch.slates.items.positions_in(blocks.lookup.catalogue))
    return torch.cat([places, places.new_full((1,), -1)]).to(blocks.device)
