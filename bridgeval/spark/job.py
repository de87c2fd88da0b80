"""The evaluation as a job: paths in, a table out."""

from __future__ import annotations

import math
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pa_parquet
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession, functions as F, types as T

import bridgeval
from bridgeval import plugins, spec
from bridgeval.errors import BadParameterError, InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


SCHEMA = "run string, time timestamp, metric string, k int, value double, low double, high double, users long"

DIFFERENCES = (
    "run string, time timestamp, metric string, system string, baseline string, users long, value double, "
    "baseline_value double, difference double, low double, high double, p double, adjusted double, "
    "significant boolean, d_z double, wins long, ties long, losses long, detectable double, method string, "
    "relative double"
)

CHECKS = (
    "run string, time timestamp, metric string, baseline double, value double, users long, gain double, bound double, "
    "limit string, margin double, p double, verdict string"
)

PER_USER = ("run", "time", "user", "metric", "k", "value")

# Formats that are folders of files, in which a run has a folder of its own.
FILES = ("parquet", "orc", "csv", "json", "avro")

# Prefixes of a table of the catalog, and of a query.
TABLE, SQL = "table:", "sql:"

# Rows of per-user values in a file.
ROWS_IN_FILE = 1_000_000

# What becomes of rows that are there already.
MODES = ("run", "append", "overwrite", "error")


def run(
    *,
    recs: str | Mapping[str, str],
    truth: str,
    metrics: Sequence[str] = ("nDCG@10", "Recall@10"),
    out: str | None = None,
    history: str | None = None,
    context: Mapping[str, str] | None = None,
    columns: Mapping[str, str | None] | None = None,
    format: str = "parquet",
    out_format: str | None = None,
    mode: str = "run",
    partition_by: Sequence[str] = (),
    convention: str | None = None,
    per_user_out: str | None = None,
    run_id: str | None = None,
    baseline: str | None = None,
    baseline_run: str | None = None,
    max_drop: Sequence[str] = (),
    session: SparkSession | None = None,
) -> Any:
    """Evaluates tables that the session reads, compares several systems, or checks one against a baseline.

    A table is a path, `table:NAME` of the catalog, or, where it is read, `sql:SELECT ...`.

    Args:
        recs: the recommendations; or name -> those of each of several systems, which are compared.
        truth: the relevance.
        metrics: names of metrics; a check has those of `max_drop`.
        out: a table that the numbers are added to: (run, time, metric, k, value, low, high, users) of an evaluation, a
            row for each difference of a comparison, or for each metric of a check.
        history: the training interactions.
        context: name -> a small table by item or user, for metrics that ask for it.
        columns: part -> column name.
        format: of every path that is read: parquet, delta, orc, csv, json, ...
        out_format: of every table that is written; None is `format`.
        mode: "run" replaces the rows of the same run in paths of formats that are files (parquet, orc, csv, json,
            avro), which are partitioned by run, and appends to other tables; "append" appends; "overwrite" replaces the
            whole table; "error" refuses a table that exists.
        partition_by: columns of the written tables to partition by, besides the run.
        convention: the toolkit that defines names without a prefix.
        per_user_out: a table that per-user values are added to (run, time, user, metric, k, value), likewise and before
            the numbers. A check that does not hold adds none, so that its run becomes no baseline.
        run_id: the name of this run in the tables; None makes one up.
        baseline: a table that `per_user_out` made. The recommendations are checked against it, see `bridgeval.check`;
            the values of both come to the driver.
        baseline_run: the run that is the baseline; None is the latest in the table but this one.
        max_drop: the largest acceptable drops, such as "nDCG@10=1%".
        session: the session; None takes the active one, or starts one with the settings of spark-submit.

    Returns:
        A Report, a Comparison or a Gate.
    """
    # Before a session is started for nothing.
    _check_baseline(recs, baseline, max_drop)
    metrics = metrics if baseline is None else [limit.rpartition("=")[0] for limit in max_drop]
    named = list(spec.name_all(metrics, convention, plugins.installed()))
    numbers_schema = CHECKS if baseline is not None else SCHEMA if isinstance(recs, str) else DIFFERENCES
    _check_outputs(recs, numbers_schema, out, per_user_out, mode, partition_by)
    spark = session or SparkSession.getActiveSession() or SparkSession.builder.appName("bridgeval").getOrCreate()
    read = partial(_read, spark, format=format)
    write = partial(_write_run, format=out_format or format, mode=mode, partition_by=partition_by)
    for target in (per_user_out, out):
        if mode == "error" and target is not None:
            _refuse_present(spark, target)
    given: dict[str, Any] = {
        "relevance": read(truth),
        "history": None if history is None else read(history),
        "context": {name: read(table) for name, table in (context or {}).items()},
        "metrics": metrics,
        "columns": columns,
        "convention": convention,
    }
    name, now = run_id or uuid.uuid4().hex, datetime.now(UTC)
    found: Any
    if isinstance(recs, str):
        per_user = per_user_out is not None or baseline is not None
        found = report = bridgeval.evaluate(read(recs), **given, per_user=per_user)
        if baseline is not None:
            found = _check(report, _read_baseline(read, baseline, baseline_run, name, named), max_drop, convention)
        # The numbers come last: a run that is among them has all its outputs.
        if per_user_out is not None and (baseline is None or found.holds):
            values = report.per_user().select(F.lit(name).alias("run"), F.lit(now).alias("time"), "*")
            rows = sum(map(len, report.collected.values()))
            write(values.coalesce(max(1, math.ceil(rows / ROWS_IN_FILE))), per_user_out)
    else:
        found = bridgeval.compare({system: read(table) for system, table in recs.items()}, **given)
    if out is not None:
        numbers = [{"run": name, "time": now, **row} for row in _list_numbers(found)]
        kept = [column.split()[0] for column in numbers_schema.split(", ")]
        tidy = [{column: _none_for_nan(row[column]) for column in kept} for row in numbers]
        write(spark.createDataFrame(tidy, numbers_schema).coalesce(1), out)
    return found


def _list_numbers(found: Any) -> list[dict[Any, Any]]:
    """A row for each metric of a report or a check, or for each difference of a comparison."""
    if isinstance(found, bridgeval.Report | bridgeval.Comparison):
        return found.to_pandas().astype(object).to_dict("records")
    return list(found.to_dict()["checks"])


def _check(report: bridgeval.Report, values: pa.Table, max_drop: Sequence[str], convention: str | None) -> Any:
    """The gate of a report, against the per-user values of a baseline."""
    with tempfile.TemporaryDirectory() as folder:
        pa_parquet.write_table(values, f"{folder}/baseline.parquet")
        return bridgeval.check(report, None, f"{folder}/baseline.parquet", max_drop, convention=convention)


def _read_baseline(read: Any, table: str, run: str | None, own: str, metrics: Sequence[str]) -> pa.Table:
    """The per-user values (user, metric, value) of a run in a table that a job wrote."""
    frame = read(table)
    missing = [name for name in ("run", "time", "user", "metric", "value") if name not in frame.columns]
    if missing:
        raise InputError(
            f"the baseline {table!r} has no column {', '.join(missing)}",
            f"columns {', '.join(frame.columns)}",
            "give a table that per_user_out made",
        )
    if not isinstance(frame.schema["run"].dataType, T.StringType):
        # Spark has guessed another type from the names of folders: a run called 007 is not number 7.
        text = [T.StructField("run", T.StringType()) if one.name == "run" else one for one in frame.schema]
        frame = read(table, schema=T.StructType(text))
    frame = frame.where(F.col("metric").isin(list(metrics)))
    times = frame.where(F.col("run") != own).groupBy("run").agg(F.max("time").alias("time"))
    runs = [row.run for row in times.orderBy(F.desc("time"), "run").limit(10).collect()]
    chosen = run if run is not None else next(iter(runs), None)
    values = frame.where(F.col("run") == chosen).select("user", "metric", "value").toArrow()
    if not len(values):
        raise InputError(
            f"the baseline {table!r} has no values of {', '.join(metrics)} of "
            + ("another run" if run is None else f"run {run!r}"),
            f"runs {', '.join(map(repr, runs))}" if runs else "no other run",
            "name one of its runs, or write one with per_user_out",
        )
    return values


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


def _check_baseline(recs: Any, baseline: str | None, max_drop: Sequence[str]) -> None:
    if (baseline is None) != (not max_drop):
        raise BadParameterError(
            "a check needs a baseline and the largest acceptable drops",
            "only one of them",
            "give {argument} as well, e.g. nDCG@10=1%",
            argument="max_drop" if baseline else "baseline",
        )
    if baseline is not None and not isinstance(recs, str):
        raise BadParameterError("a check takes one system", f"systems {', '.join(recs)}", "give its recommendations")


def _check_outputs(
    recs: Any, numbers: str, out: str | None, per_user_out: str | None, mode: str, partition_by: Sequence[str]
) -> None:
    """Raises for outputs that cannot be written as asked, so that a job writes all of them or none."""
    if mode not in MODES:
        raise BadParameterError(f"there is no mode {mode!r}", hint=f"choose one of {', '.join(MODES)}", argument="mode")
    if per_user_out is not None and not isinstance(recs, str):
        raise BadParameterError(
            "a comparison writes no per-user values", f"per_user_out={per_user_out!r}", "evaluate each system in a job"
        )
    for target, columns in ((out, [column.split()[0] for column in numbers.split(", ")]), (per_user_out, PER_USER)):
        missing = [name for name in partition_by if name not in columns]
        if target is not None and missing:
            raise BadParameterError(
                f"the table {target!r} cannot be partitioned by {', '.join(missing)}",
                f"columns {', '.join(columns)}",
                "name some of these",
                argument="partition_by",
            )
        if target is not None and target.startswith(SQL):
            raise BadParameterError("a query cannot be written to", target, "name a path, or table:NAME")


def _read(spark: SparkSession, source: str, format: str, schema: Any = None) -> DataFrame:
    try:
        frame = _open(spark, source, format, schema)
        frame.schema  # noqa: B018 (Spark Connect looks for the table only now)
    except Exception as error:
        # An error that Spark has no class for arrives as py4j's own.
        java = getattr(error, "java_exception", None)
        if java is None and not isinstance(error, PySparkException):
            raise
        said = str(error if java is None else java.getMessage()).splitlines()[0]
        if source.startswith((TABLE, SQL)):
            raise InputError(f"{source!r} cannot be read", said, "check the name of the table or the query") from error
        raise InputError(f"{source!r} cannot be read as {format}", said, "check path and format") from error
    return frame


def _open(spark: SparkSession, source: str, format: str, schema: Any) -> DataFrame:
    if source.startswith(TABLE):
        return spark.table(source.removeprefix(TABLE))
    if source.startswith(SQL):
        return spark.sql(source.removeprefix(SQL))
    reader = spark.read.format(format) if schema is None else spark.read.format(format).schema(schema)
    return (reader.options(header=True, inferSchema=True) if format == "csv" else reader).load(source)


def _refuse_present(spark: SparkSession, target: str) -> None:
    """Raises if a table exists already; a job that finds out when it writes has written other tables before."""
    if target.startswith(TABLE):
        present = spark.catalog.tableExists(target.removeprefix(TABLE))
    else:
        try:
            # A format that reads no file to know its columns.
            spark.read.format("text").load(target).schema  # noqa: B018
            present = True
        except PySparkException:
            present = False
    if present:
        raise InputError(f"the table {target!r} exists already", hint="choose another, or another mode")


def _write_run(frame: DataFrame, target: str, format: str, mode: str, partition_by: Sequence[str]) -> None:
    """Adds the rows of a run to a table; by mode "run" a job can be run again."""
    by_run = mode == "run" and format in FILES and not target.startswith(TABLE)
    columns = ["run", *(name for name in partition_by if name != "run")] if by_run else list(partition_by)
    writer = frame.write.format(format).mode("append" if mode == "run" else mode)
    if by_run:
        # An option of this write alone; the session's own setting may be another.
        writer = writer.option("partitionOverwriteMode", "dynamic").mode("overwrite")
    if columns:
        writer = writer.partitionBy(*columns)
    if format == "csv":
        writer = writer.option("header", True)
    if target.startswith(TABLE):
        writer.saveAsTable(target.removeprefix(TABLE))
    else:
        writer.save(target)


def _none_for_nan(value: Any) -> Any:
    """None for NaN, which pandas has in a column of integers where there is no number."""
    return None if isinstance(value, float) and value != value else value
