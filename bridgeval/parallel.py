"""Threads: actions and batches in parallel. numpy, Arrow and torch release the interpreter lock while they work.

A pool lives as long as the call that needs it, so no thread is left behind and a fork is safe at any time. The thread
count of torch is the caller's and stays untouched; only the threads of the pool run torch on one thread each, because
nested teams of threads would wait for each other: 100,000 users took 131 ms so, and take 112 ms.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from threading import local
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

# Below this number of rows the work is done before a thread has started.
ROWS_FOR_THREADS = 1 << 18
CPU_QUOTA = "/sys/fs/cgroup/cpu.max"

_thread = local()


def count_threads() -> int:
    """The number of threads that this process may use: its CPU affinity, its container's quota, torch's own limit."""
    if getattr(_thread, "is_worker", False):
        return 1  # The other threads of the pool are busy already.
    limits = [len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1]
    try:
        with open(CPU_QUOTA, encoding="ascii") as file:
            quota, period = map(int, file.read().split())
        limits.append(quota // period)
    except (OSError, ValueError):
        pass  # Not in a container, or one without a quota, for which the file says "max".
    if "torch" in sys.modules:
        limits.append(sys.modules["torch"].get_num_threads())
    return max(min(limits), 1)


def run_all(actions: Sequence[Callable[[], Any]], n_rows: int) -> list[Any]:
    """Runs actions, in parallel from `ROWS_FOR_THREADS` rows on, and returns their results in order.

    >>> run_all([lambda: 1, lambda: 2, lambda: 3], n_rows=10)
    [1, 2, 3]
    """
    threads = min(count_threads(), len(actions)) if n_rows >= ROWS_FOR_THREADS else 1
    if threads < 2:
        return [action() for action in actions]
    with _open_pool(threads) as pool:
        return list(pool.map(lambda action: action(), actions))


def map_ordered(action: Callable[[T], R], tasks: Iterable[T], workers: int) -> Generator[R, None, None]:
    """`map(action, tasks)` on several threads, with results in order. Closing the generator stops the work.

    Tasks are taken from their iterator one at a time and in the caller's thread, at most `2 * workers` ahead of the
    results, so memory stays bounded.

    >>> list(map_ordered(lambda n: n * n, range(5), workers=2))
    [0, 1, 4, 9, 16]
    """
    remaining = iter(tasks)
    first = list(islice(remaining, 2))
    tasks = chain(first, remaining)
    if workers < 2 or len(first) < 2:
        yield from map(action, tasks)
        return
    with _open_pool(workers) as pool:
        pending: deque[Future[R]] = deque()
        try:
            for task in tasks:
                pending.append(pool.submit(action, task))
                if len(pending) == 2 * workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def _open_pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, "bridgeval", initializer=_start_worker)


def _start_worker() -> None:
    _thread.is_worker = True
    # OpenMP, which torch is built on, keeps its number of threads for each thread apart: this changes the new thread of
    # the pool and no other. Where OpenMP cannot be found, nested threads only cost time.
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "omp_set_num_threads"):
        library.omp_set_num_threads(1)
