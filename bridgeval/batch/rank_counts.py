"""Standings: where the relevant items stand among all candidates. Lists and score matrices answer the same question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bridgeval.batch.ranking import RankedLists, RelevantLists, meetings
from bridgeval.batch.tensors import count_true


@dataclass(frozen=True)
class Standings:
    """For each relevant item, the irrelevant candidates that beat it.

    Attributes:
        found: `[B, R]` bool: whether the item is among the candidates.
        above: `[B, R]` int64: irrelevant candidates that stand above it.
        tied: `[B, R]` int64: irrelevant candidates with the same score; 0 for lists without scores, and where ties are
            decided by the ranking's order.
        candidates: `[B]` int64: how many candidates there are, relevant ones included.
    """

    found: Tensor
    above: Tensor
    tied: Tensor
    candidates: Tensor


def standings_in_lists(shown: RankedLists, scores: Tensor | None, relevant: RelevantLists) -> Standings:
    """Standings in whole ranked lists.

    Args:
        shown: `[B, K]`.
        scores: `[B, K]` in the order of `shown`; None where the order alone counts.
        relevant: `[B, R]`.
    """
    rows, places, columns = meetings(shown, relevant)
    misses = shown.valid.long()
    misses[rows, places] = 0
    above = misses.cumsum(1) - misses
    tied = torch.zeros_like(above)
    if scores is not None and scores.shape[1]:
        starts = torch.ones_like(shown.valid)
        starts[:, 1:] = (scores[:, 1:] != scores[:, :-1]) | ~shown.valid[:, 1:]
        group = starts.cumsum(1) - 1
        tied = torch.zeros_like(misses).scatter_add_(1, group, misses).gather(1, group)
        above = torch.zeros_like(above).scatter_reduce_(1, group, above, "amin", include_self=False).gather(1, group)
    width = relevant.items.shape[1]
    found = torch.zeros((len(misses), width), dtype=torch.bool, device=misses.device)
    found[rows, columns] = True
    flat = rows * width + columns
    return Standings(
        found,
        _spread(above[rows, places], flat, found.shape),
        _spread(tied[rows, places], flat, found.shape),
        count_true(shown.valid),
    )


def _spread(values: Tensor, into: Tensor, shape: torch.Size) -> Tensor:
    """Values `[n]` moved to the cells `into` of a rectangle; the best place of a repeated item counts."""
    spread = torch.zeros(shape.numel(), dtype=values.dtype, device=values.device)
    return spread.scatter_reduce_(0, into, values, "amin", include_self=False).view(shape)


def counts_beside(
    scores: Tensor, wanted: Tensor, known: Tensor, precedence: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """How many scores of a row are above, and how many equal to, each wanted one. Counts; never sorts a row.

    Args:
        scores: `[B, N]`.
        wanted: `[B, R]`.
        known: `[B, R]`: the wanted cells that count; others get 0.
        precedence: of the scores, `[N]` or `[B, N]`, and of the wanted, `[B, R]`: of equals the higher stands above.

    Returns:
        Two tensors `[B, R]` int64.

    >>> counts_beside(torch.tensor([[3.0, 1.0, 2.0, 2.0]]), torch.tensor([[2.0]]), torch.tensor([[True]]))
    (tensor([[1]]), tensor([[2]]))
    """
    above = torch.zeros(wanted.shape, dtype=torch.int64, device=scores.device)
    equal = torch.zeros_like(above)
    for column in range(wanted.shape[1]):
        rows = torch.nonzero(known[:, column]).flatten()
        if not len(rows):
            continue
        cells, bar = _of_rows(scores, rows), wanted[rows, column, None]
        above[rows, column] = above_here = rows_count(np.greater, cells, bar)
        if precedence is None:
            equal[rows, column] = rows_count(np.greater_equal, cells, bar) - above_here
        else:
            first = _of_rows(precedence[0].expand(scores.shape), rows) > precedence[1][rows, column, None]
            above[rows, column] += ((cells == bar) & first).sum(1)
    return above, equal


def _of_rows(cells: Tensor, rows: Tensor) -> Tensor:
    return cells if len(rows) == len(cells) else cells[rows]


def rows_count(compare: np.ufunc, cells: Tensor, bar: Tensor | float) -> Tensor:
    """`[B]` int64: for how many cells of each row `compare(cell, bar)` holds.

    On the CPU numpy compares in half of torch's time.

    >>> rows_count(np.greater, torch.tensor([[3.0, 1.0, 2.0]]), 1.5)
    tensor([2])
    """
    if cells.device.type != "cpu":
        same_in_torch: Callable[[Tensor, Tensor | float], Tensor] = getattr(torch, compare.__name__)
        return same_in_torch(cells, bar).sum(1)
    flags = compare(cells.numpy(), bar.numpy() if isinstance(bar, Tensor) else bar)
    return count_true(torch.from_numpy(flags))
