"""Between numpy and torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor


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


def picked(cells: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """`[n]`: `cells[rows, columns]` of a matrix. By one index it takes a quarter of the time.

    >>> picked(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, 1]), torch.tensor([1, 0]))
    tensor([2, 3])
    """
    return cells.reshape(-1).index_select(0, rows * cells.shape[1] + columns)
