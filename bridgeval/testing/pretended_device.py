"""A pretended GPU: tensors of the CPU that torch treats as if they were on another device.

It finds the two faults that make metrics fail on a GPU: tensors of two devices in one operation, and reading a tensor
as a numpy array without a copy to the CPU.

>>> with pretend_device() as gpu:
...     scores = torch.ones(3, device=gpu)
...     scores.device, (scores * 2).tolist()
(device(type='cuda', index=0), [2.0, 2.0, 2.0])
>>> with pretend_device():
...     scores + torch.ones(3)
Traceback (most recent call last):
RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! (add)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

GPU = torch.device("cuda", 0)
CPU = torch.device("cpu")
# torch reads an index, a mask or a split from the CPU whatever device the tensor is on.
TAKES_FROM_CPU = {"__getitem__", "__setitem__", "index_put_", "index_put", "tensor_split"}
# What torch refuses for a tensor on a GPU.
HOST_ONLY = {"numpy", "__array__"}


class OnDevice(Tensor):
    """A tensor that pretends to be on a GPU."""


class PretendedDevice(TorchFunctionMode):
    """Runs every operation on the CPU, and refuses those that a GPU would."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        name, options = getattr(func, "__name__", ""), dict(kwargs or {})
        tensors = list(_tensors((args, options)))
        on_device = any(isinstance(one, OnDevice) for one in tensors)
        if name == "__get__" and on_device:
            owner = getattr(getattr(func, "__self__", None), "__name__", "")
            known = {"device": GPU, "is_cpu": False, "is_cuda": True}
            if owner in known:
                return known[owner]
        if name in HOST_ONLY and on_device:
            raise TypeError(
                "can't convert cuda:0 device type tensor to numpy. "
                "Use Tensor.cpu() to copy the tensor to host memory first."
            )
        if name == "__getitem__" and on_device and not isinstance(args[0], OnDevice):
            raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
        target = _target(name, args, options)
        if name not in ("to", "cpu", "cuda") and name not in TAKES_FROM_CPU:
            _check_devices(name, tensors)
        if target is not None and "device" in options:
            options["device"] = CPU
        plain_args, plain_options = _map(
            (tuple(CPU if isinstance(one, str | torch.device) and one == GPU else one for one in args), options),
            _to_plain,
        )
        found = func(*plain_args, **plain_options)
        moved = on_device if target is None else target.type != "cpu"
        if name.endswith("_") and not name.endswith("__") and args and isinstance(args[0], Tensor):
            return args[0]
        return _map(found, _to_device) if moved else found


def _check_devices(name: str, tensors: list[Tensor]) -> None:
    # torch moves single numbers by itself.
    kinds = {isinstance(one, OnDevice) for one in tensors if len(Tensor.size(one.as_subclass(Tensor)))}
    if len(kinds) > 1:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! "
            f"({name.strip('_')})"
        )


def _target(name: str, args: Any, options: Mapping[str, Any]) -> torch.device | None:
    """The device that a result is asked for on; None where it stays where it is."""
    if name == "cpu":
        return CPU
    if name == "cuda":
        return GPU
    asked = options.get("device")
    if asked is None and name == "to":
        asked = next((one for one in args[1:] if isinstance(one, str | torch.device)), None)
        like = next((one for one in args[1:] if isinstance(one, Tensor)), None)
        if like is not None:
            return GPU if isinstance(like, OnDevice) else CPU
    return None if asked is None else torch.device(asked)


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _tensors(one)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _map(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_map(one, change) for one in value))
    if type(value) in (tuple, list):
        return type(value)(_map(one, change) for one in value)
    # The results of torch.sort, torch.max, ... are tuples of a type of their own.
    if isinstance(value, tuple):
        return type(value)([_map(one, change) for one in value])
    return {key: _map(one, change) for key, one in value.items()} if type(value) is dict else value


def _to_plain(tensor: Tensor) -> Tensor:
    return tensor.as_subclass(Tensor) if isinstance(tensor, OnDevice) else tensor


def _to_device(tensor: Tensor) -> Tensor:
    return tensor.as_subclass(OnDevice)


@contextmanager
def pretend_device() -> Iterator[torch.device]:
    """Pretends a GPU while the block runs, in this thread."""
    with PretendedDevice():
        yield GPU
