"""Signals that end the command: Ctrl-C, SIGTERM and SIGHUP unwind it, so that nothing is left behind."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

# Signal -> the word for what happened.
WORDS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up"}


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

    Signals that are ignored, as `nohup` does, stay ignored.
    """
    received, before = Received(), dict[int, Any]()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def stop(number: int, _: Any) -> None:
        received.append(number)
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
