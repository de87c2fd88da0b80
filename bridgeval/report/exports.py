"""Exports: the numbers of one system or of several as files and tables. The long form comes first.

The long form has a row for each number: system, metric, k, slice, value, low, high, users. The metric's name is the
canonical one, its convention included, so that no number is exported without its definition.
"""

from __future__ import annotations

import json
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridgeval.errors import BadParameterError
from bridgeval.io.outputs import written_beside
from bridgeval.report.definitions import define
from bridgeval.report.plain_text import escape_formula, escape_markdown, show_hidden
from bridgeval.report.table_view import EVERYONE, Row, Wide, make_wide

if TYPE_CHECKING:
    import pandas as pd

    from bridgeval.report.report import Report

# Nullable integers: they stay integers if some are missing.
WHOLE_NUMBERS = {"k": "Int64", "users": "Int64"}
FORMAT = 1


class Exports(ABC):
    """Export methods for one report or several. The class that inherits them says which systems there are."""

    manifest: Mapping[str, Any]

    @property
    @abstractmethod
    def systems(self) -> Mapping[str, Report]:
        """Name -> its report; a report on its own has no name."""

    def rows(self) -> list[Row]:
        """The long form: a row for each number."""
        return [row for name, report in self.systems.items() for row in _rows(name, report)]

    def wide(self) -> Wide:
        """One system: value, interval, users. Several: a column for each, the best marked."""
        better = {
            report.marked(name): report.metrics[whole].higher_is_better
            for report in self.systems.values()
            for whole, result in report.results.items()
            for name in (whole, *(f"{whole}[{part}]" for part in result.parts))
        }
        return make_wide(self.rows(), better)

    def to_pandas(self) -> pd.DataFrame:
        """The long form as a frame."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows()], columns=[column.name for column in fields(Row)])

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: the long form, definitions, population and manifest."""
        from bridgeval.report.manifest import versions

        metrics = {r.marked(name): metric for r in self.systems.values() for name, metric in r.metrics.items()}
        return {
            "format": FORMAT,
            "results": [asdict(row) for row in self.rows()],
            "definitions": {name: asdict(define(metric)) for name, metric in metrics.items()},
            "population": {name: dict(vars(report.population)) for name, report in self.systems.items()},
            "loaders": {name: report.loader for name, report in self.systems.items()},
            "manifest": {"versions": versions(), **self.manifest},
        }

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """`to_dict` as JSON; numbers that are not finite become null."""
        return write_text(json.dumps(make_plain(self.to_dict()), indent=2, ensure_ascii=False) + "\n", path)

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """The long form as CSV, numbers to the last digit; a name that looks like a formula gets a `'` in front."""
        return write_text(_set_types(self.to_pandas()).map(escape_formula).to_csv(index=False), path)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """The long form as Parquet; definitions and manifest are in the file's metadata."""
        import pyarrow as pa
        import pyarrow.parquet as pa_parquet

        table = pa.Table.from_pandas(_set_types(self.to_pandas()), preserve_index=False)
        about = {key: value for key, value in self.to_dict().items() if key != "results"}
        with written_beside(path) as beside:
            pa_parquet.write_table(table.replace_schema_metadata({"bridgeval": json.dumps(make_plain(about))}), beside)

    def to_markdown(self, path: str | os.PathLike[str] | None = None) -> str:
        """A table for a README or a merge request, the best value of each row bold."""
        wide = self.wide()
        lines = [wide.head, ["---", *("---:" for _ in wide.head[1:])]]
        lines += [[f"**{cell.text}**" if cell.best else cell.text for cell in row] for row in wide.rows]
        text = "\n".join(f"| {' | '.join(escape_markdown(cell) for cell in line)} |" for line in lines)
        return write_text(f"{text}\n\n{escape_markdown(' '.join(self.footnotes()))}\n", path)

    def to_latex(self, path: str | os.PathLike[str] | None = None) -> str:
        """A booktabs table, the best value of each row bold; names and numbers are escaped."""
        wide = self.wide()
        body = [
            [rf"\textbf{{{_tex(cell.text)}}}" if cell.best else _tex(cell.text) for cell in row] for row in wide.rows
        ]
        lines = [
            r"% needs \usepackage{booktabs}",
            *(f"% {show_hidden(note)}" for note in self.footnotes()),
            rf"\begin{{tabular}}{{l{'r' * (len(wide.head) - 1)}}}",
            r"\toprule",
            " & ".join(map(_tex, wide.head)) + r" \\",
            r"\midrule",
            *(" & ".join(line) + r" \\" for line in body),
            r"\bottomrule",
            r"\end{tabular}",
        ]
        return write_text("\n".join(lines) + "\n", path)

    def to_html(self, path: str | os.PathLike[str] | None = None, **more: Any) -> str:
        """The report page, one self-contained file.

        Args:
            path: of the file.
            **more: `title=`, `inspections=`, `examples=` (see `bridgeval.find_examples`) and `more=`, your sections.
        """
        from bridgeval.report.page.page import render_page

        return write_text(render_page(self.systems, manifest=self.manifest, **more), path)

    def log(self, sink: str, /, **options: Any) -> None:
        """Writes the results to a tracker or another place that a plugin offers; "jsonl" appends to a file.

        Args:
            sink: its name; `bridgeval plugins` lists them.
            **options: of the sink, e.g. `path=` of "jsonl".
        """
        from bridgeval.report.sinks import log_results

        # A report on its own is one of several without a name, so that a sink has one kind of reports to write.
        log_results(Reports(self.systems, self.manifest) if set(self.systems) == {""} else self, sink, options)

    def save(self, path: str | os.PathLike[str], *, tags: str | Iterable[str] = (), **inputs: Any) -> None:
        """Writes the format of the file extension: .json, .csv, .parquet, .md, .tex or .html; a folder gets a run.

        Args:
            path: of the file, or of a folder of runs, which ends with "/" or exists; see `bridgeval.read_runs`.
            tags: of the run, by which it can be found.
            **inputs: the evaluated objects by argument name (`recommendations=`, `relevance=`, `history=`, ...), as
                paths or frames; the file then carries hashes of their content.
        """
        from bridgeval.report.manifest import add_inputs

        writers = {
            ".json": "to_json",
            ".csv": "to_csv",
            ".parquet": "to_parquet",
            ".md": "to_markdown",
            ".tex": "to_latex",
            ".html": "to_html",
        }
        named = add_inputs(self, inputs) if inputs else self
        if os.fspath(path).endswith(("/", os.sep)) or os.path.isdir(path):
            from bridgeval.report.run_files import write_runs

            write_runs(named, path, tags)
            return
        ending = Path(path).suffix.lower()
        if ending not in writers:
            raise BadParameterError(
                f"a report cannot be saved as {os.fspath(path)!r}",
                hint=f"use an extension of {', '.join(writers)}, or a folder of runs, which ends with /",
            )
        if tags:
            raise BadParameterError("a file has no tags", f"{os.fspath(path)!r}", "leave them out", argument="tags")
        getattr(named, writers[ending])(path)

    def _repr_html_(self) -> str:
        """The table for a notebook."""
        from bridgeval.report.page.rendering import render

        return render("wide_table.html", wide=self.wide(), notes=self.footnotes())

    def footnotes(self) -> list[str]:
        """Sentences on the users counted, and on slices."""
        worst = [
            show_hidden(f"{name}: {line}" if name else line)
            for name, report in self.systems.items()
            for line in (report.slices.headlines() if report.slices else ())
        ]
        return self.describe_users() + worst

    def describe_users(self) -> list[str]:
        """Sentences on the users counted, one for each system that differs; then the metrics that count other users."""
        said: dict[str, list[str]] = {}
        for name, report in self.systems.items():
            first, reading = (
                report.population.sentences()[0],
                report.population.describe_reading(report.metrics.values()),
            )
            said.setdefault(f"{first}; {reading}." if reading else f"{first}.", []).append(name)
        counted = list(said) if len(said) == 1 else [f"{', '.join(names)}: {line}" for line, names in said.items()]
        others: dict[str, list[str]] = {}
        for row in self.rows():
            counting = self.systems[row.system].population.counted
            if row.slice == EVERYONE and row.users not in (None, counting):
                taken = f"over {row.users:,} users" + (f" of {row.system}" if row.system else "")
                others.setdefault(taken, []).append(row.metric)
        noted = [f"{name} {note}.".lstrip() for name, report in self.systems.items() for note in report.notes()]
        return counted + [f"{', '.join(names)}: {taken}." for taken, names in others.items()] + noted


class Reports(Exports, Mapping[str, "Report"]):
    """The reports of several systems, to be exported together.

    >>> import bridgeval
    >>> truth = {1: ["b"], 2: ["b"]}
    >>> one = bridgeval.evaluate({1: ["a", "b"], 2: ["b", "a"]}, truth, "MRR@2")
    >>> two = bridgeval.evaluate({1: ["b", "a"], 2: ["b", "a"]}, truth, "MRR@2")
    >>> print(Reports({"one": one, "two": two}).to_markdown())
    | metric | one | two |
    | --- | ---: | ---: |
    | MRR@2 | 0.7500 ± 0.4900 | **1.0000 ± 0.0000** |
    <BLANKLINE>
    2 of 2 users counted; lists ranked as given.
    <BLANKLINE>
    """

    def __init__(self, systems: Mapping[str, Report], manifest: Mapping[str, Any] | None = None) -> None:
        self._systems = dict(systems)
        self.manifest = dict(manifest or {})

    @property
    def systems(self) -> Mapping[str, Report]:
        return self._systems

    def __getitem__(self, name: str) -> Report:
        return self._systems[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._systems)

    def __len__(self) -> int:
        return len(self._systems)


def _rows(system: str, report: Report) -> Iterator[Row]:
    for name, result in report.results.items():
        metric = report.metrics[name]
        k = metric.cutoff
        if result.value is not None:
            low, high = result.interval(bounds=metric.number_bounds) or (math.nan, math.nan)
            yield Row(system, report.marked(name), k, EVERYONE, result.value, low, high, result.users)
        for part, value in result.parts.items():
            yield Row(system, report.marked(f"{name}[{part}]"), k, EVERYONE, value, users=result.users)
    for one in report.slices.means if report.slices else ():
        k = report.metrics[one.metric].cutoff
        part = f"{one.kind} = {one.slice}"
        yield Row(system, report.marked(one.metric), k, part, one.value, one.low, one.high, one.users)


def _set_types(frame: pd.DataFrame) -> pd.DataFrame:
    """The same frame with counts as nullable integers."""
    return frame.astype({name: kind for name, kind in WHOLE_NUMBERS.items() if name in frame})


def write_text(text: str, path: str | os.PathLike[str] | None) -> str:
    """Returns the text, and writes it to a file if there is a path."""
    if path is not None:
        with written_beside(path) as beside:
            # Half a surrogate pair in a name is written as its escape, which JSON reads back.
            Path(beside).write_text(text, encoding="utf-8", errors="backslashreplace")
    return text


def make_plain(value: Any) -> Any:
    """The same with NaN and infinities as null, which JSON cannot express, and with plain containers."""
    if isinstance(value, Mapping):
        return {str(key): make_plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [make_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


TEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$"}
TEX |= {"▲": r"$\uparrow$", "▼": r"$\downarrow$", "<": r"$<$"}
TEX |= {mark: "\\" + mark for mark in "&%$#_{}"}


def _tex(text: str) -> str:
    return "".join(TEX.get(letter, letter) for letter in text)
