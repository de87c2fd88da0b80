"""Overlap: how much do two lists have in common?"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from bridgeval.batch.kernels import sum_by_code
from bridgeval.engine.blocks import Blocks
from bridgeval.engine.metric import TotalMetric
from bridgeval.engine.state import ItemSums, Sums, Tally
from bridgeval.engine.summary import SHARE, UNBOUNDED, Bounds, Result
from bridgeval.errors import BadParameterError
from bridgeval.metrics.blocks.listed_items import ListedItems, check_depth, population
from bridgeval.metrics.novelty import BaselineMetric, FirstShown


@dataclass(frozen=True)
class InterListDistance(TotalMetric):
    """How different the lists of two users are: `1 - mean over pairs of users of |A & B| / sqrt(|A| |B|)`.

    A and B are the first k places of two users; personalization (Zhou et al. 2010 divide by k). One value for all
    lists. Undefined for fewer than two users.

    Attributes:
        divide_by: "shown", the lengths of both lists as above; or "k".
        own: what a list shares with itself, and is left out: the items "shown"; or "k" however short it is, which
            leaves out too much, so that the value may exceed 1 (Evidently).

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b"], 2: ["a", "c"]}, {1: ["a"]}, "InterListDistance@2")["InterListDistance@2"]
    0.5
    """

    name = "InterListDistance"
    family = "overlap"

    divide_by: Literal["shown", "k"] = field(default="shown", kw_only=True)
    own: Literal["shown", "k"] = field(default="shown", kw_only=True)

    @property
    def bounds(self) -> Bounds:
        return SHARE if self.own == "shown" and self.ranking.duplicates == "best" else UNBOUNDED

    def update(self, blocks: Blocks) -> Tally:
        items, pad = blocks[ListedItems(self.ranking, self.population)][: self.k], blocks.batch.shown.pad
        there = items != pad
        weights = torch.ones(items.shape, dtype=torch.float64, device=blocks.device)
        if self.divide_by == "shown":
            weights = weights / there.sum(0).clamp(min=1).double().sqrt()
        else:
            weights = weights / math.sqrt(self.k)
        # Lists are not looked at in pairs: what all share is the square of the sum of each item's weights.
        by_item = ItemSums.of(blocks.batch.slates.items, sum_by_code(items, pad, weights))
        own = torch.where(there, weights.square(), 0.0).sum()
        return Tally(Sums({"users": population(blocks, self), "own": own}), by_item)

    def compute(self, state: Any) -> Result:
        users = state.sums["users"]
        if users < 2:
            return Result(math.nan, users=users)
        own = float(users) if self.own == "k" else state.sums["own"]
        shared = float((state.items.values**2).sum() - own)
        return Result(1 - shared / (users * (users - 1)), users=users)


@dataclass(frozen=True)
class RankBiasedOverlap(BaselineMetric):
    """How alike the list and another system's list are, the top counting most.

    `sum_d p^(d-1) o_d / d / sum_d p^(d-1)` over depths d = 1..k, o_d the items that the first d places of both have
    (Webber, Moffat and Zobel 2010, cut at k). The baseline's list is ranked by the same policy.

    Undefined for users who were shown nothing, or to whom the baseline shows nothing.

    Attributes:
        p: how likely a reader goes on.

    >>> import bridgeval
    >>> name = "RankBiasedOverlap(p=0.5)@2"
    >>> round(bridgeval.evaluate({1: ["a", "b"]}, {1: ["b"]}, name, baseline={1: ["b", "a"]})[name], 4)
    0.3333
    """

    name = "RankBiasedOverlap"
    family = "overlap"
    higher_is_better = None
    bounds = SHARE

    p: float = field(default=0.9, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_depth(self.name, self.k)
        if not 0 < self.p <= 1:
            raise BadParameterError("RankBiasedOverlap needs a p above 0, at most 1", f"{self.p}", "0.9 is usual")

    def values(self, blocks: Blocks) -> Tensor:
        place = self.baseline_places(blocks)[:, : self.k]
        own = torch.arange(1, place.shape[1] + 1, dtype=torch.float64, device=blocks.device)
        first = blocks[FirstShown(self.ranking)][:, : self.k]
        # From this depth on both lists have the item; the place of one that the baseline lacks is NaN.
        both = torch.where(first & (place <= self.k), torch.maximum(place, own), self.k + 1).long()
        key = "shares of depths", self.p, self.k
        shares = blocks.lookup.once(key, lambda: self._share_depths().to(blocks.device))
        overlap = shares[both - 1].sum(1)
        return torch.where(self.both_listed(blocks), overlap, torch.nan)

    def _share_depths(self) -> Tensor:
        """`[k + 1]` float64: what an item adds that both lists have from each depth on; 0 beyond the last."""
        # On the host: a GPU has no deterministic cumsum of floats.
        depths = torch.arange(1, self.k + 1, dtype=torch.float64, device="cpu")
        weights = self.p ** (depths - 1)
        later = (weights / depths).flip(0).cumsum(0).flip(0) / weights.sum()
        return torch.nn.functional.pad(later, (0, 1))
