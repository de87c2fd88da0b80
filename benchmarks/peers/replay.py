"""RePlay: `OfflineMetrics` on pandas, polars or Spark frames."""

import logging
import os
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from _common import BINARY_DEFINITIONS, Frame, Option, Peer, PerUser, Question, Values, main


def evaluate(recommendations: Frame, truth: Frame, question: Question) -> Values:
    """All metrics in one call, which shares their common part on polars and Spark."""
    from replay.metrics import Mean

    found = offline_metrics(recommendations, truth, question, Mean())
    return {f"{metric}@{k}": found[f"{their_name(metric)}@{k}"] for metric, k in question.pairs()}


def per_user(recommendations: Frame, truth: Frame, question: Question) -> PerUser:
    """RePlay's `PerUser` mode."""
    from replay.metrics import PerUser as PerUserMode

    found = offline_metrics(recommendations, truth, question, PerUserMode())
    values = {f"{metric}@{k}": found[f"{their_name(metric)}-PerUser@{k}"] for metric, k in question.pairs()}
    return {name: {str(user): value for user, value in of_user.items()} for name, of_user in values.items()}


def offline_metrics(recommendations: Frame, truth: Frame, question: Question, mode: Any) -> dict[str, Any]:
    """RePlay's answer under its own names."""
    from replay import metrics

    asked = [getattr(metrics, their_name(name))(list(question.ks), mode=mode) for name in question.metrics]
    evaluator = metrics.OfflineMetrics(asked, query_column="user_id", rating_column="score")
    return evaluator(recommendations, truth)


def their_name(metric: str) -> str:
    """RePlay's name of a metric of ours."""
    return "NDCG" if metric == "nDCG" else metric


def read_polars(path: Path) -> Frame:
    """A polars frame in memory."""
    import polars

    return polars.read_parquet(path)


def read_spark(path: Path) -> Frame:
    """A Spark frame in memory: cached, and counted so that the cache is filled."""
    frame = spark_session().read.parquet(str(path)).cache()
    frame.count()
    return frame


@cache
def spark_session() -> Any:
    """A local session on all cores; RePlay's own would fetch a jar that no metric needs."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    logging.getLogger("py4j").setLevel(logging.ERROR)
    cores = os.cpu_count() or 1
    return (
        SparkSession.builder.master("local[*]")
        .appName("bridgeval-peer-replay")
        .config("spark.driver.memory", "4g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", 3 * cores)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )


def definitions(options: Mapping[str, Option]) -> dict[str, str]:
    """RePlay's definitions, the same on all its frames."""
    return dict(BINARY_DEFINITIONS)


READERS = {"pandas": pd.read_parquet, "polars": read_polars, "spark": read_spark}

if __name__ == "__main__":
    main(Peer("RePlay", "replay-rec", evaluate, per_user, definitions, readers=READERS))
