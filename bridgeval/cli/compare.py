"""`bridgeval compare`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from bridgeval.cli.options import ASKING, FILES, WRITING, options, read_settings
from bridgeval.errors import ConfigError

if TYPE_CHECKING:
    from bridgeval.config import Request
    from bridgeval.report.comparison import Comparison

# Options of the same name as the arguments of `compare`.
STATISTICS = ("pairs", "test", "correction", "family", "alpha", "resamples", "seed", "bootstrap")
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
    click.option("--bootstrap", type=click.Choice(["users", "poisson"]), default="users", show_default=True,
                 help="Draw as many users as there are, or each by a hash of the id, as on Spark."),
)  # fmt: skip


@click.command(
    epilog="""
\b
Examples:
  bridgeval compare old=a.parquet new=b.parquet truth.parquet -m nDCG@10 -m Recall@10
  bridgeval compare runs/ truth.tsv --pairs all --report page.html
  bridgeval compare old=a.tsv new=b.tsv --truth truth.tsv --by users.csv --format md
  bridgeval compare --config study.toml
  bridgeval compare saved.parquet            (written by `evaluate --per-user`)
"""
)
@click.argument("files", nargs=-1, metavar="[RECS]... [TRUTH]")
@options(ASKING, FILES, TESTING, WRITING)
@click.pass_context
def compare(context: click.Context, /, files: tuple[str, ...], config: str | None, **given: Any) -> None:
    """Is one system better than another?

    RECS is one file for each system: NAME=FILE names the system, a folder stands for the files in it, a file of
    per-user values, or a folder of them that Spark wrote, for the systems or runs in it. TRUTH comes last, as in
    `evaluate`. With per-user values alone, leave out TRUTH.
    """
    import bridgeval

    systems, request = _read_inputs(context, files, config)
    request.check_outputs()
    comparison = bridgeval.compare(
        systems,
        request.tables["relevance"] if request.relevance else None,
        request.metrics,
        baseline=given["against"],
        by=request.slices(),
        **{name: given[name] for name in STATISTICS},
        **_list_evaluation_arguments(request),
    )
    _write(comparison, request)


def _read_inputs(context: click.Context, files: Sequence[str], config: str | None) -> tuple[dict[str, Any], Request]:
    """The systems, and the request of those that are recommendations; its truth is "" if none is."""
    from bridgeval.config import build_request, name_systems
    from bridgeval.stats.paired_values import is_user_values

    # Where per-user values stand last, there is no truth.
    settings = read_settings(context, files, config, not files or not is_user_values(files[-1].rpartition("=")[2]))
    runs = settings.get("recommendations", ())
    named = [f"{name}={path}" for name, path in runs.items()] if isinstance(runs, dict) else runs
    paths = name_systems(_find_systems([named] if isinstance(named, str) else named))
    if len(paths) < 2:
        found = f"only {', '.join(paths)} was given" if paths else "none was given"
        raise click.UsageError(f"Two systems are needed before TRUTH, but {found}.", context)
    lists = {name: path for name, path in paths.items() if not is_user_values(path)}
    if lists and "relevance" not in settings:
        raise click.UsageError("TRUTH must be the last file where systems are given as recommendations.", context)
    truth = settings["relevance"] if lists else ""
    request = build_request(
        settings | {"recommendations": lists, "relevance": truth}, f"the config {config!r}" if config else ""
    )
    return {**paths, **{name: request.tables[f"recommendations[{name}]"] for name in lists}}, request


def _list_evaluation_arguments(request: Request) -> dict[str, Any]:
    """The further arguments of `evaluate`."""
    if request.baseline:
        raise ConfigError(
            "a comparison has no file of a baseline for unexpectedness",
            f"baseline = {request.baseline!r}",
            "leave it out of the config; --baseline names the system to compare with",
        )
    how = {"device": request.device, "batch_size": request.batch_size, "memory": request.memory}
    return request.extras() | how | {"convention": request.convention}


def _find_systems(runs: Sequence[str]) -> Iterator[tuple[str, str]]:
    from bridgeval.config import parse_system
    from bridgeval.stats.paired_values import is_user_values, read_user_values

    for run in runs:
        name, path = parse_system(run)
        if os.path.isdir(path) and not is_user_values(path):
            inside = sorted(entry.path for entry in os.scandir(path) if entry.is_file())
            yield from _find_systems(inside)
        elif is_user_values(path) and name == parse_system(path)[0]:
            saved = list(read_user_values(path))
            yield from ((own or name, path) for own in saved)
        else:
            yield name, path


def _write(found: Comparison, request: Request) -> None:
    from bridgeval.cli.output import WRITERS, log_results, write_file, write_text
    from bridgeval.config import look_up_examples

    writer = WRITERS.get(request.format)
    write_text(f"{found}\n" if writer is None else getattr(found, writer)(), request.out)
    if request.report:
        examples = look_up_examples(request, found.reports, found.baseline)
        write_file(request.report, lambda path: found.to_html(path, examples=examples))
    log_results(found, request.log)
