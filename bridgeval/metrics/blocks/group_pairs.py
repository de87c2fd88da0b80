"""Pairs of a user group and an item group: how often they occur, and the bias that BiasDisparity measures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bridgeval.batch.kernels import sum_by_code
from bridgeval.batch.ranking import Ranking
from bridgeval.engine.blocks import Block, Blocks, Counted, UserGroups, by_item
from bridgeval.engine.cumulative import Cumulative
from bridgeval.engine.metric import RankingMetric
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import Sums, Tally
from bridgeval.engine.summary import Result
from bridgeval.metrics.blocks.group_comparison import Undefined, divide
from bridgeval.metrics.blocks.item_groups import GroupCodes, group_sizes, item_labels
from bridgeval.metrics.blocks.listed_items import ListedItems, population

PAIR_NEEDS = Needs(context=frozenset({"item groups", "catalogue", "user groups"}))


def user_group_count(blocks: Blocks) -> int:
    """Groups of users, and one for users without a group."""
    return len(blocks.context.users["groups"].labels) + 1


def count_pairs(blocks: Blocks, groups: GroupCodes, items: Tensor, users: Tensor) -> Tensor:
    """`[user groups, item groups]` float64: how many of the items are of each group.

    Args:
        users: the group of each item's user, of a shape that broadcasts to that of the items.
    """
    size = groups.count + 1
    codes, pairs = torch.add(by_item(groups.codes, items), users, alpha=size), user_group_count(blocks) * size
    return sum_by_code(codes, pairs).view(-1, size)[:, :-1]


@dataclass(frozen=True)
class ShownPairs(Block[Cumulative]):
    """The number of the first k places that hold an item of each group: `[user groups, item groups]` float64."""

    groups: Block[GroupCodes]
    ranking: Ranking
    counted: Counted

    def make(self, blocks: Blocks) -> Cumulative:
        groups, items = blocks[self.groups], blocks[ListedItems(self.ranking, self.counted)]
        users = blocks[UserGroups()]
        return Cumulative.of_places(blocks.cutoffs, lambda places: count_pairs(blocks, groups, items[places], users))


def tally_pairs(blocks: Blocks, metric: RankingMetric, counts: Tensor) -> Tally:
    """The state of counts `[user groups, item groups]`."""
    facts = {
        "user labels": blocks.context.users["groups"].labels,
        "item labels": item_labels(blocks),
        "sizes": group_sizes(blocks),
    }
    return Tally(Sums({"users": population(blocks, metric), "counts": counts}), facts=facts)


def compute_bias(state: Tally, undefined: Undefined) -> Result:
    """For each pair the share of the item group in what the user group has, over its share of the catalogue.

    Args:
        state: see `tally_pairs`.
        undefined: the bias of user groups that have nothing.
    """
    counts, facts, users = state.sums["counts"], state.facts, state.sums["users"]
    if not facts:
        return Result(None, users=users)
    totals = counts.sum(1, keepdims=True)
    preference = divide(counts, np.maximum(totals, 1) if undefined == "zero" else totals)
    bias = divide(preference, facts["sizes"] / facts["sizes"].sum())
    # Row and column 0 are users and items without a group.
    parts = {
        f"{user}, {item}": float(bias[row, column])
        for row, user in enumerate(facts["user labels"], start=1)
        for column, item in enumerate(facts["item labels"], start=1)
    }
    return Result(None, parts, users=users)
