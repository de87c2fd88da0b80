"""`bridgeval librec`."""

from __future__ import annotations

import click

from bridgeval.cli.options import MetricName


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
@click.option("-m", "--metric", "metrics", type=MetricName(), multiple=True, help="[default: the study's own]")
@click.option("--by", type=click.Choice(["experiment", "fold"]), default="experiment", show_default=True)
@click.option("--out", type=click.Path(dir_okay=False), help="Write the table here, as CSV.")
@click.option("--pictures", type=click.Path(file_okay=False), help="Write the study's pictures into this folder.")
@click.option("--java", is_flag=True, help="Show LibRec's own values beside those computed here.")
@click.option("--compare", is_flag=True, help="Compare the experiments on the same users.")
@click.option("--trust-scripts", is_flag=True, help="Run the metric scripts that the study names.")
@click.option("--allow-outside", is_flag=True, help="Read files outside of the folder that the study names.")
def librec(
    study: str,
    metrics: tuple[str, ...],
    by: str,
    out: str | None,
    pictures: str | None,
    java: bool,
    compare: bool,
    trust_scripts: bool,
    allow_outside: bool,
) -> None:
    """Evaluate the experiments of a librec-auto STUDY folder."""
    from bridgeval.io.outputs import check_outputs
    from bridgeval.toolkits.librec import Study

    check_outputs({"out": out})
    report = Study(study, allow_outside=allow_outside).evaluate(list(metrics) or None, trust_scripts=trust_scripts)
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
