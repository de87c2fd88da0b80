"""`bridgeval spark`, which is also `python -m bridgeval.spark`.

To add an option, add it here and to `bridgeval.spark.job.run`, which gets every option by its name.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from bridgeval.cli.options import CONTEXT, MetricName, Pairs
from bridgeval.errors import MissingDependencyError


@click.command(
    short_help="Evaluate inside a Spark job.",
    epilog="""
\b
Examples:
  spark-submit --master yarn evaluate.py s3://b/recs s3://b/truth -m nDCG@10 --out s3://b/report
      (evaluate.py is two lines: import runpy; runpy.run_module("bridgeval.spark", run_name="__main__"))
  bridgeval spark --recs recs.parquet --truth truth.parquet -m nDCG@10
  bridgeval spark --recs recs.parquet --truth truth.parquet --baseline users.parquet --max-drop nDCG@10=1%
  bridgeval spark --system old=table:db.a --system new=table:db.b --truth "sql:select * from db.truth" -m nDCG@10

A table is a path, table:NAME of the catalog, or sql:QUERY.
""",
)
@click.argument("paths", nargs=-1, metavar="[RECS] [TRUTH]")
@click.option("--recs", help="Recommendations, if they are not the first argument.")
@click.option("--system", "systems", multiple=True, metavar="NAME=RECS", help="A system to compare; repeatable.")
@click.option("--truth", help="Relevance, if it is not the last argument.")
@click.option(
    "-m",
    "--metric",
    "--metrics",
    "metrics",
    type=MetricName(),
    multiple=True,
    help="e.g. nDCG@5,10; repeatable. [default: nDCG@10 and Recall@10]",
)
@click.option("--history", "--train", help="Training interactions.")
@CONTEXT
@click.option("--convention", metavar="TOOLKIT", help="The toolkit that defines names without a prefix, e.g. replay.")
@click.option("--columns", type=Pairs(), help="The column of each part: user=customer,item=sku; score= for none.")
@click.option("--format", default="parquet", show_default=True, help="Any format of Spark: parquet, csv, delta, ...")
@click.option("--out-format", help="The format of what is written. [default: that of --format]")
@click.option(
    "--mode",
    type=click.Choice(["run", "append", "overwrite", "error"]),
    default="run",
    show_default=True,
    help="Replace the rows of this run, append, replace the table, or refuse one that exists.",
)
@click.option("--partition-by", multiple=True, metavar="COLUMN", help="Partition the written tables by it; repeatable.")
@click.option("--out", help="Add the numbers to this table.")
@click.option("--per-user-out", help="Add per-user values to this table.")
@click.option("--run-id", help="The name of this run in the tables. [default: a random one]")
@click.option("--baseline", help="Check against a run in this table of per-user values; needs --max-drop.")
@click.option("--baseline-run", help="The run that is the baseline. [default: the latest]")
@click.option(
    "--max-drop", multiple=True, metavar="METRIC=DROP", help="The largest acceptable drop, as for `check`; repeatable."
)
def spark(
    paths: tuple[str, ...],
    recs: str | None,
    systems: tuple[str, ...],
    truth: str | None,
    metrics: tuple[str, ...],
    **given: Any,
) -> None:
    """Evaluate inside a Spark job, without collecting the data; with --system compare, with --baseline check.

    A check exits with 1 if the gate does not hold.
    """
    from bridgeval import plugins, spec
    from bridgeval.cli import SAID_NO

    left = list(paths)
    named = dict(one.partition("=")[::2] for one in systems)
    if systems and (len(named) < 2 or "" in (*named, *named.values()) or recs):
        raise click.UsageError("A comparison takes two or more --system NAME=RECS of different names, and no --recs.")
    shown: Any = named or recs or (left.pop(0) if left else None)
    truth = truth or (left.pop(0) if left else None)
    if shown is None or truth is None or left:
        raise click.UsageError("Two tables are needed: the recommendations and the relevance.")
    # A misspelled name is an error before a session is started.
    asked = [*metrics, *(limit.rpartition("=")[0] for limit in given["max_drop"])]
    if asked:
        spec.name_all(asked, given["convention"], plugins.installed())
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        # Not under spark-submit: the workers run on this machine and need the packages of this Python.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        from bridgeval.spark import job
    except ImportError as error:
        raise MissingDependencyError(
            "Spark cannot be used here", str(error), "pip install 'bridgeval[spark]'"
        ) from error
    with job.open_session() as session:
        given |= {"metrics": metrics} if metrics else {}
        found = job.run(recs=shown, truth=truth, session=session, **given)
        click.echo(str(found))
    if given["baseline"] and not found.holds:
        raise click.exceptions.Exit(SAID_NO)
