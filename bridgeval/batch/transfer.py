"""Transfer: many arrays to a device, and many tensors back, in one copy each way.

A copy costs a GPU about 20 microseconds, however small it is, and the host waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

# Tensors that numpy has no dtype for are copied as these.
WIDER = {torch.bfloat16: torch.float32}


class _Writable:
    """The memory of an array, declared writable."""

    def __init__(self, array: npt.NDArray[Any]) -> None:
        address, _ = array.__array_interface__["data"]
        self.__array_interface__ = {**array.__array_interface__, "data": (address, False)}
        self._owner = array


def to_tensor(array: npt.NDArray[Any], device: torch.device | None = None) -> Tensor:
    """A tensor of an array; on the CPU it shares the memory, so it must not be written to.

    Arrow's arrays are read-only. torch has no such thing and warns, and to silence a warning is not safe in threads.
    """
    tensor = torch.from_numpy(array if array.flags.writeable else np.asarray(_Writable(array)))
    return tensor if device is None else send(tensor, device)


@dataclass(frozen=True)
class Pending:
    """What will be made on the host, a state or an error, of tensors that are still on a device.

    Attributes:
        finish: makes it of the tensors as arrays.
        tensors: of one batch.
    """

    finish: Callable[..., Any]
    tensors: tuple[Tensor, ...]

    def merge(self, other: Any) -> Any:
        raise TypeError("a state that is pending is fetched before it is merged: Plan.update does that")


@dataclass(frozen=True)
class PendingMoments:
    """Values of one batch that are still on a device, of which their moments will be made.

    Attributes:
        values: `[n]` float64, NaN where undefined.
        counted: `[n]` bool: the values that count.
    """

    values: Tensor
    counted: Tensor

    def merge(self, other: Any) -> Any:
        raise TypeError("a state that is pending is fetched before it is merged: Plan.update does that")


class Cargo:
    """Arrays on their way to a device: all that were added go there in one copy, when the first is asked for.

    On the CPU tensors share the memory of their arrays.

    >>> cargo = Cargo(torch.device("cpu"))
    >>> items = np.array([1, 2])
    >>> cargo.add(items)
    >>> cargo.take(items)
    tensor([1, 2])
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        # Arrays are known by their identity, and kept, so that no other array gets it.
        self._waiting: dict[int, npt.NDArray[Any]] = {}
        self._sent: dict[int, tuple[npt.NDArray[Any], Tensor]] = {}

    def add(self, *arrays: npt.NDArray[Any] | None) -> None:
        """Has the arrays sent with the next copy; None is left out."""
        if self.device.type != "cpu":
            self._waiting |= {id(one): one for one in arrays if one is not None and id(one) not in self._sent}

    def take(self, array: npt.NDArray[Any]) -> Tensor:
        """The array on the device."""
        return self.take_all([array])[0]

    def take_all(self, arrays: Sequence[npt.NDArray[Any]]) -> list[Tensor]:
        """The arrays on the device."""
        if self.device.type == "cpu":
            return [to_tensor(one) for one in arrays]
        if any(id(one) not in self._sent for one in arrays):
            self.add(*arrays)
            self._send()
        return [self._sent[id(one)][1] for one in arrays]

    def _send(self) -> None:
        # Wide numbers first, so that all begin at a multiple of their size.
        arrays = sorted(self._waiting.values(), key=lambda one: -one.itemsize)
        sizes = [one.nbytes for one in arrays]
        # The host goes on while pinned memory is copied.
        pinned = self.device.type == "cuda" and torch.cuda.is_available()
        joined = torch.empty(sum(sizes), dtype=torch.uint8, device="cpu", pin_memory=pinned)
        for array, place in zip(arrays, joined.split_with_sizes(sizes), strict=True):
            place.numpy()[:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        pieces = joined.to(self.device, non_blocking=pinned).split_with_sizes(sizes)
        for array, piece in zip(arrays, pieces, strict=True):
            dtype = torch.from_numpy(np.empty(0, array.dtype)).dtype
            self._sent[id(array)] = array, piece.view(dtype).view(array.shape)
        self._waiting = {}


def send(tensor: Tensor, device: torch.device) -> Tensor:
    """The tensor on the device; one of the host goes there without a wait, if its memory can be pinned."""
    if tensor.device == device or not (tensor.is_cpu and device.type == "cuda" and torch.cuda.is_available()):
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


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
