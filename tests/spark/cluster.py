"""Run by a test: two executor processes, one of which is killed during each job. Prints local and Spark numbers."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from pyspark import TaskContext
from pyspark.sql import SparkSession

import bridgeval
from bridgeval import ListMetric, Slate
from tests.conftest import SPARK_SETTINGS, spark_environment
from tests.spark.worlds import world

# How long executors wait for the dead to answer.
PATIENCE = {"spark.shuffle.io.maxRetries": "1", "spark.shuffle.io.retryWait": "1s"}

METRICS = ["nDCG@5", "Recall@5"]


@dataclass(frozen=True)
class KillsItsExecutorOnce(ListMetric):
    """1 for everyone; the first to compute it on an executor ends that executor.

    Attributes:
        marker: a file that says that it has been done.
        part: partitions before this one are spared.
    """

    name = "KillsItsExecutorOnce"
    marker: str = ""
    part: int = 0

    def value(self, slate: Slate) -> float:
        task = TaskContext.get()
        if task is None or task.partitionId() < self.part:
            return 1.0
        executor = _parent(os.getppid())
        if b"ExecutorBackend" in Path(f"/proc/{executor}/cmdline").read_bytes():
            try:
                os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return 1.0
            os.kill(executor, signal.SIGKILL)
        return 1.0


def _parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def main(folder: str) -> None:
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("bridgeval-cluster-test")
    for name, value in (SPARK_SETTINGS | PATIENCE | {"spark.sql.warehouse.dir": f"{folder}/warehouse"}).items():
        builder = builder.config(name, value)
    for name, value in spark_environment().items():
        builder = builder.config(f"spark.executorEnv.{name}", value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        given = {role: world()[role] for role in ("recommendations", "relevance")}
        frames = {role: spark.createDataFrame(table).repartition(5) for role, table in given.items()}
        # One executor for each of the first two partitions: the third begins when one of them is done.
        kills = [KillsItsExecutorOnce(marker=f"{folder}/killed in {part}", part=part) for part in (0, 2)]
        expected = bridgeval.evaluate(**given, metrics=METRICS)
        found = [bridgeval.evaluate(**frames, metrics=[*METRICS, kill], per_user=kill.part > 0) for kill in kills]
        values = [{name: report[name] for name in METRICS} for report in (expected, *found)]
        print(json.dumps([*values, [os.path.exists(kill.marker) for kill in kills]]))
    finally:
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
