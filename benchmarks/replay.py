"""RePlay's OfflineMetrics beside ours, from the same pandas and polars frames; and a per-user metric in Python.

    python benchmarks/replay.py [--users 100000] [--folder benchmarks/data]

prints seconds (the median of three) and ratios taken in this run, and checks that the values agree.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
from frames import data, seconds
from peers.environments import python_of

from bridgeval.toolkits import replay

HERE = Path(__file__).parent
CUTOFFS = [5, 10, 20, 50]
METRICS = [replay.Precision, replay.Recall, replay.NDCG, replay.MAP, replay.MRR, replay.HitRate]
READERS = {"pandas": pd.read_parquet, "polars": pl.read_parquet}


def ours(folder: Path, kind: str) -> tuple[float, dict[str, float]]:
    """Seconds and values of our OfflineMetrics."""
    recs, truth = (READERS[kind](folder / f"{name}.parquet") for name in ("recs", "truth"))
    offline = replay.OfflineMetrics(
        [metric(CUTOFFS) for metric in METRICS], query_column="user_id", rating_column="score"
    )
    return seconds(lambda: offline(recs, truth), repeat=3), offline(recs, truth)


def theirs(folder: Path, kind: str, python: Path) -> tuple[float, dict[str, float]]:
    """Seconds and values of RePlay's, in its own environment."""
    script = HERE / "peers" / "replay.py"
    answer = answer_of(python, script, *files(folder), "--frame", kind, "--repeat", 3)
    return statistics.median(answer["wall"]), {name.replace("nDCG", "NDCG"): v for name, v in answer["values"].items()}


def own_metric(folder: Path, python: Path | str, library: str) -> tuple[float, dict[str, float]]:
    """Seconds and values of a metric written in Python."""
    answer = answer_of(python, "-P", HERE / "own_metric.py", library, *files(folder), "--repeat", 3)
    return statistics.median(answer["wall"]), answer["values"]


def files(folder: Path) -> list[Path]:
    return [folder / "recs.parquet", folder / "truth.parquet"]


def answer_of(*command: Any) -> Any:
    """The JSON object that a script prints last."""
    environment = os.environ | {"PYTHONPATH": str(HERE.parent)}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def check(found: dict[str, float], expected: dict[str, float]) -> None:
    for name, value in expected.items():
        if not math.isclose(found[name], value, abs_tol=1e-9):
            raise SystemExit(f"{name}: {found[name]} here, {value} in RePlay")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, default=HERE / "data")
    arguments = parser.parse_args()
    folder = data(arguments.folder, arguments.users, "int", "sorted")
    python = python_of("replay")
    print(f"{arguments.users:,} users x 50 items, 6 metrics x 4 cutoffs")
    times: dict[str, float] = {}
    for kind in READERS:
        times[kind], values = ours(folder, kind)
        print(f"  bridgeval {kind:7} {times[kind]:8.3f} s")
        if python is not None:
            times[f"RePlay {kind}"], expected = theirs(folder, kind, python)
            check(values, expected)
            print(f"  RePlay    {kind:7} {times[f'RePlay {kind}']:8.3f} s")
    if python is None:
        raise SystemExit("  RePlay: no environment (python benchmarks/peers/environments.py replay)")
    fastest = min(times["RePlay pandas"], times["RePlay polars"])
    for kind in READERS:
        print(f"  RePlay's faster one to ours on {kind}: {fastest / times[kind]:.1f} x (goal: at least 20)")
    own, values = own_metric(folder, sys.executable, "bridgeval.toolkits.replay")
    replays, expected = own_metric(folder, python, "replay.metrics")
    check(values, expected)
    print(
        f"  a metric in Python on pandas: {own:.3f} s, RePlay {replays:.3f} s: {replays / own:.1f} x (goal: at least 5)"
    )


if __name__ == "__main__":
    main()
