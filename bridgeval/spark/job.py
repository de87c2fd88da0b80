"""The evaluation as a job: paths in, a table out."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession, functions as F

import bridgeval
from bridgeval import plugins, spec
from bridgeval.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SCHEMA = "run string, time timestamp, metric string, k int, value double, low double, high double, users long"


# Formats that are folders of files, in which a run has a folder of its own.
FILES = ("parquet", "orc", "csv", "json", "avro")


def run(
    *,
    recs: str,
    truth: str,
    metrics: Sequence[str] = ("nDCG@10", "Recall@10"),
    out: str | None = None,
    history: str | None = None,
    context: Mapping[str, str] | None = None,
    columns: Mapping[str, str | None] | None = None,
    format: str = "parquet",
    convention: str | None = None,
    per_user_out: str | None = None,
    run_id: str | None = None,
    session: SparkSession | None = None,
) -> bridgeval.Report:
    """Evaluates tables that the session reads.

    Args:
        recs: path of the recommendations.
        truth: path of the relevance.
        metrics: names of metrics.
        out: path of a table that the numbers are added to (run, time, metric, k, value, low, high, users); rows of the
            same run are replaced in formats that are files (parquet, orc, csv, json, avro), which are partitioned by
            run. Other formats are appended to.
        history: path of the training interactions.
        context: name -> path of a small table by item or user, for metrics that ask for it.
        columns: part -> column name.
        format: of every table that is read or written: parquet, delta, orc, csv, json, ...
        convention: the toolkit that defines names without a prefix.
        per_user_out: path of a table that per-user values are added to (run, time, user, metric, k, value), likewise
            and before the numbers.
        run_id: the name of this run in the tables; None makes one up.
        session: the session; None takes the active one, or starts one with the settings of spark-submit.
    """
    spec.name_all(metrics, convention, plugins.installed())  # before a session is started for nothing
    spark = session or SparkSession.getActiveSession() or SparkSession.builder.appName("bridgeval").getOrCreate()
    report = bridgeval.evaluate(
        _read(spark, recs, format),
        _read(spark, truth, format),
        metrics,
        history=None if history is None else _read(spark, history, format),
        context={name: _read(spark, path, format) for name, path in (context or {}).items()},
        columns=columns,
        convention=convention,
        per_user=per_user_out is not None,
    )
    name, now = run_id or uuid.uuid4().hex, datetime.now(UTC)
    # The numbers come last: a run that is among them has all its outputs.
    if per_user_out is not None:
        values = report.per_user()
        _write_run(values.select(F.lit(name).alias("run"), F.lit(now).alias("time"), "*"), per_user_out, format)
    if out is not None:
        numbers = report.to_pandas().astype(object).to_dict("records")
        rows = [{"run": name, "time": now} | {column: _none_for_nan(x) for column, x in row.items()} for row in numbers]
        _write_run(spark.createDataFrame(rows, SCHEMA).coalesce(1), out, format)
    return report


@contextmanager
def open_session() -> Iterator[SparkSession]:
    """The active session, or a new one that is stopped at the end."""
    active = SparkSession.getActiveSession()
    session = active or SparkSession.builder.appName("bridgeval").getOrCreate()
    try:
        yield session
    finally:
        if active is None:
            session.stop()


def _read(spark: SparkSession, path: str, format: str) -> DataFrame:
    reader = spark.read.format(format)
    if format == "csv":
        reader = reader.options(header=True, inferSchema=True)
    try:
        return reader.load(path)
    except Exception as error:
        # An error that Spark has no class for arrives as py4j's own.
        java = getattr(error, "java_exception", None)
        if java is None and not isinstance(error, PySparkException):
            raise
        said = str(error if java is None else java.getMessage())
        raise InputError(
            f"{path!r} cannot be read as {format}", said.splitlines()[0], "check path and format"
        ) from error


def _write_run(frame: DataFrame, path: str, format: str) -> None:
    """Adds the rows of a run to a table; files of the same run are replaced, so that a job can be run again."""
    writer = frame.write.format(format).mode("append")
    if format in FILES:
        # An option of this write alone; the session's own setting may be another.
        writer = writer.option("partitionOverwriteMode", "dynamic").partitionBy("run").mode("overwrite")
    (writer.option("header", True) if format == "csv" else writer).save(path)


def _none_for_nan(value: Any) -> Any:
    """None for NaN, which pandas has in a column of integers where there is no number."""
    return None if isinstance(value, float) and value != value else value
