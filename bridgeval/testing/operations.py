"""Operations of torch, noted while a metric runs: those that round, and those that write to a tensor in place.

>>> with NotedOperations() as noted:
...     places = torch.arange(2, 5)
...     discounts = torch.log2(places)
...     _ = places.add_(1)
>>> noted.rounded, noted.written_to([places])
(['log2 gives float32'], ['add_'])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

# Operators that write to their left side: `x[mask] = 0`, `x += 1`, ...
IN_PLACE = ("__setitem__", *(f"__i{name}__" for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")))
IN_PLACE += ("__iand__", "__ior__", "__ixor__")


class NotedOperations(TorchFunctionMode):
    """Notes every operation of this thread.

    Attributes:
        rounded: operations whose results are rounded to fewer digits than those of float64.
    """

    def __init__(self) -> None:
        super().__init__()
        self.rounded: list[str] = []
        self._written: list[tuple[str, Tensor]] = []

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        options = dict(kwargs or {})
        found = func(*args, **options)
        name = getattr(func, "__name__", "")
        if isinstance(found, Tensor) and find_rounded(found):
            self.rounded.append(f"{name.strip('_')} gives {str(found.dtype).removeprefix('torch.')}")
        target = options.get("out", args[0] if args and _is_in_place(name) else None)
        if isinstance(target, Tensor):
            self._written.append((name, target))
        return found

    def written_to(self, tensors: Iterable[Tensor]) -> list[str]:
        """The operations that wrote to the memory of one of these tensors."""
        places = {_find_place(one) for one in tensors if one.numel()}
        return [name for name, target in self._written if _find_place(target) in places]


def find_rounded(values: Tensor) -> list[float]:
    """Numbers of a tensor that have fewer digits than float64 and are no short fractions, such as 0.125."""
    if not values.dtype.is_floating_point or values.dtype == torch.float64:
        return []
    short = values.double() * 1024
    return values[short.isfinite() & (short != short.round())].tolist()


def _is_in_place(name: str) -> bool:
    plain = name.endswith("_") and not name.endswith("__")
    return (
        plain
        or name == "__setitem__"
        or (name.startswith("__i") and name not in ("__invert__", "__index__", "__int__"))
    )


def _find_place(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
