"""Cumulative: sums over the first k places, for every cutoff that a metric asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise

import torch
from torch import Tensor

from bridgeval.batch.kernels import sum_at_cutoffs, sum_first
from bridgeval.errors import NeedError


@dataclass(frozen=True)
class Cumulative:
    """Sums over the first k places, by user or over all users.

    Blocks make it for all cutoffs at once, so that each place is read once, however many cutoffs are asked for.

    Attributes:
        cutoffs: ascending; those that metrics declare in `needs()`.
        sums: `[cutoffs, ...]`.

    >>> Cumulative((1, 3), torch.tensor([[1.0, 0.0], [2.0, 1.0]])).up_to(3)
    tensor([2., 1.])
    """

    cutoffs: tuple[int, ...]
    sums: Tensor

    def up_to(self, k: int) -> Tensor:
        """The sums over the first k places."""
        if k not in self.cutoffs:
            raise NeedError(
                f"nothing was summed up to place {k}",
                f"the cutoffs {', '.join(map(str, self.cutoffs))}",
                f"declare the cutoff in needs(): Needs(cutoffs=frozenset({{{k}}}))",
            )
        return self.sums[self.cutoffs.index(k)]

    @staticmethod
    def of_cells(cutoffs: tuple[int, ...], cells: Tensor, dim: int) -> Cumulative:
        """Adds up the cells of places, which are a dimension of `[B, K]` or `[K, B]`.

        >>> Cumulative.of_cells((2, 9), torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), dim=1).sums
        tensor([[ 3.,  9.],
                [ 6., 15.]])
        """
        return Cumulative(cutoffs, sum_first(cells, cutoffs, dim))

    @staticmethod
    def of_places(cutoffs: tuple[int, ...], sum_over: Callable[[slice], Tensor]) -> Cumulative:
        """Adds up places from one cutoff to the next.

        Args:
            sum_over: the sum over some places, a slice that counts from 0; places may be beyond the last one.

        >>> cells = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> Cumulative.of_places((2, 3, 9), lambda places: cells[:, places].sum(1)).sums
        tensor([[ 3.,  9.],
                [ 6., 15.],
                [ 6., 15.]])
        """
        steps = [sum_over(slice(start, stop)) for start, stop in pairwise([0, *cutoffs])]
        # Step by step: a GPU has no deterministic cumsum of floats.
        return Cumulative(cutoffs, torch.stack(list(accumulate(steps))) if len(steps) > 1 else steps[0][None])

    @staticmethod
    def of_entries(
        cutoffs: tuple[int, ...], codes: Tensor, places: Tensor, size: int, values: Tensor | None = None
    ) -> Cumulative:
        """Adds up entries, each of which has a place: by user, by item or by any other code.

        Args:
            codes: `[n]` int64: what to add up by, below `size`.
            places: `[n]` int64, counted from 0.
            size: how many codes there are.
            values: `[n]`; without them entries are counted.

        >>> Cumulative.of_entries((1, 5), torch.tensor([0, 0, 1]), torch.tensor([0, 4, 2]), 2).up_to(5)
        tensor([2., 1.], dtype=torch.float64)
        """
        return Cumulative(cutoffs, sum_at_cutoffs(codes, places, cutoffs, size, values))
