"""Running: sums over the first k places, for whatever cutoffs are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from torch import Tensor

from bridgeval.engine.state import Floats

Numbers = TypeVar("Numbers", Floats, Tensor)


class Running(Generic[Numbers]):
    """Sums over the first k places: of all lists, or of each. A place is looked at once, however many cutoffs ask.

    Args:
        between: the sums over the places from the first number, counted from 0, to before the second.
        known: the sums up to some cutoffs, where they have been made together.

    >>> import numpy as np
    >>> Running(lambda start, stop: np.arange(start, stop).sum(keepdims=True)).up_to(4)  # 0 + 1 + 2 + 3
    array([6])
    """

    def __init__(
        self,
        between: Callable[[int, int], Numbers],
        known: Mapping[int, Numbers] = MappingProxyType({}),
    ) -> None:
        self._between: Callable[[int, int], Numbers] = between
        self._known: dict[int, Numbers] = dict(known)

    @staticmethod
    def in_steps(cutoffs: Sequence[int], steps: Any, between: Callable[[int, int], Numbers]) -> Running[Numbers]:
        """Of the sums from each cutoff to the next, the first from 0: rows of an array or a tensor, which is spent."""
        for before, here in pairwise(steps[: len(cutoffs)]):
            here += before
        return Running(between, known=dict(zip(cutoffs, steps, strict=False)))

    def up_to(self, k: int) -> Numbers:
        if k not in self._known:
            before = max((known for known in self._known if known < k), default=0)
            sums = self._between(before, k)
            self._known[k] = sums + self._known[before] if before else sums
        return self._known[k]
