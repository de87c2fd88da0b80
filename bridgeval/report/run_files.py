"""Run files: reports in a folder of runs, each a JSON file with its per-user values as Parquet beside it.

A run is written under a temporary name and then renamed, and no two runs share a file, so that any number of processes
may write to a folder while others read it. The JSON file comes last: a run is there when it is complete.
"""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bridgeval.engine.state import UserTable
from bridgeval.errors import BadParameterError, InputError
from bridgeval.io.documents import read_json
from bridgeval.report.exports import Exports, Reports, write_text
from bridgeval.report.manifest import Described
from bridgeval.report.report import Report
from bridgeval.report.table_view import EVERYONE, Row
from bridgeval.stats.paired_values import read_user_values, write_user_values

# Names of runs that are no tags.
BEST, LAST = "best", "last"
NOT_IN_TAGS = "/\\,"


@dataclass(frozen=True)
class Run:
    """A saved report of one system. It is a path too, of its JSON file, so that it can be the baseline of `check`.

    Attributes:
        path: of the JSON file.
        created: when it was saved.
        system: its name; empty for a report on its own.
        tags: names that were given to it.
        rows: name of a number -> the number, over all users.
        label: of the report, which names in `rows` carry.
        inputs: what is known of the inputs, by argument of `evaluate`.
    """

    path: Path
    created: datetime
    system: str
    tags: tuple[str, ...]
    rows: Mapping[str, Row]
    label: str = ""
    inputs: Described = field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.path.stem

    @property
    def per_user(self) -> Path:
        """The file of per-user values, which is not there if the report kept none."""
        return self.path.with_suffix(".parquet")

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def find_row(self, metric: str) -> Row | None:
        """The number of a metric, whatever the case of the name, with or without the label."""
        asked = (metric.lower(), self.mark(metric).lower())
        return next((row for name, row in self.rows.items() if name.lower() in asked), None)

    def read_tables(self) -> Mapping[str, UserTable]:
        """Metric -> per-user values."""
        return read_user_values(self.per_user).get(self.system, {}) if self.per_user.exists() else {}

    def mark(self, metric: str) -> str:
        """A metric's name with the report's label, as in `rows`."""
        return f"{metric} ({self.label})" if self.label else metric

    def unmark(self, name: str) -> str:
        """A name in `rows` without the label."""
        return name.removesuffix(f" ({self.label})") if self.label else name


def write_runs(results: Exports, folder: str | os.PathLike[str], tags: str | Iterable[str] = ()) -> list[Run]:
    """Adds a run for each system to a folder, which is made if it is not there."""
    named = check_tags([tags] if isinstance(tags, str) else tags)
    Path(folder).mkdir(parents=True, exist_ok=True)
    return [
        _write_run(system, report, results.manifest, Path(folder), named) for system, report in results.systems.items()
    ]


def check_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """The tags; an error if a run could not be found by one of them."""
    found = tuple(tags)
    for tag in found:
        if not tag or tag in (BEST, LAST) or any(letter in NOT_IN_TAGS for letter in tag):
            raise BadParameterError(
                f"{tag!r} cannot be the tag of a run",
                f"tags {', '.join(map(repr, found))}",
                f"use a word without slashes and commas that is not {BEST!r} or {LAST!r}",
                argument="tags",
            )
    return found


def _write_run(system: str, report: Report, manifest: Mapping[str, Any], folder: Path, tags: tuple[str, ...]) -> Run:
    created = datetime.now(UTC)
    # The random part keeps runs apart that are saved in the same second.
    name = f"{created:%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
    path = folder / f"{name}.json"
    about = {"created": created.isoformat(), "system": system, "tags": list(tags), "label": report.label}
    # A report of a Spark job has its users' values there.
    tables = {own: table for own, table in report.collected.items() if isinstance(table, UserTable)}
    beside = {"per_user": f"{name}.parquet"} if tables else {}
    if tables:
        write_user_values({system: tables}, path.with_suffix(".parquet"))
    kept = {key: value for key, value in manifest.items() if key != "per_user"}
    text = Reports({system: report}, {**kept, **beside, "run": about}).to_json()
    write_text(text, path)
    run = read_run(path)
    assert run is not None
    return run


def read_run(path: Path) -> Run | None:
    """The run of a JSON file; None if the file is something else."""
    from bridgeval.report.saved_reports import check_report, is_run

    hint = "it is among the runs: remove or repair the file"
    document = read_json(path, hint)
    if not is_run(document):
        return None
    check_report(document, os.fspath(path), hint)
    about = document["manifest"]["run"]
    if about is None:
        raise InputError(f"{os.fspath(path)!r} does not say what run it is", "null as manifest.run", hint)
    try:
        created = datetime.fromisoformat(about["created"])
    except ValueError as error:
        raise InputError(f"{os.fspath(path)!r} has no time", str(error), hint) from error
    created = created if created.tzinfo else created.replace(tzinfo=UTC)
    rows = {row["metric"]: _read_row(row) for row in document["results"] if row["slice"] == EVERYONE}
    inputs = document["manifest"].get("inputs", {})
    return Run(path, created, about["system"], tuple(about["tags"]), rows, about["label"], inputs)


def _read_row(row: Mapping[str, Any]) -> Row:
    """A number of the long form; JSON has no NaN, and writes some floats as whole numbers."""
    numbers = {name: math.nan if row[name] is None else float(row[name]) for name in ("value", "low", "high")}
    return Row(**{column.name: row[column.name] for column in fields(Row)} | numbers)
