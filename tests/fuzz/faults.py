"""Faults of the surroundings: a full disk, forks, threads, files that shrink."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import threading
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd

import bridgeval
from bridgeval.errors import BridgevalError
from tests.fuzz.harness import require, target
from tests.fuzz.own_files import SHOWN, TRUTH, draw_report
from tests.fuzz.readers import draw_rows, write_csv, write_parquet

WRITERS = ["to_json", "to_csv", "to_parquet", "to_markdown", "to_latex", "to_html"]


def fork(action: Any, seconds: int = 40) -> int:
    """Runs an action in a forked child; returns 0, 1 for an exception, or minus the signal that ended it."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(seconds)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            action()
            code = 0
        except (BridgevalError, OSError):
            code = 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


@target
def disks(rng: Random, folder: Path) -> None:
    """A disk that is full after some bytes: the old file is as it was, or the new one is whole."""
    report = draw_report()
    how = rng.choice([*WRITERS, "state", "baseline", "per user", "candidates"])
    path = folder / "old.json"
    path.write_text("old", encoding="utf-8")
    sampled = bridgeval.sample_candidates(TRUTH, None, list("abcdefgh"), negatives=3)
    actions = {
        "state": lambda: bridgeval.evaluate(SHOWN, TRUTH, "nDCG@2", state=path),
        "baseline": lambda: bridgeval.save_baseline(report, path),
        "per user": lambda: report.save(f"{folder}/runs/"),
        "candidates": lambda: sampled.save(path),
    }
    write = actions.get(how, lambda: getattr(report, how)(path))
    limit = rng.choice([0, 1, 10, 100, 500, 1000, 3000, 10_000])

    def act() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        write()

    code = fork(act)
    require(code in (0, 2), f"{how} with {limit} bytes of room ended with {code}")
    left = sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())
    hidden = [name for name in left if Path(name).name.startswith(".")]
    require(not hidden, f"{how} left {hidden}")
    text = path.read_bytes()
    if code == 2:
        require(text == b"old", f"{how} failed and left {len(text)} bytes of the old file")
        require(how != "per user" or not list(folder.rglob("runs/*.json")), "half of a run is there")


@target
def forks(rng: Random, folder: Path) -> None:
    """The same evaluation before a fork, in the child, and in a thread."""
    rows = rng.choice([50, 2000, 300_000 if rng.random() < 0.02 else 3000])
    rng_ = np.random.default_rng(rng.randrange(10**6))
    shown = pd.DataFrame({"user_id": rng_.integers(0, rows // 10, rows), "item_id": rng_.integers(0, 10**6, rows)})
    shown["score"] = rng_.random(rows)
    truth = shown.iloc[:: max(1, rows // 500), :2]
    expected = dict(bridgeval.evaluate(shown, truth, ["nDCG@5", "AUC"]))

    def compare() -> None:
        found = dict(bridgeval.evaluate(shown, truth, ["nDCG@5", "AUC"]))
        if found != expected:
            os._exit(5)

    code = fork(compare)
    require(code == 0, f"a forked child ended with {code} on {rows} rows")


@target
def threads(rng: Random, folder: Path) -> None:
    """Eight threads evaluate at the same time: the same digits, and no thread is left."""
    path = folder / "recs.parquet"
    rows = draw_rows(rng, users=40)
    path.write_bytes(write_parquet(rows, "score"))
    truth = folder / "truth.csv"
    truth.write_bytes(write_csv(draw_rows(rng, users=40), "relevance"))
    memory = rng.choice([None, 1000])
    expected = dict(bridgeval.evaluate(path, truth, ["nDCG@5", "MAP@3"], memory=memory))
    found: list[Any] = []

    def act() -> None:
        try:
            found.append(dict(bridgeval.evaluate(path, truth, ["nDCG@5", "MAP@3"], memory=memory)))
        except Exception as error:
            found.append(error)

    running = [threading.Thread(target=act) for _ in range(8)]
    for one in running:
        one.start()
    for one in running:
        one.join(60)
    require(found == [expected] * 8, f"threads found {[one for one in found if one != expected][:1]}, not {expected}")
    left = [one.name for one in threading.enumerate() if one.name.startswith("bridgeval")]
    require(not left, f"threads are left: {left}")


@target
def shrinking(rng: Random, folder: Path) -> None:
    """A file that is cut while it is read: an error or a number, never a dead process."""
    rows = [(user, item, 0.5) for user in range(2000) for item in range(10)]
    path = folder / rng.choice(["recs.csv", "recs.parquet"])
    path.write_bytes((write_csv if path.suffix == ".csv" else write_parquet)(rows, "score")[: 10**6])
    size = path.stat().st_size

    def cut() -> None:
        for share in (0.9, 0.5, 0.1, 0.0):
            os.truncate(path, int(size * share))

    def act() -> None:
        timer = threading.Timer(rng.random() * 0.02, cut)
        timer.start()
        try:
            bridgeval.evaluate(path, TRUTH, "nDCG@2", memory=rng.choice([None, 1000, "1MB"]))
        finally:
            timer.join()

    code = fork(act)
    require(code in (0, 2), f"a file that shrank ended the process with {code}")


def evaluate_in_child(_: int) -> float:
    return float(bridgeval.evaluate(SHOWN, TRUTH, "nDCG@2")["nDCG@2"])


@target
def spawns(rng: Random, folder: Path) -> None:
    """An evaluation in a spawned process; one case in fifty, because each imports everything anew."""
    if rng.random() > 0.02:
        return
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.map_async(evaluate_in_child, [0]).get(timeout=50)
    require(found == [evaluate_in_child(0)], f"a spawned process found {found}")
