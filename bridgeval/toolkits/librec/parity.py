"""Parity: are protected items, or protected users, treated as the others are?

An item or a user is protected when it has the protected feature with the value 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from bridgeval.plugin import (
    Blocks,
    HitCount,
    Hits,
    Needs,
    Ranked,
    Result,
    ShownCount,
    Sums,
    Tally,
    TotalMetric,
    Users,
    by_item,
    discounts,
)
from bridgeval.toolkits.librec.protected import ItemFlags, StrictMetric, column_of, has_feature

ITEM_SIDE = Needs(context=frozenset({"item features"}))
USER_SIDE = Needs(context=frozenset({"user groups"}), optional=frozenset({"user features"}))


@dataclass(frozen=True)
class StatisticalParity(StrictMetric):
    """`(p - q) / (p + q)`: p protected items and q others in the first k places; from -1 (none protected) to 1 (all).

    Undefined for users who were shown nothing. librec-auto: `psp.py`; LibRec: PStatisticalParityEvaluator.

    Attributes:
        protected: the feature; needed where there are several.
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
        return super().needs() | Needs(context=frozenset({"item features"}), optional=rows)

    def values(self, blocks: Blocks) -> Tensor:
        flags = blocks[ItemFlags(self.protected, self.ranking, self.any_row)][:, : self.k]
        listed = blocks[ShownCount(self.ranking)].clamp(max=self.k).double()
        return torch.where(listed > 0, (2 * flags.sum(1) - listed) / listed.clamp(min=1), torch.nan)


@dataclass(frozen=True)
class PercentRule(TotalMetric):
    """The smaller of a / b and b / a: a the part of the lists that a protected item fills on average, b another item.

    Each list's first k places are shared out, then summed over users with test rows; the sums are divided by the number
    of protected and of other items in the catalogue. 1 is parity (the "80 % rule", Biddle 2006). NaN when such a user
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
        return super().needs() | Needs(context=frozenset({"item features", "catalogue"}))

    def update(self, blocks: Blocks) -> Tally:
        flags = blocks[ItemFlags(self.protected, self.ranking)][:, : self.k]
        listed = blocks[ShownCount(self.ranking)].clamp(max=self.k).double()
        filled = (flags.sum(1) / listed)[self.counted(blocks)]
        table, catalogue = blocks.context.items["features"], blocks.lookup.catalogue
        protected = int((table.aligned(catalogue)[:, column_of(table, self.protected)] == 1).sum())
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
    """`log2(p / (p + q)) + log2(q / (p + q))`: p and q the discounted gain that protected and others earn by hits.

    A hit at place j earns `1 / log2(j + 1)`; a group that earned nothing is given `1 / log2(k + 1)`. The maximum of
    -2 is reached when both earn alike (Kelly, Maulloo and Tan 1998). LibRec: DiscountedProportionalPFairnessEvaluator
    for items, DiscountedProportionalCFairnessEvaluator for users.

    Attributes:
        protected: the feature; needed where there are several.
        side: whose feature it is, of the "item" or of the "user".

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
        return super().needs() | (ITEM_SIDE if self.side == "item" else USER_SIDE)

    def update(self, blocks: Blocks) -> Tally:
        hits = blocks[Hits(self.ranking, self.relevance)][:, : self.k]
        gains = hits * discounts("log2", hits.shape[1], blocks.device)
        members, counted = self._members(blocks), self.counted(blocks)
        gains = gains * counted[:, None]
        earned = {"protected": float((gains * members).sum()), "other": float((gains * ~members).sum())}
        return Tally(Sums({**earned, "users": int(counted.sum())}))

    def _members(self, blocks: Blocks) -> Tensor:
        if self.side == "item":
            return blocks[ItemFlags(self.protected, self.ranking)][:, : self.k]
        return has_feature(blocks, self.protected)[:, None]

    def compute(self, state: Tally) -> Result:
        if not state.sums["users"]:
            return Result(math.nan, users=0)
        floor = 1 / math.log2(self.k + 1)
        earned = [state.sums["protected"] or floor, state.sums["other"] or floor]
        return Result(sum(math.log2(one / sum(earned)) for one in earned), users=state.sums["users"])


@dataclass(frozen=True)
class PrecisionParity(TotalMetric):
    """Mean precision at k of protected users minus that of the others; with one group only, plus or minus its mean.

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
        return super().needs() | USER_SIDE

    def update(self, blocks: Blocks) -> Tally:
        precision = blocks[HitCount(self.k, self.ranking, self.relevance)] / self.k
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

    p_f is the share of the first k places, q_f that of the user's training items, with feature f. Shares need not add
    up to 1, and Steck, "Calibrated recommendations" (2018), has p and q the other way round. Undefined for users
    without training rows or without a list. LibRec: MiscalibrationEvaluator.

    >>> import bridgeval
    >>> known = {"history": {1: ["b"]}, "item_features": {"a": ["new"], "b": ["new"]}}
    >>> bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, "Miscalibration@1", **known)["Miscalibration@1"]
    0.0
    """

    name = "Miscalibration"
    family = "calibration"
    higher_is_better = False

    def needs(self) -> Needs:
        return super().needs() | ITEM_SIDE | Needs(lists=frozenset({"history lists"}))

    def values(self, blocks: Blocks) -> Tensor:
        lists, history = blocks[Ranked(self.ranking)], blocks.batch.history
        items, valid = lists.items[:, : self.k], lists.valid[:, : self.k]
        table = blocks.lookup.items("features") == 1
        listed, known = valid.sum(1).double(), history.valid.sum(1).double()
        total = torch.zeros(len(blocks), dtype=torch.float64, device=blocks.device)
        for feature in range(table.shape[1]):
            p = (by_item(table[:, feature], items) & valid).sum(1) / listed
            q = (by_item(table[:, feature], history.items) & history.valid).sum(1) / known
            total += torch.where(p == 0, 0.0, p * torch.log2(p / (0.99 * q + 0.01 * p)))
        # Without a list or training rows there are no shares at all, however the features fall.
        return total.masked_fill((listed == 0) | (known == 0), torch.nan)
