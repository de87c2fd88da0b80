"""Batch: B users of Slates as dense rectangles on a device, each with an explicit validity mask."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bridgeval.data.ranking import RankedLists, Ranking, count_repeats, ranked
from bridgeval.data.slates import Lists, Slates
from bridgeval.data.tensors import tensor_of
from bridgeval.errors import NeedError

# Cells of a rectangle [B, K]: large enough to keep torch busy, small enough to stay near the caches.
CELLS_PER_BATCH = 1 << 19
FEWEST_CELLS = 1 << 16


class Rectangle:
    """B lists as `[B, K]`, the valid cells of a row first. Columns are laid out when first asked for.

    Attributes:
        items: `[B, K]` int32 codes; cells that are not valid hold V, one past the vocabulary.
        valid: `[B, K]` bool.
        lengths: `[B]` valid cells of each row.
        ranked: whether the order of the cells is the ranking.
        pad: V, the code that stands in cells without an item.
    """

    def __init__(self, lists: Lists, start: int, stop: int, pad: int, device: torch.device) -> None:
        offsets = lists.offsets[start : stop + 1]
        self._rows = slice(int(offsets[0]), int(offsets[-1]))
        self._columns = lists.columns
        self._cells: dict[str, Tensor] = {}
        self.pad = pad
        self._source = lists.items
        self.device = device
        self.ranked = lists.ranked
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
        return self._laid_out(self._source, self.pad)

    @cached_property
    def repeated(self) -> int:
        """How many cells hold an item that stands further left in their row too."""
        return count_repeats(self.items, self.pad)

    def has(self, name: str) -> bool:
        return name in self._columns

    def column(self, name: str) -> Tensor:
        """`[B, K]`; cells that are not valid hold 0 and must not be read without the mask."""
        if name not in self._cells:
            self._cells[name] = self._laid_out(self._columns[name], 0)
        return self._cells[name]

    def ranked_by(self, policy: Ranking, depth: int | None) -> RankedLists:
        """The lists best first, cut to `depth` columns (None: all)."""
        return ranked(self, policy, depth)

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
class Batch:
    """B users, from `start` to `stop` of their Slates.

    Attributes:
        shown: the rectangle `[B, K]` of what was shown.
        relevant: the rectangle `[B, R]` of what proved relevant.
    """

    slates: Slates
    start: int
    stop: int
    shown: Rectangle
    relevant: Rectangle
    device: torch.device

    def __len__(self) -> int:
        return self.stop - self.start

    @cached_property
    def history(self) -> Rectangle:
        """The rectangle `[B, H]` of what each user has in the history."""
        if self.slates.history is None:
            raise NeedError("what each user has in the history is not known", hint="give history=")
        return Rectangle(self.slates.history, self.start, self.stop, len(self.slates.items), self.device)

    def user_column(self, name: str) -> Tensor:
        """`[B]`."""
        return tensor_of(self.slates.user_columns[name][self.start : self.stop]).to(self.device)


def batches(slates: Slates, device: torch.device, batch_size: int | None = None, at_least: int = 1) -> Iterator[Batch]:
    """Cuts Slates into batches of `batch_size` users, or of as many as fit the budget of cells.

    Args:
        at_least: how many batches to aim for where there is enough data to share out.
    """
    start = 0
    widest = np.maximum(slates.shown.lengths, slates.relevant.lengths)
    budget = min(CELLS_PER_BATCH, max(FEWEST_CELLS, int(widest.sum()) // at_least + 1))
    pad = len(slates.items)
    while start < len(slates):
        stop = start + batch_size if batch_size else start + _fitting(widest[start:], budget)
        stop = min(stop, len(slates))
        yield Batch(
            slates,
            start,
            stop,
            Rectangle(slates.shown, start, stop, pad, device),
            Rectangle(slates.relevant, start, stop, pad, device),
            device,
        )
        start = stop


def _fitting(widths: npt.NDArray[np.int64], budget: int) -> int:
    """How many of the first users make a rectangle within the budget; at least one."""
    widths = np.maximum(widths[: budget // max(int(widths[0]), 1) + 1], 1)
    cells = np.maximum.accumulate(widths) * np.arange(1, len(widths) + 1)
    return max(1, int(np.searchsorted(cells, budget, side="right")))
