"""Between numpy and torch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bridgeval.batch.kernels import sum_by_code, sum_rows_by_code


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


def row_sums(cells: Tensor, starts: Sequence[int]) -> list[Tensor]:
    """`[B]` each: sums of each row of `[B, K]`, from every start to the next one, the last to the end."""
    return [cells[:, start:stop].sum(1) for start, stop in pairwise([*starts, cells.shape[1]])]


def rows_by_code(cells: Tensor, codes: Tensor, count: int) -> npt.NDArray[np.float64]:
    """`sum_rows_by_code` in numpy."""
    return array_of(sum_rows_by_code(cells, codes, count))


def sums_by_code(codes: Tensor, count: int, weights: Tensor | None = None) -> npt.NDArray[np.float64]:
    """`sum_by_code` in numpy."""
    return array_of(sum_by_code(codes, count, weights))


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
