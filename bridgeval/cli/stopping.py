"""Signals that end the command: Ctrl-C, SIGTERM and SIGHUP unwind it, so that nothing is left behind."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any

# Signal -> the word for what happened.
WORDS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up"}
# Seconds that an import or a temporary file may take to its end after a signal, and between two looks at it.
PATIENCE, PAUSE = 10.0, 0.05


class Received(list[int]):
    """The signals that came. A library may turn the exception of a signal into one of its own, or lose it."""

    @property
    def code(self) -> int:
        """The exit code, as a shell has it."""
        return 128 + self[0]

    @property
    def word(self) -> str:
        return WORDS[signal.Signals(self[0]).name]


@contextmanager
def unwind_on_signals() -> Generator[Received]:
    """Raises KeyboardInterrupt where a signal comes; a second one, and any after the block, act as before it.

    An import ends first: modules in C lose an exception that is raised while they load, or stay half loaded. So does
    what `tempfile` is making or removing, which would be left behind. Signals that are ignored, as `nohup` does, stay
    ignored.
    """
    received, before = Received(), dict[int, Any]()

    def restore() -> None:
        if received and hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        while before:
            signal.signal(*before.popitem())

    def stop(number: int, frame: FrameType | None) -> None:
        received.append(number)
        restore()
        if hasattr(signal, "setitimer"):
            again = partial(interrupt, time.monotonic() + PATIENCE)
            before[signal.SIGALRM] = signal.signal(signal.SIGALRM, again)
            again(number, frame)
        else:
            raise KeyboardInterrupt

    def interrupt(latest: float, _: int, frame: FrameType | None) -> None:
        if _must_end_first(frame) and time.monotonic() < latest:
            # An alarm takes no lock that the interrupted code may hold.
            signal.setitimer(signal.ITIMER_REAL, PAUSE)
        else:
            restore()
            raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        for number in (getattr(signal, name) for name in WORDS if hasattr(signal, name)):
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                before[number] = signal.signal(number, stop)
    try:
        yield received
    finally:
        restore()


def _must_end_first(frame: FrameType | None) -> bool:
    """Whether a module is being imported in this frame or around it, or a temporary file made or removed."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>" or frame.f_globals.get("__name__") == "tempfile":
            return True
        frame = frame.f_back
    return False
