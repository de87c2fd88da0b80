"""From two pandas frames to 24 numbers: beside reading the same files, and beside RecTools.

    python benchmarks/frames.py [--users 100000] [--folder benchmarks/data]

prints seconds (the median of five, after one warm-up) and ratios taken in this run.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import measuring
import pandas as pd

import bridgeval

HERE = Path(__file__).parent
METRICS = [f"{name}@5,10,20,50" for name in ("Precision", "Recall", "nDCG", "MAP", "MRR", "HitRate")]


def seconds(action: Callable[[], object], repeat: int = 5) -> float:
    """The median time of an action after one warm-up."""
    action()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def data(folder: Path, users: int, ids: str, order: str) -> Path:
    """The folder with the two files, made on first use."""
    return measuring.World(users, ids, order).files(folder)[0].parent


def frames(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    return pd.read_parquet(folder / "recs.parquet"), pd.read_parquet(folder / "truth.parquet")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, default=HERE / "data")
    arguments = parser.parse_args()
    measured: dict[str, float] = {}
    for ids, order in (("int", "sorted"), ("int", "shuffled"), ("string", "sorted")):
        folder = data(arguments.folder, arguments.users, ids, order)
        recs, truth = frames(folder)
        measured[f"{ids} {order}"] = seconds(lambda r=recs, t=truth: bridgeval.evaluate(r, t, METRICS))
        if (ids, order) == ("int", "sorted"):
            measured["read_parquet"] = seconds(lambda f=folder: frames(f))
            theirs = measuring.answer(measuring.Library("RecTools", "rectools"), folder)
    ours = measured["int sorted"]
    print(f"{arguments.users:,} users x 50 items, 6 metrics x 4 cutoffs")
    for name, value in measured.items():
        print(f"  {name:16} {value:8.3f} s   {value / ours:6.2f} x int sorted")
    print(f"  to read_parquet of the same files: {ours / measured['read_parquet']:.2f} x (goal: at most 2)")
    print(f"  string ids to integers: {measured['string sorted'] / ours:.2f} x (goal: at most 4)")
    if "wall" in theirs:
        print(f"  RecTools: {theirs['wall']:.3f} s, {theirs['wall'] / ours:.1f} x ours (goal: at least 15)")
    else:
        print(f"  RecTools: {theirs['failure']} (python benchmarks/peers/environments.py rectools)")


if __name__ == "__main__":
    main()
