"""Metrics of predicted numbers: errors pair by pair, and whether groups of users or items are predicted alike."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bridgeval.plugin import (
    Blocks,
    ItemSums,
    Metric,
    Needs,
    Numbers,
    Order,
    Ranked,
    Ranking,
    Relevant,
    Result,
    RowMetric,
    ShownColumn,
    Sums,
    Tally,
    TotalMetric,
    Users,
)
from bridgeval.toolkits.librec.exposure import stack_by_item, sum_by_item
from bridgeval.toolkits.librec.parity import USER_FEATURES, find_column, is_last_feature


@dataclass(frozen=True)
class SignedError(RowMetric):
    """Mean of `predicted - actual` over all pairs that both sides have.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: {"a": 3.0, "b": 5.0}}, {1: {"a": 4.0, "b": 5.0}}, "SignedError")["SignedError"]
    -0.5
    """

    name = "SignedError"
    family = "rating"
    higher_is_better = None

    def rows(self, predicted: Tensor, actual: Tensor) -> Tensor:
        return predicted - actual


@dataclass(frozen=True)
class MissRate(RowMetric):
    """The share of pairs whose prediction is off by more than `tolerance`. LibRec: MPEEvaluator.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: {"a": 3.0, "b": 5.0}}, {1: {"a": 4.0, "b": 5.0}}, "MissRate")["MissRate"]
    0.5
    """

    name = "MissRate"
    family = "rating"
    higher_is_better = False

    tolerance: float = field(default=0.01, kw_only=True)

    def rows(self, predicted: Tensor, actual: Tensor) -> Tensor:
        return ((predicted - actual).abs() > self.tolerance).double()


@dataclass(frozen=True)
class ScoreParity(TotalMetric):
    """`|mean score of protected users - mean score of the others|`, each user's mean over the first k places.

    As in LibRec, a user with several features counts once for each of them in the denominators; with one feature per
    user, as Kamishima et al. (2011) define it, both agree. Users without a feature count among the others, but not in
    their denominator. LibRec: NonParityUnfairnessEvaluator.

    >>> import bridgeval
    >>> lists, groups = {1: {"a": 3.0}, 2: {"a": 1.0}}, {1: "F", 2: "M"}
    >>> name = 'ScoreParity(protected="F")@1'
    >>> bridgeval.evaluate(lists, {1: ["a"]}, name, user_groups=groups)[name]
    2.0
    """

    name = "ScoreParity"
    family = "fairness"
    higher_is_better = False

    protected: str | None = field(default=None, kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | USER_FEATURES | Needs(pairs=frozenset({"score"}))

    def update(self, blocks: Blocks) -> Tally:
        valid = blocks[Ranked(self.ranking)].valid[:, : self.k]
        scores = blocks[ShownColumn("score", self.ranking)][:, : self.k].double().masked_fill(~valid, 0)
        listed = valid.sum(1)
        counted = self.counted(blocks) & (listed > 0)
        means = torch.where(counted, scores.sum(1) / listed.clamp(min=1), 0.0)
        group = is_last_feature(blocks, self.protected)
        protected, others = self._count_holders(blocks, counted)
        sums = {
            "protected": float(means[group].sum()),
            "other": float(means[~group].sum()),
            "protected users": protected,
            "other users": others,
        }
        return Tally(Sums(sums))

    def _count_holders(self, blocks: Blocks, counted: Tensor) -> tuple[int, int]:
        """Counts the users with the protected feature, and the other features that users have."""
        table = "features" if "features" in blocks.context.users else "groups"
        column = find_column(blocks.context.users, table, self.protected)
        values = blocks.lookup.users(table)[blocks.batch.start : blocks.batch.stop][counted]
        if table == "groups":
            return int((values == column + 1).sum()), int(((values > 0) & (values != column + 1)).sum())
        protected = int((values[:, column] == 1).sum())
        return protected, int((values == 1).sum()) - protected

    def compute(self, state: Tally) -> Result:
        sums = state.sums
        if not sums["protected users"] or not sums["other users"]:
            return Result(math.nan, users=0)
        means = [sums[name] / sums[f"{name} users"] for name in ("protected", "other")]
        return Result(abs(means[0] - means[1]), users=sums["protected users"] + sums["other users"])


@dataclass(frozen=True)
class PredictionUnfairness(TotalMetric):
    """The gap between the prediction errors of two groups of users: `mean over items of |e(protected) - e(others)|`.

    From the mean score s and the mean rating t of an item in a group, e is `s - t` ("value"), `|s - t|` ("absolute"),
    `max(0, s - t)` ("over") or `max(0, t - s)` ("under") (Yao and Huang, "Beyond parity", 2017). As in LibRec, means
    are biased (a sum of c numbers is divided by c + 1), all items of the catalogue count, and only the first k
    predictions of a user are read.

    >>> import bridgeval
    >>> groups, catalogue = {1: "F", 2: "M"}, ["a", "b"]
    >>> lists, ratings = {1: {"a": 3.0}, 2: {"a": 1.0}}, {1: {"a": 1.0}, 2: {"a": 1.0}}
    >>> name = 'PredictionUnfairness(protected="F")@1'
    >>> bridgeval.evaluate(lists, ratings, name, user_groups=groups, catalogue=catalogue)[name]
    0.5
    """

    name = "PredictionUnfairness"
    family = "fairness"
    higher_is_better = False

    users: Users = field(default="relevant", kw_only=True)
    protected: str | None = field(default=None, kw_only=True)
    error: Literal["value", "absolute", "over", "under"] = field(default="value", kw_only=True)

    def needs(self) -> Needs:
        context = frozenset({"user groups", "catalogue"})
        return super().needs() | Needs(pairs=frozenset({"score"}), context=context)

    def update(self, blocks: Blocks) -> Tally:
        shown, relevant = blocks[Ranked(self.ranking)], blocks[Relevant(self.relevance)]
        scores = blocks[ShownColumn("score", self.ranking)][:, : self.k]
        sides = (
            (shown.items[:, : self.k], shown.valid[:, : self.k], scores),
            (relevant.items, relevant.valid, relevant.gains),
        )
        group, counted = is_last_feature(blocks, self.protected), self.counted(blocks)
        columns = []
        for members in (group & counted, ~group & counted):
            for items, valid, numbers in sides:
                cells = valid & members[:, None]
                columns += [sum_by_item(blocks, items, cells, numbers), sum_by_item(blocks, items, cells)]
        facts = {"items": len(blocks.lookup.catalogue)}
        return Tally(Sums({"users": int(counted.sum())}), stack_by_item(blocks, *columns), facts)

    def compute(self, state: Tally) -> Result:
        items = state.facts.get("items", 0)
        if not state.sums["users"] or not items:
            return Result(math.nan, users=0)
        sums, counts = state.items.values[:, 0::2], state.items.values[:, 1::2]
        scores, ratings, other_scores, other_ratings = (sums / (counts + 1)).T
        gap = np.abs(self._error(scores - ratings) - self._error(other_scores - other_ratings))
        return Result(float(gap.sum() / items), users=state.sums["users"])

    def _error(self, difference: Any) -> Any:
        if self.error == "absolute":
            return np.abs(difference)
        if self.error == "over":
            return np.maximum(difference, 0)
        return np.maximum(-difference, 0) if self.error == "under" else difference


@dataclass(frozen=True)
class ScoresAndRatings(Numbers):
    """Sums of scores and ratings by item, and the range of the ratings.

    Attributes:
        sums: by item: scores, how many, ratings, how many.
        low, high: the range of all ratings.
    """

    sums: ItemSums = field(default_factory=ItemSums)
    low: float = math.inf
    high: float = -math.inf

    def merge(self, other: ScoresAndRatings) -> ScoresAndRatings:
        return ScoresAndRatings(self.sums.merge(other.sums), min(self.low, other.low), max(self.high, other.high))


@dataclass(frozen=True)
class ScoreExposure(Metric):
    """librec-auto's `expected_exposure_metric.py` (PyPI 0.2.13): `mean over items shown of (s_i - t_i)^2`.

    s_i is the mean score of item i in the lists, t_i its mean rating in the test data (0 if it has none), both
    scaled by the range of the test ratings. Scores stand for exposure and two scales are mixed; `ExposureLoss` is the
    measure by rank. Undefined if all ratings are equal.

    >>> import bridgeval
    >>> lists, ratings = {1: {"a": 3.0, "b": 1.0}}, {1: {"a": 5.0, "c": 1.0}}
    >>> bridgeval.evaluate(lists, ratings, "ScoreExposure")["ScoreExposure"]  # ((0.5 - 1)^2 + (0 - 0)^2) / 2
    0.125
    """

    name = "ScoreExposure"
    family = "fairness"
    higher_is_better = False

    order: Order = field(default="score", kw_only=True)

    def needs(self) -> Needs:
        return Needs(depth=None, pairs=frozenset({"score"}))

    def start(self) -> ScoresAndRatings:
        return ScoresAndRatings()

    def update(self, blocks: Blocks) -> ScoresAndRatings:
        ranking = Ranking(self.order, duplicates="all")
        lists, relevant = blocks[Ranked(ranking)], blocks.batch.relevant
        scores, gains = blocks[ShownColumn("score", ranking)], relevant.column("gain")
        sums = stack_by_item(
            blocks,
            sum_by_item(blocks, lists.items, lists.valid, scores),
            sum_by_item(blocks, lists.items, lists.valid),
            sum_by_item(blocks, relevant.items, relevant.valid, gains),
            sum_by_item(blocks, relevant.items, relevant.valid),
        )
        rated = gains[relevant.valid]
        if not len(rated):
            return ScoresAndRatings(sums)
        return ScoresAndRatings(sums, float(rated.min()), float(rated.max()))

    def compute(self, state: ScoresAndRatings) -> Result:
        if not state.high > state.low or state.sums.ids is None:
            return Result(math.nan)
        scores, shown, ratings, rated = state.sums.values[state.sums.values[:, 1] > 0].T
        span = state.high - state.low
        exposure = (scores / shown - state.low) / span
        target = np.where(rated > 0, (ratings / np.maximum(rated, 1) - state.low) / span, 0)
        return Result(float(np.square(exposure - target).mean()), notes={"items": len(shown)})
