"""Run changes: what differs between a run and the one before it, tested over the users of both."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from bridgeval import spec
from bridgeval.errors import SpecError
from bridgeval.report.comparison import format_p, format_signed
from bridgeval.report.manifest import Described, explain_unknown_truth, find_changed_inputs
from bridgeval.report.run_files import Run
from bridgeval.stats import tests as st
from bridgeval.stats.paired_changes import PairedChange, measure_changes

ALPHA = 0.05


@dataclass(frozen=True)
class RunChange:
    """The change of a metric from a run to the next one of its system.

    Attributes:
        paired: the change over the users of both; None if it cannot be tested.
        adjusted: Holm's p over all changes of the history; NaN if there is none.
        note: why it cannot be tested, or what is not known.
    """

    before: Run
    now: Run
    metric: str
    paired: PairedChange | None
    adjusted: float = math.nan
    note: str = ""

    @property
    def mark(self) -> str:
        """Marks a significant change: "▲" for better, "▼" for worse, "*" if neither direction is better."""
        if self.paired is None or not self.adjusted < ALPHA:
            return ""
        better = find_direction(self.now.unmark(self.metric))
        return "*" if better is None else "▲" if (self.paired.change > 0) == better else "▼"

    def __str__(self) -> str:
        if self.paired is None:
            return self.note
        change = f"{format_signed(self.paired.change)} {self.mark}".strip()
        return ", ".join(filter(None, [change, f"p = {format_p(self.adjusted)}", self.note]))


def find_changes(histories: Iterable[Sequence[Run]]) -> tuple[RunChange, ...]:
    """The change of every metric from each run to the next, with Holm's correction over all.

    Args:
        histories: the runs of each system, the oldest first.
    """
    found: list[RunChange] = []
    for own in histories:
        tables = {run.id: _read_means(run) for run in own}
        for before, now in pairwise(own):
            reason = explain_incomparable(before.inputs, now.inputs)
            paired = {} if reason else measure_changes(tables[before.id], tables[now.id])
            unknown = "truth not recorded" if explain_unknown_truth(before.inputs, now.inputs) else ""
            for metric in now.rows:
                if metric in before.rows:
                    note = unknown if metric in paired else reason or "not tested: no per-user values"
                    found.append(RunChange(before, now, metric, paired.get(metric), note=note))
    p = st.holm(np.array([one.paired.p if one.paired else math.nan for one in found], dtype=np.float64))
    return tuple(replace(one, adjusted=float(adjusted)) for one, adjusted in zip(found, p, strict=True))


def explain_incomparable(then: Described, now: Described) -> str:
    """Why runs of these inputs cannot be paired; empty if nothing is known against it."""
    changed = [] if explain_unknown_truth(then, now) else find_changed_inputs(then, now)
    return f"measured with {' and '.join(what for what, _ in changed)}" if changed else ""


def find_direction(metric: str) -> bool | None:
    """Whether a higher number is better; None if neither is, or if the metric is not known."""
    # A number may be a named part of a metric.
    for name in (metric, metric.rpartition("[")[0]):
        try:
            return spec.parse(name)[0].higher_is_better
        except SpecError:
            continue
    return None


def _read_means(run: Run) -> Mapping[str, Any]:
    """Name of a number -> per-user values, of the metrics that are their mean."""
    found = {}
    for metric, table in run.read_tables().items():
        row = run.rows.get(run.mark(metric))
        defined = table.values[~np.isnan(table.values)]
        if row is not None and len(defined) and np.isclose(defined.mean(), row.value, rtol=1e-9, atol=1e-12):
            found[row.metric] = table
    return found
