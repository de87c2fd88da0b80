"""Protected items and users, and what the metrics of this folder share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from bridgeval.errors import BadParameterError
from bridgeval.plugin import (
    Block,
    Blocks,
    Floats,
    ItemSums,
    Ranked,
    Ranking,
    Result,
    Table,
    TopKMetric,
    UserGroups,
    by_item,
)


@dataclass(frozen=True)
class StrictMetric(TopKMetric):
    """A per-user metric that may refuse to average when a user has no value.

    Attributes:
        undefined: users that count but have no value are left out ("leave_out"), or make the whole NaN ("spoil"), as
            arithmetic in Java does.
    """

    undefined: Literal["leave_out", "spoil"] = field(default="leave_out", kw_only=True)

    def compute(self, state: object) -> Result:
        result = super().compute(state)
        spoilt = self.undefined == "spoil" and result.undefined and result.value is not None
        return replace(result, value=float("nan")) if spoilt else result


@dataclass(frozen=True)
class ItemFlags(Block[Tensor]):
    """Whether each shown item is protected: `[B, D]` bool.

    Attributes:
        feature: the protected one; None takes the only one.
        any_row: any row of the feature file protects, also one with the value 0. Where rows are not known, a value
            other than 0 does.
    """

    feature: str | None
    ranking: Ranking = Ranking()
    any_row: bool = False

    def make(self, blocks: Blocks) -> Tensor:
        column = column_of(blocks.context.items["features"], self.feature)
        if not self.any_row:
            flags = blocks.lookup.items("features")[:, column] == 1
        else:
            name = "feature_rows" if "feature_rows" in blocks.context.items else "features"
            flags = blocks.lookup.items(name)[:, column] != 0
        shown = blocks[Ranked(self.ranking)]
        return by_item(flags, shown.items) & shown.valid


def has_feature(blocks: Blocks, feature: str | None) -> Tensor:
    """`[B]` bool: users with a feature; where users have groups and not features, those of the group."""
    if "features" not in blocks.context.users:
        return last_feature_is(blocks, feature)
    column = column_of(blocks.context.users["features"], feature)
    return blocks.lookup.users("features")[blocks.batch.start : blocks.batch.stop, column] == 1


def last_feature_is(blocks: Blocks, feature: str | None) -> Tensor:
    """`[B]` bool: users of a group. The group of a user with several features is the last of them in the order of the
    feature file: LibRec goes through the features of a user and lets the last decide.
    """
    return blocks[UserGroups()] == column_of(blocks.context.users["groups"], feature) + 1


def column_of(table: Table, feature: str | None) -> int:
    """The column of a feature, or the place of a group; one that is not named must be the only one."""
    if feature is None and len(table.labels) == 1:
        return 0
    if feature not in table.labels:
        wrong = "which feature is protected must be named" if feature is None else f"there is no feature {feature!r}"
        raise BadParameterError(
            wrong,
            f"features {', '.join(map(str, table.labels[:10]))}",
            f"write e.g. (protected={str(table.labels[0])!r})" if table.labels else "give a feature file with rows",
        )
    return table.labels.index(feature)


def summed_by_item(blocks: Blocks, items: Tensor, valid: Tensor, numbers: Tensor | None = None) -> Floats:
    """`[V]` float64: numbers of the valid cells (1 each by default) added up for each item of the vocabulary."""
    size = len(blocks.batch.slates.items)
    weights = None if numbers is None else numbers[valid].double().cpu().numpy()
    return np.bincount(items[valid].cpu().numpy(), weights, minlength=size).astype(np.float64)


def item_state(blocks: Blocks, *columns: Floats) -> ItemSums:
    """Sums by item, `[V, number of columns]`."""
    return ItemSums(blocks.batch.slates.items, np.column_stack(columns))


def item_numbers(blocks: Blocks) -> Tensor:
    """`[V + 1]` int64: the number LibRec gives each item; its place in the sorted catalogue where that is not known."""
    if "internal_id" in blocks.context.items:
        return blocks.lookup.items("internal_id")
    places = torch.from_numpy(blocks.batch.slates.items.positions_in(blocks.lookup.catalogue))
    return torch.cat([places, places.new_full((1,), -1)]).to(blocks.device)
