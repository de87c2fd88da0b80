"""Interrupts a real command at random instants of its life: `python -m tests.fuzz.interruptions 200`.

Allowed are the exit code of the signal, or a run that was finished. Outputs are whole or absent, and neither a file nor
a temporary folder nor a child is left. Instants before Python has begun to run our program are not ours.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pa_parquet

from tests.fuzz.harness import environment, scratch

OUTPUTS = {"out.json", "page.html", "users.parquet", "one.state"}
INPUTS = {"recs.parquet", "truth.parquet"}
# Prints a line as soon as our program begins; what comes before belongs to the interpreter.
PROGRAM = "print(flush=True)\nfrom bridgeval.cli import main\nmain()"


def write_inputs(folder: Path) -> None:
    """Shuffled rows, more than the budget of the command, so that they go through temporary files."""
    rng = np.random.default_rng(0)
    shown = pd.DataFrame({"user_id": rng.integers(0, 2000, 60_000), "item_id": rng.integers(0, 5000, 60_000)})
    shown = shown.drop_duplicates()
    shown.assign(score=rng.random(len(shown))).to_parquet(folder / "recs.parquet", index=False)
    shown.sample(4000, random_state=1).to_parquet(folder / "truth.parquet", index=False)


def start(folder: Path, scratch_folder: Path) -> subprocess.Popen[bytes]:
    """The command, begun; its temporary files would be in the second folder."""
    arguments = "evaluate recs.parquet truth.parquet -m nDCG@10 -m MAP@10 --memory 2MB --format json --out out.json"
    arguments += " --report page.html --per-user users.parquet --state one.state"
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments.split()],
        cwd=folder,
        env=environment() | {"TMPDIR": str(scratch_folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


def find_faults(folder: Path, scratch_folder: Path, code: int, number: int) -> list[str]:
    """What is wrong after a command ended with this code."""
    # As a shell reports the death by a signal, which comes before our program has set its handlers, or after its end.
    code = 128 - code if code < 0 else code
    faults = [] if code in (0, 128 + number) else [f"exit code {code}"]
    there = {file.name for file in folder.iterdir()}
    if there - OUTPUTS - INPUTS:
        faults.append(f"left {sorted(there - OUTPUTS - INPUTS)}")
    if code == 0 and not there >= OUTPUTS:
        faults.append(f"exit code 0 without {sorted(OUTPUTS - there)}")
    if list(scratch_folder.iterdir()):
        faults.append(f"left {[file.name for file in scratch_folder.iterdir()]} among temporary files")
    try:
        if "out.json" in there:
            json.loads((folder / "out.json").read_text("utf-8"))
        if "users.parquet" in there:
            pa_parquet.read_table(folder / "users.parquet")
        if "page.html" in there and "</html>" not in (folder / "page.html").read_text("utf-8")[-200:]:
            faults.append("half a page")
        if "one.state" in there:
            import bridgeval

            bridgeval.merge([folder / "one.state"])
    except Exception as error:
        faults.append(f"an output is not whole: {error}")
    return faults


def interrupt(
    rng: random.Random, folder: Path, scratch_folder: Path, life: float, number: int
) -> tuple[int, list[str]]:
    """One interruption; returns the exit code and what is wrong."""
    for name in OUTPUTS:
        (folder / name).unlink(missing_ok=True)
    process = start(folder, scratch_folder)
    time.sleep(rng.random() * life)
    process.send_signal(number)
    code = process.wait(timeout=120)
    assert process.stdout is not None
    process.stdout.close()
    faults = find_faults(folder, scratch_folder, code, number)
    children = subprocess.run(["ps", "--ppid", str(process.pid), "-o", "pid="], capture_output=True, text=True).stdout
    return code, faults + ([f"children {children.split()}"] if children.strip() else [])


def run(times: int, seed: int, names: tuple[str, ...] = ("SIGINT",)) -> int:
    """Interrupts the command so many times; prints what came of it, returns the number of faults."""
    codes: Counter[str] = Counter()
    faulty = 0
    # A shell lets what it runs in the background ignore Ctrl-C, and so would the command.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with scratch() as folder, scratch() as scratch_folder:
        write_inputs(folder)
        process = start(folder, scratch_folder)
        begun = time.monotonic()
        assert process.wait(timeout=300) == 0, "the command fails by itself"
        assert process.stdout is not None
        process.stdout.close()
        life = 1.05 * (time.monotonic() - begun)
        for at in range(times):
            number = getattr(signal, names[at % len(names)])
            code, faults = interrupt(random.Random(f"{seed}:{at}"), folder, scratch_folder, life, number)
            codes[f"{signal.Signals(number).name} -> {128 - code if code < 0 else code}"] += 1
            faulty += bool(faults)
            if faults:
                print(f"FAILED interruption {seed}:{at}: {'; '.join(faults)}", flush=True)
    print(f"{times} interruptions over {life:.1f} s: {dict(codes)}, {faulty} failures", flush=True)
    return faulty


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    asked = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    sys.exit(1 if run(asked, int(time.time()), tuple(sys.argv[2:]) or ("SIGINT",)) else 0)
