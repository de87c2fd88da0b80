"""Workers: batches side by side on the CPU, one thread each, answers in order.

A team of threads inside every torch operation meets at a barrier each time, and waits there for a core that another
process has; whole batches side by side meet only at the end. Faster on an idle machine, far faster on a busy one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from threading import Lock
from typing import Generic, TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")


def worker_count(device: torch.device) -> int:
    """As many as torch would use threads; one where the work is done elsewhere than on the CPU."""
    return torch.get_num_threads() if device.type == "cpu" else 1


def in_order(action: Callable[[T], R], tasks: Iterable[T], workers: int) -> Iterator[R]:
    """`map(action, tasks)` on several threads, of which the caller's is one.

    >>> list(in_order(lambda n: n * n, range(5), workers=2))
    [0, 1, 4, 9, 16]
    """
    remaining = iter(tasks)
    first = list(islice(remaining, 2))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        if workers < 2 or len(first) < 2:
            yield from map(action, chain(first, remaining))
        else:
            yield from _Shared(action, chain(first, remaining)).answers(others=workers - 1)
    finally:
        # Threads made later start with what was set last.
        torch.set_num_threads(threads)


class _Shared(Generic[T, R]):
    """Tasks that whoever is free takes next.

    The caller works too instead of waiting: each thread has a store of freed memory, and one thread less finds more
    in its own.
    """

    def __init__(self, action: Callable[[T], R], tasks: Iterator[T]) -> None:
        self._action = action
        self._tasks = tasks
        self._taking = Lock()
        self._answers: deque[Future[R]] = deque()

    def answers(self, others: int) -> Iterator[R]:
        """In the order of the tasks."""
        pool = ThreadPoolExecutor(others, initializer=torch.set_num_threads, initargs=(1,))
        try:
            for _ in range(others):
                pool.submit(self._work_off)
            left = True
            while left:
                left = self._work()
                while self._answers and (self._answers[0].done() or not left):
                    yield self._answers.popleft().result()
        finally:
            with self._taking:
                self._tasks = iter(())
            pool.shutdown()

    def _work_off(self) -> None:
        while self._work():
            pass

    def _work(self) -> bool:
        """One task; False where none is left."""
        answer: Future[R] = Future()
        with self._taking:
            for task in self._tasks:
                self._answers.append(answer)
                break
            else:
                return False
        try:
            answer.set_result(self._action(task))
        except BaseException as error:
            answer.set_exception(error)
        return True
