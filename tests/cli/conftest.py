"""The command as a person runs it: a process, files, what it printed and how it ended."""

from __future__ import annotations

import os
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
    """This process's, with the package to be found and no terminal's width or colours in it."""
    package = str(Path(__file__).parents[2])
    plain = {name: value for name, value in os.environ.items() if not name.startswith("BRIDGEVAL_")}
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    return plain | {"PYTHONPATH": path, "NO_COLOR": "1", "MPLBACKEND": "Agg"} | more


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "bridgeval", *arguments]


@pytest.fixture
def run(folder: Path) -> Run:
    def run(*arguments: str, stdin: str | bytes | None = None, **env: str) -> subprocess.CompletedProcess[str]:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            command(*arguments), cwd=folder, env=environment(**env), input=given, capture_output=True, timeout=120
        )
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())

    return run
