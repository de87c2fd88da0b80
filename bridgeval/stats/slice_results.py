"""Slices: every per-user metric by groups of users or of items; the worst slice, and the one that moved the mean."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from bridgeval.errors import BadParameterError
from bridgeval.tables.slice_labels import Side

if TYPE_CHECKING:
    import pandas as pd


# The label of the row for what belongs to no single slice of items.
TOGETHER = "(items together)"
NOISE = 1e-12
# More sentences than this are not read.
MOST_SENTENCES = 10


@dataclass(frozen=True)
class SliceMean:
    """A system's mean of a metric in one slice.

    Attributes:
        kind: the column that the slice is of.
        users: of the slice; for a slice of items those with a relevant item in it.
        share: these as a share of all users of the metric; slices of items may share users.
        side: whether it is a slice of users or of items.
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
    side: Side = "user"


@dataclass(frozen=True)
class SliceChange:
    """The difference between two systems in one slice.

    Attributes:
        share: of the users; for a slice of items, of each user's relevant items, taken over all users.
        contribution: what it adds: the contributions of a kind of slice add up to the difference of all. For a slice of
            users it is share times difference; for one of items see `bridgeval.stats.slice_analysis`.
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
    side: Side = "user"


@dataclass(frozen=True)
class Slices:
    """Means of every slice; and for several systems the differences, and the contribution of each slice to the whole.

    Attributes:
        left_out: metrics that are not means over users and so have no slices.

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
    left_out: tuple[str, ...] = ()

    def worst(self, metric: str, system: str | None = None, kind: str | None = None) -> SliceMean:
        """The slice with the worst mean: lowest, or highest where lower is better."""
        rows = [row for row in _select(self.means, metric, system, kind) if not math.isnan(row.value)]
        if not rows:
            raise BadParameterError(f"there is no slice of {metric!r}", hint=f"metrics: {', '.join(self.metrics)}")
        return (max if rows[0].higher_is_better is False else min)(rows, key=lambda row: row.value)

    def differing(self, alpha: float = 0.05) -> list[tuple[str, str]]:
        """(metric, kind) whose slices differ clearly, for some system or in the difference between two.

        Cochran's Q of the slices' means, Bonferroni-corrected over all metrics, kinds and systems. Slices without an
        interval, or with one of no width, say nothing about their own spread and are left out.
        """
        groups: dict[tuple[str, ...], list[tuple[float, float]]] = {}
        for row in self.means:
            groups.setdefault((row.metric, row.kind, row.system), []).append((row.value, row.high - row.low))
        for change in self.changes:
            key = (change.metric, change.kind, change.system, change.baseline)
            groups.setdefault(key, []).append((change.difference, change.high - change.low))
        p = {key: find_spread(np.array(rows), 1 - alpha) for key, rows in groups.items()}
        tested = sum(not math.isnan(one) for one in p.values())
        return list(dict.fromkeys(key[:2] for key in groups if p[key] < alpha / max(tested, 1)))  # type: ignore[misc]

    def movers(self, metric: str, system: str | None = None, kind: str | None = None) -> list[SliceChange]:
        """The contribution of each slice to the whole difference, the largest first."""
        rows = _select(self.changes, metric, system, kind)
        return sorted(rows, key=lambda row: -abs(row.contribution))

    @property
    def metrics(self) -> list[str]:
        return list(dict.fromkeys(row.metric for row in self.means))

    @property
    def systems(self) -> list[str]:
        return list(dict.fromkeys(row.system for row in self.means))

    @property
    def kinds(self) -> list[str]:
        return list(dict.fromkeys(row.kind for row in self.means))

    def to_pandas(self) -> pd.DataFrame:
        """A row for each slice, metric and system; differences beside the means if there is a baseline."""
        import pandas as pd

        changed: dict[tuple[str, ...], list[SliceChange]] = {}
        for change in self.changes:
            changed.setdefault((change.kind, change.slice, change.metric, change.system), []).append(change)
        rows: list[dict[str, Any]] = []
        for mean in self.means:
            own = {name: value for name, value in asdict(mean).items() if name != "higher_is_better"}
            against = changed.pop((mean.kind, mean.slice, mean.metric, mean.system), [])
            rows += [own | _beside(change) for change in against] or [own]
        rows += [asdict(change) | _beside(change) for alone in changed.values() for change in alone]
        return pd.DataFrame(rows)

    def to_dict(self) -> dict[str, Any]:
        return {
            "means": [asdict(row) for row in self.means],
            "changes": [asdict(row) for row in self.changes],
            "left_out": list(self.left_out),
        }

    def sentences(self, metric: str | None = None, kind: str | None = None) -> list[str]:
        """The worst slice of each metric and system; the slice that moved each difference most."""
        lines = [line for line, _ in self._tell(metric, kind)]
        return lines if metric is not None else [*lines, *self._tell_left_out()]

    def headlines(self) -> list[str]:
        """All sentences if they are few; else at most ten that matter, and how many more there are.

        A worst slice matters if its interval does not reach the mean of all slices of its kind, a difference if the
        interval of the slice that moved it most does not reach 0.
        """
        told = self._tell()
        if len(told) <= MOST_SENTENCES:
            return self.sentences()
        matter = [line for line, matters in told if matters][:MOST_SENTENCES]
        rest = f"{len(told) - len(matter)} more sentences about slices are in `slices.sentences()` and on the page."
        return [*matter, rest, *self._tell_left_out()]

    def _tell(self, metric: str | None = None, kind: str | None = None) -> list[tuple[str, bool]]:
        """Sentences, and whether each matters."""
        told = []
        for own_kind in self.kinds if kind is None else [kind]:
            for name in self.metrics if metric is None else [metric]:
                for system in self.systems:
                    rows = [row for row in _select(self.means, name, system, own_kind) if not math.isnan(row.value)]
                    if rows:
                        worst = self.worst(name, system, own_kind)
                        told.append((_describe_worst(worst), _is_far(worst, rows)))
                for pair in dict.fromkeys((row.system, row.baseline) for row in self.changes):
                    moved = [row for row in self.movers(name, pair[0], own_kind) if row.baseline == pair[1]]
                    if moved:
                        first = next(row for row in moved if row.slice != TOGETHER)
                        told.append((_describe_movers(moved), first.low > 0 or first.high < 0))
        return told

    def _tell_left_out(self) -> list[str]:
        names = ", ".join(self.left_out)
        return [f"Not sliced, because they are not means over users: {names}."] if names else []

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

    def _repr_html_(self) -> str:
        """The table and the sentences that matter for a notebook."""
        table = self.to_pandas().to_html(index=False, float_format="{:.4f}".format, na_rep="")
        return table + "".join(f"<p>{html.escape(line)}</p>" for line in self.headlines())


def find_spread(rows: npt.NDArray[np.float64], confidence: float = 0.95) -> float:
    """The p of Cochran's Q: whether means differ by more than the widths of their intervals explain.

    Q is the sum of w (mean - m)^2, w = 1 / standard error^2, m the weighted mean; chi-squared with n - 1 degrees.

    Args:
        rows: `[n, 2]`: a mean and the width of its interval.
        confidence: of the intervals.

    Two means, 0 and 1, whose standard errors are 0.5: Q = 4 * 0.25 + 4 * 0.25 = 2, p = P(chi-squared(1) > 2).

    >>> round(find_spread(np.array([[0.0, 1.96], [1.0, 1.96]])), 3)
    0.157
    """
    from scipy import stats

    with np.errstate(invalid="ignore"):
        rows = rows[(rows[:, 1] > 0) & np.isfinite(rows).all(1)]
    if len(rows) < 2:
        return math.nan
    errors = rows[:, 1] / (2 * stats.norm.ppf((1 + confidence) / 2))
    weights = errors**-2
    center = weights @ rows[:, 0] / weights.sum()
    return float(stats.chi2.sf(weights @ (rows[:, 0] - center) ** 2, len(rows) - 1))


def _beside(row: SliceChange) -> dict[str, Any]:
    """The columns of a change beside those of a mean."""
    ends = {"low_difference": row.low, "high_difference": row.high}
    numbers = {"baseline": row.baseline, "difference": row.difference, "contribution": row.contribution}
    return numbers | ends | {"share_difference": row.share}


def _is_far(worst: SliceMean, rows: Sequence[SliceMean]) -> bool:
    """Whether the interval of the worst slice does not reach the mean of all slices, weighted by their users."""
    mean = math.fsum(row.users * row.value for row in rows) / sum(row.users for row in rows)
    return worst.low > mean or worst.high < mean


def _describe_worst(row: SliceMean) -> str:
    who = f"{row.system}: " if row.system else ""
    return f"{who}{row.metric} is worst for {row.kind} = {row.slice}: {row.value:.4f} ({row.users:,} users)."


def _describe_movers(rows: Sequence[SliceChange]) -> str:
    total, rest = math.fsum(row.contribution for row in rows), [row for row in rows if row.slice == TOGETHER]
    first = next(row for row in rows if row.slice != TOGETHER)
    if all(row.contribution == 0 for row in rows):
        return f"{first.system} against {first.baseline}: {first.metric} did not move in any slice of {first.kind}."
    what = "users" if first.side == "user" else "relevant items"
    together = math.fsum(row.contribution for row in rest)
    said = f"; {together:+.4f} belongs to no single slice" if abs(together) > NOISE else ""
    where = f"{first.kind} = {first.slice} ({first.contribution:+.4f}, {first.share:.0%} of the {what})"
    return (
        f"{first.system} against {first.baseline}: {first.metric} moved by {total:+.4f}, most of it in {where}{said}."
    )


Row = TypeVar("Row", SliceMean, SliceChange)


def _select(rows: Sequence[Row], metric: str, system: str | None, kind: str | None) -> list[Row]:
    return [r for r in rows if r.metric == metric and system in (None, r.system) and kind in (None, r.kind)]
