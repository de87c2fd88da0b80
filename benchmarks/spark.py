"""From two Spark frames to 24 numbers: beside RePlay, beside Spark's own evaluator, and beside the floor.

    python benchmarks/spark.py [--users 100000] [--repeat 3] [--without replay mllib]
    python benchmarks/spark.py --growth [--millions 1 2 4 8]
    python benchmarks/spark.py --compare [--users 1000000] [--repeat 1]

prints seconds (the median of `repeat` runs in a warm session, local[2]), how many numbers are equal under the other's
definitions, and which goals are met; with --growth the seconds, and the memory of a Python worker, for 1, 2, 4 and 8
million recommended rows; with --compare the seconds of a comparison of two systems of 20 items a user (2 metrics,
10,000 resamples) beside those of evaluating both, and the memory of the driver's Python for a quarter of the users and
for all; with --json only our seconds (`wall`) and those of the floor, for `make bench`.

The floor is what any evaluation by user pays on Spark: both frames united, shuffled by user, sorted within partitions,
handed to Python as Arrow batches, and only counted there.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import sys
import warnings
from collections.abc import Iterable, Iterator
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from frames import HERE, METRICS, data, seconds
from goals import Goal
from measuring import Library, answer

import bridgeval

FILES = ("recs.parquet", "truth.parquet")
MLLIB = ("precisionAt", "recallAt", "ndcgAt", "meanAveragePrecisionAt")
CUTOFFS = (5, 10, 20, 50)
Values = dict[str, float]


def session() -> Any:
    from pyspark.sql import SparkSession

    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    builder = SparkSession.builder.master("local[2]").appName("bridgeval-benchmark")
    for name, value in {
        "spark.driver.memory": "4g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def cached(spark: Any, path: Path) -> Any:
    """A frame in memory, as RePlay's is here too."""
    frame = spark.read.parquet(str(path)).cache()
    frame.count()
    return frame


def floor(recs: Any, truth: Any) -> int:
    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"rows": [sum(batch.num_rows for batch in batches)]})

    shown = recs.selectExpr("user_id", "item_id", "double(score) as number", "0 as side")
    united = shown.union(truth.selectExpr("user_id", "item_id", "double(relevance)", "1"))
    placed = united.repartition("user_id").sortWithinPartitions("user_id")
    return sum(placed.mapInArrow(count, "rows long").toArrow()["rows"].to_pylist())


def mllib(recs: Any, truth: Any) -> Values:
    """pyspark.mllib has 4 of the 6 metrics; lists are made by hand, and every number is a job of its own."""
    from pyspark.mllib.evaluation import RankingMetrics
    from pyspark.sql import functions as F

    pairs = F.array_sort(F.collect_list(F.struct((-F.col("score")).alias("order"), "item_id")))
    shown = recs.groupBy("user_id").agg(pairs["item_id"].alias("shown"))
    relevant = truth.groupBy("user_id").agg(F.collect_list("item_id").alias("relevant"))
    lists = relevant.join(shown, "user_id").select("shown", "relevant").rdd.map(tuple).cache()
    metrics = RankingMetrics(lists)
    values = {f"{name}@{k}": getattr(metrics, name)(k) for name in MLLIB for k in CUTOFFS}
    lists.unpersist()
    return values


def replay(folder: Path, repeat: int) -> tuple[float, Values] | None:
    """RePlay's OfflineMetrics on Spark frames of the same files; None where its environment is not there."""
    row = answer(Library("RePlay Spark", "replay", "spark"), folder, repeat, limit=900)
    if "wall" in row:
        return row["wall"], row["values"]
    print(f"  RePlay: {row['failure']}")
    return None


def worker_memory(spark: Any) -> float:
    """The largest resident memory, in MB, that any Python worker has had."""

    def peak(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import resource

        for batch in batches:
            yield pa.record_batch({"peak": [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024] * len(batch)})

    return max(spark.range(0, 8, 1, 4).mapInArrow(peak, "peak double").toArrow()["peak"].to_pylist())


def compare(folder: Path, without: list[str], repeat: int) -> Iterator[Goal]:
    spark = session()
    frames = [cached(spark, folder / name) for name in FILES]
    ours = seconds(partial(bridgeval.evaluate, *frames, METRICS), repeat)
    least = seconds(partial(floor, *frames), repeat)
    measured = {"bridgeval": ours, "floor": least}
    agreed = []
    if "mllib" not in without:
        measured["pyspark.mllib"] = seconds(partial(mllib, *frames), repeat)
        asked = [f"{name}@{','.join(map(str, CUTOFFS))}" for name in MLLIB]
        expected = bridgeval.evaluate(*frames, asked, convention="mllib")
        agreed.append(agreement("pyspark.mllib", mllib(*frames), by_name(expected)))
    theirs = None if "replay" in without else replay(folder, repeat)
    if theirs is not None:
        measured["RePlay"] = theirs[0]
        asked = [metric.replace("nDCG", "NDCG") for metric in METRICS]
        expected = bridgeval.evaluate(*frames, asked, convention="replay")
        values = {name.replace("nDCG", "NDCG"): value for name, value in theirs[1].items()}
        agreed.append(agreement("RePlay", values, by_name(expected)))
    spark.stop()
    for name, value in measured.items():
        print(f"  {name:16} {value:8.2f} s   {value / ours:6.2f} x ours")
    yield from agreed
    times = measured["RePlay"] / ours if "RePlay" in measured else None
    found = "" if times is None else f"{times:.1f}x"
    yield Goal("beside RePlay", "at least 9x faster", found, None if times is None else times >= 9)
    yield Goal("beside the floor", "at most 1.5x", f"{ours / least:.2f}x", ours / least <= 1.5)


def beside_floor(folder: Path, repeat: int) -> dict[str, float]:
    """Our seconds and those of the floor, measured in turn."""
    spark = session()
    frames = [cached(spark, folder / name) for name in FILES]
    turns = [
        (seconds(partial(bridgeval.evaluate, *frames, METRICS), 1), seconds(partial(floor, *frames), 1))
        for _ in range(repeat + 1)
    ][1:]
    spark.stop()
    wall, least = (statistics.median(times) for times in zip(*turns, strict=True))
    return {"wall": wall, "floor": least, "runs": repeat}


def by_name(report: bridgeval.Report) -> Values:
    """Its values under their names without the convention."""
    return {name.rpartition(":")[2]: value for name, value in report.items()}


def agreement(peer: str, found: Values, expected: Values) -> Goal:
    """Whether a peer's numbers are ours under its definitions."""
    equal = [name for name, value in found.items() if abs(value - expected[name]) <= 1e-9]
    return Goal(f"numbers of {peer}", "equal", f"{len(equal)} of {len(found)}", len(equal) == len(found))


def growth(folder: Path, sizes: list[float], repeat: int) -> Iterator[Goal]:
    """Time against rows is a line from what Spark takes for any job; the points between its ends lie on it."""
    spark = session()
    times, peaks = [], []
    for millions in sizes:
        files = data(folder, round(millions * 20_000), "int", "sorted")
        frames = [spark.read.parquet(str(files / name)) for name in FILES]
        times.append(seconds(partial(bridgeval.evaluate, *frames, METRICS), repeat))
        peaks.append(worker_memory(spark))
        text = f"  {millions:g} million rows {times[-1]:8.2f} s   {times[-1] / millions:6.2f} s a million"
        if len(times) > 1:
            more = (times[-1] - times[-2]) / (millions - sizes[len(times) - 2])
            text += f"   {more:6.2f} s for each million more"
        print(f"{text}   {peaks[-1]:6.0f} MB", flush=True)
    spark.stop()
    slope = (times[-1] - times[0]) / (sizes[-1] - sizes[0])
    start = times[0] - slope * sizes[0]
    apart = max(abs(time / (start + slope * size) - 1) for size, time in zip(sizes, times, strict=True))
    line = f"{100 * apart:.0f} percent from {start:.2f} s + {slope:.2f} s a million"
    yield Goal("time against rows", "linear within 20 percent", line, apart <= 0.2 and slope > 0)
    memory = f"{peaks[0]:.0f} MB to {peaks[-1]:.0f} MB"
    yield Goal("memory of a Python worker", "flat within 20 percent", memory, peaks[-1] <= 1.2 * peaks[0])


def two_systems(folder: Path, users: int) -> list[Path]:
    """Files of two systems of 20 items a user, whose scores are alike, and of a truth of 5 items a user."""
    paths = [folder / f"{users}x20-{name}.parquet" for name in ("old", "new", "truth")]
    rng = np.random.default_rng(0)
    shown, relevant = (np.repeat(np.arange(users), each) for each in (20, 5))
    items, scores = rng.integers(0, 2_000, len(shown)), rng.random(len(shown))
    hits, others = items.reshape(users, 20)[:, :5].ravel(), rng.integers(0, 2_000, len(relevant))
    truth = np.where(rng.random(len(relevant)) < 0.3, hits, others)
    for path, noise in zip(paths, (0.0, 0.2), strict=False):
        score = scores + noise * rng.random(len(shown))
        pq.write_table(pa.table({"user_id": shown, "item_id": items, "score": score}), path)
    pq.write_table(pa.table({"user_id": relevant, "item_id": truth}), paths[2])
    return paths


def comparison(folder: Path, users: int, repeat: int) -> Iterator[Goal]:
    """Two systems compared on the executors, beside their evaluation; the driver's memory for two sizes."""
    folder.mkdir(exist_ok=True)
    # In another process: the driver's memory is measured.
    with get_context("spawn").Pool(1) as pool:
        files = {size: pool.apply(two_systems, (folder, size)) for size in (users // 4, users)}
    spark = session()
    warnings.simplefilter("ignore")
    metrics = ["nDCG@10", "Recall@10"]

    def evaluate_both(old: Any, new: Any, truth: Any) -> None:
        for shown in (old, new):
            bridgeval.evaluate(shown, truth, metrics)

    def compare_both(old: Any, new: Any, truth: Any) -> None:
        bridgeval.compare({"old": old, "new": new}, truth, metrics)

    peaks, times = [], 0.0
    for size, paths in files.items():
        frames = [spark.read.parquet(str(path)) for path in paths]
        turns = [[seconds(partial(act, *frames), 1) for act in (evaluate_both, compare_both)] for _ in range(repeat)]
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        both, ours = (statistics.median(own) for own in zip(*turns, strict=True))
        times = ours / both
        found = f"two evaluations {both:.1f} s, comparison {ours:.1f} s; driver {peaks[-1]:.0f} MB"
        print(f"  {size:,} users: {found}", flush=True)
    spark.stop()
    yield Goal("a comparison beside two evaluations", "at most 2x", f"{times:.2f}x", times <= 2)
    memory = f"{peaks[0]:.0f} MB to {peaks[1]:.0f} MB"
    yield Goal("memory of the driver's Python", "flat within 10 percent", memory, peaks[1] <= 1.1 * peaks[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, default=HERE / "data")
    parser.add_argument("--without", nargs="*", default=[], choices=["replay", "mllib"])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--millions", nargs="+", type=float, default=[1, 2, 4, 8], help="rows for --growth")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--json", action="store_true", help="our seconds and the floor's, as JSON")
    arguments = parser.parse_args()
    if arguments.json:
        print(json.dumps(beside_floor(data(arguments.folder, arguments.users, "int", "sorted"), arguments.repeat)))
        return
    if arguments.compare:
        goals = comparison(arguments.folder, arguments.users, arguments.repeat)
    elif arguments.growth:
        goals = growth(arguments.folder, arguments.millions, arguments.repeat)
    else:
        print(f"{arguments.users:,} users x 50 items, 6 metrics x 4 cutoffs, local[2]")
        folder = data(arguments.folder, arguments.users, "int", "sorted")
        goals = compare(folder, arguments.without, arguments.repeat)
    for goal in list(goals):
        print(f"  {goal.mark:8} {goal.case}: {goal.found or 'nothing measured'} (goal: {goal.asked})")


if __name__ == "__main__":
    main()
