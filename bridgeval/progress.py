"""Progress of long work, shown on a terminal and nowhere else."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

# Nothing is shown of work that takes less than this.
QUIET_SECONDS = 2.0


class Watchers(NamedTuple):
    """Functions to call while work goes on, or None.

    Attributes:
        users: takes the number of users done since the last call.
        rows: takes the stage, the number of rows done, the total, and the unit if it is not rows.
    """

    users: Callable[[int], None] | None = None
    rows: Callable[..., None] | None = None


@contextmanager
def show_progress(progress: bool | Callable[[int], None] | None) -> Iterator[Watchers]:
    """The watchers of an evaluation.

    Args:
        progress: a function is called with users; True shows a line; None shows it on a terminal, after two seconds.
    """
    if callable(progress):
        yield Watchers(progress)
    elif progress or (progress is None and sys.stderr.isatty()):
        line = _Line(0.0 if progress else QUIET_SECONDS)
        try:
            yield Watchers(line.users, line.rows)
        finally:
            line.close()
    else:
        yield Watchers()


@contextmanager
def announce(what: str) -> Iterator[None]:
    """Prints what is going on if it takes more than two seconds, on a terminal; clears the line at the end."""
    if not sys.stderr.isatty():
        yield
        return
    shown = threading.Event()

    def show() -> None:
        shown.set()
        print(f"\r{what} ...", end="", file=sys.stderr, flush=True)

    timer = threading.Timer(QUIET_SECONDS, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if shown.is_set():
            _clear()


def _clear() -> None:
    print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class Stage(NamedTuple):
    """A part of the work: what is done to rows, how many were done before it began, and when that was."""

    what: str
    before: int
    since: float

    def time_left(self, done: int, total: int, now: float) -> str:
        """The time for the remaining rows at the speed so far; empty while the speed is not known.

        >>> Stage("evaluated", before=100, since=0.0).time_left(300, 1000, now=20.0)
        ', 1:10 left'
        """
        if done <= self.before:
            return ""
        seconds = round((now - self.since) * (total - done) / (done - self.before))
        return f", {seconds // 60}:{seconds % 60:02} left"


class _Line:
    """A line that counts users, or rows if their number is known."""

    def __init__(self, quiet: float) -> None:
        self._shown_from = time.monotonic() + quiet
        self._users = 0
        self._stage = Stage("", 0, 0.0)
        self._last = 0.0

    def users(self, users: int) -> None:
        self._users += users
        if not self._stage.what:
            self._show(f"evaluated {self._users:,} users")

    def rows(self, what: str, done: int, total: int, unit: str = "rows") -> None:
        now = time.monotonic()
        if what != self._stage.what:
            self._stage = Stage(what, done, now)
        self._show(f"{what} {done:,} of {total:,} {unit}{self._stage.time_left(done, total, now)}")

    def _show(self, text: str) -> None:
        now = time.monotonic()
        # A terminal over a network is slow: ten lines a second are enough.
        if now >= self._shown_from and now - self._last > 0.1:
            self._last = now
            print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._last:
            _clear()
