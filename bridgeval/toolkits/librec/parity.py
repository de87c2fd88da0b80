"""Parity: are protected items, or protected users, treated as the others are?

An item or a user is protected when it has the protected feature with the value 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from bridgeval.data.needs import Needs
from bridgeval.engine.blocks import Blocks, HitCounts, Hits, Ranked, ShownCount, Users, at_cutoff
from bridgeval.engine.state import Sums
from bridgeval.engine.summary import Result
from bridgeval.metrics.accuracy import discounts
from bridgeval.toolkits.librec.whole import (
    ItemFlags,
    StrictMetric,
    WholeMetric,
    column_of,
    user_features,
)


@dataclass(frozen=True)
class StatisticalParity(StrictMetric):
    """`(p - q) / (p + q)`: p protected items and q others in the first k places; from -1 (none protected) to 1 (all).

    Undefined for users who were shown nothing. librec-auto: `psp.py`; LibRec: PStatisticalParityEvaluator.

    Attributes:
        protected: the feature; None where there is only one.
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
        table = "item feature_rows" if self.any_row else "item features"
        return super().needs() | Needs(context=frozenset({table}))

    def values(self, blocks: Blocks) -> Tensor:
        table = "feature_rows" if self.any_row else "features"
        flags = blocks[ItemFlags(self.protected, self.ranking, table)][:, : self.k]
        listed = blocks[ShownCount(self.ranking)].clamp(max=self.k).double()
        return torch.where(listed > 0, (2 * flags.sum(1) - listed) / listed.clamp(min=1), torch.nan)


@dataclass(frozen=True)
class Shares:
    """How much of the lists protected items fill.

    Attributes:
        filled: sum over users of the share of the list.
        users: how many.
        protected, items: items of the catalogue that are protected, and all of them; known to every batch alike.
    """

    filled: float = 0.0
    users: int = 0
    protected: int = 0
    items: int = 0

    def merge(self, other: Shares) -> Shares:
        return Shares(
            self.filled + other.filled,
            self.users + other.users,
            max(self.protected, other.protected),
            max(self.items, other.items),
        )


@dataclass(frozen=True)
class PercentRule(WholeMetric):
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

    protected: str | None = field(default=None, kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"item features", "catalogue"}))

    def start(self) -> Shares:
        return Shares()

    def update(self, blocks: Blocks) -> Shares:
        parity = StatisticalParity(self.k, protected=self.protected, order=self.order)
        filled = (parity.values(blocks)[self.tested(blocks)] + 1) / 2
        table, catalogue = blocks.context.items["features"], blocks.context.catalogue
        assert catalogue is not None
        flags = table.aligned(catalogue)[:, column_of(table, self.protected)] == 1
        return Shares(float(filled.sum()), len(filled), int(flags.sum()), len(flags))

    def compute(self, state: Shares) -> Result:
        if not state.users or not 0 < state.protected < state.items:
            return Result(math.nan, users=state.users)
        a = state.filled / state.protected
        b = (state.users - state.filled) / (state.items - state.protected)
        ratio = math.nan if math.isnan(a) else min(a, b) / max(a, b)
        return Result(ratio, users=state.users)


@dataclass(frozen=True)
class ProportionalFairness(WholeMetric):
    """`log2(p / (p + q)) + log2(q / (p + q))`: p and q the discounted gain that protected and others earn by hits.

    A hit at place j earns `1 / log2(j + 1)`; a group that earned nothing is given `1 / log2(k + 1)`. The maximum of
    -2 is reached when both earn alike (Kelly, Maulloo and Tan 1998). LibRec: DiscountedProportionalPFairnessEvaluator
    for items, DiscountedProportionalCFairnessEvaluator for users.

    Attributes:
        protected: the feature; None where there is only one.
        side: whose feature it is, of the "item" or of the "user".

    >>> import bridgeval
    >>> features = {"a": ["new"], "b": ["old"]}
    >>> name = 'ProportionalFairness(protected="new")@1'
    >>> bridgeval.evaluate({1: ["a"], 2: ["b"]}, {1: ["a"], 2: ["b"]}, name, item_features=features)[name]
    -2.0
    """

    name = "ProportionalFairness"
    family = "fairness"

    protected: str | None = field(default=None, kw_only=True)
    side: Literal["item", "user"] = field(default="item", kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({f"{self.side} features"}))

    def start(self) -> Sums:
        return Sums()

    def update(self, blocks: Blocks) -> Sums:
        hits = blocks[Hits(self.ranking, self.relevance)][:, : self.k]
        gains = hits * discounts("log2", hits.shape[1], blocks.device)
        members = self._members(blocks)
        earned = {"protected": float((gains * members).sum()), "other": float((gains * ~members).sum())}
        return Sums({**earned, "users": int(self.tested(blocks).sum())})

    def _members(self, blocks: Blocks) -> Tensor:
        if self.side == "item":
            return blocks[ItemFlags(self.protected, self.ranking)][:, : self.k]
        column = column_of(blocks.context.users["features"], self.protected)
        return user_features(blocks)[:, column, None]

    def compute(self, state: Any) -> Result:
        if not state["users"]:
            return Result(math.nan, users=0)
        floor = 1 / math.log2(self.k + 1)
        earned = [state["protected"] or floor, state["other"] or floor]
        return Result(sum(math.log2(one / sum(earned)) for one in earned), users=state["users"])


@dataclass(frozen=True)
class PrecisionParity(WholeMetric):
    """Mean precision at k of protected users minus that of the others; with one group only, plus or minus its mean.

    Users without a relevant row do not count. LibRec: CStatisticalParityEvaluator.
    """

    name = "PrecisionParity"
    family = "fairness"
    higher_is_better = None

    protected: str | None = field(default=None, kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"user features"}))

    def start(self) -> Sums:
        return Sums()

    def update(self, blocks: Blocks) -> Sums:
        precision = at_cutoff(blocks[HitCounts(self.ranking, self.relevance)], self.k).double() / self.k
        column = column_of(blocks.context.users["features"], self.protected)
        flags, tested = user_features(blocks)[:, column], self.tested(blocks)
        return Sums(
            {
                f"{name} {what}": float(number[group & tested].sum())
                for name, group in (("protected", flags), ("other", ~flags))
                for what, number in (("precision", precision), ("users", torch.ones_like(precision)))
            }
        )

    def compute(self, state: Any) -> Result:
        users = int(state["protected users"] + state["other users"])
        means = [
            state[f"{name} precision"] / state[f"{name} users"] if state[f"{name} users"] else 0.0
            for name in ("protected", "other")
        ]
        return Result(means[0] - means[1] if users else math.nan, users=users)


@dataclass(frozen=True)
class Miscalibration(StrictMetric):
    """`sum_f p_f log2(p_f / (0.99 q_f + 0.01 p_f))`: how far a list's features are from those of the training items.

    p_f is the share of the first k places, q_f that of the user's training items, with feature f. Shares need not add
    up to 1, and Steck, "Calibrated recommendations" (2018), has p and q the other way round. Undefined for users
    without training rows or without a list. LibRec: MiscalibrationEvaluator.
    """

    name = "Miscalibration"
    family = "calibration"
    higher_is_better = False

    def needs(self) -> Needs:
        return super().needs() | Needs(pairs=frozenset({"trained_features"}), context=frozenset({"item features"}))

    def values(self, blocks: Blocks) -> Tensor:
        lists = blocks[Ranked(self.ranking)]
        items, valid = lists.items[:, : self.k].long(), lists.valid[:, : self.k]
        table = blocks.lookup.items("features")
        listed = valid.sum(1).double()
        trained = blocks.batch.user_column("trained_features")
        total = torch.zeros(len(blocks), dtype=torch.float64, device=blocks.device)
        for feature in range(table.shape[1]):
            p = ((table[:, feature] == 1)[items] & valid).sum(1) / listed
            q = trained[:, feature] / trained[:, -1]
            total += torch.where(p == 0, 0.0, p * torch.log2(p / (0.99 * q + 0.01 * p)))
        # Without a list or training rows there are no shares at all, however the features fall.
        return total.masked_fill((listed == 0) | (trained[:, -1] == 0), torch.nan)
