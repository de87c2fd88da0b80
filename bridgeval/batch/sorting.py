"""Names that metrics still use; see `kernels`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from bridgeval.batch.kernels import sort_rows as sorted_rows

__all__ = ["numbers", "order_of_small", "sorted_rows"]


def order_of_small(numbers: Tensor, largest: int) -> Tensor:
    """`[n]` int64: the index that sorts numbers; equal ones keep their order."""
    return torch.argsort(numbers, stable=True)


def numbers(cells: Tensor) -> Any:
    """The cells in numpy if they are on the CPU."""
    return cells.numpy() if cells.device.type == "cpu" else cells
