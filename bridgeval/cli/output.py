"""Output of the commands: tables, files, findings."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import click

from bridgeval.errors import ConfigError
from bridgeval.report import Reports

if TYPE_CHECKING:
    from bridgeval.config import Outcome, Request
    from bridgeval.inspection import Finding
    from bridgeval.report.exports import Exports

COLORS = {"stop": "red", "alarm": "yellow", "note": None, "fine": "green"}
# Marks the best value of a row; stands between columns; the least width of text in a table.
BEST, GAP, NARROW = " *", "   ", 20
# Format -> the method of Reports and Comparison that writes it.
WRITERS = {"json": "to_json", "csv": "to_csv", "md": "to_markdown", "latex": "to_latex"}


class Answer(Protocol):
    """Something that writes itself in several formats; `str` of it is text for a terminal."""

    def to_dict(self) -> dict[str, Any]: ...
    def to_markdown(self) -> str: ...
    def to_html(self) -> str: ...


def write(request: Request, outcome: Outcome) -> None:
    """Writes everything a request asks for: numbers, page, per-user values; then prints serious findings."""
    from bridgeval.config import look_up_examples
    from bridgeval.verification import record_request

    reports = Reports(outcome.reports)
    if request.format == "json":
        reports = Reports(reports.systems, record_request(request, os.path.dirname(request.out or "")))
    write_numbers(reports, request.format, request.out)
    if request.per_user:
        write_file(request.per_user, lambda path: write_per_user(reports, path))
    if request.report:
        manifest = record_request(request, os.path.dirname(request.report))
        page = Reports(reports.systems, manifest)
        more = {"inspections": outcome.inspections, "examples": look_up_examples(request, outcome.reports)}
        write_file(request.report, lambda path: page.to_html(path, **more))
    if request.log:
        log_results(Reports(reports.systems, record_request(request, "")), request.log)
    if request.store:
        for system, report in outcome.reports.items():
            alone = replace(request, recommendations={system: request.recommendations[system]})
            store_run(Reports({system: report}, record_request(alone, request.store)), request.store, request.tags)
    for system, inspection in outcome.inspections.items():
        print_findings(inspection.alarming, f"{system}: " if len(reports) > 1 else "", err=True)


def write_numbers(reports: Reports, format: str, out: str | None) -> None:
    """Writes the numbers to a file, or to the terminal."""
    text = _format_reports(reports) if format == "table" else getattr(reports, WRITERS[format])()
    write_text(text, out)


def log_results(results: Exports, sinks: Iterable[str]) -> None:
    """Writes results to sinks, each as `--log` names it."""
    from bridgeval.report.sinks import parse_log

    for sink, options in map(parse_log, sinks):
        results.log(sink, **options)
        click.echo(f"logged to {sink}", err=True)


def store_run(results: Exports, folder: str, tags: Iterable[str]) -> None:
    """Adds a run to a folder and prints its path."""
    from bridgeval.report.run_files import write_runs

    try:
        (run,) = write_runs(results, folder, tags)
    except OSError as error:
        raise ConfigError(
            f"{folder!r} cannot be written", error.strerror or str(error), "choose another one"
        ) from error
    click.echo(f"stored {run.path}", err=True)


def write_file(path: str, write: Callable[[str], object]) -> None:
    """Writes a file and prints its path."""
    try:
        write(path)
    except OSError as error:
        raise ConfigError(f"{path!r} cannot be written", error.strerror or str(error), "choose another path") from error
    click.echo(f"wrote {path}", err=True)


def write_text(text: str, path: str | None) -> None:
    """Writes text to a file, without colors, or to the terminal."""
    from bridgeval.report.exports import write_text as export_text

    if path is None:
        click.echo(text, nl=False)
    else:
        write_file(path, lambda file: export_text(click.unstyle(text), file))


def _format_reports(reports: Reports) -> str:
    """The numbers as a table, and below it the number of users counted."""
    wide = reports.wide()
    rows = [[cell.text + (BEST if cell.best else "") for cell in row] for row in wide.rows]
    notes = ["* the best value of its row; ± half of the 95% interval"] if len(reports) > 1 else []
    return "\n".join([*format_table(wide.head, rows, numbers=True), "", *notes, *reports.footnotes(), ""])


def format_table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: bool = False) -> list[str]:
    """The lines of a table: the head, a rule, the rows.

    Args:
        head: a title for each column.
        rows: a cell for each column.
        numbers: whether all columns but the first hold numbers, which are aligned on the right. Otherwise the last one
            holds text, which is wrapped at the edge of a terminal.
    """
    cells = [list(head), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    left = 1 + sum(widths[:-1]) + len(GAP) * len(widths[:-1])
    if not numbers and sys.stdout.isatty():
        widths[-1] = min(widths[-1], max(shutil.get_terminal_size().columns - left, NARROW))
        for row in cells:
            row[-1] = ("\n" + " " * left).join(textwrap.wrap(row[-1], widths[-1]))
    lines = []
    for row in cells:
        padded = [cell.rjust(width) if numbers and at else cell.ljust(width)
                  for at, (cell, width) in enumerate(zip(row, widths, strict=True))]  # fmt: skip
        styled = [click.style(cell, fg="green", bold=True) if cell.endswith(BEST) else cell for cell in padded]
        lines.append(" " + GAP.join(styled).rstrip())
    return [click.style(lines[0], bold=True), " " + "─" * (left + widths[-1] - 1), *lines[1:]]


def print_findings(findings: Iterable[Finding], before: str = "", err: bool = False) -> None:
    """Prints a line for each finding."""
    from bridgeval.inspection.findings import MARKS

    for finding in findings:
        serious = finding.level in ("stop", "alarm")
        mark = click.style(MARKS[finding.level], fg=COLORS[finding.level], bold=serious)
        effect = click.style(f": {finding.effect}", dim=True) if finding.effect else ""
        click.echo(f"{mark} {click.style(before + finding.what, dim=not serious)}{effect}", err=err)


def print_answer(answer: Answer, form: str | None) -> None:
    """Prints an explanation or an identification in the format asked for."""
    writers: dict[str | None, Callable[[], str]] = {
        "json": lambda: json.dumps(answer.to_dict(), indent=2, ensure_ascii=False),
        "md": answer.to_markdown,
        "html": answer.to_html,
    }
    click.echo(writers.get(form, answer.__str__)())


def write_per_user(reports: Reports, path: str) -> None:
    """Writes the per-user values of all systems as Parquet."""
    import pandas as pd

    from bridgeval.io.outputs import written_beside

    frames = []
    for system, report in reports.items():
        for name in report.collected:
            frames.append(report.collected[name].frame(name, None).assign(system=system))
    if not frames:
        raise ConfigError("none of the metrics has per-user values", hint="leave out {argument}", argument="per_user")
    with written_beside(path) as beside:
        pd.concat(frames)[["system", "metric", "user", "value"]].to_parquet(beside, index=False)
