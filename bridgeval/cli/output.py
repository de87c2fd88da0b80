"""Output of the commands: tables, files, findings."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bridgeval.errors import ConfigError
from bridgeval.report import Reports

if TYPE_CHECKING:
    from bridgeval.config import Outcome, Request
    from bridgeval.inspection import Finding, Inspection

# Output that is not a terminal is not wrapped.
WIDE = 400
STYLES = {"stop": "red bold", "alarm": "yellow bold", "note": "dim", "fine": "green"}
FORMATS: Mapping[str, Callable[[Reports], str]] = {
    "json": Reports.to_json,
    "csv": Reports.to_csv,
    "md": Reports.to_markdown,
    "latex": Reports.to_latex,
}


class _Console(Console):
    def on_broken_pipe(self) -> None:
        # The program decides how it ends; rich would end it with an error.
        raise BrokenPipeError


def console(stderr: bool = False) -> Console:
    """A console that wraps and uses colors on a terminal only."""
    stream = sys.stderr if stderr else sys.stdout
    return _Console(file=stream, width=None if stream.isatty() else WIDE, highlight=False)


def write(request: Request, outcome: Outcome) -> None:
    """Writes everything a request asks for: numbers, page, per-user values; then prints serious findings."""
    from bridgeval.verification import record_request

    reports = Reports(outcome.reports)
    if request.format == "table" and request.out is None:
        print_reports(reports)
    else:
        if request.format == "json":
            folder = os.path.dirname(request.out) if request.out else ""
            reports = Reports(reports.systems, record_request(request, folder))
        text = FORMATS[request.format](reports) if request.format in FORMATS else f"{plain(reports)}\n"
        if request.out is None:
            click.echo(text, nl=False)
        else:
            write_file(request.out, lambda path: Path(path).write_text(text, encoding="utf-8"))
    if request.per_user:
        write_file(request.per_user, lambda path: _per_user(reports, path))
    if request.report:
        manifest = record_request(request, os.path.dirname(request.report))
        page = Reports(reports.systems, manifest)
        write_file(request.report, lambda path: page.to_html(path, inspections=outcome.inspections))
    for system, inspection in outcome.inspections.items():
        print_alarms(inspection, system if len(reports) > 1 else "")


def write_file(path: str, write: Callable[[str], object]) -> None:
    """Writes a file and prints its path."""
    try:
        write(path)
    except OSError as error:
        raise ConfigError(f"{path!r} cannot be written", error.strerror or str(error), "choose another path") from error
    click.echo(f"wrote {path}", err=True)


def print_reports(reports: Reports) -> None:
    """Prints the numbers as a table, and below it the number of users counted."""
    print_table(_table(reports))
    for note in _notes(reports):
        console().print(Text(note, style="dim"))


def print_table(table: Table) -> None:
    """Prints a table; trailing spaces are removed if the output is not a terminal."""
    to = console()
    if to.is_terminal:
        to.print(table)
    else:
        click.echo(_text(table))


def plain(reports: Reports) -> str:
    """The numbers as text for a file."""
    return "\n".join([_text(_table(reports)).rstrip(), "", *_notes(reports)])


def _text(table: Table) -> str:
    page = io.StringIO()
    Console(width=WIDE, file=page).print(table)
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines())


def _table(reports: Reports) -> Table:
    wide = reports.wide()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for at, title in enumerate(wide.head):
        table.add_column(Text(title), justify="right" if at else "left", no_wrap=not at)
    for row in wide.rows:
        cells = [
            Text(cell.text + (" *" if cell.best else ""), style="bold green" if cell.best else "") for cell in row.cells
        ]
        table.add_row(Text(row.title), *cells)
    return table


def _notes(reports: Reports) -> list[str]:
    best = ["* the best value of its row; ± half of the 95% interval"] if len(reports) > 1 else []
    return best + reports.footnotes()


def print_alarms(inspection: Inspection, system: str) -> None:
    """Prints the serious findings to standard error."""
    print_findings(inspection.alarming, console(stderr=True), f"{system}: " if system else "")


def print_findings(findings: Iterable[Finding], to: Console, before: str = "") -> None:
    from bridgeval.inspection.findings import MARKS

    for finding in findings:
        line = Text(f"{MARKS[finding.level]} ", style=STYLES[finding.level])
        line.append(f"{before}{finding.what}", style="" if finding.level in ("stop", "alarm") else "dim")
        if finding.effect:
            line.append(f": {finding.effect}", style="dim")
        to.print(line)


def _per_user(reports: Reports, path: str) -> None:
    import pandas as pd

    frames = []
    for system, report in reports.items():
        for name in report.collected:
            frames.append(report.per_user(name).assign(system=system, metric=name))
    if not frames:
        raise ConfigError("none of the metrics has per-user values", hint="leave out {argument}", argument="per_user")
    pd.concat(frames)[["system", "metric", "user", "value"]].to_parquet(path, index=False)
