"""Targets, and the loop that runs them in child processes, so that a crash or a hang ends one child alone."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bridgeval.errors import BridgevalError

Case = Callable[[random.Random, Path], object]
TARGETS: dict[str, Case] = {}
# No case works longer on a busy machine; one that does hangs.
SECONDS_OF_A_CASE = 60
CASES_OF_A_CHILD = 400
ROOT = Path(__file__).resolve().parents[2]


class Broken(Exception):
    """A law does not hold, or a number is out of its bounds."""


def target(case: Case) -> Case:
    """Adds a target under the name of its function."""
    TARGETS[case.__name__] = case
    return case


def require(holds: object, what: str) -> None:
    """Raises Broken unless it holds; `assert` would say less, and is no law under -O."""
    if not holds:
        raise Broken(what)


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """An empty folder that is gone afterwards, whatever a case has done to it."""
    folder = tempfile.mkdtemp(prefix="fuzz-")
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _time_out(*_: Any) -> None:
    raise TimeoutError(f"no end after {SECONDS_OF_A_CASE} s")


def run_case(name: str, number: int) -> str | None:
    """Makes one case; returns what is wrong, or None. The same name and number give the same case."""
    rng = random.Random(f"{name}:{number}")
    signal.signal(signal.SIGALRM, _time_out)
    signal.alarm(SECONDS_OF_A_CASE)
    try:
        with scratch() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            TARGETS[name](rng, folder)
    except BridgevalError as error:
        return check_message(error)
    except Exception as error:
        lines = traceback.format_exc().splitlines()
        places = [line.strip() for line in lines if "bridgeval/" in line][-2:]
        return f"{type(error).__name__}: {str(error)[:300]} {' < '.join(reversed(places))}"
    finally:
        signal.alarm(0)
        os.chdir(ROOT)
    return None


def check_message(error: BridgevalError) -> str | None:
    """What is wrong with an error of ours: it must be a sentence that can be printed."""
    text = str(error)
    if not error.wrong.strip():
        return f"{type(error).__name__} says nothing"
    if len(text) > 5000:
        return f"{type(error).__name__} has {len(text):,} characters"
    return None


@dataclass
class Tally:
    """What a run came to."""

    cases: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[str, str]] = field(default_factory=list)

    def add_line(self, line: str) -> None:
        """Reads a line of a child: `done TARGET:NUMBER` or `failed TARGET:NUMBER MESSAGE`."""
        word, _, rest = line.partition(" ")
        seed, _, message = rest.partition(" ")
        if word in ("done", "failed"):
            self.cases[seed.partition(":")[0]] += 1
        if word == "failed":
            self.failures.append((seed, message))
            print(f"FAILED {seed}: {message}", flush=True)


def run_child(names: list[str], start: int, stop: int) -> None:
    """Makes cases of all targets in turn, from number `start` on, and prints a line for each."""
    for number in range(start, stop):
        for name in names:
            print(f"try {name}:{number}", flush=True)
            failure = run_case(name, number)
            said = "done" if failure is None else "failed"
            print(f"{said} {name}:{number} {' '.join((failure or '').split())}".rstrip(), flush=True)


def run_for(seconds: float, workers: int, names: list[str], first: int = 0) -> Tally:
    """Runs targets in child processes until the time is over; prints failures as they come."""
    tally, start, end = Tally(), first, time.monotonic() + seconds
    running: dict[subprocess.Popen[str], Path] = {}
    logs = Path(tempfile.mkdtemp(prefix="fuzz-logs-"))
    per_child = max(1, CASES_OF_A_CHILD // len(names))
    try:
        while running or time.monotonic() < end:
            while len(running) < workers and time.monotonic() < end:
                log = logs / f"{start}.log"
                with open(log, "w", encoding="utf-8") as opened:
                    numbers = [str(start), str(start + per_child)]
                    command = [sys.executable, "-m", "tests.fuzz", "--child", *numbers, *names]
                    running[subprocess.Popen(command, stdout=opened, stderr=subprocess.DEVNULL, text=True)] = log
                start += per_child
            time.sleep(0.2)
            over = time.monotonic() > end
            for child, log in list(running.items()):
                # A case that hangs outside of Python does not see its alarm, and prints nothing.
                hung = time.time() - log.stat().st_mtime > 3 * SECONDS_OF_A_CASE
                if child.poll() is None and not over and not hung:
                    continue
                ended = child.poll() is not None
                child.kill()
                child.wait()
                read_log(log, tally, child.returncode if ended or not over else 0)
                del running[child]
    finally:
        for child in running:
            child.kill()
        shutil.rmtree(logs, ignore_errors=True)
    return tally


def read_log(log: Path, tally: Tally, code: int) -> None:
    """Adds the lines of a child; a child that ended by itself, but not well, crashed in its last case."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    for line in lines:
        tally.add_line(line)
    if code:
        last = next((line.partition(" ")[2] for line in reversed(lines) if line.startswith("try ")), "start")
        tally.add_line(f"failed {last} the process ended with {code}")


def check_bounds(report: Mapping[str, Any]) -> None:
    """Raises Broken if a number of a report is outside the bounds of its metric."""
    for name, result in report.results.items():  # type: ignore[attr-defined]
        metric = report.metrics[name]  # type: ignore[attr-defined]
        low, high = metric.number_bounds
        value = result.value
        if value is not None and value == value:
            require(low - 1e-9 <= value <= high + 1e-9, f"{name} is {value}, outside {low} to {high}")


def environment() -> dict[str, str]:
    """Of commands that are started."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
