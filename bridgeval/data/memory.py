"""Memory that is freed and taken again."""

from __future__ import annotations

from functools import cache

import numpy as np

# The largest block whose size the C library learns from.
LARGEST_BLOCK = 31 << 20


@cache
def keep_freed_memory() -> None:
    """Lets the C library keep blocks that are freed for those that are asked for next; once in a process.

    glibc gives large blocks back to the system, and the first touch of every page of a new one costs as much as
    the work on it. It keeps blocks up to the size of the largest that was ever freed: this one, which is never touched.
    """
    np.empty(LARGEST_BLOCK, dtype=np.uint8)
