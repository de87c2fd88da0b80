"""`bridgeval verify`."""

from __future__ import annotations

import os

import click

from bridgeval.errors import InputError


@click.command(
    epilog="""
\b
Example:
  bridgeval evaluate recs.parquet truth.parquet --format json --out report.json
  bridgeval verify report.json
"""
)
@click.argument("report", metavar="REPORT.json")
@click.option("--tolerance", type=click.FloatRange(0), default=1e-9, show_default=True,
              help="The largest relative difference of equal numbers.")  # fmt: skip
@click.option("--allow-outside", is_flag=True, help="Read inputs elsewhere even if they changed, and URLs.")
def verify(report: str, tolerance: float, allow_outside: bool) -> None:
    """Make a report again from its inputs and compare.

    Paths of the inputs are relative to the report. Outside of its folder only files that are as recorded are read; a
    report that you trust may read others with --allow-outside. Exits with 1 if an input or a number is not as recorded.
    """
    from bridgeval.cli import SAID_NO
    from bridgeval.report.saved_reports import read_report
    from bridgeval.verification import verify as verify_report

    if not os.path.isfile(report):
        raise InputError("there is no report to verify", f"{report!r}", "check the path")
    document = read_report(report, "give a file written by --format json")
    found = verify_report(document, os.path.dirname(report), tolerance, allow_outside)
    for other in found.versions:
        click.echo(f"note: {other.what} was {other.recorded}, is {other.now}", err=True)
    for other in found.changes:
        click.echo(f"differs: {other.what}: recorded {other.recorded}, now {other.now}")
    if found.changes:
        raise click.exceptions.Exit(SAID_NO)
    click.echo(f"verified: {found.values} values and {found.inputs} inputs are as recorded")
