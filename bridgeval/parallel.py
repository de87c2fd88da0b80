"""A few long actions side by side. Numpy, Arrow, scipy and torch let go of the interpreter while they work."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import local
from typing import Any

# Fewer rows are done before a thread has started.
ROWS_FOR_THREADS = 1 << 18


_here = local()


def team() -> ThreadPoolExecutor:
    """The threads beside the caller's, the same ones for the whole process.

    A thread has a store of freed memory: another one would have to ask the system for what this one has. So there are
    no more than can be at work, and what one of the team wants done beside it is done by a team of its own. Whoever
    waits for an action must be ready to do it, for nobody may be free.
    """
    return _team(getattr(_here, "level", 0))


@cache
def _team(level: int) -> ThreadPoolExecutor:
    """The team of the members of the team above."""
    count = max((os.cpu_count() or 1) - 1, 1)
    return ThreadPoolExecutor(count, f"bridgeval-{level}", initializer=setattr, initargs=(_here, "level", level + 1))


if hasattr(os, "register_at_fork"):
    # Threads do not survive a fork.
    os.register_at_fork(after_in_child=_team.cache_clear)


def run_all(actions: Sequence[Callable[[], Any]], n_rows: int) -> list[Any]:
    """What the actions return, where there are rows enough done by the caller and the team.

    The caller does the first, then from the last on those that nobody has begun; the team begins with the second.

    >>> run_all([lambda: 1, lambda: 2, lambda: 3], n_rows=10)
    [1, 2, 3]
    """
    if len(actions) < 2 or n_rows < ROWS_FOR_THREADS:
        return [action() for action in actions]
    others = [team().submit(action) for action in actions[1:]]
    try:
        own = {0: actions[0]()}
        for place in range(len(others), 0, -1):
            if others[place - 1].cancel():
                own[place] = actions[place]()
        return [own[place] if place in own else others[place - 1].result() for place in range(len(actions))]
    finally:
        for future in others:
            future.cancel()
