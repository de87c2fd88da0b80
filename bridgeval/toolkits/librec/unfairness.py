"""Ratings: errors pair by pair, and whether two groups of users are predicted alike (Yao and Huang 2017)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bridgeval.plugin import (
    Blocks,
    Needs,
    Ranked,
    Relevant,
    Result,
    RowMetric,
    ShownColumn,
    Sums,
    Tally,
    TotalMetric,
    Users,
)
from bridgeval.toolkits.librec.protected import (
    column_of,
    item_state,
    last_feature_is,
    summed_by_item,
)


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

    LibRec counts a user with several features once for each of them in the denominators, and so does this: with one
    feature a user, as Kamishima et al. (2011) have it, both agree. Users without a feature count among the others, but
    not in their denominator. LibRec: NonParityUnfairnessEvaluator.

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
        return super().needs() | Needs(
            pairs=frozenset({"score"}),
            context=frozenset({"user groups"}),
            optional=frozenset({"user features"}),
        )

    def update(self, blocks: Blocks) -> Tally:
        valid = blocks[Ranked(self.ranking)].valid[:, : self.k]
        scores = blocks[ShownColumn("score", self.ranking)][:, : self.k].double().masked_fill(~valid, 0)
        listed = valid.sum(1)
        counted = self.counted(blocks) & (listed > 0)
        means = torch.where(counted, scores.sum(1) / listed.clamp(min=1), 0.0)
        group = last_feature_is(blocks, self.protected)
        protected, others = self._holders(blocks, counted)
        return Tally(
            Sums(
                {
                    "protected": float(means[group].sum()),
                    "other": float(means[~group].sum()),
                    "protected users": protected,
                    "other users": others,
                }
            )
        )

    def _holders(self, blocks: Blocks, counted: Tensor) -> tuple[int, int]:
        """How many users have the protected feature, and how many other features users have."""
        table = "features" if "features" in blocks.context.users else "groups"
        column = column_of(blocks.context.users[table], self.protected)
        values = blocks.lookup.users(table)[blocks.batch.start : blocks.batch.stop][counted]
        if table == "groups":
            return int((values == column + 1).sum()), int(((values > 0) & (values != column + 1)).sum())
        return int((values[:, column] == 1).sum()), int((values == 1).sum() - (values[:, column] == 1).sum())

    def compute(self, state: Tally) -> Result:
        sums = state.sums
        if not sums["protected users"] or not sums["other users"]:
            return Result(math.nan, users=0)
        means = [sums[name] / sums[f"{name} users"] for name in ("protected", "other")]
        return Result(abs(means[0] - means[1]), users=sums["protected users"] + sums["other users"])


@dataclass(frozen=True)
class PredictionUnfairness(TotalMetric):
    """How differently two groups of users are predicted: `mean over items of |e(protected) - e(others)|`.

    For each item and group the mean score s and the mean rating t are taken, and of them e = `s - t` ("value"),
    `|s - t|` ("absolute"), `max(0, s - t)` ("over") or `max(0, t - s)` ("under") (Yao and Huang, "Beyond parity",
    2017). As in LibRec, means are biased (a sum of c numbers is divided by c + 1), all items of the catalogue count,
    and of a user's predictions only the first k are read.

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
        items, valid = shown.items[:, : self.k], shown.valid[:, : self.k]
        scores = blocks[ShownColumn("score", self.ranking)][:, : self.k]
        group, counted = last_feature_is(blocks, self.protected), self.counted(blocks)
        columns = []
        for members in (group & counted, ~group & counted):
            for rows, cells, numbers in (
                (items, valid, scores),
                (relevant.items, relevant.valid, relevant.gains),
            ):
                inside = cells & members[:, None]
                columns += [summed_by_item(blocks, rows, inside, numbers), summed_by_item(blocks, rows, inside)]
        facts = {"items": len(blocks.lookup.catalogue)}
        return Tally(Sums({"users": int(counted.sum())}), item_state(blocks, *columns), facts)

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
