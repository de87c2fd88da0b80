"""From two Spark frames to 24 numbers: beside RePlay, beside Spark's own evaluator, and beside the floor.

    python benchmarks/spark.py [--users 100000] [--repeat 3] [--without replay mllib]
    python benchmarks/spark.py --growth

prints seconds (the median of `repeat` runs in a warm session, local[2]) and ratios taken in this run; with --growth the
seconds and the memory of a Python worker for 1, 2, 4 and 8 million rows.

The floor is what any evaluation by user pays on Spark: both frames united, shuffled by user, sorted within partitions,
handed to Python as Arrow batches, and only counted there.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from frames import HERE, METRICS, data, seconds
from peers.environments import python_of

import bridgeval
from bridgeval.spark.faults import mapped

FILES = ("recs.parquet", "truth.parquet")


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
    return sum(mapped(placed, count, "rows long").toArrow()["rows"].to_pylist())


def mllib(recs: Any, truth: Any) -> list[float]:
    """pyspark.mllib has 4 of the 6 metrics; lists are made by hand, and every number is a job of its own."""
    from pyspark.mllib.evaluation import RankingMetrics
    from pyspark.sql import functions as F

    pairs = F.array_sort(F.collect_list(F.struct((-F.col("score")).alias("order"), "item_id")))
    shown = recs.groupBy("user_id").agg(pairs["item_id"].alias("shown"))
    relevant = truth.groupBy("user_id").agg(F.collect_list("item_id").alias("relevant"))
    lists = relevant.join(shown, "user_id").select("shown", "relevant").rdd.map(tuple).cache()
    metrics = RankingMetrics(lists)
    asked = (metrics.precisionAt, metrics.recallAt, metrics.ndcgAt, metrics.meanAveragePrecisionAt)
    values = [metric(k) for metric in asked for k in (5, 10, 20, 50)]
    lists.unpersist()
    return values


def replay(folder: Path, repeat: int) -> float | None:
    """RePlay's OfflineMetrics on Spark frames of the same files; None where its environment is not there."""
    python = python_of("replay")
    if python is None:
        return None
    command = [python, HERE / "peers" / "replay.py", *(folder / name for name in FILES)]
    options = ["--frame", "spark", "--repeat", str(repeat)]
    done = subprocess.run([*map(str, command), *options], capture_output=True, text=True, check=True)
    return statistics.median(json.loads(done.stdout)["wall"])


def worker_memory(spark: Any) -> float:
    """The largest resident memory, in MB, that any Python worker has had."""

    def peak(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import resource

        for batch in batches:
            yield pa.record_batch({"peak": [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024] * len(batch)})

    return max(mapped(spark.range(0, 8, 1, 4), peak, "peak double").toArrow()["peak"].to_pylist())


def compare(folder: Path, without: list[str], repeat: int) -> None:
    spark = session()
    frames = [cached(spark, folder / name) for name in FILES]
    measured: dict[str, float | None] = {
        "bridgeval": seconds(partial(bridgeval.evaluate, *frames, METRICS), repeat),
        "floor": seconds(partial(floor, *frames), repeat),
    }
    if "mllib" not in without:
        measured["pyspark.mllib"] = seconds(partial(mllib, *frames), 1)
    spark.stop()
    if "replay" not in without:
        measured["RePlay"] = replay(folder, repeat)
    ours, least = measured["bridgeval"], measured["floor"]
    for name, value in measured.items():
        print(f"  {name:16} " + ("no environment" if value is None else f"{value:8.2f} s   {value / ours:6.2f} x ours"))
    print(f"  to the floor: {ours / least:.2f} x (goal: at most 1.5); RePlay to ours: goal at least 9")


def growth(folder: Path, repeat: int) -> None:
    spark = session()
    for millions in (1, 2, 4, 8):
        files = data(folder, millions * 20_000, "int", "sorted")
        frames = [spark.read.parquet(str(files / name)) for name in FILES]
        value = seconds(partial(bridgeval.evaluate, *frames, METRICS), repeat)
        memory = worker_memory(spark)
        print(f"  {millions} million rows {value:8.2f} s   {value / millions:6.2f} s a million   {memory:6.0f} MB")
    spark.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, default=HERE / "data")
    parser.add_argument("--without", nargs="*", default=[], choices=["replay", "mllib"])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--growth", action="store_true")
    arguments = parser.parse_args()
    if arguments.growth:
        growth(arguments.folder, arguments.repeat)
    else:
        print(f"{arguments.users:,} users x 50 items, 6 metrics x 4 cutoffs, local[2]")
        compare(data(arguments.folder, arguments.users, "int", "sorted"), arguments.without, arguments.repeat)


if __name__ == "__main__":
    main()
