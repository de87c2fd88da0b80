"""Metrics of exposure: which items are shown, how often, and at which places."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bridgeval.errors import BadParameterError
from bridgeval.plugin import (
    Blocks,
    Hits,
    ItemSums,
    Needs,
    Ranked,
    RelevantCount,
    Result,
    Sums,
    Tally,
    TotalMetric,
    UserMetric,
    Users,
    item_counts,
    population,
    sum_by_code,
)
from bridgeval.toolkits.librec.bases import Array, number_ids, visit_users
from bridgeval.toolkits.librec.custom import Measured, RowCollector, restore_users


def sum_by_item(blocks: Blocks, items: Tensor, valid: Tensor, numbers: Tensor | None = None) -> Tensor:
    """`[V]` float64: the sum of the numbers of the valid cells (1 each by default) by item of the vocabulary."""
    size = len(blocks.batch.slates.items)
    return sum_by_code(items.masked_fill(~valid, size), size, numbers)


def stack_by_item(blocks: Blocks, *columns: Tensor) -> ItemSums:
    """Several sums by item as one state, `[V, number of columns]`."""
    return ItemSums.of(blocks.batch.slates.items, torch.stack(columns, dim=1))


def count_ratings(blocks: Blocks, users: Tensor) -> Tensor:
    """`[V]`: how many of the users `[B]` have each item in the history or the truth."""
    history, relevant = (
        sum_by_item(blocks, rows.items, rows.valid & users[:, None])
        for rows in (blocks.batch.history, blocks.batch.relevant)
    )
    return history + relevant


@dataclass(frozen=True)
class ListInformation(TotalMetric):
    """Self-information of a list: `sum_j -log2(s_j)`, where s_j is the share of users who count that have the item at
    place j in the history or the truth. A sum over the list, not a mean; then the mean over users.

    Items that nobody has add nothing. LibRec: NoveltyEvaluator.

    >>> import bridgeval
    >>> ratings = {"history": {1: ["a"], 2: ["a"], 3: ["b"], 4: ["c"]}, "metrics": "ListInformation@2"}
    >>> bridgeval.evaluate({1: ["a", "b"], 2: ["c"], 3: [], 4: []}, {1: ["b"]}, **ratings)["ListInformation@2"]
    1.0
    """

    name = "ListInformation"
    family = "novelty"

    users: Users = field(default="known", kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | Needs(lists=frozenset({"history lists"}))

    def update(self, blocks: Blocks) -> Tally:
        rated = count_ratings(blocks, self.counted(blocks))
        shown: Any = item_counts(blocks, self).values
        return Tally(Sums({"users": population(blocks, self)}), stack_by_item(blocks, shown, rated))

    def compute(self, state: Tally) -> Result:
        users = state.sums["users"]
        if not users:
            return Result(math.nan, users=0)
        shown, rated = state.items.values[(state.items.values > 0).all(axis=1)].T
        return Result(float((shown * -np.log2(rated / users)).sum() / users), users=users)


@dataclass(frozen=True)
class RatedCoverage(TotalMetric):
    """Distinct items in the first k places, divided by the distinct items these users have in history and truth.

    LibRec: ItemCoverageEvaluator, over users with test rows.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, "RatedCoverage@1", history={1: ["c"], 2: ["d"]})["RatedCoverage@1"]
    0.5
    """

    name = "RatedCoverage"
    family = "coverage"

    users: Users = field(default="relevant", kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | Needs(lists=frozenset({"history lists"}))

    def update(self, blocks: Blocks) -> Tally:
        rated = count_ratings(blocks, self.counted(blocks))
        shown: Any = item_counts(blocks, self).values
        return Tally(Sums({"users": population(blocks, self)}), stack_by_item(blocks, shown, rated))

    def compute(self, state: Tally) -> Result:
        if not state.sums["users"]:
            return Result(math.nan, users=0)
        shown, rated = (state.items.values > 0).sum(axis=0)
        return Result(float(shown / rated) if rated else math.nan, users=state.sums["users"])


@dataclass(frozen=True)
class AlphaIA(RowCollector):
    """librec-auto's `alpha-IA.py`: distinct items of the last user's list that were shown at least `alpha` times,
    divided by the number of users.

    Every row counts as shown, but a repeated item of the last list is counted once. The last user is the one with the
    highest id: as a number if all ids of users and items are numbers, else as text. Only useful to reproduce that
    package's numbers; `librec:alpha_coverage` is what it sets out to measure. A user's value is the same count at the
    time of the visit.

    Attributes:
        alpha: how often.
        users: visits those who were "shown" a list (git version), or those with "relevant" rows (PyPI 0.2.13).

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b"], 2: ["a"]}, {1: ["a"]}, "AlphaIA(alpha=2)")["AlphaIA(alpha=2)"]
    0.5
    """

    name = "AlphaIA"
    family = "diversity"

    alpha: int = field(default=1, kw_only=True)
    users: Literal["shown", "relevant"] = field(default="shown", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.alpha < 1:
            raise BadParameterError("alpha must be an integer of at least 1", f"{self.alpha}", "e.g. alpha=3")

    def measure(self, test: Array, result: Array) -> Measured:
        numbered = number_ids(test, result)
        if numbered[0].dtype == object:
            numbered = test, result
        shown: Counter[object] = Counter()
        users, values = [], []
        for user, _, listed in visit_users(*numbered, "results" if self.users == "shown" else "test"):
            shown.update(listed[:, 1])
            users.append(user)
            values.append(sum(shown[item] >= self.alpha for item in set(listed[:, 1])))
        value = values[-1] / len(values) if values else math.nan
        return Measured(value, restore_users(users, numbered, (test, result)), values)


@dataclass(frozen=True)
class ExposureLoss(UserMetric):
    """Expected exposure loss of Diaz et al., "Evaluating stochastic rankings with expected exposure" (2020), for one
    ranking per user: `sum_i (e_i - t_i)^2` over all n items of the catalogue.

    The item at place j has the exposure `e = g^(j - 1)`, one that is not shown has 0. The target shares the exposure
    of the first P places among the P relevant items, and that of the other places among the other items:
    `t = (1 - g^P) / (P (1 - g))` for a relevant item, `(g^P - g^n) / ((n - P) (1 - g))` for another.

    Attributes:
        patience: g, the probability that a reader continues to the next place.

    >>> import bridgeval
    >>> options = {"catalogue": ["a", "b"], "metrics": "ExposureLoss"}
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: ["a"]}, **options)["ExposureLoss"]
    0.0
    """

    name = "ExposureLoss"
    family = "fairness"
    higher_is_better = False

    patience: float = field(default=0.5, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.patience < 1:
            raise BadParameterError("patience must lie between 0 and 1", f"{self.patience}", "0.5 is usual")

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"catalogue"}))

    def values(self, blocks: Blocks) -> Tensor:
        shown, hits = blocks[Ranked(self.ranking)], blocks[Hits(self.ranking, self.relevance)]
        size = len(blocks.lookup.catalogue)
        relevant = blocks[RelevantCount(self.relevance)].double()
        others = (size - relevant).clamp(min=0)
        g = self.patience
        wanted = (1 - g**relevant) / (relevant.clamp(min=1) * (1 - g))
        unwanted = (g**relevant - g**size).clamp(min=0) / (others.clamp(min=1) * (1 - g))
        exposure = (g ** (blocks.ranks[: shown.items.shape[1]] - 1)) * shown.valid
        target = torch.where(hits, wanted[:, None], unwanted[:, None])
        # Items that are not shown differ from the others only by e = 0: their squares are summed for all items first.
        squares = (exposure * (exposure - 2 * target)).sum(1)
        return squares + relevant * wanted.square() + others * unwanted.square()
