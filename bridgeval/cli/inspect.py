"""`bridgeval inspect`."""

from __future__ import annotations

import json
from typing import Any

import click

from bridgeval.cli.options import ASKING, READING, options, request_from


@click.command(
    epilog="""
\b
Examples:
  bridgeval inspect recs.parquet truth.parquet
  bridgeval inspect recs.csv truth.csv --train train.csv -m nDCG@20 --format json
"""
)
@click.argument("files", nargs=-1, metavar="[RECS]... TRUTH")
@options(ASKING, READING)
@click.option("--format", type=click.Choice(["table", "json"]), help="The output format. [default: table]")
@click.pass_context
def inspect(context: click.Context, /, files: tuple[str, ...], config: str | None, **_: Any) -> None:
    """Check the data for problems before evaluating.

    Counts users in the recommendations, in the truth and in both; finds short lists, repeated rows, ties at the cutoff,
    unknown and seen items, missing values, ids of different types; prints the effect of each on the first metric. Exits
    with 1 if no user can be evaluated.
    """
    from bridgeval.cli import SAID_NO
    from bridgeval.cli.output import print_findings
    from bridgeval.config import inspect_system

    request = request_from(context, files, config)
    inspections = {system: inspect_system(request, system) for system in request.recommendations}
    if request.format == "json":
        found = {system: inspection.to_dict() for system, inspection in inspections.items()}
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        for system, inspection in inspections.items():
            if len(inspections) > 1:
                click.secho(system, bold=True)
            click.echo(inspection.summary())
            print_findings(inspection.findings)
    if any(finding.level == "stop" for one in inspections.values() for finding in one.findings):
        raise click.exceptions.Exit(SAID_NO)
