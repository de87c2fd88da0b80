"""Between numpy and torch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor


def tensor_of(array: npt.NDArray[Any]) -> Tensor:
    """A tensor that shares the memory of an array. Arrow's arrays are read-only; nothing here writes to them."""
    if array.flags.writeable:
        return torch.from_numpy(array)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return torch.from_numpy(array)


def looked_up(table: npt.NDArray[Any], positions: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """`table[positions]`, by all threads."""
    return torch.index_select(tensor_of(table), 0, tensor_of(positions)).numpy()
