"""Runs: the history of evaluations in a folder: find, compare and draw them.

`report.save("runs/")` and `--store runs/` add to the folder; `report/run_files.py` says how.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from bridgeval.arguments import checked
from bridgeval.errors import BadParameterError, InputError, UnknownMetricError
from bridgeval.report.comparison import Comparison
from bridgeval.report.exports import make_plain, write_text
from bridgeval.report.manifest import Described
from bridgeval.report.run_files import BEST, LAST, Run, read_run
from bridgeval.report.table_view import format_interval
from bridgeval.run_changes import ALPHA, RunChange, explain_incomparable, find_changes, find_direction

if TYPE_CHECKING:
    import pandas as pd

    from bridgeval.report.page.timelines import Moment

# Metrics that the table shows.
SHOWN = 4


class Runs(Sequence[Run]):
    """Runs of a folder, the oldest first.

    >>> import bridgeval, tempfile
    >>> folder = tempfile.mkdtemp() + "/runs/"
    >>> truth = {1: ["b"], 2: ["b"]}
    >>> bridgeval.evaluate({1: ["a", "b"], 2: ["b", "a"]}, truth, "MRR@2").save(folder, tags="nightly")
    >>> bridgeval.evaluate({1: ["b", "a"], 2: ["b", "a"]}, truth, "MRR@2").save(folder)
    >>> runs = bridgeval.read_runs(folder)
    >>> [run.rows["MRR@2"].value for run in runs], runs.pick("best", "MRR@2") is runs[1]
    ([0.75, 1.0], True)
    >>> len(runs.filter(tag="nightly"))
    1
    """

    def __init__(self, runs: Iterable[Run], folder: str = "") -> None:
        self._runs = sorted(runs, key=lambda run: (run.created, run.id))
        self.folder = folder

    @overload
    def __getitem__(self, at: int) -> Run: ...
    @overload
    def __getitem__(self, at: slice) -> Runs: ...
    def __getitem__(self, at: int | slice) -> Run | Runs:
        return Runs(self._runs[at], self.folder) if isinstance(at, slice) else self._runs[at]

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def systems(self) -> list[str]:
        return list(dict.fromkeys(run.system for run in self))

    @property
    def metrics(self) -> list[str]:
        """The names of all numbers."""
        return list(dict.fromkeys(name for run in self for name in run.rows))

    def filter(
        self,
        *,
        system: str | None = None,
        tag: str | None = None,
        metric: str | None = None,
        since: str | datetime | None = None,
        last: int | None = None,
    ) -> Runs:
        """The runs of a system, with a tag, with a metric, since a time (ISO 8601, UTC unless it says otherwise)."""
        first = _parse_time(since)
        found = [
            run
            for run in self
            if system in (None, run.system)
            and (tag is None or tag in run.tags)
            and (metric is None or run.find_row(metric))
            and (first is None or run.created >= first)
        ]
        return Runs(found if last is None else found[max(len(found) - last, 0) :], self.folder)

    def select(self, metrics: Sequence[str]) -> Runs:
        """The same runs with these numbers alone; with all if none is named."""
        if not metrics:
            return self
        missing = [name for name in metrics if not any(run.find_row(name) for run in self)]
        if missing:
            raise UnknownMetricError(
                f"no run has {', '.join(missing)}", f"{len(self)} runs", f"they have {', '.join(self.metrics)}"
            )
        chosen = {run.id: [row for name in metrics if (row := run.find_row(name))] for run in self}
        return Runs([replace(run, rows={row.metric: row for row in chosen[run.id]}) for run in self], self.folder)

    def pick(self, name: str, metric: str | None = None) -> Run:
        """The run of a name.

        Args:
            name: "last", "best", a tag (the last run that has it), an id, or the part of one after the dash.
            metric: decides which one is the best; of several equal ones it is the last.
        """
        if name == BEST:
            return self._pick_best(metric)
        tagged = [run for run in self if name == LAST or name in run.tags]
        if tagged:
            return tagged[-1]
        found = [run for run in self if name in (run.id, run.id.rpartition("-")[2])]
        if len(found) != 1:
            tags = ", ".join(dict.fromkeys(tag for run in self for tag in run.tags))
            raise InputError(
                f"no run is called {name!r}",
                f"{len(self)} run(s) in {self.folder!r}" + (f" with tags {tags}" if tags else ""),
                f"give {LAST!r}, {BEST!r}, a tag, or an id; `bridgeval runs` lists them",
                argument="baseline",
            )
        return found[0]

    def _pick_best(self, metric: str | None) -> Run:
        if metric is None:
            raise BadParameterError(
                "a metric must decide which run is the best", hint="give one, e.g. nDCG@10", argument="metric"
            )
        better = find_direction(metric)
        if better is None:
            raise BadParameterError(f"{metric} has no better direction, so no run is the best", hint="give another")
        found = [
            (row.value, at) for at, run in enumerate(self) if (row := run.find_row(metric)) and row.value == row.value
        ]
        if not found:
            has = ", ".join(self.metrics) or "none"
            raise InputError(f"no run has a number of {metric}", f"metrics {has}", "give one of these")
        return self[max(found if better else [(-value, at) for value, at in found])[1]]

    def compare(self, *names: str, metric: str | None = None, **settings: Any) -> Comparison:
        """Compares runs on the users of all.

        Args:
            *names: of runs, as in `pick`; the first is the baseline.
            metric: decides which one is the "best".
            **settings: of `bridgeval.compare`.
        """
        from bridgeval.systems import compare

        picked = {name: self.pick(name, metric) for name in names}
        if len({run.id for run in picked.values()}) < max(2, len(picked)):
            raise BadParameterError(
                "two different runs are needed for a comparison",
                "; ".join(f"{name} is {run.id}" for name, run in picked.items()) or "none",
                "give other names",
            )
        first = next(iter(picked.values()))
        for name, run in picked.items():
            if not run.per_user.exists():
                raise InputError(
                    f"the run {name!r} has no per-user values, so its users cannot be paired",
                    run.id,
                    "save reports that were made with per_user=True",
                )
            if reason := explain_incomparable(first.inputs, run.inputs):
                raise InputError(
                    f"the runs cannot be compared: {reason}", f"{first.id} and {run.id}", "choose runs of one truth"
                )
        return compare({name: os.fspath(run.per_user) for name, run in picked.items()}, **settings)

    @cached_property
    def changes(self) -> tuple[RunChange, ...]:
        """The change of every metric from each run to the next of its system, with Holm's correction over all."""
        return find_changes([run for run in self if run.system == system] for system in self.systems)

    def to_pandas(self) -> pd.DataFrame:
        """A row for each number of each run."""
        import pandas as pd

        rows = [
            {"run": run.id, "created": run.created, "tags": ",".join(run.tags)} | asdict(row)
            for run in self
            for row in run.rows.values()
        ]
        return pd.DataFrame(rows).drop(columns="slice", errors="ignore")

    def to_csv(self) -> str:
        """`to_pandas` as CSV."""
        return self.to_pandas().to_csv(index=False)

    def to_json(self) -> str:
        """A list of runs: id, time, system, tags, file, and the numbers by name."""
        runs = [
            {
                "run": run.id,
                "created": run.created.isoformat(),
                "system": run.system,
                "tags": list(run.tags),
                "path": os.fspath(run),
                "metrics": {name: row.value for name, row in run.rows.items()},
            }
            for run in self
        ]
        return json.dumps(make_plain(runs), indent=2, ensure_ascii=False)

    def to_markdown(self) -> str:
        """A table with a row for each run."""
        from tabulate import tabulate

        head, rows = self.list_cells()
        return str(tabulate(rows, head, "github", disable_numparse=True))

    def list_cells(self, metrics: Sequence[str] | None = None) -> tuple[list[str], list[list[str]]]:
        """The titles and the cells of a table: a row for each run, a column for each metric."""
        shown = self.metrics if metrics is None else metrics
        named = any(run.system for run in self)
        head = ["run", "time", *(["system"] if named else []), "tags", *shown]
        rows = [
            [
                run.id,
                f"{run.created:%Y-%m-%d %H:%M}",
                *([run.system] if named else []),
                ", ".join(run.tags),
                *(row.text if (row := run.find_row(name)) else "" for name in shown),
            ]
            for run in self
        ]
        return head, rows

    def __str__(self) -> str:
        from bridgeval.report.page.timelines import make_table

        head, rows = self.list_cells(self.metrics[:SHOWN])
        more = ", ".join(self.metrics[SHOWN:])
        return str(make_table(head, rows, len(head) - min(SHOWN, len(self.metrics)))) + (
            f"\n\nalso: {more}" if more else ""
        )

    __repr__ = __str__

    def to_html(self, path: str | os.PathLike[str] | None = None, title: str = "Runs") -> str:
        """A page with every metric over time, intervals, and marks of significant changes; one self-contained file."""
        from bridgeval.report.page.timelines import RunsData, make_table, render_runs_page

        changes = {(change.now.id, change.metric): change for change in self.changes}
        timelines: dict[str, dict[str, list[Moment]]] = {
            metric: {
                system: [_make_moment(run, metric, changes.get((run.id, metric))) for run in runs]
                for system in self.systems
                if (runs := [run for run in self if run.system == system and metric in run.rows])
            }
            for metric in self.metrics
        }
        head, rows = self.list_cells()
        tested = sum(not math.isnan(change.adjusted) for change in self.changes)
        untested = sum(change.paired is None for change in self.changes)
        notes = [
            f"▲ significantly better than the run before, ▼ significantly worse: the paired t test over users, "
            f"Holm-adjusted over {tested:,} changes, is below {ALPHA:g}. Bands are 95% intervals.",
            *([f"{untested:,} changes could not be tested; the numbers of a chart say why."] if untested else []),
        ]
        data = RunsData(self.systems, timelines, make_table(head, rows, 1), self._summarize(), notes)
        return write_text(render_runs_page(data, title), path)

    def _summarize(self) -> str:
        if not self:
            return "No runs."
        named = [system for system in self.systems if system]
        whose = f" of {', '.join(named)}" if named else ""
        return f"{len(self):,} runs{whose}, from {self[0].created:%Y-%m-%d} to {self[-1].created:%Y-%m-%d}."


@checked
def read_runs(folder: str | os.PathLike[str]) -> Runs:
    """The runs that `report.save("runs/")` or `--store runs/` put into a folder.

    Args:
        folder: of the runs. JSON files in it that are no runs are left out.
    """
    if not os.path.isdir(folder):
        raise InputError(
            "there is no folder of runs",
            f"{os.fspath(folder)!r}",
            "save one with `bridgeval evaluate ... --store FOLDER`, or report.save('FOLDER/')",
            argument="folder",
        )
    found = [read_run(path) for path in Path(folder).glob("*.json")]
    return Runs([run for run in found if run is not None], os.fspath(folder))


def find_run(path: str | os.PathLike[str], metrics: Sequence[str], inputs: Described) -> tuple[Run, str] | None:
    """The run at "folder/name", and a sentence about it; None if the folder is not one of runs.

    Args:
        path: the folder, and the name of a run as in `Runs.pick`.
        metrics: the first decides which one is the best.
        inputs: of now. The best is chosen among runs that are not known to have been measured with another truth.
    """
    folder, name = os.path.split(os.fspath(path))
    # A file that is not there is no run: names of runs have no ending.
    if not name or name.endswith(".json") or not os.path.isdir(folder or os.curdir):
        return None
    runs = read_runs(folder or os.curdir)
    if not runs:
        return None
    among = runs
    if name == BEST:
        same = [run for run in runs if run.per_user.exists() and not explain_incomparable(run.inputs, inputs)]
        among = Runs(same, runs.folder) if same else runs
    run = among.pick(name, metrics[0] if metrics else None)
    why = f"the best of {len(among):,} runs by {metrics[0]}" if name == BEST else f"found as {name!r}"
    return run, f"The baseline is the run {run.id}, {why}."


def _make_moment(run: Run, metric: str, change: RunChange | None) -> Moment:
    from bridgeval.report.page.timelines import Moment

    row = run.rows[metric]
    joined = change is not None and not explain_incomparable(change.before.inputs, run.inputs)
    told = str(change) if change else ""
    texts = (run.id, run.system, f"{run.created:%Y-%m-%d %H:%M}", row.text, format_interval(row.low, row.high), told)
    return Moment(run.created, row.value, row.low, row.high, change.mark if change else "", joined, texts)


def _parse_time(since: str | datetime | None) -> datetime | None:
    if since is None:
        return None
    try:
        time = datetime.fromisoformat(since) if isinstance(since, str) else since
    except ValueError:
        raise BadParameterError(
            f"{since!r} is no time", hint="write e.g. 2026-11-18 or 2026-11-18T09:30", argument="since"
        ) from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
