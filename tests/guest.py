"""A host process that evaluates while another thread watches its settings; prints what changed, one line each.

    python -m tests.guest evaluate

Run by tests/test_guest.py in a process of its own, because pytest itself sets warning filters and threads.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import torch

import bridgeval

USERS, LISTED, RELEVANT, ITEMS = 20_000, 20, 5, 5_000
METRICS = ["nDCG@5,10,20", "Recall@10", "MAP@10", "ItemCoverage@10"]
BLOCKS, BLOCK_BYTES = 16, 8 * 2**20


def make_data() -> tuple[pd.DataFrame, pd.DataFrame]:
    """400,000 shuffled rows and 100,000 relevant ones: enough for every parallel path."""
    rng = np.random.default_rng(0)
    items = rng.permuted(np.tile(np.arange(LISTED) * (ITEMS // LISTED), (USERS, 1)), axis=1)
    items = (items + rng.integers(0, ITEMS // LISTED, (USERS, 1))).ravel()
    users = np.repeat(np.arange(USERS), LISTED)
    recs = pd.DataFrame({"user_id": users, "item_id": items, "score": rng.random(len(users))})
    truth = recs.groupby("user_id").head(RELEVANT)[["user_id", "item_id"]]
    return recs.sample(frac=1, random_state=0, ignore_index=True), truth


def settings() -> dict[str, object]:
    """The settings of this process, seen from the thread that asks and from a new one."""
    of_new_thread: list[int] = []
    thread = threading.Thread(target=lambda: of_new_thread.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    return {
        "torch threads": torch.get_num_threads(),
        "torch threads of a new thread": of_new_thread[0],
        "torch gradients": torch.is_grad_enabled(),
        "torch deterministic": torch.are_deterministic_algorithms_enabled(),
        "torch default dtype": torch.get_default_dtype(),
        "frozen garbage": gc.get_freeze_count(),
        "garbage collector": (gc.isenabled(), gc.get_threshold()),
        "signals": {s.name: signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)},
        "warning filters": list(warnings.filters),
        "environment": dict(os.environ),
        "numpy errors": np.geterr(),
        "exception hooks": (sys.excepthook, sys.unraisablehook, threading.excepthook),
    }


def share_given_back() -> float:
    """Frees 16 blocks of 8 MB; returns the share that the system has back."""
    blocks = [np.ones(BLOCK_BYTES // 8) for _ in range(BLOCKS)]
    before = resident_bytes()
    del blocks
    return (before - resident_bytes()) / (BLOCKS * BLOCK_BYTES)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def watch(act: Callable[[], object]) -> list[str]:
    """Runs `act` while another thread compares the settings with those of before; returns the changes."""
    act()  # Imports are not counted.
    before, threads, given_back = settings(), set(threading.enumerate()), share_given_back()
    changes: dict[str, str] = {}
    done = threading.Event()

    def look(when: str) -> None:
        for name, value in settings().items():
            if value != before[name]:
                changes.setdefault(f"{name}, {when}", f"{before[name]!r} -> {value!r}"[:200])

    def look_until_done() -> None:
        while not done.is_set():
            look("during the call")
            time.sleep(0.0005)

    watcher = threading.Thread(target=look_until_done)
    watcher.start()
    for _ in range(3):
        act()
    done.set()
    watcher.join()
    look("after the call")
    for thread in set(threading.enumerate()) - threads | {t for t in threads if t.name.startswith("bridgeval")}:
        changes[f"thread {thread.name}"] = "left behind"
    # A changed allocator keeps what is freed, before or after the calls.
    if min(given_back, share_given_back()) < 0.5:
        changes["allocator"] = "keeps freed memory"
    return [f"{name}: {change}" for name, change in changes.items()]


def main(what: str) -> None:
    torch.set_num_threads(2)
    recs, truth = make_data()
    acts: dict[str, Callable[[], object]] = {
        "evaluate": lambda: bridgeval.evaluate(recs, truth, METRICS, per_user=True),
        "compare": lambda: bridgeval.compare(
            {"a": recs, "b": recs.assign(score=-recs["score"])}, truth, "nDCG@10", resamples=200
        ),
    }
    print(*watch(acts[what]), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1])
