"""Order: at which places relevant items stand, and how many pairs of items are in the right order.

h hits and n items within the first k places, P relevant items, N items of the catalogue.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from bridgeval.batch.kernels import sum_by_code
from bridgeval.batch.ranking import Ranking, Relevance
from bridgeval.engine.blocks import Block, Blocks, HitIndex, Ranked, Relevant, RelevantCount, ShownCount
from bridgeval.engine.metric import PrefixMetric, RatioMetric, TopKMetric
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import State, Sums
from bridgeval.engine.summary import NEVER_NEGATIVE, SHARE, UNBOUNDED, Bounds, Result
from bridgeval.metrics.auc import Inversions, RocAuc
from bridgeval.metrics.blocks.hits import HitCounts, HitPlaces, TieGroups

Tied = Literal["order", "half", "lost"]
Between = Literal["gains", "relevance"]


@dataclass(frozen=True)
class HitPlace(PrefixMetric):
    """The place, counted from 1, at which the hits of the first k places stand.

    Undefined for users without a hit there.

    Attributes:
        of: the "first" hit, the "last", or the "mean" or "geometric" mean of all.
        divide_by: the mean is over the "hits"; or over all "relevant" items, those that are not found counting 0.
        missed: what a user without a hit gets: none ("drop"), "zero" or "infinite".

    >>> import bridgeval
    >>> lists, relevant = {1: ["a", "b", "c", "d"]}, {1: ["b", "d"]}
    >>> dict(bridgeval.evaluate(lists, relevant, ["HitPlace", 'HitPlace(of="last")', "HitPlace@3"]))
    {'HitPlace': 3.0, 'HitPlace(of="last")': 4.0, 'HitPlace@3': 2.0}
    """

    name = "HitPlace"
    family = "order"
    higher_is_better = False
    bounds = NEVER_NEGATIVE
    shared_ties = ("first", "last", "middle")

    of: Literal["mean", "first", "last", "geometric"] = field(default="mean", kw_only=True)
    divide_by: Literal["hits", "relevant"] = field(default="hits", kw_only=True)
    missed: Literal["drop", "zero", "infinite"] = field(default="drop", kw_only=True)

    def values(self, blocks: Blocks) -> Tensor:
        hits = blocks[HitPlaces(self.ranking, self.relevance)]
        count = hits.sum().up_to(self.k)
        within = hits.places < self.k
        rows, ranks = hits.rows[within], hits.ranks[within]
        none = torch.zeros(len(blocks), dtype=torch.float64, device=blocks.device)
        if self.of in ("first", "last"):
            way = "amin" if self.of == "first" else "amax"
            place = none.scatter_reduce(0, rows, ranks, way, include_self=False)
        elif self.of == "geometric":
            place = (sum_by_code(rows, len(blocks), ranks.log()) / count).exp()
        else:
            below = count if self.divide_by == "hits" else blocks[RelevantCount(self.relevance)]
            place = sum_by_code(rows, len(blocks), ranks) / below
        filled = {"drop": torch.nan, "zero": 0.0, "infinite": torch.inf}[self.missed]
        return torch.where(count > 0, place, filled)


@dataclass(frozen=True)
class GradedPairs(Block[tuple[Tensor, Tensor]]):
    """Pairs of the first k places whose gains differ: those in the wrong order, and all: `[B]` float64 each.

    An item that is not relevant has the gain 0. One pass for each gain that occurs.
    """

    ranking: Ranking
    relevance: Relevance
    k: int
    tied: Tied
    between: Between

    def make(self, blocks: Blocks) -> tuple[Tensor, Tensor]:
        ranked = blocks[Ranked(self.ranking, whole=True)]
        rows, places, columns = blocks[HitIndex(self.ranking, self.relevance, whole=True)]
        gains = torch.zeros(ranked.items.shape, dtype=torch.float64, device=blocks.device)
        graded = blocks[Relevant(self.relevance)].gains[rows, columns].double()
        gains[rows, places] = graded if self.between == "gains" else 1.0
        there = ranked.valid.clone()
        there[:, self.k :] = False
        wrong, pairs = torch.zeros(2, len(blocks), dtype=torch.float64, device=blocks.device)
        for gain in torch.unique(gains[there]):
            high, low = there & (gains == gain), there & (gains < gain)
            pairs = pairs + high.sum(1) * low.sum(1)
            wrong = wrong + (high * self._count_above(blocks, low)).sum(1)
        return wrong, pairs

    def _count_above(self, blocks: Blocks, low: Tensor) -> Tensor:
        """`[B, K]` float64: how many of `low` stand above each place."""
        above = (low.long().cumsum(1) - low.long()).double()
        if self.tied == "order":
            return above
        ties = blocks[TieGroups(self.ranking)]
        first = torch.arange(low.shape[1], device=blocks.device) == ties.start
        above_group = ties.sum(torch.where(first, above, 0.0))
        return above_group + ties.sum(low) * (0.5 if self.tied == "half" else 1.0)


@dataclass(frozen=True)
class PairAccuracy(PrefixMetric):
    """The share of pairs of shown items with different gains of which the higher one stands higher.

    An item that is not relevant has the gain 0; with one gain above it that is RocAuc. Undefined for lists without such
    a pair.

    Attributes:
        tied: a pair of equal scores counts by the "order" of the ranking; "half"; or as "lost".
        between: items of different "gains"; or relevant and irrelevant ones ("relevance"), as in RocAuc.
        unpaired: what a list without such a pair gets: "undefined" or "zero".

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b", "c"]}, {1: {"a": 1, "b": 3}}, "PairAccuracy")["PairAccuracy"]
    0.6666666666666667
    """

    name = "PairAccuracy"
    family = "order"
    bounds = SHARE

    tied: Tied = field(default="order", kw_only=True)
    between: Between = field(default="gains", kw_only=True)
    unpaired: Literal["undefined", "zero"] = field(default="undefined", kw_only=True)

    def count_pairs(self, blocks: Blocks) -> tuple[Tensor, Tensor]:
        """`[B]` float64 each: pairs in the wrong order, and all."""
        return blocks[GradedPairs(self.ranking, self.relevance, self.k, self.tied, self.between)]

    def values(self, blocks: Blocks) -> Tensor:
        wrong, pairs = self.count_pairs(blocks)
        return torch.where(pairs > 0, 1 - wrong / pairs, torch.nan if self.unpaired == "undefined" else 0.0)


@dataclass(frozen=True)
class FCP(PairAccuracy):
    """Fraction of concordant pairs: `c / (c + d)` (Koren and Sill 2013), pairs of equal scores counting as wrong.

    c is the mean number of pairs in the right order over the users who have any, d that of pairs in the wrong order
    over the users who have any of these. A user alone is PairAccuracy.

    >>> import bridgeval
    >>> truth = {1: {"a": 1, "b": 3}, 2: {"a": 3, "b": 1}, 3: {"a": 2, "b": 1}}
    >>> bridgeval.evaluate({user: ["a", "b"] for user in truth}, truth, "FCP")["FCP"]
    0.5
    """

    name = "FCP"
    family = "order"

    tied: Tied = field(default="lost", kw_only=True)

    def start(self) -> State:
        return Sums() if self.over == "mean" else super().start()

    def update(self, blocks: Blocks) -> State:
        if self.over != "mean":
            return super().update(blocks)
        counted = self.counted(blocks)
        wrong, pairs = (one[counted] for one in self.count_pairs(blocks))
        right = pairs - wrong
        return Sums(
            {
                "right": float(right.sum()),
                "wrong": float(wrong.sum()),
                "users right": int((right > 0).sum()),
                "users wrong": int((wrong > 0).sum()),
                "users": int((pairs > 0).sum()),
            }
        )

    def compute(self, state: Any) -> Result:
        if self.over != "mean":
            return super().compute(state)
        right, wrong = (state[way] / max(state[f"users {way}"], 1) for way in ("right", "wrong"))
        value = right / (right + wrong) if right + wrong else float("nan")
        return Result(value, users=int(state["users"]))


@dataclass(frozen=True)
class RankingLoss(PrefixMetric):
    """The share of (relevant, irrelevant) pairs of shown items in the wrong order: 1 - RocAuc (Tsoumakas et al. 2010).

    Undefined for lists of hits only or of misses only.

    Attributes:
        tied: as in RocAuc.
        one_sided: what such lists get: "undefined" or "zero".

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b", "c"]}, {1: ["b"]}, "RankingLoss")["RankingLoss"]
    0.5
    """

    name = "RankingLoss"
    family = "order"
    higher_is_better = False
    bounds = SHARE

    tied: Tied = field(default="lost", kw_only=True)
    one_sided: Literal["undefined", "zero"] = field(default="undefined", kw_only=True)

    def values(self, blocks: Blocks) -> Tensor:
        area = RocAuc(self.k, tied=self.tied, ranking=self.ranking, relevance=self.relevance).values(blocks)
        return (1 - area).nan_to_num(nan=0.0) if self.one_sided == "zero" else 1 - area


@dataclass(frozen=True)
class PercentileRank(RatioMetric):
    """The mean place of relevant items as a share of the catalogue: `(j - 1) / N`; 0 is the top (Hu et al. 2008).

    A relevant item that was not shown is halfway between the last item of the list and the end of the catalogue:
    `((n - 1) / N + 1) / 2`. over="pooled" is the mean over all relevant items of everyone.

    Attributes:
        percent: whether it is multiplied by 100.

    >>> import bridgeval
    >>> name = "PercentileRank"
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: ["b"]}, name, catalogue=["a", "b", "c", "d"])[name]
    0.25
    """

    name = "PercentileRank"
    family = "order"
    higher_is_better = False

    percent: bool = field(default=False, kw_only=True)

    @property
    def bounds(self) -> Bounds:
        return UNBOUNDED

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"catalogue"}))

    def ratio(self, blocks: Blocks) -> tuple[Tensor, Tensor]:
        hits, size = blocks[HitPlaces(self.ranking, self.relevance, "once")], len(blocks.lookup.catalogue)
        relevant = blocks[RelevantCount(self.relevance)].double()
        shown = blocks[ShownCount(self.ranking)].clamp(max=self.k).double()
        last = (shown - 1).clamp(min=0) / size
        found = hits.sum().up_to(self.k)
        total = hits.sum((hits.ranks - 1) / size).up_to(self.k) + (relevant - found) * (last + 1) / 2
        return total * (100 if self.percent else 1), relevant


@dataclass(frozen=True)
class StraightAUC(TopKMetric):
    """The area under the ROC curve of the first k places, continued by a straight line to the end of the catalogue.

    `(sum over misses of hits above + (h + P) / 2 (N - P - m)) / (P (N - P))` with m = k - h misses; places beyond the
    end of a list count as misses. It is implicit's AUC. Undefined if everything is relevant.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: ["b"]}, "StraightAUC@2", catalogue=["a", "b", "c"])["StraightAUC@2"]
    0.5
    """

    name = "StraightAUC"
    family = "order"

    @property
    def bounds(self) -> Bounds:
        # A cutoff beyond the catalogue counts misses that are not there.
        return UNBOUNDED

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"catalogue"}))

    def values(self, blocks: Blocks) -> Tensor:
        hits = blocks[HitCounts(self.ranking, self.relevance, "each")].up_to(self.k)
        relevant = blocks[RelevantCount(self.relevance)].double()
        irrelevant, misses = len(blocks.lookup.catalogue) - relevant, self.k - hits
        below = hits * misses - blocks[Inversions(self.ranking, self.relevance)].up_to(self.k)
        area = (below + (hits + relevant) / 2 * (irrelevant - misses)) / (relevant * irrelevant)
        return torch.where((relevant > 0) & (irrelevant > 0), area, torch.nan)
