"""Answers that are as right as the CPU's, and differ from them wherever CUDA promises nothing.

Which of equal cells `topk` takes, how an unstable sort leaves them, and the order in which floats are added.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten


def _topk(cells: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    values, index = torch.topk(cells.flip(dim), k, dim, largest, True)
    index = cells.shape[dim] - 1 - index
    return (values, index) if sorted else (values.flip(dim), index.flip(dim))


def _sort(cells: Tensor, dim: int = -1, descending: bool = False) -> Any:
    values, index = torch.sort(cells.flip(dim), dim=dim, descending=descending, stable=True)
    return values, cells.shape[dim] - 1 - index


def _sort_stable(cells: Tensor, *, stable: bool | None = None, dim: int = -1, descending: bool = False) -> Any:
    if stable:
        return aten.sort.stable(cells, stable=True, dim=dim, descending=descending)
    return _sort(cells, dim, descending)


def _sum(cells: Tensor, dim: Any, *rest: Any, **options: Any) -> Tensor:
    backwards = cells.flip(dim) if dim and cells.is_floating_point() else cells
    return aten.sum.dim_IntList(backwards, dim, *rest, **options)


def _index_add_(cells: Tensor, dim: int, index: Tensor, source: Tensor, **options: Any) -> Tensor:
    return aten.index_add_.default(cells, dim, index.flip(0), source.flip(dim), **options)


def _scatter_add_(cells: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    source = source[tuple(map(slice, index.shape))]
    return aten.scatter_add_.default(cells, dim, index.flip(dim), source.flip(dim))


CONTRARY: dict[Any, Callable[..., Any]] = {
    aten.topk.default: _topk,
    aten.sort.default: _sort,
    aten.sort.stable: _sort_stable,
    aten.sum.dim_IntList: _sum,
    aten.index_add_.default: _index_add_,
    aten.scatter_add_.default: _scatter_add_,
}
