"""`bridgeval explain`."""

from __future__ import annotations

from typing import Any

import click

from bridgeval.cli.options import READING, MetricName, options, request_from


@click.command(
    epilog="""
\b
Examples:
  bridgeval explain recs.parquet truth.parquet rectools:NDCG@10 ranx:ndcg@10
  bridgeval explain recs.csv truth.csv replay:MAP@5 "MAP(divide_by='k')@5"
"""
)
@click.argument("recs")
@click.argument("truth")
@click.argument("first", type=MetricName())
@click.argument("second", type=MetricName())
@options(READING)
@click.pass_context
def explain(context: click.Context, /, recs: str, truth: str, first: str, second: str, **_: Any) -> None:
    """Explain why two definitions of one metric give two numbers.

    Switches one parameter after another from FIRST to SECOND and prints the effect of each; the effects add up to the
    difference.
    """
    import bridgeval

    request = request_from(context, [recs, truth], None)
    (system,) = request.recommendations
    shown, relevant = request.tables[f"recommendations[{system}]"], request.tables["relevance"]
    click.echo(str(bridgeval.explain(shown, relevant, first, second, **request.extras())))
