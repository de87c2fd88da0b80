"""Popularity: which items are in the head, which in the tail, and how much of it the lists hold.

Items are split into a head and a tail by their popularity in the history: sorted by popularity, equal ones by id, the
head is the shortest prefix that holds more than `pop_ratio` of all interactions; the tail is the rest, with items that
nobody has. The split is the same on every run and machine, which WarpRec's is not where the cut falls among equals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from bridgeval.engine.blocks import Block, Blocks
from bridgeval.metrics.blocks.item_groups import GroupCodes
from bridgeval.tables.context import Context, Table

HEAD, TAIL = 1, 2
Unknown = Literal["tail", "neither"]
HeadOf = Literal["interactions", "items"]


@dataclass(frozen=True)
class PopularityGroups(Block[GroupCodes]):
    """1 for items of the head, 2 for those of the tail, 0 for what the catalogue lacks.

    Attributes:
        pop_ratio: the share of all interactions that the head exceeds.
        unknown: an item that the catalogue lacks is in the "tail", or in "neither".
        head: see `find_head`.
    """

    pop_ratio: float
    unknown: Unknown = "neither"
    head: HeadOf = "interactions"

    def make(self, blocks: Blocks) -> GroupCodes:
        return blocks.lookup.once(self, lambda: GroupCodes(self._codes(blocks), 3))

    def _codes(self, blocks: Blocks) -> Tensor:
        codes = torch.where(blocks.lookup.align(head_in(blocks, self.pop_ratio, self.head)), HEAD, TAIL)
        if self.head == "items":
            codes = codes.masked_fill(blocks.lookup.items("popularity") <= 0, 0)
        if self.unknown == "neither":
            codes = codes.masked_fill(~blocks.lookup.in_catalogue, 0)
        codes[-1] = 3
        return codes


def find_head(context: Context, pop_ratio: float, head: HeadOf = "interactions") -> Table:
    """Whether each item of the history is in the head.

    Args:
        head: what `pop_ratio` is a share of: the head exceeds it in "interactions"; of all "items" the tail is the
            least popular `1 - pop_ratio`, cut to a whole number, at least 1, of equal ones those with the lowest ids.

    >>> from bridgeval.tables.ids import Ids
    >>> popularity = Table(Ids.of(["a", "b", "c"]), np.array([2.0, 5.0, 2.0]))
    >>> find_head(Context(items={"popularity": popularity}), 0.7).values  # b has 5 of 9, a and b have 7
    array([ True,  True, False])
    """
    popularity = context.items["popularity"]
    if head == "items":
        rare = max(int(round((1 - pop_ratio) * len(popularity.values), 9)), 1)
        in_head = np.ones(len(popularity.values), dtype=bool)
        in_head[np.argsort(popularity.values, kind="stable")[:rare]] = False
        return Table(popularity.ids, in_head)
    order = np.argsort(-popularity.values, kind="stable")
    so_far = np.cumsum(popularity.values[order])
    # 0.57 * 100 is 56.99999999999999: rounding keeps a whole share whole.
    limit = round(pop_ratio * float(popularity.values.sum()), 9)
    in_head = np.zeros(len(order), dtype=bool)
    in_head[order[: int(np.searchsorted(so_far, limit, side="right")) + 1]] = True
    return Table(popularity.ids, in_head)


def head_in(blocks: Blocks, pop_ratio: float, head: HeadOf = "interactions") -> Table:
    """`find_head` the context, made once."""
    return blocks.lookup.once(("head", pop_ratio, head), lambda: find_head(blocks.context, pop_ratio, head))


@dataclass(frozen=True)
class InTail(Block[Tensor]):
    """1 for items of the tail, 0 for others: `[V + 1]` float64."""

    groups: PopularityGroups

    def make(self, blocks: Blocks) -> Tensor:
        return blocks.lookup.once(self, lambda: (blocks[self.groups].codes == TAIL).double())


@dataclass(frozen=True)
class ItemPopularity(Block[Tensor]):
    """The popularity of each item, 0 for no item: `[V + 1]` float64."""

    floor: float
    unknown: Literal["rare", "left_out"]

    def make(self, blocks: Blocks) -> Tensor:
        return blocks.lookup.once(self, lambda: self._popularity(blocks))

    def _popularity(self, blocks: Blocks) -> Tensor:
        popularity = blocks.lookup.items("popularity").clamp(min=self.floor)
        if self.unknown == "left_out":
            popularity = popularity.masked_fill(~blocks.lookup.in_catalogue, 0)
        popularity[-1] = 0
        return popularity


@dataclass(frozen=True)
class PopularityQuantile(Block[Tensor]):
    """The mean place of each item among those of the history, the least popular first, over their number: `[V + 1]`.

    0 for an item that nobody has; float64.
    """

    def make(self, blocks: Blocks) -> Tensor:
        return blocks.lookup.once(self, lambda: self._place(blocks))

    def _place(self, blocks: Blocks) -> Tensor:
        popularity = blocks.lookup.items("popularity").double()
        counts = np.sort(blocks.context.items["popularity"].values)
        known = torch.from_numpy(counts[counts > 0]).double().to(popularity.device)
        below, upto = (torch.searchsorted(known, popularity, right=right) for right in (False, True))
        place = (below + upto + 1).double() / 2
        return torch.where(popularity > 0, place / max(len(known), 1), 0.0)


@dataclass(frozen=True)
class InCatalogue(Block[Tensor]):
    """1 for items of the catalogue, 0 for others: `[V + 1]` float64."""

    def make(self, blocks: Blocks) -> Tensor:
        return blocks.lookup.once(self, lambda: blocks.lookup.in_catalogue.double())
