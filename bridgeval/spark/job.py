"""The evaluation as a job: paths in, a table out."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession, functions as F

import bridgeval
from bridgeval import plugins, spec
from bridgeval.errors import BadParameterError, InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bridgeval import Comparison

SCHEMA = "run string, time timestamp, metric string, k int, value double, low double, high double, users long"

DIFFERENCES = (
    "run string, time timestamp, metric string, system string, baseline string, users long, value double, "
    "baseline_value double, difference double, low double, high double, p double, adjusted double, significant boolean, "
    "d_z double, wins long, ties long, losses long, detectable double, method string"
)

# Formats that are folders of files, in which a run has a folder of its own.
FILES = ("parquet", "orc", "csv", "json", "avro")


# Prefix of a source -> its meaning.
TABLE, SQL = "table:", "sql:"
# What becomes of rows that are there already.
MODES = ("run", "append", "overwrite", "error")


def run(
    *,
    recs: str | Mapping[str, str],
    truth: str,
    metrics: Sequence[str] = ("nDCG@10", "Recall@10"),
    out: str | None = None,
    history: str | None = None,
    columns: Mapping[str, str | None] | None = None,
    format: str = "parquet",
    out_format: str | None = None,
    mode: str = "run",
    partition_by: Sequence[str] = (),
    convention: str | None = None,
    per_user_out: str | None = None,
    run_id: str | None = None,
    session: SparkSession | None = None,
) -> bridgeval.Report | Comparison:
    """Evaluates tables that the session reads, or compares several systems.

    A table is a path, `table:NAME` of the catalog, or, where it is read, `sql:SELECT ...`.

    Args:
        recs: the recommendations; or name -> those of each of several systems, which are compared.
        truth: the relevance.
        metrics: names of metrics.
        out: a table that the numbers are added to: (run, time, metric, k, value, low, high, users) of an evaluation, a
            row for each difference of a comparison.
        history: the training interactions.
        columns: part -> column name.
        format: of every path that is read: parquet, delta, orc, csv, json, ...
        out_format: of every table that is written; None is `format`.
        mode: "run" replaces the rows of the same run in paths of formats that are files (parquet, orc, csv, json, avro),
            which are partitioned by run, and appends to other tables; "append" appends; "overwrite" replaces the whole
            table; "error" refuses a table that exists.
        partition_by: columns of the written tables to partition by, besides the run.
        convention: the toolkit that defines names without a prefix.
        per_user_out: a table that per-user values are added to (run, time, user, metric, k, value), likewise and before
            the numbers.
        run_id: the name of this run in the tables; None makes one up.
        session: the session; None takes the active one, or starts one with the settings of spark-submit.
    """
    # Before a session is started for nothing.
    spec.name_all(metrics, convention, plugins.installed())
    if mode not in MODES:
        raise BadParameterError(f"there is no mode {mode!r}", hint=f"choose one of {', '.join(MODES)}", argument="mode")
    if per_user_out is not None and not isinstance(recs, str):
        raise BadParameterError(
            "a comparison collects no per-user values", "per_user_out for several systems", "evaluate each system"
        )
    spark = session or SparkSession.getActiveSession() or SparkSession.builder.appName("bridgeval").getOrCreate()
    relevance = _read(spark, truth, format)
    how: dict[str, Any] = {"columns": columns, "convention": convention}
    how |= {} if history is None else {"history": _read(spark, history, format)}
    found: bridgeval.Report | Comparison
    if isinstance(recs, str):
        found = bridgeval.evaluate(
            _read(spark, recs, format), relevance, metrics, per_user=per_user_out is not None, **how
        )
    else:
        systems = {name: _read(spark, one, format) for name, one in recs.items()}
        found = bridgeval.compare(systems, relevance, metrics, **how)
    name, now = run_id or uuid.uuid4().hex, datetime.now(UTC)
    write = partial(_write_run, format=out_format or format, mode=mode, partition_by=partition_by)
    # The numbers come last: a run that is among them has all its outputs.
    if per_user_out is not None and isinstance(found, bridgeval.Report):
        values = found.per_user()
        write(values.select(F.lit(name).alias("run"), F.lit(now).alias("time"), "*"), per_user_out)
    if out is not None:
        numbers = found.to_pandas().astype(object).to_dict("records")
        rows = [{"run": name, "time": now} | {column: _none_for_nan(x) for column, x in row.items()} for row in numbers]
        schema = SCHEMA if isinstance(found, bridgeval.Report) else DIFFERENCES
        write(spark.createDataFrame(rows, schema).coalesce(1), out)
    return found


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


def _read(spark: SparkSession, source: str, format: str) -> DataFrame:
    reader = spark.read.format(format)
    if format == "csv":
        reader = reader.options(header=True, inferSchema=True)
    try:
        if source.startswith(TABLE):
            return spark.table(source.removeprefix(TABLE))
        if source.startswith(SQL):
            return spark.sql(source.removeprefix(SQL))
        return reader.load(source)
    except Exception as error:
        # An error that Spark has no class for arrives as py4j's own.
        java = getattr(error, "java_exception", None)
        if java is None and not isinstance(error, PySparkException):
            raise
        said = str(error if java is None else java.getMessage()).splitlines()[0]
        if source.startswith((TABLE, SQL)):
            raise InputError(f"{source!r} cannot be read", said, "check the name of the table or the query") from error
        raise InputError(f"{source!r} cannot be read as {format}", said, "check path and format") from error


def _write_run(frame: DataFrame, target: str, format: str, mode: str, partition_by: Sequence[str]) -> None:
    """Adds the rows of a run to a table; those of the same run are replaced, so that a job can be run again."""
    missing = [name for name in partition_by if name not in frame.columns]
    if missing:
        raise BadParameterError(
            f"the table at {target!r} cannot be partitioned by {', '.join(missing)}",
            f"columns {', '.join(frame.columns)}",
            "name some of these",
            argument="partition_by",
        )
    is_table = target.startswith(TABLE)
    by_run = mode == "run" and format in FILES and not is_table
    columns = ["run", *(name for name in partition_by if name != "run")] if by_run else list(partition_by)
    writer = frame.write.format(format).mode({"run": "append"}.get(mode, mode))
    if by_run:
        # An option of this write alone; the session's own setting may be another.
        writer = writer.option("partitionOverwriteMode", "dynamic").mode("overwrite")
    if columns:
        writer = writer.partitionBy(*columns)
    if format == "csv":
        writer = writer.option("header", True)
    if is_table:
        writer.saveAsTable(target.removeprefix(TABLE))
    else:
        writer.save(target)


def _none_for_nan(value: Any) -> Any:
    """None for NaN, which pandas has in a column of integers where there is no number."""
    return None if isinstance(value, float) and value != value else value
