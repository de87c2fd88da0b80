"""Accuracy as librec-auto and LibRec define it where no native metric has the parameter for it."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from bridgeval.errors import BadParameterError
from bridgeval.plugin import (
    Blocks,
    Hits,
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
from bridgeval.toolkits.librec.protected import item_numbers

SMALLEST_TABLE = 16


@dataclass(frozen=True)
class TestOrderNDCG(TopKMetric):
    """nDCG that takes the place of an item in the test file for its relevance, as librec-auto 0.2.13 of PyPI does.

    With n test rows the item in row p (from 0) gains `2^(n - p) - 1`, whatever its rating. The ideal list is the first
    min(k, n) rows. Of use only to reproduce that package's numbers. Gains are scaled by 2^-n, so no n is too large.

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

    It says how much there was to find, nothing about the lists. LibRec: IdealDCGEvaluator.

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
        sums = discounts("log2", width, blocks.device).cumsum(0)
        return torch.cat([sums.new_zeros(1), sums])[relevant]


@dataclass(frozen=True)
class OneItemReciprocalRank(TopKMetric):
    """1 / place of one relevant item of the user, 0 when it is not in the first k places.

    The item is the one that LibRec numbered first (by first appearance in the ratings); the others do not matter, so
    with more than one test item a user this is not the average reciprocal hit rank of Deshpande and Karypis (2004)
    that LibRec's AverageReciprocalHitRankEvaluator is named after. Where the ratings are not known, the item is the
    first of the catalogue.

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
        ids = by_item(item_numbers(blocks), relevant.items)
        first = ids.masked_fill(~relevant.valid, torch.iinfo(ids.dtype).max).argmin(1, keepdim=True)
        hit = (shown.items == relevant.items.gather(1, first))[:, : self.k] & shown.valid[:, : self.k]
        return (hit / blocks.ranks[: hit.shape[1]]).sum(1)


@dataclass(frozen=True)
class SetOrderAUC(TopKMetric):
    """The area under the ROC curve as LibRec's AUCEvaluator estimates it from the first k places.

    With c candidates (the catalogue without the user's training items), n items shown and r hits among them, a user
    scores `(r (c - n - (k - r)) + w) / (r (c - r))`, 0.5 without hits. w counts, going through the user's test items
    in the order in which Java's hash set holds their numbers, how many hits come before each miss. So the value
    depends on how items are numbered; `GAUC` is a sound measure where whole rankings are known.

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
        found = self._found(blocks)
        hits = found.sum(1)
        dropped = candidates - blocks.batch.shown.lengths
        walked = _misses_after_hits(by_item(item_numbers(blocks), relevant.items), found, relevant.valid)
        correct = walked + hits * (dropped - (listed - hits))
        pairs = (candidates - hits) * hits
        return torch.where(pairs > 0, correct.double() / pairs.clamp(min=1), 0.5)

    def _found(self, blocks: Blocks) -> Tensor:
        """`[B, R]` bool: which relevant items stand in the first k places."""
        at = blocks[Matches(self.ranking, self.relevance)][:, : self.k]
        relevant = blocks[Relevant(self.relevance)].items
        found = torch.zeros((len(blocks), relevant.shape[1] + 1), dtype=torch.bool, device=blocks.device)
        return found.scatter_(1, at.masked_fill(at < 0, relevant.shape[1]), True)[:, :-1]


def _misses_after_hits(numbers: Tensor, found: Tensor, valid: Tensor) -> Tensor:
    """`[B]`: hits before each miss, added up, over items in the order of a Java hash set of their numbers."""
    sizes = valid.sum(1, keepdim=True)
    buckets = torch.full_like(sizes, SMALLEST_TABLE)
    while bool((grown := sizes * 4 > buckets * 3).any()):
        buckets = torch.where(grown, buckets * 2, buckets)
    hashed = (numbers ^ (numbers >> 16)) % buckets
    order = torch.argsort((hashed << 32) + numbers + ((~valid).long() << 62), dim=1)
    hit, there = found.gather(1, order), valid.gather(1, order)
    return (hit.cumsum(1) * (~hit & there)).sum(1)


@dataclass(frozen=True)
class ExposureLoss(UserMetric):
    """Expected exposure loss of Diaz et al., "Evaluating stochastic rankings with expected exposure" (2020), for one
    ranking a user: `sum_i (e_i - t_i)^2` over all n items of the catalogue.

    The item at place j has the exposure `e = g^(j - 1)`, one that is not shown has 0. The target shares the exposure
    of the first P places among the P relevant items, and that of the others among the rest:
    `t = (1 - g^P) / (P (1 - g))` for a relevant item, `(g^P - g^n) / ((n - P) (1 - g))` for another.

    Attributes:
        patience: g, how likely a reader goes on to the next place.

    >>> import bridgeval
    >>> options = {"catalogue": ["a", "b"], "metrics": "ExposureLoss"}
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: ["a"]}, **options)["ExposureLoss"]
    0.0
    """

    name = "ExposureLoss"
    family = "fairness"
    higher_is_better = False

    patience: float = field(default=0.5, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.patience < 1:
            raise BadParameterError("patience must lie between 0 and 1", f"{self.patience}", "0.5 is usual")

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"catalogue"}))

    def values(self, blocks: Blocks) -> Tensor:
        shown, hits = blocks[Ranked(self.ranking)], blocks[Hits(self.ranking, self.relevance)]
        size = len(blocks.lookup.catalogue)
        relevant = blocks[RelevantCount(self.relevance)].double()
        others = (size - relevant).clamp(min=0)
        g = self.patience
        wanted = (1 - g**relevant) / (relevant.clamp(min=1) * (1 - g))
        unwanted = (g**relevant - g**size).clamp(min=0) / (others.clamp(min=1) * (1 - g))
        exposure = (g ** (blocks.ranks[: shown.items.shape[1]] - 1)) * shown.valid
        target = torch.where(hits, wanted[:, None], unwanted[:, None])
        squares = (exposure * (exposure - 2 * target)).sum(1)
        return squares + relevant * wanted.square() + others * unwanted.square()
