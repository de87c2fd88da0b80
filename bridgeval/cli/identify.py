"""`bridgeval identify`."""

from __future__ import annotations

from typing import Any

import click

from bridgeval.cli.options import ANSWER, READING, MetricName, options, request_of_one


@click.command(
    epilog="""
\b
Examples:
  bridgeval identify recs.parquet truth.parquet 0.3421 ndcg@10
  bridgeval identify recs.csv truth.csv 5.89% hr --cutoff 5 --cutoff 10
"""
)
@click.argument("files", nargs=-1, metavar="RECS TRUTH")
@click.argument("value")
@click.argument("metric", type=MetricName())
@click.option("--cutoff", "cutoffs", type=int, multiple=True, help="Another cutoff to try. Repeatable.")
@click.option("--tolerance", type=float, help="How far a number may be off. [default: half of the last digit]")
@options(READING, ANSWER)
@click.pass_context
def identify(
    context: click.Context,
    /,
    files: tuple[str, ...],
    value: str,
    metric: str,
    cutoffs: tuple[int, ...],
    tolerance: float | None,
    form: str | None,
    **_: Any,
) -> None:
    """Find the definitions of a metric that give a number.

    Tries METRIC as every installed library defines it, with other populations and orders of ties, and prints those that
    give VALUE to the digits given; then the nearest. Exits with 1 if none does.
    """
    import bridgeval
    from bridgeval.cli import SAID_NO
    from bridgeval.cli.output import print_answer

    request, shown = request_of_one(context, files)
    truth = request.tables["relevance"]
    found = bridgeval.identify(shown, truth, value, metric, cutoffs=cutoffs, tolerance=tolerance, **request.extras())
    print_answer(found, form)
    if not found.matches:
        raise click.exceptions.Exit(SAID_NO)
