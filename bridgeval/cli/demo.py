"""`bridgeval demo`."""

from __future__ import annotations

import os

import click

METRICS = (
    "nDCG@5,10,20", "Recall@5,10,20", "MRR@10", "ItemCoverage@10", "Gini@10", "EPC@10", "ARP@10", "APLT@10",
)  # fmt: skip


@click.command(short_help="Run on a bundled sample and write a report page.")
@click.option("--folder", type=click.Path(file_okay=False), default="bridgeval-demo", show_default=True)
def demo(folder: str) -> None:
    """Run two recommenders on a bundled sample and write a report page.

    The sample is a made-up shop of 1,000 users with a realistic skew: few items sell a lot, most sell little.
    """
    import pyarrow.parquet as pa_parquet

    from bridgeval.cli import output
    from bridgeval.config import build_request, run
    from bridgeval.demo import sample

    made = sample()
    files = {"train": made.train, "truth": made.truth, **made.systems}
    os.makedirs(folder, exist_ok=True)
    for name, table in files.items():
        pa_parquet.write_table(table, _path(folder, name))
    request = build_request(
        {
            "recommendations": {name: _path(folder, name) for name in made.systems},
            "relevance": _path(folder, "truth"),
            "history": _path(folder, "train"),
            "metrics": METRICS,
            "report": os.path.join(folder, "report.html"),
        }
    )
    output.write(request, run(request))
    systems = " ".join(_path(folder, name) for name in made.systems)
    click.echo(f"\nThe report page: {os.path.abspath(request.report or '')}")
    click.echo("Try next:")
    click.echo(f"  bridgeval inspect {systems} {_path(folder, 'truth')} --train {_path(folder, 'train')}")
    click.echo(f"  bridgeval evaluate {systems} {_path(folder, 'truth')} -m nDCG@10 -m rectools:NDCG@10")
    click.echo("  bridgeval metrics nDCG")


def _path(folder: str, name: str) -> str:
    return os.path.join(folder, f"{name}.parquet")
