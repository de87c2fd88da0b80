"""Slices: every per-user metric by groups of users, which group is worst, and which one moved the mean."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from bridgeval.engine.metric import Metric
from bridgeval.errors import BadParameterError
from bridgeval.report.comparison import Settings
from bridgeval.report.paired import estimates, higher_is_better
from bridgeval.report.panel import Pairs, Panel

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class SliceMean:
    """A system's mean of a metric in one slice.

    Attributes:
        kind: the column that the slice is of.
        share: its users as a share of all users of the metric.
    """

    kind: str
    slice: str
    metric: str
    system: str
    users: int
    share: float
    value: float
    low: float
    high: float
    higher_is_better: bool | None = True


@dataclass(frozen=True)
class SliceChange:
    """The difference between two systems in one slice.

    Attributes:
        contribution: share times difference; the contributions of a kind of slice add up to the difference of all.
    """

    kind: str
    slice: str
    metric: str
    system: str
    baseline: str
    users: int
    share: float
    difference: float
    low: float
    high: float
    contribution: float


@dataclass(frozen=True)
class Slices:
    """Means of every slice; and for several systems the differences, and what each slice adds to the difference of all.

    >>> from bridgeval import evaluate, sliced
    >>> report = evaluate({1: ["a"], 2: ["b"], 3: ["b"]}, {1: ["a"], 2: ["a"], 3: ["a"]}, "HitRate@1", per_user=True)
    >>> slices = sliced(report, {1: "old", 2: "new", 3: "new"})
    >>> [(row.slice, row.users, row.value) for row in slices.means]
    [('new', 2, 0.0), ('old', 1, 1.0)]
    >>> slices.worst("HitRate@1").slice
    'new'
    """

    means: tuple[SliceMean, ...]
    changes: tuple[SliceChange, ...] = ()

    def worst(self, metric: str, system: str | None = None, kind: str | None = None) -> SliceMean:
        """The slice with the worst mean: lowest, or highest where lower is better."""
        rows = [row for row in _chosen(self.means, metric, system, kind) if not math.isnan(row.value)]
        if not rows:
            raise BadParameterError(f"there is no slice of {metric!r}", hint=f"metrics: {', '.join(self.metrics)}")
        return (max if rows[0].higher_is_better is False else min)(rows, key=lambda row: row.value)

    def movers(self, metric: str, system: str | None = None, kind: str | None = None) -> list[SliceChange]:
        """What each slice adds to the difference of all, the most first."""
        rows = _chosen(self.changes, metric, system, kind)
        return sorted(rows, key=lambda row: -abs(row.contribution))

    @property
    def metrics(self) -> list[str]:
        return list(dict.fromkeys(row.metric for row in self.means))

    @property
    def kinds(self) -> list[str]:
        return list(dict.fromkeys(row.kind for row in self.means))

    def to_pandas(self) -> pd.DataFrame:
        """A row for each slice, metric and system; differences beside the means where there is a baseline."""
        import pandas as pd

        keys = ["kind", "slice", "metric", "system"]
        means = pd.DataFrame([asdict(row) for row in self.means]).drop(columns="higher_is_better")
        if not self.changes:
            return means
        changes = pd.DataFrame([asdict(row) for row in self.changes]).drop(columns=["users", "share"])
        return means.merge(changes, on=keys, how="left", suffixes=("", "_difference"))

    def to_dict(self) -> dict[str, Any]:
        return {"means": [asdict(row) for row in self.means], "changes": [asdict(row) for row in self.changes]}

    def sentences(self, metric: str | None = None, kind: str | None = None) -> list[str]:
        """The worst slice of each metric and system; the slice that moved each difference most."""
        lines = []
        for own_kind in self.kinds if kind is None else [kind]:
            for name in self.metrics if metric is None else [metric]:
                for system in dict.fromkeys(row.system for row in self.means):
                    lines.append(_worst(self.worst(name, system, own_kind)))
                for pair in dict.fromkeys((row.system, row.baseline) for row in self.changes):
                    rows = self.movers(name, pair[0], own_kind)
                    lines.append(_moved([row for row in rows if row.baseline == pair[1]]))
        return lines

    def __str__(self) -> str:
        from tabulate import tabulate

        rows = [
            [
                row.kind,
                row.slice,
                *([row.system] if row.system else []),
                row.metric,
                f"{row.users:,}",
                f"{row.value:.4f}",
                "" if math.isnan(row.low) else f"{row.low:.4f} .. {row.high:.4f}",
            ]
            for row in self.means
        ]
        system = ["system"] if self.means and self.means[0].system else []
        head = ["kind", "slice", *system, "metric", "users", "mean", "interval"]
        return "\n".join([tabulate(rows, head, disable_numparse=True), "", *self.sentences()])

    __repr__ = __str__


def _worst(row: SliceMean) -> str:
    who = f"{row.system}: " if row.system else ""
    return f"{who}{row.metric} is worst for {row.kind} = {row.slice}: {row.value:.4f} ({row.users:,} users)."


def _moved(rows: Sequence[SliceChange]) -> str:
    first, total = rows[0], math.fsum(row.contribution for row in rows)
    return (
        f"{first.system} against {first.baseline}: {first.metric} moved by {total:+.4f}, "
        f"most of it in {first.kind} = {first.slice} ({first.contribution:+.4f}, {first.share:.0%} of the users)."
    )


Row = TypeVar("Row", SliceMean, SliceChange)


def _chosen(rows: Sequence[Row], metric: str, system: str | None, kind: str | None) -> list[Row]:
    return [r for r in rows if r.metric == metric and system in (None, r.system) and kind in (None, r.kind)]


# Kind of slice, its label, positions of its users.
Members = Iterable[tuple[str, str, npt.NDArray[np.int64]]]


def slices_of(panel: Panel, members: Members, pairs: Pairs, known: Mapping[str, Metric], how: Settings) -> Slices:
    """Means, and differences of pairs of systems, in every slice of a Panel."""
    totals = panel.complete.sum(axis=0)
    means: list[SliceMean] = []
    changes: list[SliceChange] = []
    for kind, label, own in members:
        part = panel.of_users(own)
        for columns, users in part.groups():
            count = int(users.sum())
            found = estimates(part.selected(users, columns), part.places(pairs), how)
            for at, column in enumerate(columns if count else ()):
                metric, share = panel.metrics[column], count / int(totals[column])
                better = higher_is_better(metric, known)
                for place, system in enumerate(panel.systems):
                    value, low, high = found.means[:, place, at].tolist()
                    means.append(SliceMean(kind, label, metric, system, count, share, value, low, high, better))
                for place, (old, new) in enumerate(pairs):
                    value, low, high = found.moved[:, place, at].tolist()
                    changes.append(
                        SliceChange(kind, label, metric, new, old, count, share, value, low, high, share * value)
                    )
    return Slices(tuple(means), tuple(changes))
