"""Progress of a job: the number of its tasks that are done, asked of Spark while the driver waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SECONDS = 0.5


@contextmanager
def show_tasks(session: Any, tell: Callable[..., None] | None) -> Iterator[None]:
    """Reports every half second which stages run in a session and how many of their tasks are done.

    Args:
        session: the session; one of Spark Connect does not know its tasks, so nothing is reported.
        tell: called with the stages, the number of tasks done, the total and the unit; None reports nothing.
    """
    context = None if tell is None else getattr(session, "sparkContext", None)
    if tell is None or context is None:
        yield
        return
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(SECONDS):
            stages, done, total = _count_tasks(context.statusTracker())
            if total:
                tell(f"stage {', '.join(map(str, stages))}:", done, total, "tasks")

    thread = threading.Thread(target=look, daemon=True, name="bridgeval-progress")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _count_tasks(tracker: Any) -> tuple[list[int], int, int]:
    """The stages that run, the number of their tasks that are done, and the total."""
    found = {stage: tracker.getStageInfo(stage) for stage in sorted(tracker.getActiveStageIds())}
    known = {stage: info for stage, info in found.items() if info is not None}
    return list(known), sum(i.numCompletedTasks for i in known.values()), sum(i.numTasks for i in known.values())
