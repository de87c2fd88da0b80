"""Spread: which items are shown, and how often, over all lists together."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from bridgeval.plugin import Blocks, Floats, Needs, Result, Sums, Tally, TotalMetric, Users, item_counts, population
from bridgeval.toolkits.librec.protected import item_state, summed_by_item


@dataclass(frozen=True)
class ListInformation(TotalMetric):
    """The self-information of a list: `sum_j -log2(s_j)`, s_j the share of users who have the item at place j in the
    history or the truth. A sum over the list, not a mean; then the mean over users.

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
        counted = self.counted(blocks)
        rated = rated_items(blocks, torch.ones_like(counted))
        shown = item_counts(blocks, self).values
        return Tally(Sums({"users": int(counted.sum())}), item_state(blocks, shown, rated))

    def compute(self, state: Tally) -> Result:
        users = state.sums["users"]
        if not users:
            return Result(math.nan, users=0)
        shown, rated = state.items.values[(state.items.values > 0).all(axis=1)].T
        return Result(float((shown * -np.log2(rated / users)).sum() / users), users=users)


@dataclass(frozen=True)
class ShowingEntropy(TotalMetric):
    """`sum_i -p_i log2 p_i`, p_i the share of users whose first k places hold item i.

    These shares add up to the length of the lists and not to 1: `ShannonEntropy` is an entropy in the strict sense.
    LibRec: EntropyEvaluator, over all known users.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a"], 2: ["b"]}, {1: ["a"]}, "ShowingEntropy@1")["ShowingEntropy@1"]
    1.0
    """

    name = "ShowingEntropy"
    family = "diversity"

    def update(self, blocks: Blocks) -> Tally:
        return Tally(Sums({"users": population(blocks, self)}), item_counts(blocks, self))

    def compute(self, state: Tally) -> Result:
        users = state.sums["users"]
        shares = state.items.values[state.items.values > 0] / max(users, 1)
        return Result(float(-(shares * np.log2(shares)).sum()) if users else math.nan, users=users)


@dataclass(frozen=True)
class RatedCoverage(TotalMetric):
    """Different items shown in the first k places, over the different items these users have in history and truth.

    LibRec: ItemCoverageEvaluator, over users with test rows.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a"]}, {1: ["b"]}, "RatedCoverage@1", history={1: ["c"], 2: ["d"]})["RatedCoverage@1"]
    0.5
    """

    name = "RatedCoverage"
    family = "coverage"

    users: Users = field(default="relevant", kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | Needs(lists=frozenset({"history lists"}))

    def update(self, blocks: Blocks) -> Tally:
        rated = rated_items(blocks, self.counted(blocks))
        shown = item_counts(blocks, self).values
        return Tally(Sums({"users": population(blocks, self)}), item_state(blocks, shown, rated))

    def compute(self, state: Tally) -> Result:
        if not state.sums["users"]:
            return Result(math.nan, users=0)
        shown, rated = (state.items.values > 0).sum(axis=0)
        return Result(float(shown / rated) if rated else math.nan, users=state.sums["users"])


@dataclass(frozen=True)
class AlphaCoverage(TotalMetric):
    """The share of the catalogue that is shown at least `alpha` times, in the first k places of all lists.

    What librec-auto's alpha-IA sets out to measure.

    >>> import bridgeval
    >>> lists = {1: ["a"], 2: ["a"], 3: ["b"]}
    >>> dict(bridgeval.evaluate(lists, lists, "AlphaCoverage(alpha=2)@1", catalogue=["a", "b"]))
    {'AlphaCoverage(alpha=2)@1': 0.5}
    """

    name = "AlphaCoverage"
    family = "coverage"

    alpha: int = field(default=1, kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"catalogue"}))

    def update(self, blocks: Blocks) -> Tally:
        facts = {"items": len(blocks.lookup.catalogue)}
        return Tally(Sums({"users": population(blocks, self)}), item_counts(blocks, self, "catalogue"), facts)

    def compute(self, state: Tally) -> Result:
        items = state.facts.get("items", 0)
        often = int((state.items.values >= self.alpha).sum())
        return Result(often / items if items else math.nan, users=state.sums["users"])


def rated_items(blocks: Blocks, users: Tensor) -> Floats:
    """`[V]`: how many of some users `[B]` have each item in the history or the truth."""
    both = (blocks.batch.history, blocks.batch.relevant)
    counts = [summed_by_item(blocks, rows.items, rows.valid & users[:, None]) for rows in both]
    return counts[0] + counts[1]
