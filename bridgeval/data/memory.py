"""Memory that is freed and taken again."""

from __future__ import annotations

from collections import deque
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

# The largest block whose size the C library learns from.
LARGEST_BLOCK = 31 << 20

# Larger ones up to this size are kept here, two of them at most.
LARGEST_KEPT = 64 << 20

_kept: deque[npt.NDArray[np.uint8]] = deque(maxlen=2)


@cache
def keep_freed_memory() -> None:
    """Lets the C library keep blocks that are freed for those that are asked for next; once in a process.

    glibc gives large blocks back to the system, and the first touch of every page of a new one costs as much as
    the work on it. It keeps blocks up to the size of the largest that was ever freed: this one, which is never touched.
    """
    np.empty(LARGEST_BLOCK, dtype=np.uint8)


def empty(size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """`np.empty(size, dtype)`, in the memory of one that was let go where the C library would not have kept it.

    >>> first = empty(5_000_000, np.float64)
    >>> where = first.ctypes.data
    >>> del first
    >>> empty(4_900_000, np.float64).ctypes.data == where
    True
    """
    needed = size * np.dtype(dtype).itemsize
    if not LARGEST_BLOCK < needed <= LARGEST_KEPT:
        return np.empty(size, dtype)
    return np.asarray(_Block(_taken(needed)))[:needed].view(dtype)


class _Block:
    """What an array in kept memory holds on to; ends when neither it nor a view of it is left."""

    def __init__(self, memory: npt.NDArray[np.uint8]) -> None:
        self._memory = memory

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._memory.__array_interface__

    def __del__(self) -> None:
        _kept.append(self._memory)


def _taken(needed: int) -> npt.NDArray[np.uint8]:
    for _ in range(len(_kept)):
        try:
            memory = _kept.popleft()
        except IndexError:  # Another thread was quicker.
            break
        if memory.nbytes >= needed:
            return memory
        _kept.append(memory)
    return np.empty(needed, dtype=np.uint8)
