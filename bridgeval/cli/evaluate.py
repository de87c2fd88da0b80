"""`bridgeval evaluate`."""

from __future__ import annotations

from typing import Any

import click

from bridgeval.cli import INSPECTED
from bridgeval.cli.options import ASKING, READING, STORE, WRITING, options, request_from

RUNNING = (
    click.option("--per-user", type=click.Path(dir_okay=False), help="Write per-user values here, as Parquet."),
    click.option("--state", type=click.Path(dir_okay=False), help="Write the states here, for `bridgeval merge`."),
    click.option("--device", metavar="NAME", help="auto, cpu, cuda, ... [default: auto]"),
    click.option("--batch-size", type=click.IntRange(1), help="Users in a batch. [default: as many as fit]"),
    click.option("--memory", metavar="SIZE", help="The memory budget, e.g. 2GB; larger files are streamed."),
    click.option("--inspect/--no-inspect", default=True, help="Check the data for problems; serious ones are printed."),
)  # fmt: skip


@click.command(
    epilog="""
\b
Examples:
  bridgeval evaluate recs.parquet truth.parquet -m nDCG@5,10 -m Recall@10
  bridgeval evaluate bpr=a.tsv als=b.tsv truth.tsv --train train.tsv --report page.html
  bridgeval evaluate run.trec qrels.txt --convention trec_eval -m ndcg_cut@10
  zcat recs.csv.gz | bridgeval evaluate - truth.csv --format json --out report.json
  bridgeval evaluate --config study.toml --format md
"""
)
@click.argument("files", nargs=-1, metavar="[RECS]... TRUTH")
@options(ASKING, READING, WRITING, STORE, RUNNING)
@click.pass_context
def evaluate(context: click.Context, /, files: tuple[str, ...], config: str | None, **_: Any) -> None:
    """Evaluate recommendations against the relevant items.

    RECS is one file for each system, NAME=FILE names the system; TRUTH comes last. The format is detected: Parquet,
    CSV, TSV, JSON lines, TREC runs and qrels, .npy score matrices, each also compressed with gzip, bzip2 or zstd; - is
    standard input.
    """
    from bridgeval.config import run

    request = request_from(context, files, config)
    context.meta[INSPECTED] = request.inspect and not request.streamed
    outcome = run(request)
    # Imported late, so that errors about the files do not wait for these imports.
    from bridgeval.cli import output

    output.write(request, outcome)
