"""Run by a test: two executor processes, one of which is killed during each job. Prints local and Spark numbers."""

from __future__ import annotations

import json
import os
import sys

from pyspark.sql import SparkSession

import bridgeval
from tests.conftest import SPARK_SETTINGS, spark_environment
from tests.spark.killing import KillsItsExecutorOnce
from tests.spark.worlds import world

# How long executors wait for the dead to answer.
PATIENCE = {"spark.shuffle.io.maxRetries": "1", "spark.shuffle.io.retryWait": "1s"}

METRICS = ["nDCG@5", "Recall@5"]


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
