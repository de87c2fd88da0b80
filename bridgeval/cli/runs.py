"""`bridgeval runs`."""

from __future__ import annotations

import click

from bridgeval.cli.options import MetricName


@click.command(
    short_help="List, compare and draw the runs in a folder.",
    epilog="""
\b
Examples:
  bridgeval evaluate recs.parquet truth.parquet -m nDCG@10 --store runs --tag nightly     (adds a run)
  bridgeval runs
  bridgeval runs --tag nightly --last 10 -m nDCG@10
  bridgeval runs --compare best --compare last -m nDCG@10
  bridgeval runs --page runs.html
""",
)
@click.argument("folder", default="runs", type=click.Path())
@click.option(
    "-m",
    "--metric",
    "metrics",
    type=MetricName(),
    multiple=True,
    help="Only these numbers; the first decides what is best. Repeatable.",
)
@click.option("--system", help="Only runs of this system.")
@click.option("--tag", help="Only runs with this tag.")
@click.option("--since", metavar="DATE", help="Only runs since then, e.g. 2026-11-18 or 2026-11-18T09:30, in UTC.")
@click.option("--last", type=click.IntRange(1), help="Only the last so many runs.")
@click.option(
    "--compare",
    "compared",
    multiple=True,
    metavar="RUN",
    help="Compare runs on the same users: last, best, a tag or an id. The first is the baseline. Repeatable.",
)
@click.option("--page", type=click.Path(dir_okay=False), help="Write a page with the metrics over time here.")
@click.option("--format", "form", type=click.Choice(["table", "csv", "json", "md"]), default="table",
              help="The output format. [default: table]")  # fmt: skip
def runs(
    folder: str,
    metrics: tuple[str, ...],
    system: str | None,
    tag: str | None,
    since: str | None,
    last: int | None,
    compared: tuple[str, ...],
    page: str | None,
    form: str,
) -> None:
    """List the runs that `--store` or `report.save("runs/")` added to FOLDER, which is "runs" if it is left out.

    With --compare, tests which metrics differ. With --page, draws every metric over time with its interval, and marks
    changes that are significant.
    """
    import bridgeval
    from bridgeval.cli.output import format_table, write_file
    from bridgeval.run_history import SHOWN

    found = bridgeval.read_runs(folder).filter(system=system, tag=tag, since=since, last=last).select(metrics)
    if compared:
        comparison = found.compare(*compared, metric=metrics[0] if metrics else None)
        writers = {"csv": comparison.to_csv, "json": comparison.to_json, "md": comparison.to_markdown}
        click.echo(writers.get(form, comparison.__str__)().rstrip("\n"))
    elif form != "table":
        click.echo({"csv": found.to_csv, "json": found.to_json, "md": found.to_markdown}[form]().rstrip("\n"))
    elif not page:
        shown = found.metrics if metrics else found.metrics[:SHOWN]
        click.echo("\n".join(format_table(*found.list_cells(shown))))
        if left := ", ".join(found.metrics[len(shown) :]):
            click.echo(f"\nalso: {left}; choose with --metric")
    if page:
        write_file(page, found.to_html)
