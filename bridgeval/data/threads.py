"""A few long actions side by side. Numpy, Arrow, scipy and torch let go of the interpreter while they work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

# Fewer rows are done before a thread has started.
ROWS_FOR_THREADS = 1 << 18


def side_by_side(actions: Sequence[Callable[[], Any]], n_rows: int) -> list[Any]:
    """What the actions return; on a thread each, the first on the caller's, where there are rows enough.

    >>> side_by_side([lambda: 1, lambda: 2], n_rows=10)
    [1, 2]
    """
    if len(actions) < 2 or n_rows < ROWS_FOR_THREADS:
        return [action() for action in actions]
    with ThreadPoolExecutor(len(actions) - 1) as pool:
        others = [pool.submit(action) for action in actions[1:]]
        return [actions[0](), *(other.result() for other in others)]
