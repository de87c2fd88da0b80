"""`bridgeval compare`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from bridgeval.cli.options import ASKING, FILES, WRITING, options, settings_in

if TYPE_CHECKING:
    from bridgeval.report.comparison import Comparison

TESTING = (
    click.option("--baseline", "against", metavar="NAME", help="The system to compare with. [default: the first]"),
    click.option("--pairs", type=click.Choice(["baseline", "all"]), default="baseline", show_default=True,
                 help="Each system with the baseline, or all pairs."),
    click.option("--test", default="t", show_default=True, help="The test that decides: t, wilcoxon or permutation."),
    click.option("--correction", type=click.Choice(["holm", "bh", "none"]), default="holm", show_default=True),
    click.option("--family", type=click.Choice(["all", "metric", "system"]), default="all", show_default=True,
                 help="The tests that one correction covers."),
    click.option("--alpha", type=float, default=0.05, show_default=True, help="Level of tests and intervals."),
    click.option("--resamples", type=int, default=10_000, show_default=True, help="For bootstrap and permutation."),
    click.option("--seed", type=int, default=0, show_default=True),
)  # fmt: skip


@click.command(
    epilog="""
\b
Examples:
  bridgeval compare truth.parquet old=a.parquet new=b.parquet -m nDCG@10 -m Recall@10
  bridgeval compare truth.tsv runs/ --pairs all --report page.html
  bridgeval compare truth.tsv old=a.tsv new=b.tsv --by users.csv --format md
  bridgeval compare saved.parquet            (written by `evaluate --per-user`)
"""
)
@click.argument("files", nargs=-1, metavar="[TRUTH] RECS...", required=True)
@options(ASKING, FILES, TESTING, WRITING)
@click.pass_context
def compare(context: click.Context, /, files: tuple[str, ...], **given: Any) -> None:
    """Is one system better than another?

    TRUTH comes first. RECS is one file for each system: NAME=FILE names the system, a folder stands for the files in
    it, a file of per-user values for the systems in it. With per-user values alone, leave out TRUTH.
    """
    import bridgeval
    from bridgeval.config import read_input

    systems, truth, evaluation = _read_inputs(context, files)
    if len(systems) < 2:
        found = f"only {', '.join(systems)} was given" if systems else "none was given"
        raise click.UsageError(f"Two systems are needed after TRUTH, but {found}.", context)
    comparison = bridgeval.compare(
        systems,
        truth,
        given["metrics"] or ("nDCG@10", "Recall@10"),
        baseline=given["against"],
        by=[read_input(path, text_ids=given["text_ids"]) for path in given["by"]] or None,
        **{name: given[name] for name in ("pairs", "test", "correction", "family", "alpha", "resamples", "seed")},
        **evaluation,
    )
    _write(comparison, given)


def _read_inputs(context: click.Context, files: Sequence[str]) -> tuple[dict[str, Any], Any, dict[str, Any]]:
    """Systems, truth, and further arguments of `evaluate`."""
    from bridgeval.config import build_request, name_systems
    from bridgeval.stats.paired_values import is_user_values

    saved = is_user_values(files[0].rpartition("=")[2])
    truth, runs = ("", files) if saved else (files[0], files[1:])
    paths = name_systems(_find_systems(runs))
    lists = {name: path for name, path in paths.items() if not is_user_values(path)}
    if not lists:
        return paths, None, {}
    if not truth:
        raise click.UsageError("TRUTH must be the first file where systems are given as recommendations.", context)
    request = build_request({**settings_in(context), "recommendations": lists, "relevance": truth})
    tables = {name: request.tables[f"recommendations[{name}]"] for name in lists}
    return {**paths, **tables}, request.tables["relevance"], request.extras() | {"convention": request.convention}


def _find_systems(runs: Sequence[str]) -> Iterator[tuple[str, str]]:
    from bridgeval.config import parse_system
    from bridgeval.stats.paired_values import is_user_values, read_user_values

    for run in runs:
        name, path = parse_system(run)
        if os.path.isdir(path):
            inside = sorted(entry.path for entry in os.scandir(path) if entry.is_file())
            yield from _find_systems(inside)
        elif is_user_values(path) and name == parse_system(path)[0]:
            saved = list(read_user_values(path))
            yield from ((own or name, path) for own in saved)
        else:
            yield name, path


def _write(found: Comparison, given: dict[str, Any]) -> None:
    from bridgeval.cli.output import WRITERS, write_file, write_text

    writer = WRITERS.get(given["format"])
    write_text(f"{found}\n" if writer is None else getattr(found, writer)(), given["out"])
    if given["report"]:
        write_file(given["report"], found.to_html)
