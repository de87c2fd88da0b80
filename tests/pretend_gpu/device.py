"""PretendedGPU: while it is entered, torch has a device "cuda", whose tensors are in the memory of the CPU."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any, Self
from unittest.mock import patch
from weakref import WeakSet, WeakValueDictionary

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from tests.pretend_gpu.contrary import CONTRARY
from tests.pretend_gpu.ledger import Ledger
from tests.pretend_gpu.rules import NO_KERNEL, count_waits, measure_traffic, refuse_mixture, refuse_nondeterministic

CUDA = torch.device("cuda", 0)
# Torch refuses to make tensors of a device that it was not built for, but those of "meta", which have no memory, it
# makes anywhere. Ours are of "meta" to torch and of "cuda" to everyone who asks.
STAND_IN = torch.device("meta")
OF_DATA = (torch.tensor, torch.as_tensor, torch.asarray, Tensor.new_tensor)


class DeviceTensor(Tensor):
    """A tensor of the device; `cells` has its numbers."""

    cells: Tensor
    allocation: Allocation

    device = property(lambda self: CUDA)
    is_cpu = property(lambda self: False)
    is_cuda = property(lambda self: True)
    is_meta = property(lambda self: False)

    @staticmethod
    def __new__(cls, cells: Tensor, allocation: Allocation) -> DeviceTensor:
        # Under `inference_mode` a view of a tensor that was made before must be none of inference, as the other is.
        with torch.inference_mode(False):
            made = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
                cls, cells.shape, strides=cells.stride(), storage_offset=cells.storage_offset(), dtype=cells.dtype,
                device=STAND_IN,
            )  # fmt: skip
        made.cells, made.allocation = cells, allocation
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise RuntimeError(f"{func}: the device is used in another thread, or after it was left")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a tensor of the device is not pickled: move it to the CPU first")


class Allocation:
    """Memory of the device, which tensors share that are views of each other."""

    def __init__(self, gpu: PretendedGPU, size: int) -> None:
        if gpu.allocated + size > gpu.memory:
            raise torch.OutOfMemoryError(f"CUDA out of memory. Tried to allocate {size} bytes.")
        self.gpu, self.size = gpu, size
        gpu.allocated += size
        gpu.peak = max(gpu.peak, gpu.allocated)

    def __del__(self) -> None:
        if hasattr(self, "size"):
            self.gpu.allocated -= self.size


def is_ours(tensor: Any) -> bool:
    return isinstance(tensor, DeviceTensor)


class PretendedGPU:
    """The device.

    Attributes:
        memory: bytes that it has; beyond them it is out of memory.
        contrary: whether it answers otherwise than the CPU wherever CUDA promises nothing.
        ledger: what it was asked for since it was entered.
        allocated, peak: bytes that its tensors have, and the most that they had.

    >>> with PretendedGPU() as gpu:
    ...     int(torch.arange(4, device="cuda").sum())
    6
    >>> gpu.ledger.count("launch"), gpu.ledger.count("wait")
    (2, 1)
    """

    def __init__(self, memory: int = 80 << 30, contrary: bool = False) -> None:
        self.memory, self.contrary = memory, contrary
        self.ledger = Ledger()
        self.allocated = self.peak = 0
        self._allocations: WeakValueDictionary[int, Allocation] = WeakValueDictionary()
        self._pinned: WeakSet[Any] = WeakSet()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        for name, stand_in in self._list_stand_ins().items():
            self._stack.enter_context(patch.object(torch.cuda, name, stand_in))
        self._stack.enter_context(_Names(self))
        self._stack.enter_context(_Operations(self))
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def forget(self) -> None:
        """Starts the ledger anew."""
        self.ledger, self.peak = Ledger(), self.allocated

    def run(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """An operation of the dispatcher."""
        name = func.overloadpacket.__name__
        given = _find_tensors(args) + _find_tensors(list(kwargs.values()))
        there = any(map(is_ours, given))
        if name == "_to_copy" and kwargs.get("device") is not None:
            return self._copy(args[0], kwargs)
        if name == "copy_" and there and is_ours(args[0]) != is_ours(args[1]):
            self._note_copy("upload" if is_ours(args[0]) else "download", args[1])
            func(_plain(args[0]), _plain(args[1]))
            return args[0]
        made_there = kwargs.get("device") == STAND_IN
        if not there and not made_there:
            return func(*args, **kwargs)
        refuse_mixture(name, given, is_ours)
        refuse_nondeterministic(name, args, kwargs)
        options = {key: _replace(_plain, value) for key, value in kwargs.items()}
        if made_there:
            options["device"] = torch.device("cpu")
        answer = CONTRARY.get(func, func) if self.contrary else func
        found = answer(*_replace(_plain, args), **options)
        made = _find_tensors([found])
        if not func.is_view and name not in NO_KERNEL:
            self.ledger.note("launch", name, measure_traffic(name, [_plain(one) for one in given], made))
        for _ in range(count_waits(name, args, kwargs)):
            self.ledger.note("wait", name)
        if name.endswith("_") and not name.endswith("__"):
            return args[0]
        return _replace(self._wrap, found)

    def _copy(self, tensor: Tensor, kwargs: dict[str, Any]) -> Tensor:
        """A copy to a device, with another dtype perhaps, which is changed before."""
        cells = _plain(tensor).to(kwargs.get("dtype") or tensor.dtype, copy=True)
        to_device, non_blocking = kwargs["device"] == STAND_IN, bool(kwargs.get("non_blocking"))
        if is_ours(tensor) and to_device:
            self.ledger.note("launch", "_to_copy", measure_traffic("_to_copy", [_plain(tensor)], [cells]))
        elif to_device:
            self._note_copy("upload", cells, waits=not (non_blocking and self.is_pinned(tensor)))
        elif is_ours(tensor):
            self._note_copy("download", cells)
        return self._wrap(cells) if to_device else cells

    def _note_copy(self, kind: Any, tensor: Tensor, waits: bool = True) -> None:
        self.ledger.note(kind, "copy", tensor.numel() * tensor.element_size())
        if waits:
            self.ledger.note("wait", kind)

    def _wrap(self, made: Any) -> Any:
        if not isinstance(made, Tensor) or is_ours(made):
            return made
        memory = made.untyped_storage()
        held = self._allocations.get(memory.data_ptr()) if memory.data_ptr() else None
        if held is None:
            held = Allocation(self, memory.nbytes())
            if memory.data_ptr():
                self._allocations[memory.data_ptr()] = held
        return DeviceTensor(made, held)

    def pin(self, tensor: Tensor) -> Tensor:
        pinned = tensor.clone()
        self._pinned.add(pinned.untyped_storage())
        return pinned

    def is_pinned(self, tensor: Tensor) -> bool:
        return tensor.untyped_storage() in self._pinned

    def _list_stand_ins(self) -> dict[str, Any]:
        """Functions of `torch.cuda`."""
        return {
            "current_device": lambda: 0,
            "device_count": lambda: 1,
            "empty_cache": lambda: None,
            "get_device_name": lambda *_: "pretended",
            "get_device_properties": lambda *_: SimpleNamespace(
                name="pretended", total_memory=self.memory, major=8, minor=0
            ),
            "is_available": lambda: True,
            "is_initialized": lambda: True,
            "mem_get_info": lambda *_: (self.memory - self.allocated, self.memory),
            "memory_allocated": lambda *_: self.allocated,
            "synchronize": lambda *_: self.ledger.note("wait", "synchronize"),
        }


class _Names(TorchFunctionMode):
    """Turns the name "cuda" into that of the stand-in before torch reads it."""

    def __init__(self, gpu: PretendedGPU) -> None:
        super().__init__()
        self._gpu = gpu

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func is Tensor.cuda:
            return args[0].to(STAND_IN, non_blocking=kwargs.get("non_blocking", False))
        if func is Tensor.pin_memory:
            return self._gpu.pin(args[0])
        if func is Tensor.is_pinned:
            return not is_ours(args[0]) and self._gpu.is_pinned(args[0])
        if func is Tensor.tolist and is_ours(args[0]):
            return args[0].cpu().tolist()
        if kwargs.pop("pin_memory", False):
            return self._gpu.pin(func(*args, **kwargs))
        if func in OF_DATA and ("device" in kwargs or is_ours(args[0])):
            device = kwargs.pop("device", CUDA)
            device = STAND_IN if _is_cuda(device) else device
            here = torch.tensor if func is Tensor.new_tensor else func
            data = args[1:] if func is Tensor.new_tensor else args
            if func is Tensor.new_tensor:
                kwargs.setdefault("dtype", args[0].dtype)
            if is_ours(data[0]):
                return data[0].to(device, kwargs.get("dtype") or data[0].dtype)
            # Named, because the caller may have another default.
            return here(*data, **kwargs, device="cpu").to(device)
        if _is_cuda(kwargs.get("device")):
            kwargs["device"] = STAND_IN
        if func is Tensor.to:
            args = tuple(STAND_IN if _is_cuda(one) else one for one in args)
            if len(args) > 1 and is_ours(args[1]):
                args = (args[0], STAND_IN, args[1].dtype, *args[2:])
        return func(*args, **kwargs)


class _Operations(TorchDispatchMode):
    """Hands every operation to the device."""

    def __init__(self, gpu: PretendedGPU) -> None:
        super().__init__()
        self._gpu = gpu

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if torch.is_inference_mode_enabled():
            # Elsewhere the layer of gradients has taken operations apart that are made of others.
            with self:
                found = func.decompose(*args, **(kwargs or {}))
            if found is not NotImplemented:
                return found
        return self._gpu.run(func, args, kwargs or {})


def _find_tensors(values: Any) -> list[Tensor]:
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += _find_tensors(value)
    return found


def _replace(change: Callable[[Any], Any], value: Any) -> Any:
    """A value, or every value of a list or tuple, changed."""
    if isinstance(value, list | tuple):
        return [_replace(change, one) for one in value]
    return change(value)


def _plain(value: Any) -> Any:
    return value.cells if is_ours(value) else value


def _is_cuda(value: Any) -> bool:
    if isinstance(value, str) and value.startswith("cuda"):
        value = torch.device(value)
    if not isinstance(value, torch.device) or value.type != "cuda":
        return False
    if value.index not in (None, 0):
        raise RuntimeError("CUDA error: invalid device ordinal")
    return True
