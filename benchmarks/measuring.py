"""Measuring: a library, in a process and an environment of its own, on data that all libraries share."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peers.environments import python_of

HERE = Path(__file__).parent
DATA = HERE / "data"
OURS = "bridgeval"
Row = dict[str, Any]


@dataclass(frozen=True)
class World:
    """Data that `peers/generate.py` makes: users with `shown` and `relevant` items, one relevance for all."""

    users: int
    ids: str = "int"
    order: str = "sorted"
    shown: int = 50
    relevant: int = 10

    def files(self, folder: Path = DATA) -> tuple[Path, Path]:
        """The two files, made on first use."""
        target = folder / f"{self.users}x{self.shown}-{self.ids}-{self.order}"
        files = target / "recs.parquet", target / "truth.parquet"
        if not files[1].exists():
            sizes = ["--users", self.users, "--shown", self.shown, "--relevant", self.relevant]
            options = [*sizes, "--ids", self.ids, "--order", self.order, "--binary", "--out", target]
            command = [sys.executable, HERE / "peers" / "generate.py", *options]
            subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
        return files

    def __str__(self) -> str:
        return f"{self.users:,} users x {self.shown}, {'int64' if self.ids == 'int' else 'string'} ids, {self.order}"


@dataclass(frozen=True)
class Library:
    """What is measured.

    Attributes:
        name: in the table.
        script: in `peers/`, and the environment it is run in.
        frame: what it is given: "pandas", "polars", "spark" frames, or a "file".
        options: of the script, name=value.
        convention: whose definitions ours must have for the numbers to be equal; "" for the native ones.
        differing: metrics that no convention of ours defines as this library does.
        tolerance: how far apart equal numbers may be; larger for float32.
        slow: takes minutes for 100,000 users, and is measured once, on 10,000.
    """

    name: str
    script: str
    frame: str = "pandas"
    options: tuple[str, ...] = ()
    convention: str = ""
    differing: tuple[str, ...] = ()
    tolerance: float = 1e-9
    slow: bool = False

    @property
    def python(self) -> Path | None:
        return Path(sys.executable) if self.script == OURS else python_of(self.script)


PEERS = (
    Library("RecTools", "rectools", convention="rectools"),
    Library("RePlay polars", "replay", "polars", convention="replay"),
    Library("pytrec_eval", "pytrec_eval", convention="trec_eval"),
    Library("ranx", "ranx", convention="ranx", slow=True),
    Library("ir_measures", "ir_measures", convention="trec_eval", slow=True),
    Library("RePlay pandas", "replay", "pandas", convention="replay", slow=True),
    Library("torchmetrics", "torchmetrics", differing=("MAP",), tolerance=1e-5, slow=True),
    Library("RePlay Spark", "replay", "spark", convention="replay", slow=True),
)


def measure(library: Library, world: World, repeat: int, limit: float) -> Row:
    """One row of results. `limit` is seconds for one evaluation."""
    row = {"library": library.name, "world": str(world), "users": world.users, "frame": library.frame}
    return row | answer(library, world.files()[0].parent, repeat, limit)


def answer(library: Library, folder: Path, repeat: int = 3, limit: float = 300.0) -> Row:
    """What a library says on the two files of a folder: medians, or why there are none."""
    if library.python is None:
        return {"failure": "no environment"}
    options = [part for option in library.options for part in ("--option", option)]
    command = [
        library.python,
        HERE / "peers" / f"{library.script}.py",
        folder / "recs.parquet",
        folder / "truth.parquet",
    ]
    command += ["--repeat", repeat, "--frame", library.frame, *options]
    with process(list(map(str, command))) as running:
        try:
            out, log = running.communicate(timeout=limit * repeat)
        except subprocess.TimeoutExpired:
            return {"failure": f"over {limit / 60:g} min"}
    if running.returncode:
        errors = [line for line in log.splitlines() if re.match(r"[\w.]*(Error|Exception)\b", line)]
        return {"failure": errors[-1][:200] if errors else f"ended with {running.returncode}"}
    found = json.loads(out)
    return {
        "version": found["version"],
        "wall": statistics.median(found["wall"]),
        "cpu": statistics.median(found["cpu"]),
        "peak_mb": found["peak_mb"],
        "runs": repeat,
        "values": found["values"],
        "definition": found["definition"],
    }


def measure_script(library: Library) -> Row:
    """The row of a script of ours that measures itself beside a floor, and prints both as JSON."""
    row = {"library": library.name, "world": "beside its floor", "users": 0}
    command = [sys.executable, str(HERE / f"{library.script}.py"), *library.options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return row | {"failure": done.stderr.strip().splitlines()[-1][:200]}
    return row | json.loads(done.stdout.splitlines()[-1])


@contextlib.contextmanager
def process(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A process that is ended, with all that it started, when the block is left."""
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    # Where memory runs out, it is the one that is measured that goes.
    with contextlib.suppress(OSError):
        Path(f"/proc/{running.pid}/oom_score_adj").write_text("1000")
    try:
        yield running
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()


def agreement(library: Library, row: Row, expected: dict[str, float] | None) -> dict[str, Any]:
    """How many of a library's numbers are ours under its definitions, and which are not."""
    if expected is None:
        return {"equal": 0, "compared": 0, "unequal": []}
    compared = [name for name in row["values"] if name in expected and name.split("@")[0] not in library.differing]
    unequal = [name for name in compared if not abs(row["values"][name] - expected[name]) <= library.tolerance]
    return {"equal": len(compared) - len(unequal), "compared": len(compared), "unequal": unequal}
