"""Spark's own event log of a job: rows read once, shuffled once, and only states collected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bridgeval
from tests.spark.test_spark_source import in_spark
from tests.spark.worlds import world

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::bridgeval.errors.DuplicateRowsWarning")]

METRICS = ["nDCG@5,10", "Recall@5,10", "MAP@5,10"]


def test_rows_are_read_once_and_shuffled_once_and_only_states_are_collected(spark: Any, tmp_path: Path) -> None:
    given = world()
    frames = {}
    for role in ("recommendations", "relevance"):
        in_spark(spark, given)[role].write.parquet(str(tmp_path / role))
        frames[role] = spark.read.parquet(str(tmp_path / role))
    rows = sum(given[role].num_rows for role in frames)
    bridgeval.evaluate(**frames, metrics=METRICS)  # once before, to have asked the executors what they can load
    before = len(events(spark))
    bridgeval.evaluate(**frames, metrics=METRICS)
    new = events(spark)[before:]
    tasks = [event["Task Metrics"] for event in new if event["Event"] == "SparkListenerTaskEnd"]
    assert sum(task["Input Metrics"]["Records Read"] for task in tasks) == rows
    assert sum(task["Shuffle Write Metrics"]["Shuffle Records Written"] for task in tasks) == rows
    assert sum(task["Result Size"] for task in tasks) < len(tasks) * 20_000


def events(spark: Any) -> list[dict[str, Any]]:
    """The event log so far; Spark's own bus is emptied first."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    folder = Path(spark.conf.get("spark.eventLog.dir").removeprefix("file:"))
    (log,) = folder.iterdir()
    return [json.loads(line) for line in log.read_text().splitlines()]
