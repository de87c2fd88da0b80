"""Progress: a bar for long work, on a terminal and nowhere else."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

QUIET_SECONDS = 2.0


class Watchers(NamedTuple):
    """What to call as work goes on; None where nobody looks.

    Attributes:
        users: with the number of users done since the last call.
        rows: with what is done to rows, how many are done, and how many there are; then what they are, if not rows.
    """

    users: Callable[[int], None] | None = None
    rows: Callable[..., None] | None = None


@contextmanager
def progress_for(progress: bool | Callable[[int], None] | None) -> Iterator[Watchers]:
    """Who watches the progress of an evaluation.

    Args:
        progress: a function is passed through; True shows a bar; None shows it on a terminal, after two seconds.
    """
    if callable(progress):
        yield Watchers(progress)
    elif progress or (progress is None and sys.stderr.isatty()):
        bar = _Bar(0.0 if progress else QUIET_SECONDS)
        try:
            yield Watchers(bar.users, bar.rows)
        finally:
            bar.close()
    else:
        yield Watchers()


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


class Stage(NamedTuple):
    """A part of the work: what is done to rows, how many were done before it began, and when that was."""

    what: str
    before: int
    since: float

    def left(self, done: int, total: int, now: float) -> str:
        """The time that the remaining rows will take at the speed so far; nothing while that is not known.

        >>> Stage("evaluated", before=100, since=0.0).left(300, 1000, now=20.0)
        ', 1:10 left'
        """
        if done <= self.before:
            return ""
        seconds = round((now - self.since) * (total - done) / (done - self.before))
        return f", {seconds // 60}:{seconds % 60:02} left"


class _Bar:
    """Counts users, and rows where their number is known; appears once the work has taken long enough."""

    def __init__(self, quiet: float) -> None:
        self._shown_from = time.monotonic() + quiet
        self._users = 0
        self._text = ""
        self._stage = Stage("", 0, 0.0)
        self._last = 0.0

    def users(self, users: int) -> None:
        self._users += users
        if not self._stage.what:
            self._text = f"evaluated {self._users:,} users"
        self._show()

    def rows(self, what: str, done: int, total: int, unit: str = "rows") -> None:
        now = time.monotonic()
        if what != self._stage.what:
            self._stage = Stage(what, done, now)
        self._text = f"{what} {done:,} of {total:,} {unit}{self._stage.left(done, total, now)}"
        self._show()

    def _show(self) -> None:
        now = time.monotonic()
        if now >= self._shown_from and now - self._last > 0.1:
            self._last = now
            print(f"\r{self._text}\x1b[K", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._last:
            _clear()
