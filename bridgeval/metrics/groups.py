"""Groups of items, as fairness metrics count them: code 0 for items without a label, then 1, 2, ... by label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from torch import Tensor

from bridgeval.engine.blocks import Blocks
from bridgeval.engine.state import Floats
from bridgeval.engine.summary import Result

Unassigned = Literal["skip", "group"]
Undefined = Literal["nan", "zero"]


@dataclass(frozen=True)
class ItemGroups:
    """The item groups of the context.

    Attributes:
        codes: `[V + 1]` int64 by item code; 0 for "no item" too, so that cells have to be masked.
        labels: names of the codes from 1 up.
        sizes: `[G + 1]` items of the catalogue in each group.
        interactions: `[G + 1]` pairs of the history in each group; zeros without a history.
    """

    codes: Tensor
    labels: tuple[Any, ...]
    sizes: Floats
    interactions: Floats

    def __len__(self) -> int:
        return len(self.labels) + 1


def item_groups(blocks: Blocks) -> ItemGroups:
    """The item groups, laid against the vocabulary and the catalogue."""
    return blocks.lookup.once("item groups", lambda: _item_groups(blocks))


def _item_groups(blocks: Blocks) -> ItemGroups:
    table = blocks.context.items["groups"]
    catalogue = blocks.lookup.catalogue
    groups, count = table.aligned(catalogue), len(table.labels) + 1
    popularity = np.zeros(len(catalogue))
    if "popularity" in blocks.context.items:
        popularity = blocks.context.items["popularity"].aligned(catalogue)
    interactions = np.bincount(groups, weights=popularity, minlength=count).astype(np.float64)
    sizes = np.bincount(groups, minlength=count).astype(np.float64)
    return ItemGroups(blocks.lookup.items("groups"), table.labels, sizes, interactions)


def group_result(
    value: float | None, shares: Floats, labels: tuple[Any, ...], undefined: Undefined, users: int
) -> Result:
    """A result with a part for each labelled group.

    Args:
        value: None where there is nothing to compare.
        shares: `[G + 1]`, the unassigned first.
        labels: `[G]`.
        undefined: what the value then is.
        users: how many users were counted.
    """
    if value is None:
        value = 0.0 if undefined == "zero" else float("nan")
    parts = {str(label): float(share) for label, share in zip(labels, shares[1:], strict=True)}
    return Result(value, parts, users=users)


def taking_part(shares: Floats, unassigned: Unassigned) -> Floats:
    """The groups that are compared: without the unassigned, unless they count as one."""
    return shares if unassigned == "group" else shares[1:]
