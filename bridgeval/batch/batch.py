"""Batch: B users of Slates as dense rectangles on a device, each with a validity mask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bridgeval.batch.kernels import count_repeats, count_true, match_rows
from bridgeval.batch.transfer import Cargo
from bridgeval.errors import NeedError, SmallerBatchesWarning, warn_caller
from bridgeval.tables.ids import Ids
from bridgeval.tables.pair_column import PairColumn
from bridgeval.tables.slates import ListOrder, Lists, Slates

# Cells of a rectangle [B, K]: many, because every batch costs as many operations; few enough for the caches.
CELLS_PER_BATCH = 5 << 18
# Of a score matrix on a GPU, with all that is made of it.
BYTES_PER_CELL = 40
FEWEST_CELLS = 1 << 16

MASKED = float("-inf")


class Shown(Protocol):
    """The items shown to B users: lists (`ListBatch`), or the scores of all items (`ScoreBatch`).

    Attributes:
        items: `[B, K]` int32 codes; cells that are not valid hold `pad`.
        valid: `[B, K]` bool.
        lengths: `[B]` int64: items that each user could be shown.
        host_lengths: the same on the host.
        width: K.
        uniform: whether every cell is valid.
        pad: V, one past the vocabulary: the code of "no item".
        vocabulary: `[V]` the ids that codes stand for; None for lists that are not ranked.
        ranked: whether the order of the cells is the ranking, whatever the scores say.
        order: what ranks them, see `Lists`.
        complete: whether the cells are all the candidates there are.
        repeated: how many cells hold an item that is further left in their row too.
        masked: `[B]` int64: cells that score -inf.
        masked_count: how many there are.
        seen_count: how many of them are masked because the user has the item in the history.
        pairs: further columns, looked up by user and item.
        cargo: what takes arrays of the host to the device.
    """

    @property
    def items(self) -> Tensor: ...
    @property
    def valid(self) -> Tensor: ...
    @property
    def lengths(self) -> Tensor: ...
    @property
    def host_lengths(self) -> npt.NDArray[np.int64]: ...
    @property
    def width(self) -> int: ...
    @property
    def uniform(self) -> bool: ...
    @property
    def pad(self) -> int: ...
    @property
    def vocabulary(self) -> Ids | None: ...
    @property
    def ranked(self) -> bool: ...
    @property
    def order(self) -> ListOrder: ...
    @property
    def complete(self) -> bool: ...
    @property
    def repeated(self) -> int: ...
    @property
    def masked(self) -> Tensor: ...
    @property
    def masked_count(self) -> Tensor | int: ...
    @property
    def seen_count(self) -> int: ...
    @property
    def pairs(self) -> Mapping[str, PairColumn]: ...
    @property
    def cargo(self) -> Cargo: ...

    def has(self, name: str) -> bool:
        """Whether there is a column of this name."""
        ...

    def column(self, name: str) -> Tensor:
        """`[B, K]`; cells that are not valid hold anything."""
        ...

    def count_held(self, items: Tensor) -> Tensor:
        """How many of these cells, `pad` aside, have an item that any of the lists has: one int64."""
        ...


class ShownRows(Protocol):
    """The shown side of Slates that is read batch by batch, such as scores."""

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """`[U]`."""
        ...

    def lay_out(self, start: int, stop: int, pad: int, cargo: Cargo) -> Shown:
        """Lays out users `start` to `stop`."""
        ...


@dataclass(frozen=True, eq=False)
class ListBatch:
    """B lists as rectangles `[B, K]`, the valid cells of a row first. See `Shown` for the attributes.

    Columns are laid out when they are first read: most metrics need few.
    """

    lists: Lists
    pad: int
    cargo: Cargo
    complete: bool = False
    vocabulary: Ids | None = None

    def __post_init__(self) -> None:
        if self.cargo.device.type != "cpu":
            self.cargo.add(*self._arrays)
            for pairs in self.pairs.values():
                add_pairs(self.cargo, pairs)

    @property
    def device(self) -> torch.device:
        return self.cargo.device

    @property
    def on_host(self) -> ListBatch:
        """The same lists on the CPU: what can be told from the data of the host needs no wait for the device."""
        # Not kept: a batch that refers to itself would stay in memory until garbage is collected.
        return self if self.device.type == "cpu" else self._copy_on_host

    @cached_property
    def _copy_on_host(self) -> ListBatch:
        return ListBatch(self.lists, self.pad, Cargo(torch.device("cpu")), self.complete)

    @property
    def ranked(self) -> bool:
        return self.lists.ranked

    @property
    def order(self) -> ListOrder:
        return self.lists.order

    @property
    def pairs(self) -> Mapping[str, PairColumn]:
        return self.lists.beside

    @cached_property
    def lengths(self) -> Tensor:
        return self._flat[0].diff()

    @property
    def host_lengths(self) -> npt.NDArray[np.int64]:
        return self.lists.lengths

    @cached_property
    def width(self) -> int:
        return int(self.lists.lengths.max(initial=0))

    @cached_property
    def uniform(self) -> bool:
        """Whether all lists have the same length."""
        return len(self.lists.items) == (len(self.lists.offsets) - 1) * self.width

    @cached_property
    def valid(self) -> Tensor:
        if self.uniform:
            return torch.ones((len(self.lists.offsets) - 1, self.width), dtype=torch.bool, device=self.device)
        return ~self._invalid

    @cached_property
    def items(self) -> Tensor:
        return self._lay_out(self._flat[1], self.pad)

    @cached_property
    def _arrays(self) -> list[npt.NDArray[Any]]:
        """The offsets, the codes and the columns of the lists."""
        return [self.lists.offsets, self.lists.items.astype(np.int32, copy=False), *self.lists.columns.values()]

    @cached_property
    def _flat(self) -> list[Tensor]:
        """The same on the device, all in one go."""
        return self.cargo.take_all(self._arrays)

    @cached_property
    def repeated(self) -> int:
        return count_repeats(self.on_host.items, self.pad)

    @cached_property
    def masked(self) -> Tensor:
        if not self.any_masked:
            return torch.zeros_like(self.lengths)
        return count_true((self.column("score") == MASKED) & self.valid)

    @property
    def masked_count(self) -> int:
        return int(self.on_host.masked.sum()) if self.any_masked else 0

    @cached_property
    def any_masked(self) -> bool:
        """Whether any cell scores -inf."""
        if "score" in self.pairs:
            return bool((self.on_host.column("score") == MASKED).any())
        return "score" in self.lists.columns and float(self.lists.columns["score"].min(initial=0)) == MASKED

    @property
    def seen_count(self) -> int:
        return int(np.count_nonzero(self.lists.columns["hidden"])) if "hidden" in self.lists.columns else 0

    def has(self, name: str) -> bool:
        return name in self.lists.columns or name in self.pairs

    def column(self, name: str) -> Tensor:
        if name not in self._columns:
            pairs = self.pairs.get(name)
            if pairs is not None:
                self._columns[name] = look_up(pairs, self.items, self.cargo)
            else:
                place = list(self.lists.columns).index(name)
                self._columns[name] = self._lay_out(self._flat[2 + place], 0)
        return self._columns[name]

    def count_held(self, items: Tensor) -> Tensor:
        return (torch.isin(items, self.items) & (items != self.pad)).sum()

    @cached_property
    def _columns(self) -> dict[str, Tensor]:
        return {}

    @cached_property
    def _where(self) -> Tensor:
        """`[B, K]` int64: the row of the lists that each cell is read from."""
        where = self._flat[0][:-1, None] + self._places
        return where.clamp_(max=max(len(self.lists.items) - 1, 0))

    @cached_property
    def _places(self) -> Tensor:
        return torch.arange(self.width, device=self.device)

    @cached_property
    def _invalid(self) -> Tensor:
        return self._places >= self.lengths[:, None]

    def _lay_out(self, values: Tensor, fill: float) -> Tensor:
        shape = (len(self.lists.offsets) - 1, self.width)
        if self.uniform:
            return values.view(shape)
        if not len(values):
            return torch.full(shape, fill, dtype=values.dtype, device=self.device)
        return values[self._where].masked_fill_(self._invalid, fill)


def add_pairs(cargo: Cargo, pairs: PairColumn) -> None:
    """Has a column sent with the next copy."""
    if cargo.device.type != "cpu":
        cargo.add(pairs.items, pairs.values, pairs.owners if pairs.by_user else None)


def look_up(pairs: PairColumn, items: Tensor, cargo: Cargo) -> Tensor:
    """`[B, K]`: the column's value beside each item of each user; beside `pad` that of a pair that it does not have."""
    if not items.is_cpu:
        return _search(pairs, items, cargo)
    columns = {} if pairs.values is None else {"value": pairs.values}
    lists = ListBatch(Lists(pairs.offsets, pairs.items, columns), pairs.size, cargo)
    # There is one list for all users, or a few users have so many pairs that most cells would be empty.
    if not pairs.by_user or lists.width * len(items) > 2 * (items.numel() + len(pairs.items)):
        codes = items.numpy()
        return torch.from_numpy(pairs.look_up(np.arange(len(codes))[:, None], codes))
    rows, places, at = match_rows(items, lists.items, pairs.size)
    if pairs.values is None:
        return torch.zeros_like(items, dtype=torch.bool).index_put_(
            (rows, places), torch.ones_like(rows, dtype=torch.bool)
        )
    found = torch.full_like(items, torch.nan, dtype=torch.float64)
    return found.index_put_((rows, places), lists.column("value")[rows, at].double())


def _search(pairs: PairColumn, items: Tensor, cargo: Cargo) -> Tensor:
    """`look_up` on a device: pairs are sorted by user and item, so that all cells are searched at once."""
    if not len(pairs.items):
        found = torch.zeros_like(items, dtype=torch.bool)
        return found if pairs.values is None else found.double().fill_(torch.nan)
    codes, keys = items, cargo.take(pairs.items)
    if pairs.by_user:
        # One more than there are items: no user has the item "no item".
        step = pairs.size + 1
        keys = torch.add(keys, cargo.take(pairs.owners), alpha=step)
        codes = torch.add(items, torch.arange(len(items), device=items.device)[:, None], alpha=step)
    at = torch.searchsorted(keys, codes).clamp_(max=len(keys) - 1)
    known = keys[at] == codes
    return known if pairs.values is None else torch.where(known, cargo.take(pairs.values)[at].double(), torch.nan)


@dataclass(frozen=True)
class Batch:
    """B users, from `start` to `stop` of their Slates.

    Attributes:
        shown: what they were shown, `[B, K]`.
        relevant: what proved relevant, `[B, R]`, with the column `gain`.
        cargo: what takes arrays of the host to the device.
        user_columns: name -> `[B]`.
        had: what users have in the history, `[B, H]`; None if it is not known.
    """

    slates: Slates
    start: int
    stop: int
    shown: Shown
    relevant: ListBatch
    cargo: Cargo
    user_columns: Mapping[str, npt.NDArray[Any]]
    had: ListBatch | None

    @property
    def device(self) -> torch.device:
        return self.cargo.device

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def history(self) -> ListBatch:
        """The items that each user has in the history, `[B, H]`."""
        if self.had is None:
            raise NeedError("the history of the users is not known", hint="give {argument}", argument="history")
        return self.had

    def has_user_column(self, name: str) -> bool:
        """Whether there is a column of this name."""
        return name in self.user_columns

    def user_column(self, name: str) -> Tensor:
        """`[B]`."""
        return self.cargo.take(self.user_columns[name])


def batches(slates: Slates, device: torch.device, batch_size: int | None = None, workers: int = 1) -> Iterator[Batch]:
    """Cuts Slates into batches of `batch_size` users, or of as many as fit the budget of cells.

    Args:
        workers: how many batches are processed in parallel; all get about as many cells, if there are enough.
    """
    start = 0
    lists = [slates.shown, slates.relevant] + ([] if slates.history is None else [slates.history])
    widest = np.maximum.reduce([one.lengths for one in lists])
    n_users, cells = len(widest), int(widest.sum())
    rounds = -(-cells // (workers * _count_cells(device))) or 1
    # One row more than its share, or the last users would get a small batch of their own.
    budget = max(FEWEST_CELLS, cells // (workers * rounds) + int(widest.max(initial=0)))
    while start < n_users:
        stop = start + batch_size if batch_size else start + _count_fitting(widest[start:], budget)
        stop = min(stop, n_users)
        try:
            batch = lay_out(slates, start, stop, device)
        except torch.OutOfMemoryError:
            if stop - start == 1:
                raise
            batch_size = warn_of_memory(stop - start, device)
            continue
        yield batch
        start = stop


def warn_of_memory(users: int, device: torch.device) -> int:
    """Warns that so many users do not fit the memory of a device; returns the half of them, which will be tried."""
    warn_caller(
        f"a batch of {users:,} users does not fit the memory of {device}: it is tried again in halves, and later "
        f"batches have at most {users // 2:,} users; batch_size={users // 2} avoids the first attempt",
        SmallerBatchesWarning,
    )
    return users // 2


def lay_out(slates: Slates, start: int, stop: int, device: torch.device) -> Batch:
    """Lays out users `start` to `stop`."""
    pad, cargo = len(slates.items.values), Cargo(device)
    relevant = ListBatch(slates.relevant.part(start, stop), pad, cargo)
    history = None if slates.history is None else ListBatch(slates.history.part(start, stop), pad, cargo)
    columns = {name: column[start:stop] for name, column in slates.user_columns.items()}
    cargo.add(*columns.values())
    # Slates of scores have `ShownRows` in place of lists; the tables know nothing of tensors. They come last: to mask
    # what users have seen is the first thing that asks for arrays on the device, and sends all of them there.
    lists: Lists | ShownRows = slates.shown
    if isinstance(lists, Lists):
        shown: Shown = ListBatch(lists.part(start, stop), pad, cargo, vocabulary=slates.items)
    else:
        shown = lists.lay_out(start, stop, pad, cargo)
    return Batch(slates, start, stop, shown, relevant, cargo, columns, history)


def _count_cells(device: torch.device) -> int:
    """Cells of a batch: what suits the caches of a CPU, or what fits the free memory of a GPU."""
    if device.type != "cuda" or not torch.cuda.is_available():
        return CELLS_PER_BATCH
    free, _ = torch.cuda.mem_get_info(device)
    # The next batch is laid out while this one is processed.
    return max(CELLS_PER_BATCH, free // (2 * BYTES_PER_CELL))


def _count_fitting(widths: npt.NDArray[np.int64], budget: int) -> int:
    """Counts the first users that make a rectangle within the budget; at least one."""
    widths = np.maximum(widths[: budget // max(int(widths[0]), 1) + 1], 1)
    cells = np.maximum.accumulate(widths) * np.arange(1, len(widths) + 1)
    return max(1, int(np.searchsorted(cells, budget, side="right")))
