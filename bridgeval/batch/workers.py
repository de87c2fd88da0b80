"""Workers: batches side by side on the CPU, one thread each, answers in order.

A team of threads inside every torch operation meets at a barrier each time, and waits there for a core that another
process has; whole batches side by side meet only at the end. Faster on an idle machine, far faster on a busy one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from itertools import chain, islice
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

import torch

from bridgeval.parallel import team

T = TypeVar("T")
R = TypeVar("R")


def count_workers(device: torch.device) -> int:
    """As many as torch would use threads; one where the work is done elsewhere than on the CPU."""
    return torch.get_num_threads() if device.type == "cpu" else 1


def map_ordered(action: Callable[[T], R], tasks: Iterable[T], workers: int) -> Generator[R, None, None]:
    """`map(action, tasks)` on several threads, of which the caller's is one; it alone asks for tasks. To be closed.

    >>> list(map_ordered(lambda n: n * n, range(5), workers=2))
    [0, 1, 4, 9, 16]
    """
    remaining = iter(tasks)
    first = list(islice(remaining, 2))
    if workers < 2 or len(first) < 2:
        with _one_thread():
            yield from map(action, chain(first, remaining))
    else:
        yield from _Shared(action, chain(first, remaining), workers).answers()


class _Shared(Generic[T, R]):
    """Tasks that whoever is free takes next; at most one per worker waits, so memory stays bounded."""

    def __init__(self, action: Callable[[T], R], tasks: Iterator[T], workers: int) -> None:
        self._action = action
        self._tasks = tasks
        self._workers = workers
        self._waiting: SimpleQueue[tuple[T, Future[R]] | None] = SimpleQueue()
        self._answers: deque[Future[R]] = deque()

    def answers(self) -> Iterator[R]:
        """In the order of the tasks."""
        helpers = [team().submit(self._help) for _ in range(self._workers - 1)]
        more = True
        try:
            while more or self._answers:
                more = more and self._ask()
                if not self._work_off_one() and self._answers:
                    yield self._answers.popleft().result()
                while self._answers and self._answers[0].done():
                    yield self._answers.popleft().result()
        finally:
            self._dismiss(helpers)

    def _ask(self) -> bool:
        """Fills up what waits; whether there may be more to ask for."""
        wanted = 2 * self._workers - sum(not answer.done() for answer in self._answers)
        tasks = list(islice(self._tasks, wanted))
        for task in tasks:
            self._answers.append(Future())
            self._waiting.put((task, self._answers[-1]))
        return len(tasks) == wanted

    def _work_off_one(self) -> bool:
        """The caller's share; False where nothing waits."""
        try:
            waiting = self._waiting.get_nowait()
        except Empty:
            return False
        with _one_thread():
            return self._work_off(waiting)

    def _help(self) -> None:
        with _one_thread():
            while self._work_off(self._waiting.get()):
                pass

    def _work_off(self, waiting: tuple[T, Future[R]] | None) -> bool:
        """Answers a task; False where it is the end of them."""
        if waiting is None:
            return False
        task, answer = waiting
        try:
            answer.set_result(self._action(task))
        except BaseException as error:
            answer.set_exception(error)
        return True

    def _dismiss(self, helpers: Sequence[Future[None]]) -> None:
        with suppress(Empty):
            while True:
                self._waiting.get_nowait()
        for _ in helpers:
            self._waiting.put(None)
        for helper in helpers:
            if not helper.cancel():
                helper.result()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Torch on one thread. Threads that are made later start with what was set last."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
