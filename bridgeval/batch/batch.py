"""Batch: B users of Slates as dense rectangles on a device, each with an explicit validity mask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bridgeval.batch.rank_counts import Standings, standings_in_lists
from bridgeval.batch.ranking import RankedLists, Ranking, RelevantLists, meetings, ranked
from bridgeval.batch.shown_lists import Shown, true_places
from bridgeval.batch.sorting import Matches, count_repeats, repeats_and_shared, sorted_rows, sorted_with_columns
from bridgeval.batch.tensors import picked, tensor_of
from bridgeval.errors import NeedError

if TYPE_CHECKING:
    from bridgeval.tables.slates import Lists, Slates

# Cells of a rectangle [B, K]: many, for every batch costs as many operations, but few enough to stay near the caches.
CELLS_PER_BATCH = 5 << 19
FEWEST_CELLS = 1 << 16
# Longer rows take a second step to sort, so that there is nothing to gain.
CELLS_SORTED_TOGETHER = 128


class Rectangle:
    """B lists as `[B, K]`, the valid cells of a row first. Columns are laid out when first asked for.

    Attributes:
        items: `[B, K]` int32 codes; cells that are not valid hold V, one past the vocabulary.
        valid: `[B, K]` bool.
        lengths: `[B]` valid cells of each row.
        ranked: whether the order of the cells is the ranking.
        complete: whether each list holds all candidates of its user.
        pad: V, the code that stands in cells without an item.
    """

    def __init__(
        self, lists: Lists, start: int, stop: int, pad: int, device: torch.device, complete: bool = False
    ) -> None:
        offsets = lists.offsets[start : stop + 1]
        self._rows = slice(int(offsets[0]), int(offsets[-1]))
        self._columns = lists.columns
        self._beside = {name: column.part(start, stop) for name, column in lists.beside.items()}
        self._cells: dict[str, Tensor] = {}
        self.pad = pad
        self._source = lists.items
        self.device = device
        self.ranked = lists.ranked
        self.complete = complete
        self._rankings: dict[Ranking, RankedLists] = {}
        self._sought: Rectangle | None = None
        self._met: Met | None = None
        counts = np.diff(offsets)
        self.width = int(counts.max(initial=0))
        self.uniform = bool(len(counts) and counts.min() == self.width)
        self.lengths = torch.from_numpy(counts).to(device)
        self._starts = offsets[:-1] - offsets[0]

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def valid(self) -> Tensor:
        if self.uniform:
            return torch.ones((len(self), self.width), dtype=torch.bool, device=self.device)
        return torch.arange(self.width, device=self.device) < self.lengths[:, None]

    @cached_property
    def items(self) -> Tensor:
        return self._laid_out(self._source, self.pad).to(torch.int32)

    @cached_property
    def by_item(self) -> tuple[Tensor, Tensor]:
        """`[B, K]` each: rows in the order of their items, and the column each cell came from."""
        return sorted_with_columns(self.items, self.pad)

    @cached_property
    def repeated(self) -> int:
        """How many cells hold an item that stands further left in their row too."""
        if self._met is not None:
            return self._met.repeats
        in_order = self.by_item[0] if "by_item" in vars(self) else sorted_rows(self.items)
        return count_repeats(in_order, self.lengths)

    def look_for(self, relevant: Rectangle) -> None:
        """Says what will be looked for in the lists, that it may be found on the way."""
        self._sought = relevant

    def meet(self, items: Tensor, index: Tensor | None) -> None:
        """Finds repeats, what is sought and what columns stand beside by one sort of the items, in the order given."""
        if self._sought is None or self._met is not None:
            return
        sought = [self._sought.by_item[0]]
        cells, names = items.shape[1] + sought[0].shape[1], []
        for name, column in self._beside.items():
            rows = column.rows(items) if cells + column.width <= CELLS_SORTED_TOGETHER else None
            if rows is not None:
                sought.append(rows)
                names.append(name)
                cells += column.width
        repeats, (relevant, *beside) = repeats_and_shared(items, sought, self.pad)
        self._met = Met(index, repeats, relevant, dict(zip(names, beside, strict=True)))

    def has(self, name: str) -> bool:
        return name in self._columns or name in self._beside

    def column(self, name: str) -> Tensor:
        """`[B, K]`; cells that are not valid must not be read without the mask."""
        if name not in self._cells:
            beside = self._beside.get(name)
            cells = self._laid_out(self._columns[name], 0) if beside is None else beside.cells(self.items)
            self._cells[name] = cells
        return self._cells[name]

    def ranked_column(self, name: str, ranked: RankedLists, policy: Ranking) -> Tensor:
        """`[B, D]`: a pair column in the order of ranked lists, looked up for no other items."""
        if name not in self._beside:
            return ranked.of(self.column(name))
        known = self._met_beside(name, ranked, policy)
        if known is None:
            return self._beside[name].cells(ranked.items, once=not ranked.repeated)
        return self._beside[name].cells_where(known, ranked.items.shape)

    def marked_places(self, name: str, ranked: RankedLists, policy: Ranking) -> tuple[Tensor, Tensor]:
        """`[n]` int64 each: row and place of every ranked item beside which a column of bools says so."""
        known = self._met_beside(name, ranked, policy)
        if known is None:
            return true_places(self.ranked_column(name, ranked, policy) & ranked.valid)
        return known[:2]

    def _met_beside(self, name: str, ranked: RankedLists, policy: Ranking) -> Matches | None:
        """Where the pairs of a column are, if they were looked for in this order."""
        met = self._met
        if met is None or name not in met.beside or not self._was_met(policy):
            return None
        return within(met.beside[name], ranked.items.shape[1])

    def ranked_by(self, policy: Ranking, depth: int | None) -> RankedLists:
        """The lists best first, cut to `depth` columns (None: all)."""
        if policy not in self._rankings:
            self._rankings[policy] = ranked(self, policy)
        return self._rankings[policy].first(depth)

    @cached_property
    def any_masked(self) -> bool:
        """Whether a cell scores -inf."""
        return self.has("score") and self.width > 0 and float(self.column("score").amin()) == float("-inf")

    @property
    def masked(self) -> Tensor:
        """`[B]` int64: cells that score -inf."""
        if not self.any_masked:
            return torch.zeros_like(self.lengths)
        return ((self.column("score") == float("-inf")) & self.valid).sum(1)

    def candidates(self, policy: Ranking) -> Tensor:
        """`[B]` int64: how many items the ranking has, however deep."""
        return self.ranked_by(policy, None).counts

    def meetings(self, policy: Ranking, relevant: RelevantLists, depth: int | None) -> Matches:
        """`[n]` int64 each: row, place and column of `relevant` of every relevant item in the first `depth` places."""
        met, sought = self._met, self._sought
        if met is None or sought is None or relevant.items is not sought.by_item[0] or not self._was_met(policy):
            return meetings(self.ranked_by(policy, depth), relevant)
        return met.relevant if depth is None else within(met.relevant, depth)

    def _was_met(self, policy: Ranking) -> bool:
        """Whether what was found in one sort holds for the lists as this policy ranks them."""
        return self._met is not None and self.ranked_by(policy, None).index is self._met.index and not self.repeated

    def predictions(self, policy: Ranking, relevant: RelevantLists) -> Matches:
        """`[n]` each: the row, the score and the column of `relevant` of every relevant item that was scored."""
        rows, places, columns = self.meetings(policy, relevant, None)
        index = self.ranked_by(policy, None).index
        places = places if index is None else picked(index, rows, places).long()
        return rows, picked(self.column("score"), rows, places), columns

    def standings(self, policy: Ranking, relevant: RelevantLists, *, decided: bool = False) -> Standings:
        """For each relevant item, how many irrelevant candidates stand above it and how many tie."""
        shown = self.ranked_by(policy, None)
        scored = self.has("score") and not self.ranked and policy.order == "score" and not decided
        return standings_in_lists(shown, shown.of(self.column("score")) if scored else None, relevant)

    def counts(self) -> dict[str, int]:
        """Rows, repeated rows, masked rows: what the Census notes."""
        counts = {"shown rows": int(self.lengths.sum()), "repeated shown rows": self.repeated}
        if self.has("score"):
            seen = int((self.column("hidden").bool() & self.valid).sum()) if self.has("hidden") else 0
            counts |= {"masked rows": int(self.masked.sum()) - seen, "seen rows": seen}
        return counts

    @cached_property
    def _where(self) -> Tensor:
        last = max(self._rows.stop - self._rows.start - 1, 0)
        where = torch.from_numpy(self._starts)[:, None] + torch.arange(self.width)
        return where.clamp_(max=last).to(self.device)

    def _laid_out(self, flat: npt.NDArray[np.generic], fill: float) -> Tensor:
        values = tensor_of(flat[self._rows]).to(self.device)
        if self.uniform:
            return values.view(len(self), self.width)
        if not len(values):
            return torch.full((len(self), self.width), fill, dtype=values.dtype, device=self.device)
        cells = values[self._where]
        return cells.masked_fill_(~self.valid, fill)


@dataclass(frozen=True)
class Met:
    """What one sort of all lists has shown.

    Attributes:
        index: of the order in which they were looked at, as in `RankedLists`.
        repeats: how many cells hold an item that stands further left in their row too. Only where there are none the
            rest is right.
        relevant: where the relevant items are.
        beside: where the pairs of each column beside are.
    """

    index: Tensor | None
    repeats: int
    relevant: Matches
    beside: Mapping[str, Matches]


def within(matches: Matches, depth: int) -> Matches:
    """Those in the first `depth` places."""
    rows, places, columns = matches
    chosen = places < depth
    return (rows[chosen], places[chosen], columns[chosen]) if not bool(chosen.all()) else matches


@dataclass(frozen=True)
class Batch:
    """B users, from `start` to `stop` of their Slates.

    Attributes:
        shown: what was shown, `[B, K]`.
        relevant: the rectangle `[B, R]` of what proved relevant.
    """

    slates: Slates
    start: int
    stop: int
    shown: Shown
    relevant: Rectangle
    device: torch.device

    def __len__(self) -> int:
        return self.stop - self.start

    @cached_property
    def history(self) -> Rectangle:
        """The rectangle `[B, H]` of what each user has in the history."""
        if self.slates.history is None:
            raise NeedError("the users' history is not known", argument="history")
        return Rectangle(self.slates.history, self.start, self.stop, len(self.slates.items), self.device)

    def has_user_column(self, name: str) -> bool:
        """Whether there is a column of this name."""
        return name in self.slates.user_columns

    def user_column(self, name: str) -> Tensor:
        """`[B]`."""
        return tensor_of(self.slates.user_columns[name][self.start : self.stop]).to(self.device)


def batches(slates: Slates, device: torch.device, batch_size: int | None = None, workers: int = 1) -> Iterator[Batch]:
    """Cuts Slates into batches of `batch_size` users, or of as many as fit the budget of cells.

    Args:
        workers: how many batches are worked on side by side; all get about as many, where there is enough data.
    """
    start = 0
    lists = [slates.shown, slates.relevant] + ([] if slates.history is None else [slates.history])
    widest = np.maximum.reduce([one.lengths for one in lists])
    cells = int(widest.sum())
    rounds = -(-cells // (workers * CELLS_PER_BATCH)) or 1
    # A row more than its share in each, or the last users of all are left to a batch of their own.
    budget = max(FEWEST_CELLS, cells // (workers * rounds) + int(widest.max(initial=0)))
    pad = len(slates.items)
    while start < len(slates):
        stop = start + batch_size if batch_size else start + _fitting(widest[start:], budget)
        stop = min(stop, len(slates))
        shown = slates.shown.laid_out(start, stop, pad, device)
        relevant = Rectangle(slates.relevant, start, stop, pad, device)
        shown.look_for(relevant)
        yield Batch(slates, start, stop, shown, relevant, device)
        start = stop


def _fitting(widths: npt.NDArray[np.int64], budget: int) -> int:
    """How many of the first users make a rectangle within the budget; at least one."""
    widths = np.maximum(widths[: budget // max(int(widths[0]), 1) + 1], 1)
    cells = np.maximum.accumulate(widths) * np.arange(1, len(widths) + 1)
    return max(1, int(np.searchsorted(cells, budget, side="right")))
