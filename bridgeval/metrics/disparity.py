"""Bias disparity: what groups of users are shown of groups of items, beside what they have in the history."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch

from bridgeval.batch.ranking import Relevance
from bridgeval.engine.blocks import Blocks, Relevant, UserGroups, Users
from bridgeval.engine.metric import PolicyMetric, TotalMetric
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import Floats, Joint, Sums, Tally
from bridgeval.engine.summary import Result
from bridgeval.metrics.blocks.group_counts import HistoryPairs, grouped, shown_pairs
from bridgeval.metrics.blocks.item_groups import ItemGroups, Undefined, group_sizes, item_labels
from bridgeval.metrics.blocks.listed_items import counted_items, population, ratio, who

PAIRS = Needs(context=frozenset({"item groups", "catalogue", "user groups"}))


def pair_result(counts: Floats, facts: Any, undefined: Undefined, users: int) -> Result:
    """The preference of each user group for each item group over that group's share of the catalogue.

    Args:
        counts: `[user groups + 1, item groups + 1]`.
        facts: `user labels`, `item labels` and `sizes`.
        undefined: what user groups without any count get.
        users: how many users were counted.
    """
    if not facts:
        return Result(None, users=users)
    totals = counts.sum(1, keepdims=True)
    preference = ratio(counts, np.maximum(totals, 1) if undefined == "zero" else totals)
    bias = ratio(preference, facts["sizes"] / facts["sizes"].sum())
    parts = {
        f"{user}, {item}": float(bias[row, column])
        for row, user in enumerate(facts["user labels"], start=1)
        for column, item in enumerate(facts["item labels"], start=1)
    }
    return Result(None, parts, users=users)


def _tally(blocks: Blocks, metric: PolicyMetric, counts: Floats) -> Tally:
    """The state of counts by user group and item group."""
    users, items = blocks.context.users["groups"].labels, item_labels(blocks)
    facts = {"user labels": users, "item labels": items, "sizes": group_sizes(blocks)}
    return Tally(Sums({"users": population(blocks, metric), "counts": counts}), facts=facts)


@dataclass(frozen=True)
class BiasDisparityBR(TotalMetric):
    """How much more, or less, the lists of a user group hold of an item group than the catalogue does.

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
        return super().needs() | PAIRS

    def update(self, blocks: Blocks) -> Tally:
        return _tally(blocks, self, shown_pairs(blocks, self, ItemGroups()))

    def compute(self, state: Any) -> Result:
        return pair_result(state.sums["counts"], state.facts, self.undefined, state.sums["users"])


@dataclass(frozen=True)
class BiasDisparityBS(PolicyMetric):
    """How much more, or less, the history of a user group holds of an item group than the catalogue does.

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
        return Needs(users=super().needs().users, lists=lists) | PAIRS

    def start(self) -> Tally:
        return Tally()

    def update(self, blocks: Blocks) -> Tally:
        if self.source == "history":
            return _tally(blocks, self, blocks[HistoryPairs(ItemGroups(known=True), who(blocks, self))])
        truth = blocks[Relevant(Relevance(None, self.truth_duplicates))]
        items = truth.items.masked_fill(truth.gains == 0, blocks.batch.shown.pad)
        items = counted_items(blocks, who(blocks, self), items)
        cells = grouped(blocks, blocks[ItemGroups()], items, blocks[UserGroups()][:, None])
        return _tally(blocks, self, cells.counts())

    def compute(self, state: Any) -> Result:
        return pair_result(state.sums["counts"], state.facts, self.undefined, state.sums["users"])


@dataclass(frozen=True)
class BiasDisparityBD(TotalMetric):
    """How much the lists amplify the bias of the history: `(BR - BS) / BS` for each pair of groups; 0 is neutral.

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

    @cached_property
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
