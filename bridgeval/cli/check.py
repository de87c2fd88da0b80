"""`bridgeval check`."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import Any

import click

from bridgeval.cli.options import BY, FILES, STORE, options, request_of_one
from bridgeval.errors import BridgevalError, ConfigError


@click.command(
    short_help="A gate for pipelines: no worse than a baseline.",
    epilog="""
\b
Examples:
  bridgeval check recs.parquet truth.parquet --max-drop nDCG@10=1% --save old.json     (the first time)
  bridgeval check recs.parquet truth.parquet --baseline old.json --max-drop nDCG@10=1% --junit gate.xml
  bridgeval check recs.parquet truth.parquet --baseline old.json --max-drop nDCG@10=1% --by users.csv
  bridgeval check recs.parquet truth.parquet --baseline runs/best --store runs --max-drop nDCG@10=1%
""",
)
@click.argument("files", nargs=-1, metavar="RECS TRUTH")
@click.option(
    "--baseline",
    "old",
    type=click.Path(),
    help="Written by --save or `evaluate --format json`; or a run: runs/last, runs/best, runs/TAG.",
)
@click.option(
    "--max-drop",
    "limits",
    multiple=True,
    required=True,
    metavar="METRIC=DROP",
    help="The largest acceptable drop: nDCG@10=1% (of the baseline's value) or nDCG@10=0.002. Repeatable.",
)
@click.option(
    "--alpha",
    type=float,
    default=0.05,
    show_default=True,
    help="How often a drop as large as the limit passes.",
)
@click.option("--other-inputs", is_flag=True, help="Allow a baseline of another truth or history.")
@click.option("--convention", metavar="TOOLKIT", help="The toolkit that defines names without a prefix.")
@click.option("--junit", type=click.Path(dir_okay=False), help="Write JUnit XML here.")
@click.option("--markdown", type=click.Path(dir_okay=False), help="Write a table for a merge request here.")
@click.option("--github", is_flag=True, help="Print annotations for GitHub; add the table to the step summary.")
@click.option("--gitlab", type=click.Path(dir_okay=False), help="Write a code quality report for GitLab here.")
@click.option("--format", "form", type=click.Choice(["text", "md", "json"]), default="text", help="Of what is printed.")
@click.option("--save", type=click.Path(dir_okay=False), help="Write the next baseline here, if the gate holds.")
@options((BY,), FILES, STORE)
@click.pass_context
def check(context: click.Context, /, files: tuple[str, ...], **given: Any) -> None:
    """A gate for pipelines: RECS may not be worse than a baseline by more than an acceptable drop.

    A non-inferiority test on paired users: the gate holds when, for every metric, a drop as large as its limit can be
    ruled out. With --by it also fails if a slice drops significantly by more, with Holm's correction. Exits with 0 if
    it holds, with 1 if it does not, with 2 if it could not be run.
    """
    from bridgeval.cli import SAID_NO, WRONG_COMMAND, say_error

    try:
        holds = _run(context, files, given)
    except BridgevalError as error:
        say_error(error)
        raise click.exceptions.Exit(WRONG_COMMAND) from error
    if not holds:
        raise click.exceptions.Exit(SAID_NO)


def _run(context: click.Context, files: tuple[str, ...], given: dict[str, Any]) -> bool:
    import bridgeval
    from bridgeval.baselines import check_report, parse_limit, save_baseline
    from bridgeval.cli.output import store_run, write_file
    from bridgeval.io.outputs import check_outputs
    from bridgeval.report.exports import Reports, write_text
    from bridgeval.report.pipelines import list_annotations, to_code_quality
    from bridgeval.verification import describe_request

    if not given["old"] and not given["save"] and not given["store"]:
        raise ConfigError("there is nothing to compare with", hint="give --baseline, or --save or --store to make one")
    limits = [parse_limit(text, given["convention"]) for text in given["limits"]]
    request, shown = request_of_one(context, files)
    request.check_outputs()
    outputs = {name: given[name] for name in ("junit", "markdown", "gitlab", "save")}
    check_outputs(outputs, [*request.files.values()])
    report = bridgeval.evaluate(
        shown,
        request.tables["relevance"],
        [limit.metric for limit in limits],
        per_user=True,
        by=request.slices(),
        **request.extras(),
    )
    inputs = describe_request(request)
    holds = True
    if given["old"]:
        gate = check_report(report, inputs, given["old"], limits, given["alpha"], report.by, given["other_inputs"])
        printed = {"md": gate.to_markdown, "json": lambda: json.dumps(gate.to_dict(), indent=2)}
        click.echo(printed.get(given["form"], gate.__str__)())
        holds = gate.holds
        if given["github"]:
            click.echo("\n".join(list_annotations(gate)))
            if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
                with open(summary, "a", encoding="utf-8") as opened:
                    opened.write(gate.to_markdown())
        if given["gitlab"]:
            quality = to_code_quality(gate, next(iter(request.recommendations.values())))
            write_file(given["gitlab"], lambda path: write_text(quality, path))
        if given["junit"]:
            write_file(given["junit"], gate.to_junit)
        if given["markdown"]:
            write_file(given["markdown"], gate.to_markdown)
    # A run that does not hold is not stored: as "last" it would be the next baseline.
    recorded = replace(report, manifest={"inputs": inputs})
    if given["save"] and holds:
        write_file(given["save"], lambda path: save_baseline(recorded, path))
    if given["store"] and holds:
        (system,) = request.recommendations
        store_run(Reports({system: recorded}, recorded.manifest), given["store"], given["tags"])
    return holds
