"""Groups of items, as fairness metrics count them: code 0 for items without a label, then 1, 2, ... by label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bridgeval.engine.blocks import Block, Blocks
from bridgeval.engine.state import Floats, Tally
from bridgeval.engine.summary import Result
from bridgeval.metrics.blocks.group_counts import GroupCodes
from bridgeval.metrics.blocks.listed_items import ratio
from bridgeval.tables.context import Context
from bridgeval.tables.ids import Ids

Unassigned = Literal["skip", "group"]
Undefined = Literal["nan", "zero"]


@dataclass(frozen=True)
class ItemGroups(Block[GroupCodes]):
    """The groups given as item_groups=: code 0 for items without a label.

    Attributes:
        known: whether only items of the catalogue are counted.
    """

    known: bool = False

    def make(self, blocks: Blocks) -> GroupCodes:
        return blocks.lookup.once(self, lambda: self._codes(blocks))

    def _codes(self, blocks: Blocks) -> GroupCodes:
        codes, count = blocks.lookup.items("groups").clone(), len(item_labels(blocks)) + 1
        if self.known:
            codes.masked_fill_(~blocks.lookup.in_catalogue, count)
        codes[-1] = count
        return GroupCodes(codes, count)


def item_labels(blocks: Blocks) -> tuple[Any, ...]:
    """Names of the codes from 1 up."""
    return blocks.context.items["groups"].labels


def group_sizes(blocks: Blocks, of: Literal["items", "interactions"] = "items") -> Floats:
    """`[G + 1]`: how many items of the catalogue, or pairs of the history with them, each group has."""
    return blocks.lookup.once(("group sizes", of), lambda: _sizes(blocks.context, blocks.lookup.catalogue, of))


def _sizes(context: Context, catalogue: Ids, of: Literal["items", "interactions"]) -> Floats:
    table = context.items["groups"]
    weights = None if of == "items" else context.items["popularity"].aligned(catalogue)
    sizes = np.bincount(table.aligned(catalogue), weights=weights, minlength=len(table.labels) + 1)
    return sizes.astype(np.float64)


def compared(
    state: Tally, measure: Callable[[Floats], float | None], undefined: Undefined, unassigned: Unassigned = "skip"
) -> Result:
    """What sets groups apart, with the share of each labelled group as a part.

    Args:
        state: sums `found` and `there` `[G + 1]`, the unassigned first; fact `labels` `[G]`.
        measure: of the shares found / there; None where there is nothing to compare.
        undefined: what the value then is.
        unassigned: whether those without a label are compared as a group.
    """
    labels = state.facts.get("labels", ())
    shares = ratio(state.sums["found"], np.broadcast_to(state.sums["there"], len(labels) + 1))
    value = measure(shares if unassigned == "group" else shares[1:])
    if value is None:
        value = 0.0 if undefined == "zero" else float("nan")
    parts = {str(label): float(share) for label, share in zip(labels, shares[1:], strict=True)}
    return Result(value, parts, users=state.sums["users"])
