"""Blocks: named tensors derived from a batch, made once and shared by all metrics.

A block is a frozen dataclass with a method `make`. Two metrics that ask for equal blocks get the same tensor. A
plugin may define its own; nothing has to be registered. B users, D = depth of the ranked lists (the largest
cutoff asked for), R relevant, V items of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import torch
from torch import Tensor

from bridgeval.data import ranking
from bridgeval.data.batch import Batch
from bridgeval.data.context import Context, Table
from bridgeval.data.ids import Ids
from bridgeval.data.ranking import RankedLists, Ranking, Relevance, RelevantLists
from bridgeval.data.slates import Slates
from bridgeval.data.standings import Standings
from bridgeval.errors import NeedError

T = TypeVar("T")
Users = Literal[
    "relevant", "shown", "both", "any", "truth", "history", "baseline", "given", "known", "listed", "judged"
]


class Block(Generic[T]):
    """A recipe for a tensor, or for a few that belong together. Subclasses are frozen dataclasses."""

    def make(self, blocks: Blocks) -> T:
        raise NotImplementedError(f"{type(self).__name__} must define make(blocks)")


class Lookup:
    """The context laid against the vocabulary of one Slates, on one device."""

    def __init__(self, context: Context, slates: Slates, device: torch.device) -> None:
        self.context = context
        self._slates = slates
        self._device = device
        self._made: dict[Any, Any] = {}

    def items(self, table: str) -> Tensor:
        """`[V + 1]` or `[V + 1, F]` values by item code; the last stands for "no item" and holds the default."""
        return self.once(f"item {table}", lambda: self.aligned(self.context.items[table]))

    def users(self, table: str) -> Tensor:
        """`[U]` values by user."""
        return self.once(
            f"user {table}",
            lambda: torch.from_numpy(self.context.users[table].aligned(self._slates.users)).to(self._device),
        )

    @property
    def in_catalogue(self) -> Tensor:
        """`[V + 1]`: which items of the vocabulary the catalogue has."""
        return self.once("catalogue", self._in_catalogue)

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """What is derived from the context alone is made for the first batch and kept for the others."""
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made

    def aligned(self, table: Table) -> Tensor:
        """`[V + 1]` or `[V + 1, F]`: any table by item code."""
        values = torch.from_numpy(table.aligned(self._slates.items))
        none = torch.full((1, *values.shape[1:]), table.default, dtype=values.dtype)
        return torch.cat([values, none]).to(self._device)

    @property
    def catalogue(self) -> Ids:
        """All items that could have been shown, sorted."""
        if self.context.catalogue is None:
            raise NeedError("the catalogue is not known", hint="give catalogue= or history=")
        return self.context.catalogue

    def _in_catalogue(self) -> Tensor:
        found = self._slates.items.positions_in(self.catalogue) >= 0
        return torch.cat([torch.from_numpy(found), torch.zeros(1, dtype=torch.bool)]).to(self._device)


class Blocks:
    """All that can be asked of one batch.

    Attributes:
        batch: the users at hand.
        lookup: the context, by item and by user.
        depth: how deep ranked lists are read; None for all.
        cutoff: the largest cutoff asked for; 0 where it is not known.
    """

    def __init__(self, batch: Batch, lookup: Lookup, depth: int | None = None, cutoff: int = 0) -> None:
        self.batch = batch
        self.lookup = lookup
        self.depth = depth
        self.cutoff = cutoff or batch.shown.width
        self._made: dict[Block[Any], Any] = {}
        # The tensor is kept beside its index, so that its id stays its own.
        self._rows: dict[int, tuple[Tensor, Any]] = {}

    def __getitem__(self, block: Block[T]) -> T:
        try:
            made: T = self._made[block]
        except KeyError:
            made = self._made[block] = block.make(self)
        return made

    def __len__(self) -> int:
        return len(self.batch)

    @property
    def device(self) -> torch.device:
        return self.batch.device

    def rows_of(self, counted: Tensor) -> Any:
        """Who counts, `[B]` bool, as an index of numpy arrays: a slice where everyone does. Made once for a tensor."""
        if id(counted) not in self._rows:
            index = slice(None) if bool(counted.all()) else np.flatnonzero(counted.cpu().numpy())
            self._rows[id(counted)] = (counted, index)
        return self._rows[id(counted)][1]

    @property
    def context(self) -> Context:
        return self.lookup.context

    @cached_property
    def ranks(self) -> Tensor:
        """`[K]` float64: 1, 2, 3, ..."""
        width = self.batch.shown.width
        return torch.arange(1, width + 1, dtype=torch.float64, device=self.device)


@dataclass(frozen=True)
class Ranked(Block[RankedLists]):
    """What each user was shown, best first: `[B, D]`."""

    ranking: Ranking = Ranking()

    def make(self, blocks: Blocks) -> RankedLists:
        return blocks.batch.shown.ranked_by(self.ranking, blocks.depth)


@dataclass(frozen=True)
class ShownColumn(Block[Tensor]):
    """A pair column in ranked order: `[B, D]`. Cells that are not valid hold anything."""

    name: str
    ranking: Ranking = Ranking()

    def make(self, blocks: Blocks) -> Tensor:
        shown = blocks.batch.shown
        if not shown.has(self.name):
            raise NeedError(f"the shown pairs have no column {self.name!r}", hint=f"give {self.name}")
        return shown.ranked_column(self.name, blocks[Ranked(self.ranking)])


@dataclass(frozen=True)
class ItemValues(Block[Tensor]):
    """A context value of each shown item: `[B, D]`; the table's default where there is no item."""

    table: str
    ranking: Ranking = Ranking()

    def make(self, blocks: Blocks) -> Tensor:
        return by_item(blocks.lookup.items(self.table), blocks[Ranked(self.ranking)].items)


@dataclass(frozen=True)
class Relevant(Block[RelevantLists]):
    """What proved relevant to each user, sorted by item: `[B, R]`."""

    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> RelevantLists:
        return ranking.relevant_lists(blocks.batch.relevant, self.relevance)


@dataclass(frozen=True)
class RelevantCount(Block[Tensor]):
    """How many relevant rows each user has: `[B]` int64."""

    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Tensor:
        return blocks[Relevant(self.relevance)].counts


@dataclass(frozen=True)
class ShownCount(Block[Tensor]):
    """How many items each user was shown, within the depth: `[B]` int64."""

    ranking: Ranking = Ranking()

    def make(self, blocks: Blocks) -> Tensor:
        return blocks[Ranked(self.ranking)].counts


@dataclass(frozen=True)
class UserGroups(Block[Tensor]):
    """The group of each user, 0 for none: `[B]` int64."""

    def make(self, blocks: Blocks) -> Tensor:
        batch = blocks.batch
        return blocks.lookup.users("groups")[batch.start : batch.stop]


@dataclass(frozen=True)
class Meetings(Block[tuple[Tensor, Tensor, Tensor]]):
    """Every hit by row, then by place: its row, its column of the ranked list and of the relevant one, `[n]` int64."""

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> tuple[Tensor, Tensor, Tensor]:
        return ranking.meetings(blocks[Ranked(self.ranking)], blocks[Relevant(self.relevance)])


@dataclass(frozen=True)
class Matches(Block[Tensor]):
    """Column of the relevant list that each shown item stands in, -1 for none: `[B, D]` int64."""

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Tensor:
        rows, places, columns = blocks[Meetings(self.ranking, self.relevance)]
        shape = blocks[Ranked(self.ranking)].items.shape
        return torch.full(shape, -1, device=blocks.device).index_put_((rows, places), columns)


@dataclass(frozen=True)
class Hits(Block[Tensor]):
    """Whether each shown item is relevant: `[B, D]` bool."""

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Tensor:
        rows, places, _ = blocks[Meetings(self.ranking, self.relevance)]
        hits = torch.zeros(blocks[Ranked(self.ranking)].items.shape, dtype=torch.bool, device=blocks.device)
        hits[rows, places] = True
        return hits


@dataclass(frozen=True)
class NewHits(Block[Tensor]):
    """Hits, of a repeated item only the first: `[B, D]` bool. Differs from Hits where duplicates are kept."""

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Tensor:
        hits = blocks[Hits(self.ranking, self.relevance)]
        shown = blocks[Ranked(self.ranking)]
        return hits & ~ranking.repeats(shown.items.contiguous(), shown.pad) if shown.repeated else hits


@dataclass(frozen=True)
class HitCounts(Block[Tensor]):
    """Distinct hits in the first 1, 2, ... places: `[B, D]` int32. Column k - 1 answers for cutoff k."""

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Tensor:
        return blocks[NewHits(self.ranking, self.relevance)].cumsum(1, dtype=torch.int32)


@dataclass(frozen=True)
class ShownGains(Block[Tensor]):
    """The gain of each shown item, 0 where it is not relevant: `[B, D]` float64."""

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Tensor:
        rows, places, columns = blocks[Meetings(self.ranking, self.relevance)]
        gains = torch.zeros(blocks[Ranked(self.ranking)].items.shape, dtype=torch.float64, device=blocks.device)
        gains[rows, places] = blocks[Relevant(self.relevance)].gains[rows, columns].double()
        return gains


@dataclass(frozen=True)
class RelevantStandings(Block[Standings]):
    """Where the relevant items stand among all candidates, however deep: `[B, R]`.

    `decided`: ties are decided by the ranking's order; else they are counted apart.
    """

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()
    decided: bool = False

    def make(self, blocks: Blocks) -> Standings:
        relevant = blocks[Relevant(self.relevance)]
        return blocks.batch.shown.standings(self.ranking, relevant, decided=self.decided)


@dataclass(frozen=True)
class Counted(Block[Tensor]):
    """Who counts: `[B]` bool.

    `users` is "relevant" (at least one relevant item), "shown" (at least one item shown), "both", "any" (every user
    that either side names), "truth" (at least one row of relevance, whatever its gain), "history", "baseline" (users
    these name), "given" (users the caller lists), "known" (all there are: the given, else those of the history),
    "listed" or "judged" (users whom the recommendations, or the relevance, name, though it be with an empty list).
    """

    users: Users = "relevant"
    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Tensor:
        if self.users in ("history", "baseline", "given", "known"):
            return blocks.batch.user_column(f"in_{self.users}")
        if self.users in ("listed", "judged"):
            side = blocks.batch.shown if self.users == "listed" else blocks.batch.relevant
            has_rows = side.lengths > 0
            empty = f"in_{self.users}"
            return has_rows | blocks.batch.user_column(empty) if blocks.batch.has_user_column(empty) else has_rows
        everyone = torch.ones(len(blocks), dtype=torch.bool, device=blocks.device)
        if self.users in ("relevant", "both"):
            everyone &= blocks[RelevantCount(self.relevance)] > 0
        if self.users in ("shown", "both"):
            everyone &= blocks[ShownCount(self.ranking)] > 0
        if self.users == "truth":
            everyone &= blocks.batch.relevant.lengths > 0
        if self.users == "any":
            shown, relevant = blocks.batch.shown.lengths, blocks.batch.relevant.lengths
            everyone &= (shown > 0) | (relevant > 0)
        return everyone


def by_item(table: Tensor, items: Tensor) -> Tensor:
    """Values of `[V + 1]` or `[V + 1, F]` by item code, laid out as the codes are."""
    return table.index_select(0, items.reshape(-1)).view(*items.shape, *table.shape[1:])


def at_cutoff(cumulative: Tensor, k: int) -> Tensor:
    """Column k of `[B, D]` counted from 1, or the last where lists are shorter; zeros where they are empty.

    >>> at_cutoff(torch.tensor([[1, 2, 2]]), 2), at_cutoff(torch.tensor([[1, 2, 2]]), 9)
    (tensor([2]), tensor([2]))
    """
    width = cumulative.shape[1]
    if not width:
        return torch.zeros(cumulative.shape[0], dtype=cumulative.dtype, device=cumulative.device)
    return cumulative[:, min(k, width) - 1]
