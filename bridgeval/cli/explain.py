"""`bridgeval explain`."""

from __future__ import annotations

from typing import Any

import click

from bridgeval.cli.options import ANSWER, READING, MetricName, options, request_of_one


@click.command(
    epilog="""
\b
Examples:
  bridgeval explain recs.parquet truth.parquet rectools:NDCG@10 ranx:ndcg@10
  bridgeval explain recs.csv truth.csv replay:MAP@5 "MAP(divide_by='k')@5"
  bridgeval explain recs.csv truth.csv Precision@5 RPrecision --format html > why.html
"""
)
@click.argument("files", nargs=-1, metavar="RECS TRUTH")
@click.argument("first", type=MetricName())
@click.argument("second", type=MetricName())
@options(READING, ANSWER)
@click.pass_context
def explain(
    context: click.Context, /, files: tuple[str, ...], first: str, second: str, form: str | None, **_: Any
) -> None:
    """Explain why two definitions of one metric give two numbers.

    Switches one parameter after another from FIRST to SECOND and prints the effect of each; the effects add up to the
    difference. With --format md it is a paragraph for a paper, with html a page with a picture.
    """
    import bridgeval
    from bridgeval.cli.output import print_answer

    request, shown = request_of_one(context, files)
    print_answer(bridgeval.explain(shown, request.tables["relevance"], first, second, **request.extras()), form)
