"""Rows of integers sorted: where an item stands, what stands twice, what two lists share.

On the CPU numpy's vector sort takes a tenth of torch's time. It sorts numbers alone, so a number and its column are
packed into one where both are wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bridgeval.batch.tensors import rows_near

# Row, column and column of cells that belong together.
Matches = tuple[Tensor, Tensor, Tensor]


def sorted_rows(cells: Tensor) -> Tensor:
    """Each row ascending."""
    return _sorted_in_place(cells.clone())


def sorted_with_columns(items: Tensor, largest: int) -> tuple[Tensor, Tensor]:
    """`[B, K]` each: rows ascending, and the column each cell came from as int64; equal cells keep their order.

    Args:
        largest: no item is above it.

    >>> sorted_with_columns(torch.tensor([[7, 3, 7]], dtype=torch.int32), 9)
    (tensor([[3, 7, 7]], dtype=torch.int32), tensor([[1, 0, 2]]))
    """
    bits = items.shape[1].bit_length()
    cells = torch.empty(items.shape, dtype=_wide_enough((largest + 1) << bits), device=items.device)
    _pack(items, 0, bits, cells)
    in_order = _sorted_in_place(cells)
    return (in_order >> bits).to(items.dtype), (in_order & ((1 << bits) - 1)).long()


def order_of_small(numbers: Tensor, largest: int) -> Tensor:
    """`[n]` int64: the index that sorts numbers, of which none is above `largest`; equal ones keep their order.

    On the CPU numpy sorts numbers of 16 bits by counting them, in a tenth of the time.

    >>> order_of_small(torch.tensor([3, 1, 3, 2]), 3)
    tensor([1, 3, 0, 2])
    """
    if numbers.device.type != "cpu" or largest > np.iinfo(np.int16).max:
        return torch.argsort(numbers, stable=True)
    return torch.from_numpy(np.argsort(numbers.numpy().astype(np.int16), kind="stable"))


def count_repeats(in_order: Tensor, lengths: Tensor) -> int:
    """How many of the first cells of each row hold an item that stands further left in it too.

    Args:
        in_order: `[B, K]` each row ascending; behind the first `lengths` cells of a row all hold the same, which is
            nowhere else.
    """
    width = in_order.shape[1]
    if width < 2:
        return 0
    flat = numbers(in_order).reshape(-1)
    at = nonzero(flat[1:] == flat[:-1])
    equal = int(((at + 1) % width != 0).sum())
    return equal - int((width - lengths - 1).clamp_(min=0).sum()) if equal else 0


def shared_cells(left: Tensor, right: Tensor, largest: int) -> Matches:
    """`[n]` int64 each: row, column in `left` and column in `right` of every item that both have in a row.

    By row, then by column in `left`. `left` must not repeat an item; of one that `right` repeats the first counts.

    Args:
        left: `[B, K]`.
        right: `[B, R]`.
        largest: no item is above it, and those that equal it are not looked at.

    >>> left, right = torch.tensor([[5, 2, 8], [1, 9, 9]]), torch.tensor([[2, 5], [1, 9]])
    >>> shared_cells(left, right, largest=9)
    (tensor([0, 0, 1]), tensor([0, 1, 0]), tensor([1, 0, 0]))
    """
    return repeats_and_shared(left, [right], largest)[1][0]


def repeats_and_shared(left: Tensor, others: Sequence[Tensor], largest: int) -> tuple[int, list[Matches]]:
    """In how many cells of `left` an item stands that is further left too, and `shared_cells` with each of the others.

    One sort tells all. What is shared is found where `left` repeats nothing.

    >>> repeats_and_shared(torch.tensor([[5, 2, 5, 9, 9]]), [torch.tensor([[7]])], largest=9)[0]
    1
    >>> repeats_and_shared(torch.tensor([[5, 2]]), [torch.tensor([[2, 3]]), torch.tensor([[1, 2]])], largest=9)[1]
    [(tensor([0]), tensor([1]), tensor([0])), (tensor([0]), tensor([1]), tensor([1]))]
    """
    ends = list(accumulate(lists.shape[1] for lists in (left, *others)))
    begins, size = [0, *ends], ends[-1]
    bits = size.bit_length()
    mask = (1 << bits) - 1
    dtype = _wide_enough((largest + 1) << bits)
    repeats, found = 0, [[torch.zeros(0, dtype=torch.int64, device=left.device)] for _ in others]
    # Every list takes its own steps in each piece, so that several want larger ones.
    for near in rows_near(left, size * dtype.itemsize // max(len(others), 1)):
        cells = torch.empty((len(left[near]), size), dtype=dtype, device=left.device)
        for lists, begin, end in zip((left, *others), begins, ends, strict=False):
            _pack(lists[near], begin, bits, cells[:, begin:end])
        flat = numbers(_sorted_in_place(cells)).reshape(-1)
        at = nonzero((flat[1:] ^ flat[:-1]) <= mask)
        here = (flat[at] >> bits < largest) & ((at + 1) % max(size, 1) != 0)
        at = at if bool(here.all()) else at[here]
        above, column = flat[at] & mask, flat[at + 1] & mask
        # Of cells with one item, that of `left` comes first, then those of each other.
        head = above if len(others) == 1 else _of_first_in_run(above, at)
        repeats += int((column < ends[0]).sum())
        for keys, begin, end in zip(found, ends, ends[1:], strict=False):
            same = nonzero((head < ends[0]) & (above < begin) & (begin <= column) & (column < end))
            row = at[same] // size + near.start
            key = ((row << bits | head[same]) << bits) | (column[same] - begin)
            # Rows are in order already, of which a stable sort makes use.
            keys.append(_sorted_in_place(torch.as_tensor(key), "stable"))
    shared = map(torch.cat, found)
    return repeats, [(keys >> 2 * bits, (keys >> bits) & mask, keys & mask) for keys in shared]


def _of_first_in_run(values: Any, at: Any) -> Any:
    """`[n]`: values that belong to ascending numbers; where these follow upon one another, the value of the first.

    >>> _of_first_in_run(np.array([7, 8, 9, 6]), np.array([3, 4, 5, 9])).tolist()
    [7, 7, 7, 6]
    """
    follows = nonzero(at[1:] == at[:-1] + 1) + 1
    if not len(follows):
        return values
    # There are few: the value of the one before goes on as often as the longest run takes.
    values = values.copy() if isinstance(values, np.ndarray) else values.clone()
    while True:
        before = values[follows - 1]
        if bool((values[follows] == before).all()):
            return values
        values[follows] = before


def numbers(cells: Tensor) -> Any:
    """The cells in numpy where they are on the CPU: it compares in half of torch's time."""
    return cells.numpy() if cells.device.type == "cpu" else cells


def _pack(items: Tensor, first: int, bits: int, into: Tensor) -> None:
    """Item and column, counted from `first`, in one integer."""
    columns = torch.arange(first, first + items.shape[1], dtype=into.dtype, device=into.device)
    torch.add(columns, items.to(into.dtype), alpha=1 << bits, out=into)


def _wide_enough(beyond: int) -> torch.dtype:
    """Integers of 32 bits, half the work, where all are below `beyond`."""
    return torch.int32 if beyond <= 1 << 31 else torch.int64


def nonzero(flags: Any) -> Any:
    """Where flags `[n]` are true, of the kind that they are."""
    return np.flatnonzero(flags) if isinstance(flags, np.ndarray) else torch.nonzero(flags).flatten()


def _sorted_in_place(cells: Tensor, kind: Literal["stable"] | None = None) -> Tensor:
    """Each row ascending, in the memory of the cells where that can be."""
    if cells.device.type != "cpu":
        return torch.sort(cells, dim=-1).values
    cells.numpy().sort(axis=-1, kind=kind)
    return cells
