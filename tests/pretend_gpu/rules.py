"""Rules of a real device: where the host waits, what is refused, what an operation reads and writes."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

import torch
from torch import Tensor

# Operations whose result has a shape that depends on the data, or that check their input: how often the host waits.
WAITS = {
    "_local_scalar_dense": 1,
    "bincount": 2,
    "equal": 1,
    "histc": 1,
    "masked_select": 1,
    "nonzero": 1,
    "_unique2": 2,
    "unique_consecutive": 2,
    "unique_dim": 2,
}
# No kernel runs for these.
NO_KERNEL = {
    "_local_scalar_dense",
    "_unsafe_view",
    "alias",
    "detach",
    "empty",
    "empty_like",
    "empty_strided",
    "lift_fresh",
    "new_empty",
}
# These take no number of the CPU, not even a single one, beside tensors of the device.
TAKE_NO_NUMBER = {
    "cat",
    "gather",
    "index_add",
    "index_add_",
    "index_select",
    "scatter",
    "scatter_",
    "searchsorted",
    "stack",
}
# Of their first argument these touch the cells that their index names, and no others.
READS_BY_INDEX = {"gather", "index", "index_select"}
WRITES_BY_INDEX = {"index_add_", "index_put_", "scatter_", "scatter_add_", "scatter_reduce_"}
# Rough number of passes over the cells.
PASSES = {"bincount": 3, "cumsum": 2, "nonzero": 2, "sort": 6, "topk": 6}


def count_waits(name: str, args: Any, kwargs: dict[str, Any]) -> int:
    """How often the host waits inside an operation."""
    if name == "repeat_interleave":
        return int(kwargs.get("output_size") is None)
    if name in ("index", "index_put", "index_put_", "_index_put_impl_"):
        masks = sum(one is not None and one.dtype == torch.bool for one in args[1])
        # A mask that is filled with one number becomes masked_fill, which does not wait.
        is_fill = name != "index" and len(args[1]) == 1 and args[2].numel() == 1
        return 0 if is_fill else masks
    return WAITS.get(name, 0)


def refuse_mixture(name: str, tensors: Iterable[Tensor], is_ours: Any) -> None:
    for tensor in tensors:
        if not is_ours(tensor) and (tensor.dim() or name in TAKE_NO_NUMBER):
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found two devices, cuda:0 and cpu! ({name})"
            )


def refuse_nondeterministic(name: str, args: Any, kwargs: dict[str, Any]) -> None:
    """Raises for what CUDA has no deterministic kernel for, if the process asks for these."""
    if not torch.are_deterministic_algorithms_enabled():
        return
    weights = args[1] if len(args) > 1 else kwargs.get("weights")
    weighted = name == "bincount" and weights is not None
    summed = name in ("cumsum", "cumsum_") and args[0].is_floating_point()
    if weighted or summed or name in ("histc", "put_"):
        raise RuntimeError(f"{name}_cuda does not have a deterministic implementation")


def measure_traffic(name: str, given: list[Tensor], made: list[Tensor]) -> int:
    """Bytes that an operation reads and writes, roughly."""
    if name in READS_BY_INDEX:
        return sum(map(_size, given[1:])) + 2 * sum(map(_size, made))
    if name in WRITES_BY_INDEX:
        return 2 * sum(map(_size, given[1:]))
    return PASSES.get(name, 1) * sum(map(_size, given + made))


def _size(tensor: Tensor) -> int:
    """Bytes; a dimension that is expanded is read once."""
    cells = prod(n for n, step in zip(tensor.shape, tensor.stride(), strict=True) if step or n == 0)
    return cells * tensor.element_size()
