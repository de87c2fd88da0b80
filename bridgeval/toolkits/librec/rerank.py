"""Metrics of re-ranking: how far is a list from the original one? The original lists are the baseline."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from bridgeval.errors import BadParameterError
from bridgeval.plugin import (
    Block,
    Blocks,
    Needs,
    Ranked,
    Ranking,
    ShownColumn,
    ShownCount,
    TopKMetric,
    UserMetric,
    Users,
    cumulate,
)
from bridgeval.toolkits.librec.parity import ITEM_FEATURES, ItemFlags


@dataclass(frozen=True)
class Agreement(Block[Tensor]):
    """The share of items that both lists have in their first d places, for each d: `[B, D]` float64."""

    ranking: Ranking = Ranking()

    def make(self, blocks: Blocks) -> Tensor:
        before = blocks[ShownColumn("baseline_rank", self.ranking)]
        valid = blocks[Ranked(self.ranking)].valid
        ranks = blocks.ranks[: before.shape[1]]
        # An item enters the overlap at the later of its two places.
        enters = torch.maximum(before, ranks)
        inside = valid & (enters <= before.shape[1])
        place = torch.where(inside, enters - 1, 0).long()
        return cumulate(torch.zeros_like(before).scatter_add_(1, place, inside.double())) / ranks


@dataclass(frozen=True)
class RerankMetric(TopKMetric):
    """Compares the first k places with those of the baseline; undefined for users that the baseline does not have."""

    users: Users = field(default="shown", kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | Needs(pairs=frozenset({"baseline_rank"}))

    def depth(self, blocks: Blocks) -> Tensor:
        """`[B]`: how many places both lists have within k."""
        shown = blocks[ShownCount(self.ranking)]
        return torch.minimum(shown, blocks.batch.user_column("baseline_count")).clamp(max=self.k)


@dataclass(frozen=True)
class AverageOverlap(RerankMetric):
    """`mean over d = 1..D of |A_d and B_d| / d`, A_d and B_d the first d places, D = min(k, both lengths).

    Fagin, Kumar and Sivakumar (2003). librec-auto calls this rank-biased overlap (with p = 1); see RBO for that.

    >>> import bridgeval
    >>> dict(bridgeval.evaluate({1: ["a", "b"]}, {1: ["a"]}, "AverageOverlap@2", baseline={1: ["b", "a"]}))
    {'AverageOverlap@2': 0.5}
    """

    name = "AverageOverlap"
    family = "similarity"

    def values(self, blocks: Blocks) -> Tensor:
        sums = cumulate(blocks[Agreement(self.ranking)])
        depth = self.depth(blocks)
        if not sums.shape[1]:
            return torch.full((len(blocks),), torch.nan, dtype=torch.float64, device=blocks.device)
        total = sums.gather(1, (depth - 1).clamp(min=0)[:, None]).squeeze(1)
        return torch.where(depth > 0, total / depth, torch.nan)


@dataclass(frozen=True)
class RBO(RerankMetric):
    """Rank-biased overlap, extrapolated: `A_D p^D + (1 - p) / p * sum_{d=1..D} A_d p^d`, A_d = |A_d and B_d| / d.

    Webber, Moffat and Zobel, "A similarity measure for indefinite rankings" (2010), equation 23, over the D = min(k,
    both lengths) places that both lists have. Equal lists give 1.

    Attributes:
        p: the weight of depth; 0.9 puts 86 % of the weight on the first ten places.

    >>> import bridgeval
    >>> dict(bridgeval.evaluate({1: ["a", "b"]}, {1: ["a"]}, "RBO(p=0.5)@2", baseline={1: ["b", "a"]}))
    {'RBO(p=0.5)@2': 0.5}
    """

    name = "RBO"
    family = "similarity"

    p: float = field(default=0.9, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.p < 1:
            raise BadParameterError("p of RBO must lie between 0 and 1", f"{self.p}", "AverageOverlap has no weights")

    def values(self, blocks: Blocks) -> Tensor:
        agreement, depth = blocks[Agreement(self.ranking)], self.depth(blocks)
        if not agreement.shape[1]:
            return torch.full((len(blocks),), torch.nan, dtype=torch.float64, device=blocks.device)
        weights = self.p ** blocks.ranks[: agreement.shape[1]]
        last = (depth - 1).clamp(min=0)[:, None]
        summed = cumulate(agreement * weights).gather(1, last) * (1 - self.p) / self.p
        value = (summed + (agreement * weights).gather(1, last)).squeeze(1)
        return torch.where(depth > 0, value, torch.nan)


@dataclass(frozen=True)
class KendallTau(RerankMetric):
    """Kendall's tau between the places of the items that both lists have in their first k.

    `(concordant - discordant) / all pairs`; undefined with fewer than two items in common (Kendall 1938).

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: ["a"]}, "KendallTau@2", baseline={1: ["b", "a"]})["KendallTau@2"]
    -1.0
    """

    name = "KendallTau"
    family = "similarity"

    def values(self, blocks: Blocks) -> Tensor:
        before = blocks[ShownColumn("baseline_rank", self.ranking)][:, : self.k]
        common = blocks[Ranked(self.ranking)].valid[:, : self.k] & (before <= self.k)
        balance = torch.zeros(len(blocks), dtype=torch.float64, device=blocks.device)
        for place in range(before.shape[1] - 1):
            pairs = common[:, place + 1 :] & common[:, place, None]
            balance += (torch.sign(before[:, place + 1 :] - before[:, place, None]) * pairs).nansum(1)
        count = common.sum(1).double()
        return torch.where(count > 1, balance / (count * (count - 1) / 2).clamp(min=1), torch.nan)


@dataclass(frozen=True)
class ProtectedRank(UserMetric):
    """The place that a protected item of the list had in the original list: from how far down was it promoted?

    Attributes:
        protected: the feature; needed if there are several.
        which: the "lowest" (largest place) of the protected items, or the "highest".
        any_row: an item is protected by any row of the feature file, also one with the value 0.
        none: users without such an item are left out ("leave_out"), or count -1 ("minus_one").

    >>> import bridgeval
    >>> lists = {"baseline": {1: ["b", "a"]}, "item_features": {"a": ["new"]}}
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: ["a"]}, "ProtectedRank", **lists)["ProtectedRank"]
    2.0
    """

    name = "ProtectedRank"
    family = "fairness"
    higher_is_better = None

    users: Users = field(default="shown", kw_only=True)
    protected: str | None = field(default=None, kw_only=True)
    which: Literal["lowest", "highest"] = field(default="lowest", kw_only=True)
    any_row: bool = field(default=False, kw_only=True)
    none: Literal["leave_out", "minus_one"] = field(default="leave_out", kw_only=True)

    def needs(self) -> Needs:
        rows = frozenset({"item feature_rows"} if self.any_row else ())
        return super().needs() | ITEM_FEATURES | Needs(pairs=frozenset({"baseline_rank"}), optional=rows)

    def values(self, blocks: Blocks) -> Tensor:
        before = blocks[ShownColumn("baseline_rank", self.ranking)]
        there = blocks[ItemFlags(self.protected, self.ranking, self.any_row)] & ~before.isnan()
        missing = torch.nan if self.none == "leave_out" else -1.0
        if not before.shape[1]:
            return torch.full((len(blocks),), missing, dtype=torch.float64, device=blocks.device)
        lowest = self.which == "lowest"
        found = before.masked_fill(~there, -torch.inf if lowest else torch.inf)
        place = found.amax(1) if lowest else found.amin(1)
        return torch.where(there.any(1), place, missing)
