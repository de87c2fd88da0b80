"""Fairness: do groups of items, and of users, get alike? What each group gets is in the parts of the result.

Groups are labels given as item_groups= and user_groups=. Items and users without a label are not a group: they are left
out of comparisons, but they stay in totals. WarpRec compares them as one more group (unassigned="group").
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from bridgeval.engine.blocks import Blocks, RelevantCount, Users
from bridgeval.engine.metric import TotalMetric
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import Floats, Sums, Tally
from bridgeval.engine.summary import Result
from bridgeval.metrics.blocks.group_counts import history_counts, hit_counts, relevant_counts, shown_counts
from bridgeval.metrics.blocks.item_groups import ItemGroups, Unassigned, Undefined, compared, group_sizes, item_labels
from bridgeval.metrics.blocks.listed_items import population, spread

ITEM_GROUPS = Needs(context=frozenset({"item groups", "catalogue"}))


@dataclass(frozen=True)
class REO(TotalMetric):
    """Ranking-based equal opportunity: the spread of the recall of item groups.

    `p_c` = hits in group c / relevant rows in c, over all users; the value is the standard deviation of the p_c over
    their mean: 0 when all groups are found alike (Zhu, Wang and Caverlee 2020). Groups without a relevant row have no
    p_c. Undefined with fewer than two groups, or without any hit.

    Attributes:
        unassigned: items without a group are not compared ("skip"), or are a "group" as in WarpRec.
        undefined: "nan", or "zero" as in WarpRec.

    >>> import bridgeval
    >>> groups = {"a": "jazz", "b": "rock"}
    >>> report = bridgeval.evaluate({1: ["a"]}, {1: ["a", "b"]}, "REO@1", item_groups=groups, catalogue=["a", "b"])
    >>> dict(report)
    {'REO@1': 1.0, 'REO@1[jazz]': 1.0, 'REO@1[rock]': 0.0}
    """

    name = "REO"
    family = "fairness"
    higher_is_better = False

    users: Users = field(default="relevant", kw_only=True)
    unassigned: Unassigned = field(default="skip", kw_only=True)
    undefined: Undefined = field(default="nan", kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | ITEM_GROUPS

    def update(self, blocks: Blocks) -> Tally:
        groups = ItemGroups()
        found, there = hit_counts(blocks, self, groups), relevant_counts(blocks, self, groups)
        sums = {"users": population(blocks, self), "found": found, "there": there}
        return Tally(Sums(sums), facts={"labels": item_labels(blocks)})

    def compute(self, state: Any) -> Result:
        return compared(state, spread, self.undefined, self.unassigned)


@dataclass(frozen=True)
class RSP(TotalMetric):
    """Ranking-based statistical parity: the spread of the chance of item groups to be shown.

    `p_c` = places that hold an item of group c / candidates in c, over all users, where a user's candidates are the
    catalogue without what the user has in the history; the value is the standard deviation of the p_c over their mean
    (Zhu, Wang and Caverlee 2020). Groups without a candidate have no p_c; shown items that the catalogue lacks do not
    count. Undefined as in REO.

    Attributes:
        candidates: those a user has not "unseen"; "all" items; or "estimated", as in WarpRec: with V users who have a
            relevant item, U users known, n_c items and t_c interactions of the group, max(0, V n_c - V t_c / U).
        unassigned, undefined: as in REO.

    >>> import bridgeval
    >>> known = {"item_groups": {"a": "jazz", "b": "rock"}, "history": {1: ["b"], 3: ["a"]}}
    >>> report = bridgeval.evaluate({1: ["a"], 2: ["b"]}, {1: ["a"]}, "RSP@1", **known)
    >>> report["RSP@1[jazz]"], report["RSP@1[rock]"]  # user 1 has b already
    (0.5, 1.0)
    """

    name = "RSP"
    family = "fairness"
    higher_is_better = False

    candidates: Literal["unseen", "all", "estimated"] = field(default="unseen", kw_only=True)
    unassigned: Unassigned = field(default="skip", kw_only=True)
    undefined: Undefined = field(default="nan", kw_only=True)

    def needs(self) -> Needs:
        needs = super().needs() | ITEM_GROUPS
        if self.candidates == "unseen":
            return needs | Needs(lists=frozenset({"history lists"}))
        if self.candidates == "estimated":
            return needs | Needs(context=frozenset({"item popularity"}), users=frozenset({"all users"}))
        return needs

    def update(self, blocks: Blocks) -> Tally:
        users = population(blocks, self)
        found = shown_counts(blocks, self, ItemGroups(known=True))
        sums = {"users": users, "found": found, "there": self._there(blocks, users)}
        return Tally(Sums(sums), facts={"labels": item_labels(blocks)})

    def _there(self, blocks: Blocks, users: int) -> Floats:
        """`[G + 1]`: the candidates in each group."""
        if self.candidates == "estimated":
            valid = int((self.counted(blocks) & (blocks[RelevantCount(self.relevance)] > 0)).sum())
            seen = group_sizes(blocks, "interactions") / max(blocks.context.known_users, 1)
            return valid * np.maximum(group_sizes(blocks) - seen, 0)
        there = users * group_sizes(blocks)
        if self.candidates == "all":
            return there
        return there - history_counts(blocks, self, ItemGroups(known=True))

    def compute(self, state: Any) -> Result:
        return compared(state, spread, self.undefined, self.unassigned)
