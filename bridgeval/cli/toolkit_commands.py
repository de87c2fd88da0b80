"""`bridgeval librec` and `bridgeval spark`: what a toolkit left in a folder, and what never fits on one machine."""

from __future__ import annotations

from typing import Any

import click

from bridgeval.cli.options import MetricName, Pairs


@click.command(
    epilog="""
\b
Examples:
  bridgeval librec study/
  bridgeval librec study/ -m nDCG@10 -m Precision@10 --by fold --out folds.csv
  bridgeval librec study/ -m ndcg@10 --java --compare
"""
)
@click.argument("study", type=click.Path())
@click.option("-m", "--metric", "metrics", type=MetricName(), multiple=True, help="[default: what the study asks for]")
@click.option("--by", type=click.Choice(["experiment", "fold"]), default="experiment", show_default=True)
@click.option("--out", type=click.Path(dir_okay=False), help="Write the table here, as CSV.")
@click.option("--pictures", type=click.Path(file_okay=False), help="Write the study's pictures into this folder.")
@click.option("--java", is_flag=True, help="Show what LibRec itself computed beside the same computed here.")
@click.option("--compare", is_flag=True, help="Compare the experiments on the same users.")
@click.option("--trust-scripts", is_flag=True, help="Run metric scripts that the study names. They are code.")
def librec(
    study: str,
    metrics: tuple[str, ...],
    by: str,
    out: str | None,
    pictures: str | None,
    java: bool,
    compare: bool,
    trust_scripts: bool,
) -> None:
    """Evaluate the experiments of a librec-auto STUDY folder."""
    Study = _imported("bridgeval.toolkits.librec", "Study")
    report = Study(study).evaluate(list(metrics) or None, trust_scripts=trust_scripts)
    if out is None:
        frame = report.by_fold() if by == "fold" else report.by_experiment()
        click.echo(frame.to_string(index=False))
    else:
        from bridgeval.cli.output import write_file

        write_file(out, lambda path: report.to_csv("full" if by == "fold" else "summary", path))
    if java:
        beside = report.java_values()
        click.echo(beside.to_string(index=False) if len(beside) else "LibRec left no values in logs or output.xml")
    if compare:
        click.echo(str(report.compare()))
    if pictures is not None:
        for picture in report.pictures(pictures):
            click.echo(f"wrote {picture}", err=True)


@click.command(
    short_help="Evaluate inside a Spark job.",
    epilog="""
\b
Examples:
  spark-submit --master yarn $(which bridgeval) spark s3://b/recs s3://b/truth -m nDCG@10 --out s3://b/report
  bridgeval spark --recs recs.parquet --truth truth.parquet --metrics nDCG@10
""",
)
@click.argument("paths", nargs=-1, metavar="[RECS] [TRUTH]")
@click.option("--recs", help="Recommendations, where they are not the first argument.")
@click.option("--truth", help="What proved relevant, where it is not the last argument.")
@click.option(
    "-m", "--metric", "--metrics", "metrics", type=MetricName(), multiple=True, help="[default: nDCG@10 and Recall@10]"
)
@click.option("--history", "--train", help="Training interactions.")
@click.option("--convention", metavar="TOOLKIT", help="Whose definitions names without a prefix mean, e.g. replay.")
@click.option("--columns", type=Pairs(), help="Which column plays which part: user=customer,item=sku.")
@click.option("--format", default="parquet", show_default=True, help="What Spark reads: parquet, csv, json, orc, ...")
@click.option("--out", help="Where the numbers are appended, as a table.")
@click.option("--per-user-out", help="Where per-user values are appended, as a table.")
@click.option("--run-id", help="How this run is called in the tables.")
def spark(paths: tuple[str, ...], recs: str | None, truth: str | None, metrics: tuple[str, ...], **more: Any) -> None:
    """Evaluate inside a Spark job; nothing is collected to one machine."""
    import os
    import sys

    left = list(paths)
    recs = recs or (left.pop(0) if left else None)
    truth = truth or (left.pop(0) if left else None)
    if recs is None or truth is None or left:
        raise click.UsageError("two paths are needed: of the recommendations and of what proved relevant")
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        # Not under spark-submit: workers are on this machine and must find the packages that this Python has.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    run = _imported("bridgeval.spark.job", "run")
    report = run(recs=recs, truth=truth, metrics=list(metrics) or ["nDCG@10", "Recall@10"], **more)
    if report is not None:
        click.echo(str(report))


def _imported(module: str, name: str) -> Any:
    """Something from a part that may not be there."""
    import importlib

    from bridgeval.errors import MissingDependencyError

    try:
        return getattr(importlib.import_module(module), name)
    except ImportError as error:
        hint = "pip install 'bridgeval[spark]'" if "spark" in module else "install a version of bridgeval that has it"
        raise MissingDependencyError(f"{module} cannot be used here", str(error), hint) from error
