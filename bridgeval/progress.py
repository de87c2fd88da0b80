"""Progress: a bar for long work, on a terminal and nowhere else."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

QUIET_SECONDS = 2.0


@contextmanager
def progress_for(progress: bool | Callable[[int], None] | None) -> Iterator[Callable[[int], None] | None]:
    """What to call with the number of users done; None where nobody looks.

    Args:
        progress: a function is passed through; True shows a bar; None shows it on a terminal, after two seconds.
    """
    if callable(progress):
        yield progress
    elif progress or (progress is None and sys.stderr.isatty()):
        bar = _Bar(0.0 if progress else QUIET_SECONDS)
        try:
            yield bar.advance
        finally:
            bar.close()
    else:
        yield None


@contextmanager
def waiting_for(what: str) -> Iterator[None]:
    """Says what is being waited for once it has taken two seconds, on a terminal; nothing is left of it after."""
    if not sys.stderr.isatty():
        yield
        return
    said = threading.Event()

    def say() -> None:
        said.set()
        print(f"\r{what} ...", end="", file=sys.stderr, flush=True)

    timer = threading.Timer(QUIET_SECONDS, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if said.is_set():
            _clear()


def _clear() -> None:
    print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class _Bar:
    """Counts users; appears once the work has taken long enough."""

    def __init__(self, quiet: float) -> None:
        self._shown_from = time.monotonic() + quiet
        self._done = 0
        self._last = 0.0

    def advance(self, users: int) -> None:
        self._done += users
        now = time.monotonic()
        if now >= self._shown_from and now - self._last > 0.1:
            self._last = now
            print(f"\revaluated {self._done:,} users", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._last:
            _clear()
