"""Memory that is freed and taken again."""

from __future__ import annotations

import ctypes
import sys
from collections import deque
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

# The C library keeps blocks of up to this size, the largest it can, and as much in all.
LARGEST_BLOCK = 32 << 20
MOST_AT_ONCE = 256 << 20

# Larger ones up to this size are kept here, two of them at most.
LARGEST_KEPT = 64 << 20

# Names of glibc's settings.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3

_kept: deque[npt.NDArray[np.uint8]] = deque(maxlen=2)


@cache
def keep_freed_memory() -> None:
    """Lets the C library keep blocks that are freed for those that are asked for next; once in a process.

    glibc gives large blocks back to the system, and the first touch of every page of a new one costs as much as
    the work on it. Other libraries are left as they are.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, LARGEST_BLOCK)
        mallopt(M_TRIM_THRESHOLD, MOST_AT_ONCE)


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
    """What was let go last and is large enough, or new memory."""
    for _ in range(len(_kept)):
        try:
            memory = _kept.pop()
        except IndexError:  # Another thread was quicker.
            break
        if memory.nbytes >= needed:
            return memory
        _kept.appendleft(memory)
    return np.empty(needed, dtype=np.uint8)
