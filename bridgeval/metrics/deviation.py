"""Fairness as mean absolute deviation: how far apart are the averages of groups of items, or of users?

The measure is that of Deldjoo et al. (2021), "A flexible framework for evaluating user and item fairness in recommender
systems": every group gets an average, the value is the mean absolute difference over all pairs of groups. Undefined
with fewer than two groups that have an average. The averages are the parts of the result.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from torch import Tensor

from bridgeval.batch.tensors import sums_by_code
from bridgeval.engine.blocks import Block, Blocks, ShownCount, ShownWithin, UserGroups, Users
from bridgeval.engine.metric import TotalMetric, UserMetric
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import Floats, ItemSums, Sums, Tally
from bridgeval.engine.summary import Result
from bridgeval.metrics.accuracy import nDCG
from bridgeval.metrics.blocks.composite import PartValues, check_parts
from bridgeval.metrics.blocks.gains import Gain
from bridgeval.metrics.blocks.item_groups import Unassigned, Undefined, compared
from bridgeval.metrics.blocks.item_sums import CellScores, GainSums, GroupScores, HitScores, ScoreSums
from bridgeval.metrics.blocks.listed_items import cell_counts, mean_gap, population, user_group_count, who


@dataclass(frozen=True)
class ItemDeviation(TotalMetric):
    """What ItemMADRanking and ItemMADRating share: items are averaged over their appearances, groups over their items.

    Items that no list holds do not enter the average of their group. What the catalogue lacks is not an item without a
    group, so it does not enter where these are compared.
    """

    family = "fairness"
    higher_is_better = False

    unassigned: Unassigned = field(default="skip", kw_only=True)
    undefined: Undefined = field(default="nan", kw_only=True)

    def needs(self) -> Needs:
        context = {"item groups"} if self.unassigned == "skip" else {"item groups", "catalogue"}
        return super().needs() | Needs(context=frozenset(context))

    def appearances(self, blocks: Blocks) -> tuple[Floats, Floats]:
        """`[V]` float64 each: the sum of what is averaged over the appearances of each item, and how many there are."""
        raise NotImplementedError(f"{type(self).__name__} must define appearances(blocks)")

    def update(self, blocks: Blocks) -> Tally:
        # Columns that lie in one piece each, for `compute` takes them apart again.
        sums = np.stack(self.appearances(blocks)).T
        if self.unassigned == "group":
            sums = np.where(blocks.lookup.in_catalogue[:-1, None].cpu().numpy(), sums, 0)
        facts = {"groups": blocks.context.items["groups"]}
        return Tally(Sums({"users": population(blocks, self)}), ItemSums(blocks.batch.slates.items, sums), facts)

    def compute(self, state: Any) -> Result:
        if state.items.ids is None:
            return compared(state, mean_gap, self.undefined, self.unassigned)
        table, (total, count) = state.facts["groups"], state.items.values.T
        means = total / np.maximum(count, 1)
        groups, size = table.aligned(state.items.ids), len(table.labels) + 1
        sums = {
            "users": state.sums["users"],
            "found": np.bincount(groups, weights=means, minlength=size),
            "there": np.bincount(groups, weights=count > 0, minlength=size),
        }
        by_group = Tally(Sums(sums), facts={"labels": table.labels})
        return compared(by_group, mean_gap, self.undefined, self.unassigned)


@dataclass(frozen=True)
class ItemMADRanking(ItemDeviation):
    """The gap between item groups in discounted gain: an item that is shown is worth `g(r) / log2(j + 1)` at place j.

    Attributes:
        gain: what a relevant item is worth, as in nDCG; WarpRec takes "shifted".
        discount: "log2"; WarpRec takes "none", though its documentation speaks of discounted gain.
        unassigned: items without a group are not compared ("skip"), or are a "group" as in WarpRec.
        undefined: "nan", or "zero" as in WarpRec.

    >>> import bridgeval
    >>> groups = {"a": "jazz", "b": "rock"}
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: ["a"]}, "ItemMADRanking@2", item_groups=groups)["ItemMADRanking@2"]
    1.0
    """

    name = "ItemMADRanking"

    users: Users = field(default="relevant", kw_only=True)
    gain: Gain = field(default="exponential", kw_only=True)
    discount: Literal["log2", "none"] = field(default="log2", kw_only=True)

    def appearances(self, blocks: Blocks) -> tuple[Floats, Floats]:
        gains = blocks[GainSums(self.gain, self.discount, self.ranking, self.relevance, who(blocks, self))]
        return gains.up_to(self.k)[:-1], cell_counts(blocks, self)


@dataclass(frozen=True)
class ItemMADRating(ItemDeviation):
    """The gap between item groups in the score they are shown with.

    Attributes:
        count: all appearances ("shown"); or only "hits", as in WarpRec.
        unassigned, undefined: as in ItemMADRanking.

    >>> import bridgeval
    >>> groups = {"a": "jazz", "b": "rock"}
    >>> report = bridgeval.evaluate({1: {"a": 4.0, "b": 2.5}}, {1: ["a"]}, "ItemMADRating@2", item_groups=groups)
    >>> report["ItemMADRating@2"]
    1.5
    """

    name = "ItemMADRating"

    count: Literal["shown", "hits"] = field(default="shown", kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | Needs(pairs=frozenset({"score"}))

    def appearances(self, blocks: Blocks) -> tuple[Floats, Floats]:
        if self.count == "shown":
            return blocks[CellScores(self.ranking, who(blocks, self))].up_to(self.k), cell_counts(blocks, self)
        scores, counts = blocks[HitScores(self.ranking, self.relevance, who(blocks, self))]
        return scores.up_to(self.k)[:-1], counts.up_to(self.k)[:-1]


@dataclass(frozen=True)
class UserDeviation(TotalMetric):
    """What UserMADRanking and UserMADRating share: groups are averaged over their users that have a value."""

    family = "fairness"
    higher_is_better = False

    users: Users = field(default="relevant", kw_only=True)
    unassigned: Unassigned = field(default="skip", kw_only=True)
    undefined: Undefined = field(default="nan", kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"user groups"}))

    def user_values(self, blocks: Blocks) -> Tensor:
        """`[B]` float64, NaN where undefined."""
        raise NotImplementedError(f"{type(self).__name__} must define user_values(blocks)")

    def totals(self, blocks: Blocks) -> Floats:
        """`[G + 1]`: the values of all users, added up by group."""
        return sums_by_code(blocks[UserGroups()], user_group_count(blocks), self.user_values(blocks))

    def update(self, blocks: Blocks) -> Tally:
        groups, size = blocks[UserGroups()], user_group_count(blocks)
        users, total, count = len(blocks), self.totals(blocks), blocks[UserGroupSizes()]
        if np.isnan(total).any() or not blocks.everyone(self.counted(blocks)):
            values = self.user_values(blocks)
            has_value = self.counted(blocks) & ~values.isnan()
            values, groups = values[has_value], groups[has_value]
            users, total, count = len(values), sums_by_code(groups, size, values), sums_by_code(groups, size)
        facts = {"labels": blocks.context.users["groups"].labels}
        return Tally(Sums({"users": users, "found": total, "there": count}), facts=facts)

    def compute(self, state: Any) -> Result:
        return compared(state, mean_gap, self.undefined, self.unassigned)


@dataclass(frozen=True)
class UserGroupSizes(Block[Floats]):
    """How many users of the batch are in each group, those without one first: `[G + 1]` float64."""

    def make(self, blocks: Blocks) -> Floats:
        return sums_by_code(blocks[UserGroups()], user_group_count(blocks))


@dataclass(frozen=True)
class UserMADRanking(UserDeviation):
    """The gap between user groups in the quality of their lists.

    Attributes:
        metric: the quality, by default nDCG at the same cutoff; any metric that gives per-user values.
        gain: of that nDCG; WarpRec takes "shifted".
        unassigned: users without a group are not compared ("skip"), or are a "group" as in WarpRec.
        undefined: "nan", or "zero" as in WarpRec.

    >>> import bridgeval
    >>> lists, truth = {1: ["a"], 2: ["b"]}, {1: ["a"], 2: ["a"]}
    >>> bridgeval.evaluate(lists, truth, "UserMADRanking@1", user_groups={1: "old", 2: "new"})["UserMADRanking@1"]
    1.0
    """

    name = "UserMADRanking"
    made_of: ClassVar[tuple[str, ...]] = ("metric",)

    metric: UserMetric | None = field(default=None, kw_only=True)
    gain: Gain = field(default="exponential", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_parts(self.name, [] if self.metric is None else [self.metric])

    def needs(self) -> Needs:
        return super().needs() | self._metric.needs()

    def user_values(self, blocks: Blocks) -> Tensor:
        return blocks[PartValues(self._metric)]

    @cached_property
    def _metric(self) -> UserMetric:
        return self.metric or nDCG(self.k, gain=self.gain, **self.policies)


@dataclass(frozen=True)
class UserMADRating(UserDeviation):
    """The gap between user groups in the mean score of the first k places. Users who were shown nothing have no value.

    WarpRec keeps masked items in short lists (masked="keep"); their score of -inf makes it infinite or undefined.

    >>> import bridgeval
    >>> lists, truth = {1: {"a": 4.0}, 2: {"b": 2.5}}, {1: ["a"], 2: ["a"]}
    >>> bridgeval.evaluate(lists, truth, "UserMADRating@1", user_groups={1: "old", 2: "new"})["UserMADRating@1"]
    1.5
    """

    name = "UserMADRating"

    def needs(self) -> Needs:
        return super().needs() | Needs(pairs=frozenset({"score"}))

    def user_values(self, blocks: Blocks) -> Tensor:
        total = blocks[ScoreSums(self.ranking)].up_to(self.k)
        return total / blocks[ShownWithin(self.k, self.ranking)]

    def totals(self, blocks: Blocks) -> Floats:
        if int(blocks[ShownCount(self.ranking)].min()) < self.k:
            return super().totals(blocks)
        return np.add.reduce(blocks[GroupScores(self.ranking)][:, : self.k], axis=1) / self.k
