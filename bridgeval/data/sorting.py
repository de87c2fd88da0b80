"""Rows of integers sorted: where an item stands, what stands twice, what two lists share.

On the CPU numpy's vector sort takes a tenth of torch's time. It sorts numbers alone, so a number and its column are
packed into one where both are wanted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor


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
    in_order = _sorted_in_place(_packed(items, 0, bits, largest))
    return (in_order >> bits).to(items.dtype), (in_order & ((1 << bits) - 1)).long()


def count_repeats(items: Tensor, lengths: Tensor) -> int:
    """How many of the first cells of each row hold an item that stands further left in it too.

    Args:
        items: `[B, K]`; behind the first `lengths` cells of a row all hold the same, which is nowhere else.
    """
    if items.shape[1] < 2:
        return 0
    in_order = numbers(sorted_rows(items))
    flags = in_order[:, 1:] == in_order[:, :-1]
    equal = int(np.count_nonzero(flags) if isinstance(flags, np.ndarray) else flags.sum())
    return equal - int((items.shape[1] - lengths - 1).clamp_(min=0).sum()) if equal else 0


def shared_cells(left: Tensor, right: Tensor, largest: int) -> tuple[Tensor, Tensor, Tensor]:
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
    width, bits = left.shape[1], (left.shape[1] + right.shape[1]).bit_length()
    both = torch.cat([_packed(left, 0, bits, largest), _packed(right, width, bits, largest)], dim=1)
    in_order = _sorted_in_place(both)
    cells = numbers(in_order)
    flags = (cells[:, 1:] ^ cells[:, :-1]) < (1 << bits)
    row, at = _nonzero(flags, left.device)
    first, second = in_order[row, at].long(), in_order[row, at + 1].long()
    mask = (1 << bits) - 1
    column, match = first & mask, (second & mask) - width
    is_shared = (column < width) & (match >= 0) & ((first >> bits) < largest)
    if not bool(is_shared.all()):
        row, column, match = row[is_shared], column[is_shared], match[is_shared]
    by_column = _sorted_in_place((row << 2 * bits) | (column << bits) | match)
    return by_column >> 2 * bits, (by_column >> bits) & mask, by_column & mask


def numbers(cells: Tensor) -> Any:
    """The cells in numpy where they are on the CPU: it compares in half of torch's time."""
    return cells.numpy() if cells.device.type == "cpu" else cells


def _packed(items: Tensor, first: int, bits: int, largest: int) -> Tensor:
    """Item and column, counted from `first`, in one integer: of 32 bits where that is enough."""
    kind = torch.int32 if (largest + 1) << bits < 1 << 31 else torch.int64
    columns = torch.arange(first, first + items.shape[1], dtype=kind, device=items.device)
    return (items.to(kind) << bits).bitwise_or_(columns)


def _nonzero(flags: Any, device: torch.device) -> tuple[Tensor, Tensor]:
    if device.type != "cpu":
        row, column = torch.nonzero(flags, as_tuple=True)
        return row, column
    at = np.flatnonzero(flags)
    row = at // max(flags.shape[1], 1)
    return torch.from_numpy(row), torch.from_numpy(at - row * flags.shape[1])


def _sorted_in_place(cells: Tensor) -> Tensor:
    """Each row ascending, in the memory of the cells where that can be."""
    if cells.device.type != "cpu":
        return torch.sort(cells, dim=-1).values
    cells.numpy().sort(axis=-1)
    return cells
