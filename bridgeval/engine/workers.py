"""Workers: batches side by side on the CPU, one thread each, answers in order.

A team of threads inside every torch operation meets at a barrier each time, and waits there for a core that another
process has; whole batches side by side meet only at the end. Faster on an idle machine, far faster on a busy one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")


def worker_count(device: torch.device) -> int:
    """As many as torch would use threads; one where the work is done elsewhere than on the CPU."""
    return torch.get_num_threads() if device.type == "cpu" else 1


def in_order(action: Callable[[T], R], tasks: Iterable[T], workers: int) -> Iterator[R]:
    """`map(action, tasks)` on several threads; at most one task per worker waits, so memory stays bounded.

    >>> list(in_order(lambda n: n * n, range(5), workers=2))
    [0, 1, 4, 9, 16]
    """
    remaining = iter(tasks)
    first = list(islice(remaining, 2))
    threads = torch.get_num_threads()
    alone = workers < 2 or len(first) < 2
    pool = None if alone else ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,))
    try:
        if pool is None:
            torch.set_num_threads(1)
            yield from map(action, chain(first, remaining))
            return
        waiting: deque[Future[R]] = deque(pool.submit(action, task) for task in first)
        waiting.extend(pool.submit(action, task) for task in islice(remaining, 2 * workers - 2))
        while waiting:
            yield waiting.popleft().result()
            waiting.extend(pool.submit(action, task) for task in islice(remaining, 1))
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)
        # Threads made later start with what was set last.
        torch.set_num_threads(threads)
