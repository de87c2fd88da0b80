"""Popularity bias: do the lists favor what is popular already? `popularity.py` splits items into head and tail."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from torch import Tensor

from bridgeval.batch.transfer import to_tensor
from bridgeval.engine.blocks import Block, Blocks, ShownCount, Users
from bridgeval.engine.metric import TopKMetric, TotalMetric
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import Sums, Tally
from bridgeval.engine.summary import NEVER_NEGATIVE, SHARE, Bounds, Result
from bridgeval.errors import BadParameterError
from bridgeval.metrics.blocks.group_comparison import Undefined, compare_groups, spread
from bridgeval.metrics.blocks.item_groups import history_counts, hit_counts, relevant_counts, shown_counts
from bridgeval.metrics.blocks.listed_items import ListSums, population
from bridgeval.metrics.blocks.popularity import (
    HeadOf,
    InCatalogue,
    InTail,
    ItemPopularity,
    PopularityGroups,
    PopularityQuantile,
    Unknown,
    head_in,
)

POPULARITY = Needs(context=frozenset({"item popularity"}))
CATALOGUE = Needs(context=frozenset({"catalogue"}))


def check_ratio(name: str, pop_ratio: float) -> None:
    """Raises unless it is a share of the interactions."""
    if not 0 < pop_ratio <= 1:
        raise BadParameterError(f"{name} needs a pop_ratio above 0, at most 1", f"{pop_ratio}", "0.8 is usual")


@dataclass(frozen=True)
class ACLT(TopKMetric):
    """The number of items of the long tail in a user's first k places (Abdollahpouri, Burke and Mobasher 2019).

    Attributes:
        pop_ratio: the head holds just more than this share of all interactions.
        head: pop_ratio is a share of "interactions"; or of the "items" of the history, whose least popular
            `1 - pop_ratio` are the tail, and to which items that nobody has do not belong (RecBole).
        unknown: an item that the catalogue lacks is in the "tail", or, as WarpRec's padding, in "neither" part.

    >>> import bridgeval
    >>> history = {1: ["a", "b"], 2: ["a"], 3: ["a"]}
    >>> dict(bridgeval.evaluate({4: ["a", "b"]}, {4: ["b"]}, "ACLT(pop_ratio=0.5)@2", history=history))
    {'ACLT(pop_ratio=0.5)@2': 1.0}
    """

    name = "ACLT"
    family = "bias"

    pop_ratio: float = field(default=0.8, kw_only=True)
    head: HeadOf = field(default="interactions", kw_only=True)
    unknown: Unknown = field(default="tail", kw_only=True)

    @property
    def bounds(self) -> Bounds:
        return 0.0, float(self.k)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ratio(self.name, self.pop_ratio)

    def needs(self) -> Needs:
        needs = super().needs() | POPULARITY
        return needs if self.unknown == "tail" else needs | CATALOGUE

    def values(self, blocks: Blocks) -> Tensor:
        in_tail = InTail(PopularityGroups(self.pop_ratio, self.unknown, self.head))
        return blocks[ListSums(in_tail, self.ranking)].up_to(self.k)


@dataclass(frozen=True)
class APLT(ACLT):
    """The share of a user's first k places that hold an item of the long tail (Abdollahpouri, Burke and Mobasher 2019).

    One who was shown nothing scores 0.

    Attributes:
        divide_by: the length of the cut list ("shown"); or "k" however short it is, as in WarpRec.

    >>> import bridgeval
    >>> history = {1: ["a", "b"], 2: ["a"], 3: ["a"]}
    >>> dict(bridgeval.evaluate({4: ["a", "b"]}, {4: ["b"]}, "APLT(pop_ratio=0.5)@4", history=history))
    {'APLT(pop_ratio=0.5)@4': 0.5}
    """

    name = "APLT"

    divide_by: Literal["shown", "k"] = field(default="shown", kw_only=True)

    @property
    def bounds(self) -> Bounds:
        return SHARE

    def values(self, blocks: Blocks) -> Tensor:
        if self.divide_by == "k":
            return super().values(blocks) / self.k
        return super().values(blocks) / blocks[ShownCount(self.ranking)].clamp(min=1, max=self.k)


@dataclass(frozen=True)
class ARP(TopKMetric):
    """The mean popularity of a user's first k items: users of the history who have them (Yin et al. 2012).

    Undefined for users who were shown nothing: the best value, 0, is not for them.

    Attributes:
        floor: items of less popularity count as having this much; WarpRec takes 1.
        unknown: an item that the catalogue lacks has no popularity ("rare"), or is "left_out" of the mean.
        popularity: of an item: the "users" who have it; its "share" of all pairs of the history; or its "quantile", the
            share of the items of the history that at most as many users have, equal ones in the middle, 0 for an item
            that nobody has (LensKit's MeanPopRank).
        divide_by: "shown", the items in the first k places; or "k", as if missing places held items that nobody has.

    >>> import bridgeval
    >>> history = {1: ["a", "b"], 2: ["a"], 3: ["a"]}
    >>> bridgeval.evaluate({4: ["a", "b"]}, {4: ["b"]}, "ARP@2", history=history)["ARP@2"]
    2.0
    """

    name = "ARP"
    family = "bias"
    higher_is_better = False
    bounds = NEVER_NEGATIVE

    floor: float = field(default=0.0, kw_only=True)
    unknown: Literal["rare", "left_out"] = field(default="rare", kw_only=True)
    popularity: Literal["users", "share", "quantile"] = field(default="users", kw_only=True)
    divide_by: Literal["shown", "k"] = field(default="shown", kw_only=True)

    def needs(self) -> Needs:
        needs = super().needs() | POPULARITY
        return needs if self.unknown == "rare" else needs | CATALOGUE

    def values(self, blocks: Blocks) -> Tensor:
        numbers: Block[Tensor] = ItemPopularity(self.floor, self.unknown)
        if self.popularity == "quantile":
            numbers = PopularityQuantile()
        total = blocks[ListSums(numbers, self.ranking)].up_to(self.k)
        if self.popularity == "share":
            total = total / max(blocks.context.history_pairs, 1)
        if self.divide_by == "k":
            return total / self.k
        if self.unknown == "rare":
            return total / blocks[ShownCount(self.ranking)].clamp(max=self.k)
        return total / blocks[ListSums(InCatalogue(), self.ranking)].up_to(self.k)


@dataclass(frozen=True)
class HeadAndTail(TotalMetric):
    """The base of PopREO and PopRSP: the spread of found / there between head and tail."""

    family = "bias"
    higher_is_better = False
    # Of two shares the standard deviation is at most their mean.
    bounds = SHARE

    pop_ratio: float = field(default=0.8, kw_only=True)
    undefined: Undefined = field(default="nan", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ratio(self.name, self.pop_ratio)

    def needs(self) -> Needs:
        return super().needs() | POPULARITY | CATALOGUE

    def shares(self, blocks: Blocks, groups: PopularityGroups) -> tuple[Tensor, Tensor]:
        """`[3]` each: how much of each group was found, and how much there is."""
        raise NotImplementedError(f"{type(self).__name__} must define shares(blocks, groups)")

    def update(self, blocks: Blocks) -> Tally:
        found, there = self.shares(blocks, PopularityGroups(self.pop_ratio))
        sums = {"users": population(blocks, self), "found": found, "there": there}
        return Tally(Sums(sums), facts={"labels": ("head", "tail")})

    def compute(self, state: Any) -> Result:
        return compare_groups(state, spread, self.undefined)


@dataclass(frozen=True)
class PopREO(HeadAndTail):
    """Equal opportunity of head and tail: the spread of their recall.

    `p_g` = hits in group g / relevant rows in g, over all users; the value is the standard deviation of p_head and
    p_tail over their mean, 0 when both get what they deserve (Zhu, Wang and Caverlee 2020, with groups by popularity).
    Undefined where one group has no relevant row, or no hit at all was made.

    Attributes:
        count: "hits"; or all places that hold an item of the group ("shown"), as in WarpRec: that is exposure.
        undefined: "nan", or "zero".

    >>> import bridgeval
    >>> history = {1: ["a", "b"], 2: ["a"], 3: ["a"]}
    >>> report = bridgeval.evaluate({4: ["a", "b"]}, {4: ["a", "b"]}, "PopREO(pop_ratio=0.5)@1,2", history=history)
    >>> report["PopREO(pop_ratio=0.5)@1"], report["PopREO(pop_ratio=0.5)@2"]
    (1.0, 0.0)
    """

    name = "PopREO"

    users: Users = field(default="relevant", kw_only=True)
    count: Literal["hits", "shown"] = field(default="hits", kw_only=True)

    def shares(self, blocks: Blocks, groups: PopularityGroups) -> tuple[Tensor, Tensor]:
        found = hit_counts if self.count == "hits" else shown_counts
        return found(blocks, self, groups), relevant_counts(blocks, self, groups)


@dataclass(frozen=True)
class PopRSP(HeadAndTail):
    """Statistical parity of head and tail: the spread of their chance to be shown.

    `p_g` = places that hold an item of group g / candidates in g, over all users, where a user's candidates are the
    catalogue without what the user has in the history; the value is the standard deviation of p_head and p_tail over
    their mean (Zhu, Wang and Caverlee 2020, with groups by popularity). Undefined where one group has no candidate, or
    nothing was shown.

    Attributes:
        candidates: those a user has not "unseen"; or "all" items, as in WarpRec.
        undefined: "nan", or "zero" as in WarpRec.

    >>> import bridgeval
    >>> history = {1: ["a", "b"], 2: ["a"], 3: ["a"]}
    >>> report = bridgeval.evaluate({4: ["a", "b"]}, {4: ["a"]}, "PopRSP(pop_ratio=0.5)@1,2", history=history)
    >>> report["PopRSP(pop_ratio=0.5)@1"], report["PopRSP(pop_ratio=0.5)@2"]
    (1.0, 0.0)
    """

    name = "PopRSP"

    candidates: Literal["unseen", "all"] = field(default="unseen", kw_only=True)

    def needs(self) -> Needs:
        needs = super().needs()
        return needs | Needs(lists=frozenset({"history lists"})) if self.candidates == "unseen" else needs

    def shares(self, blocks: Blocks, groups: PopularityGroups) -> tuple[Tensor, Tensor]:
        there = population(blocks, self) * self._sizes(blocks)
        if self.candidates == "unseen":
            there = there - history_counts(blocks, self, groups)
        return shown_counts(blocks, self, groups), there

    def _sizes(self, blocks: Blocks) -> Tensor:
        def sizes() -> Tensor:
            head = float(head_in(blocks, self.pop_ratio).aligned(blocks.lookup.catalogue).sum())
            return to_tensor(np.array([0, head, len(blocks.lookup.catalogue) - head]), blocks.device)

        return blocks.lookup.once(("head and tail", self.pop_ratio), sizes)
