"""Coverage: how many items and users do the lists reach?"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bridgeval.batch.kernels import count_true, sum_by_code
from bridgeval.engine.blocks import EVERY_ROW, Block, Blocks, ShownCount, Users
from bridgeval.engine.metric import TopKMetric, TotalMetric
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import ItemSums, Sums, Tally
from bridgeval.engine.summary import NEVER_NEGATIVE, SHARE, Bounds, Result
from bridgeval.errors import BadParameterError, NeedError
from bridgeval.metrics.blocks.listed_items import (
    Among,
    RelevantCells,
    among_needs,
    counts_by_item,
    item_counts,
    population,
)


@dataclass(frozen=True)
class ItemCoverage(TotalMetric):
    """The number of different items in the first k places of all lists (Adomavicius and Kwon 2012).

    WarpRec counts masked items that fill a short list too (masked="keep").

    Attributes:
        among: all items "shown"; or without those that the "catalogue" lacks.
        at_least: an item counts if it is shown at least so often.
        divide_by: "one" gives the number of items, "catalogue" their share of the catalogue.
        percent: whether it is multiplied by 100.

    >>> import bridgeval
    >>> dict(bridgeval.evaluate({1: ["a", "b"], 2: ["a", "c"]}, {1: ["a"]}, "ItemCoverage@1,2"))
    {'ItemCoverage@1': 1.0, 'ItemCoverage@2': 3.0}
    """

    name = "ItemCoverage"
    family = "coverage"

    among: Among = field(default="shown", kw_only=True)
    at_least: int = field(default=1, kw_only=True)
    divide_by: Literal["one", "catalogue"] = field(default="one", kw_only=True)
    percent: bool = field(default=False, kw_only=True)

    @property
    def bounds(self) -> Bounds:
        return SHARE if self.divide_by == "catalogue" and not self.percent else NEVER_NEGATIVE

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.at_least < 1:
            raise BadParameterError("at_least must be an integer of at least 1", f"{self.at_least}", "e.g. at_least=3")

    def needs(self) -> Needs:
        return super().needs() | among_needs("catalogue" if self.divide_by == "catalogue" else self.among)

    def update(self, blocks: Blocks) -> Tally:
        users, is_share = Sums({"users": population(blocks, self)}), self.divide_by == "catalogue"
        counts = item_counts(blocks, self, "catalogue" if is_share else self.among)
        return Tally(users, counts, {"items": len(blocks.lookup.catalogue)} if is_share else {})

    def compute(self, state: Any) -> Result:
        count = float(np.count_nonzero(state.items.values >= self.at_least))
        if self.divide_by == "catalogue":
            items = state.facts.get("items", 0)
            count = count / items if items else float("nan")
        return Result(100 * count if self.percent else count, users=state.sums["users"])


@dataclass(frozen=True)
class Hole(TotalMetric):
    """The share of the first k places that hold an item which the truth of nobody has: holes / (users times k).

    The truth is that of all users who count, so that it has no value for each user (BEIR's `Hole`); `Judged` asks each
    user's own.

    Attributes:
        divide_by: all users who are "counted"; or those of them who are "listed", or "judged".

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "x"], 2: ["b", "y"]}, {1: {"b": 1}, 2: {"x": 0}}, "Hole@2")["Hole@2"]
    0.5
    """

    name = "Hole"
    family = "coverage"
    higher_is_better = False

    users: Users = field(default="relevant", kw_only=True)
    divide_by: Literal["counted", "listed", "judged"] = field(default="counted", kw_only=True)

    @property
    def bounds(self) -> Bounds:
        return SHARE if self.divide_by == "counted" else NEVER_NEGATIVE

    def needs(self) -> Needs:
        named = () if self.divide_by == "counted" else (f"users {self.divide_by}",)
        return super().needs() | Needs(optional=frozenset(named))

    def update(self, blocks: Blocks) -> Tally:
        shown, size = counts_by_item(blocks, self), blocks.batch.shown.pad
        judged = sum_by_code(blocks[RelevantCells(EVERY_ROW["best"], self.population)].reshape(-1), size)
        by_item = ItemSums.of(blocks.batch.slates.items, torch.stack([shown, judged], dim=1))
        users = self.counted(blocks)
        if self.divide_by != "counted":
            users = users & replace(self, users=self.divide_by).counted(blocks)
        return Tally(Sums({"users": users.sum()}), by_item)

    def compute(self, state: Any) -> Result:
        shown, judged = state.items.values.reshape(-1, 2).T
        users = state.sums["users"]
        holes = float(shown[judged == 0].sum())
        return Result(holes / (users * self.k) if users else float("nan"), users=users)


@dataclass(frozen=True)
class UserCoverage(TotalMetric):
    """The number of users who count: by default those with at least one item in their list.

    WarpRec counts users with a relevant item, whatever they were shown (users="relevant").

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b"], 2: ["a"], 3: []}, {1: ["a"], 3: ["a"]}, "UserCoverage@2")["UserCoverage@2"]
    2.0
    """

    name = "UserCoverage"
    family = "coverage"
    bounds = NEVER_NEGATIVE

    def update(self, blocks: Blocks) -> Tally:
        return Tally(Sums({"users": population(blocks, self)}))

    def compute(self, state: Any) -> Result:
        return Result(float(state.sums["users"]), users=state.sums["users"])


@dataclass(frozen=True)
class UserCoverageAtN(TotalMetric):
    """The number of users who were shown at least N items; N is the cutoff.

    Attributes:
        retrieved: what is counted: items "shown", or, as WarpRec does, all candidates with a score above 0
            ("positive"), whether they are in the list or not; that makes it 0 for a model with negative scores.

    >>> import bridgeval
    >>> dict(bridgeval.evaluate({1: ["a", "b"], 2: ["a"]}, {1: ["a"]}, "UserCoverageAtN@1,2"))
    {'UserCoverageAtN@1': 2.0, 'UserCoverageAtN@2': 1.0}
    """

    name = "UserCoverageAtN"
    family = "coverage"
    bounds = NEVER_NEGATIVE

    retrieved: Literal["shown", "positive"] = field(default="shown", kw_only=True)

    def needs(self) -> Needs:
        if self.retrieved == "shown":
            return super().needs()
        return super().needs() | Needs(pairs=frozenset({"score"}))

    def update(self, blocks: Blocks) -> Tally:
        block: Block[Tensor] = ShownCount(self.ranking) if self.retrieved == "shown" else PositiveCount()
        covered = self.counted(blocks) & (blocks[block] >= self.k)
        return Tally(Sums({"covered": covered.sum(), "users": population(blocks, self)}))

    def compute(self, state: Any) -> Result:
        return Result(float(state.sums["covered"]), users=state.sums["users"])


@dataclass(frozen=True)
class PositiveCount(Block[Tensor]):
    """The number of candidates with a score above 0: `[B]` int64."""

    def make(self, blocks: Blocks) -> Tensor:
        shown = blocks.batch.shown
        if not shown.has("score"):
            raise NeedError("the shown pairs have no column 'score'", hint="give scores")
        return count_true(shown.column("score") > 0)


@dataclass(frozen=True)
class NumRetrieved(TopKMetric):
    """The number of the first k places that hold an item: `min(k, n)` for a list of n items; the mean over users.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b"], 2: ["a"]}, {1: ["a"], 2: ["a"]}, "NumRetrieved@5")["NumRetrieved@5"]
    1.5
    """

    name = "NumRetrieved"
    family = "coverage"

    @property
    def bounds(self) -> Bounds:
        return 0.0, float(self.k)

    def values(self, blocks: Blocks) -> Tensor:
        return blocks[ShownCount(self.ranking)].clamp(max=self.k).double()


@dataclass(frozen=True)
class Coverage(TopKMetric):
    """The share of the catalogue that is shown to anybody in the first k places.

    Catalogue coverage as in Ge, Delgado-Battenfeld and Jannach 2010, "Beyond accuracy". One value for all users.

    Attributes:
        known: the items that could be shown: the "catalogue", or those of the "history".
        shown: count only "known" items among those shown, or "all", which may exceed 1.

    >>> import bridgeval
    >>> lists = {1: ["a", "b"], 2: ["a", "x"]}
    >>> dict(bridgeval.evaluate(lists, {1: ["b"]}, "Coverage@1,2", catalogue=["a", "b", "c", "d"]))
    {'Coverage@1': 0.25, 'Coverage@2': 0.5}
    """

    name = "Coverage"
    family = "coverage"

    users: Users = field(default="shown", kw_only=True)
    known: Literal["catalogue", "history"] = field(default="catalogue", kw_only=True)
    shown: Literal["known", "all"] = field(default="known", kw_only=True)

    @property
    def bounds(self) -> Bounds:
        return SHARE if self.shown == "known" else NEVER_NEGATIVE

    def __post_init__(self) -> None:
        super().__post_init__()
        # RePlay gives every metric a summary, so that it is a parameter here too.
        if self.over != "mean":
            raise BadParameterError("Coverage has one value for all users", f"over={self.over!r}", "leave over out")

    def needs(self) -> Needs:
        known = "catalogue" if self.known == "catalogue" else "item popularity"
        return super().needs() | Needs(context=frozenset({known}))

    def start(self) -> Tally:
        return Tally()

    def update(self, blocks: Blocks) -> Tally:
        counts = counts_by_item(blocks, self)
        if self.shown == "known":
            counts = counts * self._is_known(blocks)[:-1]
        return Tally(items=ItemSums.of(blocks.batch.slates.items, counts), facts={"items": self._size(blocks)})

    def compute(self, state: Any) -> Result:
        found, known = int(np.count_nonzero(state.items.values)), state.facts.get("items", 0)
        return Result(found / known if known else float("nan"), notes={"items shown": found, "items known": known})

    def per_user(self) -> None:  # type: ignore[override]
        return None

    def _is_known(self, blocks: Blocks) -> Tensor:
        if self.known == "catalogue":
            return blocks.lookup.in_catalogue
        return blocks.lookup.items("popularity") > 0

    def _size(self, blocks: Blocks) -> int:
        if self.known == "history":
            return len(blocks.context.items["popularity"].ids)
        return len(blocks.context.catalogue or ())
