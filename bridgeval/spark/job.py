"""The evaluation as a job: paths in, a table out. `spark-submit ... -m bridgeval.spark`, or `run` inside a session."""

from __future__ import annotations

import argparse
import sys
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import bridgeval
from bridgeval.errors import BridgevalError, InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bridgeval.report import Report

SCHEMA = "run string, time timestamp, metric string, k int, value double, low double, high double, users long"


def run(
    *,
    recs: str,
    truth: str,
    metrics: Sequence[str] = ("nDCG@10", "Recall@10"),
    out: str | None = None,
    history: str | None = None,
    columns: Mapping[str, str] | None = None,
    format: str = "parquet",
    convention: str | None = None,
    per_user_out: str | None = None,
    run_id: str | None = None,
    session: SparkSession | None = None,
) -> Report:
    """Evaluates what Spark finds at the paths.

    Args:
        recs: recommendations, at any path that the session can read.
        truth: what proved relevant.
        metrics: names of metrics.
        out: where the numbers are appended as a table (run, time, metric, k, value, low, high, users).
        history: training interactions.
        columns: which column plays which part.
        format: of all that is read and written: parquet, delta, orc, csv, json, ...
        convention: the toolkit whose names and definitions are meant.
        per_user_out: where per-user values are appended (run, time, user, metric, k, value).
        run_id: how this run is called in the tables; None makes one up.
        session: the session; None takes the active one, or starts one with the settings of spark-submit.
    """
    spark = session or SparkSession.getActiveSession() or SparkSession.builder.appName("bridgeval").getOrCreate()
    report = bridgeval.evaluate(
        _read(spark, recs, format),
        _read(spark, truth, format),
        metrics,
        history=None if history is None else _read(spark, history, format),
        columns=columns,
        convention=convention,
        per_user=per_user_out is not None,
    )
    name, now = run_id or uuid.uuid4().hex, datetime.now(UTC)
    if out is not None:
        numbers = report.to_pandas().astype(object).to_dict("records")
        rows = [tuple(_plain({"run": name, "time": now, **row}[column]) for column in _names()) for row in numbers]
        _append(spark.createDataFrame(rows, SCHEMA), out, format)
    if per_user_out is not None:
        values = report.per_user()
        _append(values.select(F.lit(name).alias("run"), F.lit(now).alias("time"), "*"), per_user_out, format)
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; gives 0, or 1 after saying on standard error what went wrong."""
    parser = argparse.ArgumentParser("python -m bridgeval.spark", description="Evaluate recommendations inside Spark.")
    parser.add_argument("--recs", required=True, help="path of the recommendations")
    parser.add_argument("--truth", required=True, help="path of what proved relevant")
    parser.add_argument("--metrics", nargs="+", default=["nDCG@10", "Recall@10"], help="e.g. nDCG@5,10 replay:MAP@10")
    parser.add_argument("--out", help="path of the table that the numbers are appended to")
    parser.add_argument("--history", help="path of the training interactions")
    parser.add_argument("--columns", type=_pairs, help="which column plays which part: user=customer,item=sku")
    parser.add_argument("--format", default="parquet", help="parquet, delta, orc, csv, json, ... (default: parquet)")
    parser.add_argument("--convention", help="the toolkit whose names and definitions are meant")
    parser.add_argument("--per-user-out", help="path of the table that per-user values are appended to")
    parser.add_argument("--run-id", help="how this run is called in the tables")
    given = parser.parse_args(arguments)
    running = SparkSession.getActiveSession()
    try:
        print(run(**vars(given)))
    except (BridgevalError, PySparkException) as error:
        reason = str(error).split("\nJVM stacktrace", 1)[0]
        print("\n".join([f"error: {reason}", *getattr(error, "__notes__", ())]), file=sys.stderr)
        return 1
    finally:
        started = SparkSession.getActiveSession()
        if started is not None and running is None:
            started.stop()
    return 0


def _read(spark: SparkSession, path: str, format: str) -> DataFrame:
    reader = spark.read.format(format)
    if format == "csv":
        reader = reader.options(header=True, inferSchema=True)
    try:
        return reader.load(path)
    except Exception as error:
        # What Spark does not foresee comes as py4j's own error.
        java = getattr(error, "java_exception", None)
        if java is None and not isinstance(error, PySparkException):
            raise
        said = str(error if java is None else java.getMessage())
        raise InputError(
            f"{path!r} cannot be read as {format}", said.splitlines()[0], "check path and format"
        ) from error


def _append(frame: DataFrame, path: str, format: str) -> None:
    writer = frame.write.format(format).mode("append")
    (writer.option("header", True) if format == "csv" else writer).save(path)


def _names() -> list[str]:
    return [column.split()[0] for column in SCHEMA.split(", ")]


def _plain(value: Any) -> Any:
    """NaN stands for nothing in a frame's column of whole numbers."""
    return None if isinstance(value, float) and value != value else value


def _pairs(text: str) -> dict[str, str]:
    pairs = [pair.partition("=")[::2] for pair in text.split(",")]
    if not all(part and name for part, name in pairs):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form user=customer,item=sku")
    return dict(pairs)
