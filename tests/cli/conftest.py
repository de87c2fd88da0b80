"""The command as a person runs it: a process, files, what it printed and how it ended.

Each command is a process of its own, forked from one that has imported the package: to import torch takes longer than
all that most commands do.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

# ann wants rum, which stands second; bob wants tea and bun, of which tea stands second. So at 2:
# Recall = (1/1 + 1/2) / 2 = 0.75, MRR = (1/2 + 1/2) / 2 = 0.5, Precision = (1/2 + 1/2) / 2 = 0.5.
RECS = "user_id,item_id,score\nann,tea,0.9\nann,rum,0.5\nann,gin,0.4\nbob,gin,0.8\nbob,tea,0.2\nbob,rum,0.1\n"
TRUTH = "user_id,item_id\nann,rum\nbob,tea\nbob,bun\n"
TRAIN = "user_id,item_id\nann,ale\nbob,ale\nbob,gin\ncid,tea\ncid,rum\ncid,bun\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "recs.csv").write_text(RECS)
    (tmp_path / "truth.csv").write_text(TRUTH)
    (tmp_path / "train.csv").write_text(TRAIN)
    return tmp_path


def environment(**more: str) -> dict[str, str]:
    """This process's, with the package to be found and no terminal's width or colors in it."""
    package = str(Path(__file__).parents[2])
    plain = {name: value for name, value in os.environ.items() if not name.startswith("BRIDGEVAL_")}
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    return plain | {"PYTHONPATH": path, "NO_COLOR": "1", "MPLBACKEND": "Agg"} | more


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "bridgeval", *arguments]


FORKING = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload(["bridgeval", "bridgeval.cli", "pandas", "torch", "scipy.stats"])
SECONDS = 120


@pytest.fixture
def run(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    def run(*arguments: str, stdin: str | bytes | None = None, **env: str) -> subprocess.CompletedProcess[str]:
        streams = [tmp_path_factory.mktemp("streams") / name for name in ("in", "out", "err")]
        streams[0].write_bytes((stdin.encode() if isinstance(stdin, str) else stdin) or b"")
        process = FORKING.Process(target=_command, args=(arguments, folder, environment(**env), streams))
        process.start()
        process.join(SECONDS)
        if process.exitcode is None:
            process.kill()
            raise TimeoutError(f"bridgeval {' '.join(arguments)} took over {SECONDS} s")
        out, err = (stream.read_bytes().decode() for stream in streams[1:])
        return subprocess.CompletedProcess(list(arguments), process.exitcode, out, err)

    return run


def _command(arguments: tuple[str, ...], folder: Path, env: dict[str, str], streams: list[Path]) -> None:
    """What `python -m bridgeval` does, in this process."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    for number, stream in enumerate(streams):
        os.dup2(os.open(stream, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT), number)
    # These were opened for the process that this one was forked from.
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        for number in range(3)
    )
    sys.argv = ["bridgeval", *arguments]
    runpy.run_module("bridgeval", run_name="__main__", alter_sys=True)
