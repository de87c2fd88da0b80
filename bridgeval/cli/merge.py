"""`bridgeval merge`."""

from __future__ import annotations

import click

from bridgeval.cli.options import WRITING, options

# Without --by, the first: slices come from the states.
OUTPUT = WRITING[1:]


@click.command(
    short_help="One report of many evaluations.",
    epilog="""
\b
Examples:
  bridgeval evaluate recs-1.parquet truth-1.parquet -m nDCG@10 --state 1.state     (each shard, anywhere)
  bridgeval merge 1.state 2.state 3.state
  bridgeval merge monday.state tuesday.state --users events --state week.state --format json --out week.json
""",
)
@click.argument("files", nargs=-1, required=True, metavar="STATE...")
@click.option("--users", type=click.Choice(["distinct", "events"]), default="distinct", show_default=True,
              help="Users in several files: an error, or counted once for each file.")  # fmt: skip
@options(OUTPUT)
@click.option("--per-user", type=click.Path(dir_okay=False), help="Write per-user values here, as Parquet.")
@click.option("--state", type=click.Path(dir_okay=False), help="Write the merged states here, to merge them again.")
def merge(
    files: tuple[str, ...],
    users: str,
    format: str | None,
    out: str | None,
    report: str | None,
    log: tuple[str, ...],
    per_user: str | None,
    state: str | None,
) -> None:
    """One report of many evaluations, from the state files that `evaluate --state` wrote.

    Shards of users, evaluated anywhere, give the report of one evaluation. Files of other metrics or other data beside
    the lists, and damaged files, are refused.
    """
    import bridgeval
    from bridgeval.io.outputs import check_outputs

    check_outputs({"out": out, "report": report, "per_user": per_user}, files)
    merged = bridgeval.merge(files, users=users, state=state)  # type: ignore[arg-type]
    # Imported late, so that errors about the files do not wait for these imports.
    from bridgeval.cli import output

    reports = bridgeval.Reports({"merged": merged}, merged.manifest)
    output.write_numbers(reports, format or "table", out)
    if per_user:
        output.write_file(per_user, lambda path: output.write_per_user(reports, path))
    if report:
        output.write_file(report, reports.to_html)
    output.log_results(reports, log)
