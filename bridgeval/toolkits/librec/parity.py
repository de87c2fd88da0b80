"""Metrics of protected items and protected users: are they treated as the others are?

An item or a user is protected if it has the protected feature with the value 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import torch
from torch import Tensor

from bridgeval.errors import BadParameterError
from bridgeval.plugin import (
    Block,
    Blocks,
    HitCounts,
    Hits,
    Needs,
    Ranked,
    Ranking,
    Result,
    ShownCount,
    Sums,
    Table,
    Tally,
    TopKMetric,
    TotalMetric,
    UserGroups,
    Users,
    by_item,
    discounts,
)

ITEM_FEATURES = Needs(context=frozenset({"item features"}))
USER_FEATURES = Needs(context=frozenset({"user groups"}), optional=frozenset({"user features"}))


def find_column(tables: Mapping[str, Table], name: str, feature: str | None) -> int:
    """Returns the column of a feature in the table `name`, or the position of a group.

    A feature that is not named is the one that the study protects, or else the only one.
    """
    if feature is None and "protected" in tables:
        feature = tables["protected"].labels[0]
    labels = tables[name].labels
    if feature is None and len(labels) == 1:
        return 0
    if feature not in labels:
        raise BadParameterError(
            "the protected feature must be named" if feature is None else f"there is no feature {feature!r}",
            f"features {', '.join(map(str, labels[:10]))}",
            f"write e.g. (protected={str(labels[0])!r})" if labels else "give a feature file with rows",
        )
    return labels.index(feature)


@dataclass(frozen=True)
class ItemFlags(Block[Tensor]):
    """Whether each shown item is protected: `[B, D]` bool.

    Attributes:
        feature: the protected one, see `find_column`.
        any_row: any row of the feature file protects, also one with the value 0. If rows are not known, any value
            other than 0 does.
    """

    feature: str | None
    ranking: Ranking = Ranking()
    any_row: bool = False

    def make(self, blocks: Blocks) -> Tensor:
        column = find_column(blocks.context.items, "features", self.feature)
        if not self.any_row:
            flags = blocks.lookup.items("features")[:, column] == 1
        else:
            name = "feature_rows" if "feature_rows" in blocks.context.items else "features"
            flags = blocks.lookup.items(name)[:, column] != 0
        shown = blocks[Ranked(self.ranking)]
        return by_item(flags, shown.items) & shown.valid


def has_feature(blocks: Blocks, feature: str | None) -> Tensor:
    """`[B]` bool: users with a feature; if users have groups instead of features, the members of the group."""
    if "features" not in blocks.context.users:
        return is_last_feature(blocks, feature)
    column = find_column(blocks.context.users, "features", feature)
    return blocks.lookup.users("features")[blocks.batch.start : blocks.batch.stop, column] == 1


def is_last_feature(blocks: Blocks, feature: str | None) -> Tensor:
    """`[B]` bool: members of a group. The group of a user with several features is the last of them in the order of the
    feature file, because LibRec loops over a user's features and the last one decides.
    """
    return blocks[UserGroups()] == find_column(blocks.context.users, "groups", feature) + 1


@dataclass(frozen=True)
class StrictMetric(TopKMetric):
    """A per-user metric whose mean may become NaN as soon as one user has no value.

    Attributes:
        undefined: users that count but have no value are left out ("leave_out"), or make the mean NaN ("spoil"), as
            arithmetic in Java does.
    """

    undefined: Literal["leave_out", "spoil"] = field(default="leave_out", kw_only=True)

    def compute(self, state: object) -> Result:
        result = super().compute(state)
        spoilt = self.undefined == "spoil" and result.undefined and result.value is not None
        return replace(result, value=float("nan")) if spoilt else result


@dataclass(frozen=True)
class StatisticalParity(StrictMetric):
    """`(p - q) / (p + q)`: p protected and q other items in the first k places; from -1 (none protected) to 1 (all).

    Undefined for users who were shown nothing. librec-auto: `psp.py`; LibRec: PStatisticalParityEvaluator.

    Attributes:
        protected: the feature; needed if there are several.
        any_row: an item is protected by any row of the feature file, also one with the value 0.

    >>> import bridgeval
    >>> features = {"a": ["new"], "b": ["old"]}
    >>> name = 'StatisticalParity(protected="new")@3'
    >>> bridgeval.evaluate({1: ["a", "b", "c"]}, {1: ["a"]}, name, item_features=features)[name]
    -0.3333333333333333
    """

    name = "StatisticalParity"
    family = "fairness"
    higher_is_better = None

    users: Users = field(default="shown", kw_only=True)
    protected: str | None = field(default=None, kw_only=True)
    any_row: bool = field(default=False, kw_only=True)

    def needs(self) -> Needs:
        rows = frozenset({"item feature_rows"} if self.any_row else ())
        return super().needs() | ITEM_FEATURES | Needs(optional=rows)

    def values(self, blocks: Blocks) -> Tensor:
        flags = blocks[ItemFlags(self.protected, self.ranking, self.any_row)][:, : self.k]
        listed = blocks[ShownCount(self.ranking)].clamp(max=self.k).double()
        return torch.where(listed > 0, (2 * flags.sum(1) - listed) / listed, torch.nan)


@dataclass(frozen=True)
class PercentRule(TotalMetric):
    """The smaller of a / b and b / a: a is the share of a list that a protected item fills on average, b another item.

    The shares of each list's first k places are summed over users with test rows; the sums are divided by the number
    of protected and of other items in the catalogue. 1 is parity (the "80 % rule", Biddle 2006). NaN if such a user
    was shown nothing. LibRec: PPercentRuleEvaluator.

    >>> import bridgeval
    >>> context = {"item_features": {"a": ["new"]}, "catalogue": ["a", "b", "c"]}
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: ["a"]}, "PercentRule@2", **context)["PercentRule@2"]
    0.5
    """

    name = "PercentRule"
    family = "fairness"

    users: Users = field(default="relevant", kw_only=True)
    protected: str | None = field(default=None, kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | ITEM_FEATURES | Needs(context=frozenset({"catalogue"}))

    def update(self, blocks: Blocks) -> Tally:
        flags = blocks[ItemFlags(self.protected, self.ranking)][:, : self.k]
        listed = blocks[ShownCount(self.ranking)].clamp(max=self.k).double()
        filled = (flags.sum(1) / listed)[self.counted(blocks)]
        tables, catalogue = blocks.context.items, blocks.lookup.catalogue
        features = tables["features"].aligned(catalogue)
        protected = int((features[:, find_column(tables, "features", self.protected)] == 1).sum())
        facts = {"protected": protected, "others": len(catalogue) - protected}
        return Tally(Sums({"filled": float(filled.sum()), "users": len(filled)}), facts=facts)

    def compute(self, state: Tally) -> Result:
        users, filled = state.sums["users"], state.sums["filled"]
        if not users or math.isnan(filled) or not all(state.facts.values()):
            return Result(math.nan, users=users)
        a, b = filled / state.facts["protected"], (users - filled) / state.facts["others"]
        return Result(min(a, b) / max(a, b), users=users)


@dataclass(frozen=True)
class ProportionalFairness(TotalMetric):
    """`log2(p / (p + q)) + log2(q / (p + q))`: p and q are the discounted gains of protected and other hits.

    A hit at place j gains `1 / log2(j + 1)`; a group without hits is given `1 / log2(k + 1)`. The maximum, -2, is
    reached if both gain the same (Kelly, Maulloo and Tan 1998). LibRec: DiscountedProportionalPFairnessEvaluator for
    items, DiscountedProportionalCFairnessEvaluator for users.

    Attributes:
        protected: the feature; needed if there are several.
        side: whether it is a feature of the "item" or of the "user".

    >>> import bridgeval
    >>> features = {"a": ["new"], "b": ["old"]}
    >>> name = 'ProportionalFairness(protected="new")@1'
    >>> bridgeval.evaluate({1: ["a"], 2: ["b"]}, {1: ["a"], 2: ["b"]}, name, item_features=features)[name]
    -2.0
    """

    name = "ProportionalFairness"
    family = "fairness"

    users: Users = field(default="relevant", kw_only=True)
    protected: str | None = field(default=None, kw_only=True)
    side: Literal["item", "user"] = field(default="item", kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | (ITEM_FEATURES if self.side == "item" else USER_FEATURES)

    def update(self, blocks: Blocks) -> Tally:
        hits = blocks[Hits(self.ranking, self.relevance)][:, : self.k]
        counted = self.counted(blocks)
        gains = hits * discounts("log2", hits.shape[1], blocks.device) * counted[:, None]
        if self.side == "item":
            members = blocks[ItemFlags(self.protected, self.ranking)][:, : self.k]
        else:
            members = has_feature(blocks, self.protected)[:, None]
        gained = {"protected": float((gains * members).sum()), "other": float((gains * ~members).sum())}
        return Tally(Sums({**gained, "users": int(counted.sum())}))

    def compute(self, state: Tally) -> Result:
        if not state.sums["users"]:
            return Result(math.nan, users=0)
        floor = 1 / math.log2(self.k + 1)
        gained = [state.sums["protected"] or floor, state.sums["other"] or floor]
        return Result(sum(math.log2(gain / sum(gained)) for gain in gained), users=state.sums["users"])


@dataclass(frozen=True)
class PrecisionParity(TotalMetric):
    """Mean precision at k of protected users minus that of the others; an empty group has the mean 0.

    Users without a relevant row do not count. LibRec: CStatisticalParityEvaluator.

    >>> import bridgeval
    >>> lists, groups = {1: ["a"], 2: ["b"]}, {1: "F", 2: "M"}
    >>> name = 'PrecisionParity(protected="F")@1'
    >>> bridgeval.evaluate(lists, {1: ["a"], 2: ["a"]}, name, user_groups=groups)[name]
    1.0
    """

    name = "PrecisionParity"
    family = "fairness"
    higher_is_better = None

    users: Users = field(default="relevant", kw_only=True)
    protected: str | None = field(default=None, kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | USER_FEATURES

    def update(self, blocks: Blocks) -> Tally:
        precision = blocks[HitCounts(self.ranking, self.relevance)].up_to(self.k) / self.k
        flags, counted = has_feature(blocks, self.protected), self.counted(blocks)
        sums = {}
        for name, group in (("protected", flags & counted), ("other", ~flags & counted)):
            sums[f"{name} precision"] = float(precision[group].sum())
            sums[f"{name} users"] = int(group.sum())
        return Tally(Sums(sums))

    def compute(self, state: Tally) -> Result:
        sums = state.sums
        users = sums["protected users"] + sums["other users"]
        means = [sums[f"{name} precision"] / max(sums[f"{name} users"], 1) for name in ("protected", "other")]
        return Result(means[0] - means[1] if users else math.nan, users=users)


@dataclass(frozen=True)
class Miscalibration(StrictMetric):
    """`sum_f p_f log2(p_f / (0.99 q_f + 0.01 p_f))`: how far a list's features are from those of the training items.

    p_f is the share of the first k places, q_f that of the user's training items, with feature f. Shares need not sum
    to 1, and Steck, "Calibrated recommendations" (2018), has p and q the other way round. Undefined for users without
    training rows or without a list. LibRec: MiscalibrationEvaluator.

    >>> import bridgeval
    >>> known = {"history": {1: ["b"]}, "item_features": {"a": ["new"], "b": ["new"]}}
    >>> bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, "Miscalibration@1", **known)["Miscalibration@1"]
    0.0
    """

    name = "Miscalibration"
    family = "calibration"
    higher_is_better = False

    def needs(self) -> Needs:
        return super().needs() | ITEM_FEATURES | Needs(lists=frozenset({"history lists"}))

    def values(self, blocks: Blocks) -> Tensor:
        lists, history = blocks[Ranked(self.ranking)], blocks.batch.history
        items, valid = lists.items[:, : self.k], lists.valid[:, : self.k]
        table = blocks.lookup.items("features") == 1
        listed, known = valid.sum(1).double(), history.valid.sum(1).double()
        total = torch.zeros(len(blocks), dtype=torch.float64, device=blocks.device)
        for feature in table.unbind(1):
            p = (by_item(feature, items) & valid).sum(1) / listed
            q = (by_item(feature, history.items) & history.valid).sum(1) / known
            total += torch.where(p == 0, 0.0, p * torch.log2(p / (0.99 * q + 0.01 * p)))
        # Without a list or training rows there are no shares at all, whatever the features are.
        return total.masked_fill((listed == 0) | (known == 0), torch.nan)
