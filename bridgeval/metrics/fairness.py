"""Fairness: are groups of items, and of users, treated alike? The parts of the result say what each group gets.

Groups are labels given as item_groups= and user_groups=. Items and users without a label are not a group: they are left
out of comparisons, but stay in totals. WarpRec compares them as one more group (unassigned="group").

The mean absolute deviations (MAD) are those of Deldjoo et al. (2021), "A flexible framework for evaluating user and
item fairness in recommender systems": every group has an average, the value is the mean absolute difference over all
pairs of groups. Undefined with fewer than two groups that have an average. The averages are the parts of the result.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from bridgeval.batch.kernels import sum_by_code
from bridgeval.batch.ranking import Relevance
from bridgeval.engine.blocks import Blocks, Relevant, RelevantCount, ShownCount, UserGroups, Users
from bridgeval.engine.metric import RankingMetric, TotalMetric, UserMetric
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import ItemSums, Joint, Sums, Tally
from bridgeval.engine.summary import NEVER_NEGATIVE, Result
from bridgeval.metrics.accuracy import nDCG
from bridgeval.metrics.blocks.composite import PartValues, check_parts
from bridgeval.metrics.blocks.gains import Gain
from bridgeval.metrics.blocks.group_comparison import Unassigned, Undefined, compare_groups, mean_gap, spread
from bridgeval.metrics.blocks.group_pairs import (
    PAIR_NEEDS,
    ShownPairs,
    compute_bias,
    count_pairs,
    tally_pairs,
    user_group_count,
)
from bridgeval.metrics.blocks.item_groups import (
    ItemGroups,
    group_size_tensor,
    history_counts,
    hit_counts,
    item_labels,
    relevant_counts,
    shown_counts,
)
from bridgeval.metrics.blocks.item_sums import HitScores, ItemGains, ItemScores, ScoreSums
from bridgeval.metrics.blocks.listed_items import HistoryCells, ItemCounts, counted_items, population


@dataclass(frozen=True)
class REO(TotalMetric):
    """Ranking-based equal opportunity: the spread of the recall of item groups.

    `p_c` = hits in group c / relevant rows in c, over all users; the value is the standard deviation of the p_c over
    their mean: 0 when all groups are found alike (Zhu, Wang and Caverlee 2020). Groups without a relevant row have no
    p_c. Undefined with fewer than two groups, or without any hit.

    Attributes:
        unassigned: items without a group are not compared ("skip"), or are a "group" as in WarpRec.
        undefined: "nan", or "zero" as in WarpRec.

    >>> import bridgeval
    >>> groups = {"a": "jazz", "b": "rock"}
    >>> report = bridgeval.evaluate({1: ["a"]}, {1: ["a", "b"]}, "REO@1", item_groups=groups)
    >>> dict(report)
    {'REO@1': 1.0, 'REO@1[jazz]': 1.0, 'REO@1[rock]': 0.0}
    """

    name = "REO"
    family = "fairness"
    higher_is_better = False
    bounds = NEVER_NEGATIVE

    users: Users = field(default="relevant", kw_only=True)
    unassigned: Unassigned = field(default="skip", kw_only=True)
    undefined: Undefined = field(default="nan", kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"item groups"}))

    def update(self, blocks: Blocks) -> Tally:
        groups = ItemGroups()
        found, there = hit_counts(blocks, self, groups), relevant_counts(blocks, self, groups)
        sums = {"users": population(blocks, self), "found": found, "there": there}
        return Tally(Sums(sums), facts={"labels": item_labels(blocks)})

    def compute(self, state: Any) -> Result:
        return compare_groups(state, spread, self.undefined, self.unassigned)


@dataclass(frozen=True)
class RSP(TotalMetric):
    """Ranking-based statistical parity: the spread of the chance of item groups to be shown.

    `p_c` = places that hold an item of group c / candidates in c, over all users, where a user's candidates are the
    catalogue without what the user has in the history; the value is the standard deviation of the p_c over their mean
    (Zhu, Wang and Caverlee 2020). Groups without a candidate have no p_c; shown items that the catalogue lacks do not
    count. Undefined as in REO.

    Attributes:
        candidates: those a user has not "unseen"; "all" items; or "estimated", as in WarpRec: with V users who have a
            relevant item, U users known, n_c items and t_c interactions of the group, max(0, V n_c - V t_c / U).
        unassigned, undefined: as in REO.

    >>> import bridgeval
    >>> known = {"item_groups": {"a": "jazz", "b": "rock"}, "history": {1: ["b"], 3: ["a"]}}
    >>> report = bridgeval.evaluate({1: ["a"], 2: ["b"]}, {1: ["a"]}, "RSP@1", **known)
    >>> report["RSP@1[jazz]"], report["RSP@1[rock]"]  # user 1 has b already
    (0.5, 1.0)
    """

    name = "RSP"
    family = "fairness"
    higher_is_better = False
    bounds = NEVER_NEGATIVE

    candidates: Literal["unseen", "all", "estimated"] = field(default="unseen", kw_only=True)
    unassigned: Unassigned = field(default="skip", kw_only=True)
    undefined: Undefined = field(default="nan", kw_only=True)

    def needs(self) -> Needs:
        needs = super().needs() | Needs(context=frozenset({"item groups", "catalogue"}))
        if self.candidates == "unseen":
            return needs | Needs(lists=frozenset({"history lists"}))
        if self.candidates == "estimated":
            return needs | Needs(context=frozenset({"item popularity"}), users=frozenset({"all users"}))
        return needs

    def update(self, blocks: Blocks) -> Tally:
        users = population(blocks, self)
        found = shown_counts(blocks, self, ItemGroups(known=True))
        sums = {"users": users, "found": found, "there": self._there(blocks, users)}
        return Tally(Sums(sums), facts={"labels": item_labels(blocks)})

    def _there(self, blocks: Blocks, users: Tensor) -> Tensor:
        """`[G + 1]`: the candidates in each group."""
        if self.candidates == "estimated":
            valid = (self.counted(blocks) & (blocks[RelevantCount(self.relevance)] > 0)).sum()
            seen = group_size_tensor(blocks, "interactions") / max(blocks.context.known_users, 1)
            return valid * (group_size_tensor(blocks) - seen).clamp(min=0)
        there = users * group_size_tensor(blocks)
        if self.candidates == "all":
            return there
        return there - history_counts(blocks, self, ItemGroups(known=True))

    def compute(self, state: Any) -> Result:
        return compare_groups(state, spread, self.undefined, self.unassigned)


@dataclass(frozen=True)
class ItemDeviation(TotalMetric):
    """The base of ItemMADRanking and ItemMADRating: averages items over their appearances, groups over their items.

    Items that no list holds do not enter the average of their group. What the catalogue lacks is not an item without a
    group, so it does not enter where these are compared.
    """

    family = "fairness"
    higher_is_better = False
    bounds = NEVER_NEGATIVE

    unassigned: Unassigned = field(default="skip", kw_only=True)
    undefined: Undefined = field(default="nan", kw_only=True)

    def needs(self) -> Needs:
        context = {"item groups"} if self.unassigned == "skip" else {"item groups", "catalogue"}
        return super().needs() | Needs(context=frozenset(context))

    def appearances(self, blocks: Blocks) -> tuple[Tensor, Tensor]:
        """`[V]` float64 each: the sum of what is averaged over the appearances of each item, and how many there are."""
        raise NotImplementedError(f"{type(self).__name__} must define appearances(blocks)")

    def update(self, blocks: Blocks) -> Tally:
        sums = torch.stack(self.appearances(blocks), dim=1)
        if self.unassigned == "group":
            sums = sums.masked_fill(~blocks.lookup.in_catalogue[:-1, None], 0)
        facts = {"groups": blocks.context.items["groups"]}
        items = ItemSums.of(blocks.batch.slates.items, sums)
        return Tally(Sums({"users": population(blocks, self)}), items, facts)

    def compute(self, state: Any) -> Result:
        if state.items.ids is None:
            return compare_groups(state, mean_gap, self.undefined, self.unassigned)
        table, (total, count) = state.facts["groups"], state.items.values.T
        means = total / np.maximum(count, 1)
        groups, size = table.aligned(state.items.ids), len(table.labels) + 1
        sums = {
            "users": state.sums["users"],
            "found": np.bincount(groups, weights=means, minlength=size),
            "there": np.bincount(groups, weights=count > 0, minlength=size),
        }
        by_group = Tally(Sums(sums), facts={"labels": table.labels})
        return compare_groups(by_group, mean_gap, self.undefined, self.unassigned)


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

    def appearances(self, blocks: Blocks) -> tuple[Tensor, Tensor]:
        gains = blocks[ItemGains(self.gain, self.discount, self.ranking, self.relevance, self.population)]
        counts = blocks[ItemCounts(self.ranking, self.population)]
        return gains.up_to(self.k)[:-1], counts.up_to(self.k)


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

    def appearances(self, blocks: Blocks) -> tuple[Tensor, Tensor]:
        if self.count == "shown":
            scores = blocks[ItemScores(self.ranking, self.population)]
            counts = blocks[ItemCounts(self.ranking, self.population)]
            return scores.up_to(self.k), counts.up_to(self.k)
        scores, counts = blocks[HitScores(self.ranking, self.relevance, self.population)]
        return scores.up_to(self.k)[:-1], counts.up_to(self.k)[:-1]


@dataclass(frozen=True)
class UserDeviation(TotalMetric):
    """The base of UserMADRanking and UserMADRating: averages groups over their users who have a value."""

    family = "fairness"
    higher_is_better = False
    bounds = NEVER_NEGATIVE

    users: Users = field(default="relevant", kw_only=True)
    unassigned: Unassigned = field(default="skip", kw_only=True)
    undefined: Undefined = field(default="nan", kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"user groups"}))

    def user_values(self, blocks: Blocks) -> Tensor:
        """`[B]` float64, NaN where undefined."""
        raise NotImplementedError(f"{type(self).__name__} must define user_values(blocks)")

    def update(self, blocks: Blocks) -> Tally:
        values = self.user_values(blocks)
        has_value = self.counted(blocks) & (values == values)
        size = user_group_count(blocks)
        groups = blocks[UserGroups()].masked_fill(~has_value, size)
        sums = {
            "users": has_value.sum(),
            "found": sum_by_code(groups, size, values),
            "there": sum_by_code(groups, size),
        }
        return Tally(Sums(sums), facts={"labels": blocks.context.users["groups"].labels})

    def compute(self, state: Any) -> Result:
        return compare_groups(state, mean_gap, self.undefined, self.unassigned)


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

    @property
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
        return total / blocks[ShownCount(self.ranking)].clamp(max=self.k)


@dataclass(frozen=True)
class BiasDisparityBR(TotalMetric):
    """The share of an item group in the lists of a user group, relative to its share of the catalogue.

    For user group G and item group C: `(places of G's lists that hold an item of C / all places of G's lists) / (items
    of C / items)`; 1 is neutral (Tsintzou, Pitoura and Tsaparas 2018). The result has a part for each pair and no value
    for all. Undefined for user groups that were shown nothing, and for item groups without an item.

    Attributes:
        undefined: what user groups that were shown nothing get: "nan", or "zero" as in WarpRec.

    >>> import bridgeval
    >>> groups = {"item_groups": {"a": "jazz", "b": "rock"}, "user_groups": {1: "old", 2: "new"}}
    >>> dict(bridgeval.evaluate({1: ["a"], 2: ["b"]}, {1: ["a"]}, "BiasDisparityBR@1", catalogue=["a", "b"], **groups))
    {'BiasDisparityBR@1[new, jazz]': 0.0, 'BiasDisparityBR@1[new, rock]': 2.0,
     'BiasDisparityBR@1[old, jazz]': 2.0, 'BiasDisparityBR@1[old, rock]': 0.0}
    """

    name = "BiasDisparityBR"
    family = "fairness"
    higher_is_better = None

    undefined: Undefined = field(default="nan", kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | PAIR_NEEDS

    def update(self, blocks: Blocks) -> Tally:
        counts = blocks[ShownPairs(ItemGroups(), self.ranking, self.population)]
        return tally_pairs(blocks, self, counts.up_to(self.k))

    def compute(self, state: Any) -> Result:
        return compute_bias(state, self.undefined)


@dataclass(frozen=True)
class BiasDisparityBS(RankingMetric):
    """The share of an item group in the history of a user group, relative to its share of the catalogue.

    As BiasDisparityBR, with what users have in the history in place of their lists.

    Attributes:
        source: the "history"; or the rows of the "truth" with a gain other than 0, as in WarpRec, whose documentation
            promises the training set.
        undefined: what user groups without any pair get: "nan", or "zero" as in WarpRec.

    >>> import bridgeval
    >>> groups = {"item_groups": {"a": "jazz", "b": "rock"}, "user_groups": {1: "old", 2: "new"}}
    >>> history = {1: ["a", "b"], 2: ["b"]}
    >>> dict(bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, "BiasDisparityBS", history=history, **groups))
    {'BiasDisparityBS[new, jazz]': 0.0, 'BiasDisparityBS[new, rock]': 2.0,
     'BiasDisparityBS[old, jazz]': 1.0, 'BiasDisparityBS[old, rock]': 1.0}
    """

    name = "BiasDisparityBS"
    family = "fairness"
    higher_is_better = None

    users: Users = field(default="history", kw_only=True)
    source: Literal["history", "truth"] = field(default="history", kw_only=True)
    undefined: Undefined = field(default="nan", kw_only=True)

    def needs(self) -> Needs:
        lists = frozenset({"history lists"} if self.source == "history" else ())
        return Needs(users=super().needs().users, lists=lists) | PAIR_NEEDS

    def start(self) -> Tally:
        return Tally()

    def update(self, blocks: Blocks) -> Tally:
        if self.source == "history":
            groups, items = ItemGroups(known=True), blocks[HistoryCells(self.population)]
        else:
            truth = blocks[Relevant(Relevance(None, self.relevance.duplicates))]
            items = truth.items.masked_fill(truth.gains == 0, blocks.batch.shown.pad)
            groups, items = ItemGroups(), counted_items(blocks, self.population, items)
        return tally_pairs(blocks, self, count_pairs(blocks, blocks[groups], items, blocks[UserGroups()][:, None]))

    def compute(self, state: Any) -> Result:
        return compute_bias(state, self.undefined)


@dataclass(frozen=True)
class BiasDisparityBD(TotalMetric):
    """The change of bias from the history to the lists: `(BR - BS) / BS` for each pair of groups; 0 is neutral.

    BR and BS are those of BiasDisparityBR and BiasDisparityBS (Tsintzou, Pitoura and Tsaparas 2018). Undefined where BS
    is 0 or undefined.

    Attributes:
        source: where BS comes from, see BiasDisparityBS.
        undefined: "nan"; or, as in WarpRec, 0 where BR is 0 too ("zero") and the largest float32 where it is not.

    >>> import bridgeval
    >>> groups = {"item_groups": {"a": "jazz", "b": "rock"}, "user_groups": {1: "old"}}
    >>> dict(bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, "BiasDisparityBD@1", history={1: ["a", "b"]}, **groups))
    {'BiasDisparityBD@1[old, jazz]': 1.0, 'BiasDisparityBD@1[old, rock]': -1.0}
    """

    name = "BiasDisparityBD"
    family = "fairness"
    higher_is_better = None

    source: Literal["history", "truth"] = field(default="history", kw_only=True)
    undefined: Undefined = field(default="nan", kw_only=True)

    def needs(self) -> Needs:
        shown, had = self._parts
        return shown.needs() | had.needs()

    def start(self) -> Joint:
        return Joint((Tally(), Tally()))

    def update(self, blocks: Blocks) -> Joint:
        return Joint(tuple(part.update(blocks) for part in self._parts))

    def compute(self, state: Any) -> Result:
        shown, had = (part.compute(one) for part, one in zip(self._parts, state.parts, strict=True))
        parts = {name: self._disparity(value, had.parts[name]) for name, value in shown.parts.items()}
        return Result(None, parts, users=shown.users)

    @property
    def _parts(self) -> tuple[BiasDisparityBR, BiasDisparityBS]:
        policies = {**self.policies, "users": self.source}
        return (
            BiasDisparityBR(self.k, undefined=self.undefined, **self.policies),
            BiasDisparityBS(source=self.source, undefined=self.undefined, **policies),
        )

    def _disparity(self, shown: float, had: float) -> float:
        if had:
            return (shown - had) / had if self.undefined == "nan" or not np.isnan(shown - had) else 0.0
        if self.undefined == "nan":
            return float("nan")
        return torch.finfo(torch.float32).max if shown else 0.0
