"""Transfer: many arrays to a device, and many tensors back, in one copy each way.

A copy costs a GPU about 20 microseconds, however small it is, and the host waits for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor

# Tensors that numpy has no dtype for are copied as these.
WIDER = {torch.bfloat16: torch.float32}


def download(tensors: Sequence[Tensor]) -> list[npt.NDArray[Any]]:
    """The tensors as arrays; those of a device come back in one copy, and each of them once.

    >>> download([torch.tensor([1, 2]), torch.tensor(0.5)])
    [array([1, 2]), array(0.5, dtype=float32)]
    """
    here = {id(one): one.detach() for one in tensors}
    there = {key: _to_numpy_dtype(one) for key, one in here.items() if not one.is_cpu}
    if there:
        here |= _copy_together(there)
    return [here[id(one)].numpy() for one in tensors]


def _to_numpy_dtype(tensor: Tensor) -> Tensor:
    return tensor.to(WIDER.get(tensor.dtype, tensor.dtype)).contiguous()


def _copy_together(tensors: dict[int, Tensor]) -> dict[int, Tensor]:
    """The tensors on the host, by way of their bytes in one tensor."""
    # Wide numbers first, so that all begin at a multiple of their size.
    in_order = dict(sorted(tensors.items(), key=lambda one: -one[1].element_size()))
    parts = [one.reshape(-1).view(torch.uint8) for one in in_order.values()]
    pieces = torch.cat(parts).cpu().split_with_sizes([len(part) for part in parts])
    return {
        key: piece.view(one.dtype).view(one.shape) for (key, one), piece in zip(in_order.items(), pieces, strict=True)
    }
