"""Between numpy and torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

# What is behind `csc_array @`, which copies besides; what it checks is checked here.
from scipy.sparse._sparsetools import csc_matvec, csc_matvecs
from torch import Tensor

# Bytes that are worked on together, so that they stay in the cache meanwhile.
BYTES_NEAR = 1 << 20


class _Shared:
    """The memory of an array, offered as if it could be written to."""

    def __init__(self, array: npt.NDArray[Any]) -> None:
        address, _ = array.__array_interface__["data"]
        self.__array_interface__ = {**array.__array_interface__, "data": (address, False)}
        self._owner = array


def tensor_of(array: npt.NDArray[Any]) -> Tensor:
    """A tensor that shares the memory of an array.

    Arrow's arrays are read-only, of which torch has no notion and warns. Nothing here writes to a tensor that it did
    not make. Silencing the warning instead would not be safe in threads.
    """
    return torch.from_numpy(array if array.flags.writeable else np.asarray(_Shared(array)))


def array_of(tensor: Tensor) -> npt.NDArray[Any]:
    """An array that shares the memory of a tensor on the CPU. Every call of torch's lets other threads in."""
    return tensor.numpy() if tensor.is_cpu else tensor.cpu().numpy()


def looked_up(table: npt.NDArray[Any], positions: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`table[positions]`, in half of numpy's time."""
    found = np.empty(len(positions), dtype=table.dtype)
    look_up(table, positions, found)
    return found


def look_up(table: npt.NDArray[Any], positions: npt.NDArray[Any], found: npt.NDArray[Any]) -> None:
    """Fills `found` with `table[positions]`."""
    torch.index_select(tensor_of(table), 0, tensor_of(positions), out=torch.from_numpy(found))


def count_true(flags: Tensor) -> Tensor:
    """`[B]` int64: how many cells of each row hold. On the CPU numpy adds up bytes in a fifth of torch's time.

    >>> count_true(torch.tensor([[True, False, True]]))
    tensor([2])
    """
    if flags.device.type != "cpu":
        return flags.sum(1)
    counts = np.add.reduce(flags.numpy().view(np.uint8), axis=1, dtype=np.uint32)
    return torch.from_numpy(counts.astype(np.int64))


def row_sums(cells: Tensor, starts: Sequence[int]) -> list[Tensor]:
    """`[B]` each: sums of each row of `[B, K]`, from every start to the next one, the last to the end.

    On the CPU numpy looks at a row once, in two thirds of torch's time.

    >>> row_sums(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), [0, 2])
    [tensor([3., 9.]), tensor([3., 6.])]
    """
    if cells.is_cpu and cells.numel():
        sums = np.add.reduceat(cells.numpy(), starts, axis=1)
        return list(torch.from_numpy(np.ascontiguousarray(sums.T)))
    return [cells[:, start:stop].sum(1) for start, stop in pairwise([*starts, cells.shape[1]])]


def rows_by_code(cells: Tensor, codes: Tensor, count: int) -> npt.NDArray[np.float64]:
    """`[count, K]`: rows of `[B, K]` float64 added up by their codes, `[B]`, which must be below `count`.

    On the CPU a product with a sparse matrix takes a third of torch's time.

    >>> rows_by_code(torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).double(), torch.tensor([1, 0, 1]), 2).tolist()
    [[3.0, 4.0], [6.0, 8.0]]
    """
    if not cells.is_cpu:
        return array_of(cells.new_zeros(count, cells.shape[1]).index_add_(0, codes, cells))
    _check_codes(codes, count - 1)
    size, width = cells.shape
    sums = np.zeros((count, width))
    whose = np.arange(size + 1, dtype=np.int32), codes.numpy().astype(np.int32), np.ones(size)
    csc_matvecs(count, size, width, *whose, np.ascontiguousarray(cells.numpy()).reshape(-1), sums.reshape(-1))
    return sums


def sums_by_code(codes: Tensor, count: int, weights: Tensor | None = None) -> npt.NDArray[np.float64]:
    """`[count]` float64: how often each code occurs, or what its weights come to. Codes are from 0 to `count`, which is
    left out.

    On the CPU a product with a sparse matrix adds weights up by codes of 32 bits in half of torch's time.

    >>> sums_by_code(torch.tensor([1, 0, 1, 2]), 2), sums_by_code(torch.tensor([1, 0]), 2, torch.tensor([0.5, 2.0]))
    (array([1., 2.]), array([2. , 0.5]))
    """
    codes = codes.reshape(-1)
    if weights is None or codes.dtype != torch.int32 or not codes.is_cpu:
        sums = torch.bincount(codes, None if weights is None else weights.reshape(-1), minlength=count + 1)
        return array_of(sums)[:count].astype(np.float64, copy=False)
    _check_codes(codes, count)
    added = np.zeros(count + 1)
    given = codes.numpy(), weights.reshape(-1).numpy().astype(np.float64, copy=False)
    csc_matvec(count + 1, 1, np.array([0, len(codes)], dtype=np.int32), *given, np.ones(1), added)
    return added[:count]


def _check_codes(codes: Tensor, largest: int) -> None:
    """Raises unless codes are from 0 to `largest`: scipy's kernels would write elsewhere."""
    if not len(codes):
        return
    low, high = map(int, torch.aminmax(codes))
    if low < 0 or high > largest:
        raise IndexError(f"codes must be from 0 to {largest}, found {low} to {high}; a table may lack labels for some")


def where(flags: Any, chosen: Tensor | float, others: Tensor | float) -> Tensor:
    """`torch.where`, of flags in numpy or torch. On the CPU numpy chooses in half of torch's time.

    >>> where(np.array([True, False]), 0.0, torch.tensor([1.0, 2.0]))
    tensor([0., 2.])
    """
    if isinstance(flags, Tensor) and not flags.is_cpu:
        return torch.where(flags, chosen, others)
    arrays = (array_of(one) if isinstance(one, Tensor) else one for one in (flags, chosen, others))
    return torch.from_numpy(np.where(*arrays))


def picked(cells: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """`[n]`: `cells[rows, columns]` of a matrix. By one index it takes a quarter of the time.

    >>> picked(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, 1]), torch.tensor([1, 0]))
    tensor([2, 3])
    """
    return cells.reshape(-1).index_select(0, rows * cells.shape[1] + columns)


def gathered(cells: Tensor, index: Tensor) -> Tensor:
    """`[B, D]`: `cells.gather(1, index)`; an index of short integers is widened piece by piece.

    >>> gathered(torch.tensor([[5, 6, 7]]), torch.tensor([[2, 0]], dtype=torch.int16))
    tensor([[7, 5]])
    """
    if index.dtype == torch.int64:
        return cells.gather(1, index)
    found = torch.empty(index.shape, dtype=cells.dtype, device=cells.device)
    for near in rows_near(index, 8 * index.shape[1]):
        torch.gather(cells[near], 1, index[near].long(), out=found[near])
    return found


def rows_near(cells: Tensor, row_bytes: int) -> Iterator[slice]:
    """All rows of a matrix, on the CPU some at a time.

    Args:
        row_bytes: what is held of a row while it is worked on.
    """
    rows = max(BYTES_NEAR // max(row_bytes, 1), 1) if cells.device.type == "cpu" else max(len(cells), 1)
    return (slice(first, first + rows) for first in range(0, len(cells), rows))
