"""Comparison: the differences between systems, as text, tables and a page."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from bridgeval.errors import UnknownMetricError
from bridgeval.report.exports import FORMAT, Exports, write_text
from bridgeval.report.manifest import versions
from bridgeval.report.table_view import Cell, Wide, format_number
from bridgeval.stats.differences import BOOTSTRAPS, CORRECTIONS, FAMILIES, TESTS, Difference, Mean, Settings
from bridgeval.stats.tests import Friedman

if TYPE_CHECKING:
    import pandas as pd

    from bridgeval.report.report import Report
    from bridgeval.stats.slice_results import Slices


@dataclass(frozen=True, repr=False)
class Comparison(Exports):
    """The differences between systems, with export methods (`to_csv`, `to_markdown`, `to_html`, ...).

    Attributes:
        names: of the systems, in the order given.
        differences: one for each metric and pair of systems.
        means: one for each metric and system.
        friedman: metric -> Friedman's and Nemenyi's test; empty for two systems.
        settings: the parameters of the comparison.
        notes: sentences about the data.
        slices: the same by slices of users, when they were asked for.
        reports: name -> report, of the systems that have one.
        manifest: the record of what made it, if known.
    """

    names: tuple[str, ...]
    differences: tuple[Difference, ...]
    means: tuple[Mean, ...]
    friedman: Mapping[str, Friedman] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    notes: tuple[str, ...] = ()
    slices: Slices | None = None
    reports: Mapping[str, Report] = field(default_factory=dict)
    manifest: Mapping[str, Any] = field(default_factory=dict)

    @property
    def systems(self) -> Mapping[str, Report]:
        return self.reports

    @property
    def baseline(self) -> str:
        """The baseline of the first difference."""
        return self.differences[0].baseline

    def __iter__(self) -> Iterator[Difference]:
        return iter(self.differences)

    def __len__(self) -> int:
        return len(self.differences)

    def difference(self, metric: str, system: str | None = None) -> Difference:
        """The difference in a metric; with several systems, of that one to the baseline."""
        found = [d for d in self if d.metric.lower() == metric.lower() and system in (None, d.system)]
        if len(found) != 1:
            raise UnknownMetricError(
                f"{len(found)} differences fit {metric!r}" + (f" of {system!r}" if system else ""),
                hint=f"there are {', '.join(f'{d.metric} of {d.system}' for d in self)}",
            )
        return found[0]

    def marks(self) -> str:
        """The meaning of the marks, in a sentence."""
        how, tests = self.settings, sorted({d.tests for d in self if d.tests})
        count = "0" if not tests else f"{tests[0]:,}" if len(tests) == 1 else f"{tests[0]:,} to {tests[-1]:,}"
        aimless = ", * significantly different where neither is better" if any(d.mark == "*" for d in self) else ""
        return (
            f"▲ significantly better, ▼ significantly worse{aimless}: the {CORRECTIONS[how.correction]} p of the "
            f"{TESTS[how.test]} is below {how.alpha:g}, in a family of {count} test(s): {FAMILIES[how.family]}. "
            f"Intervals: {100 * (1 - how.alpha):g}% BCa of {how.resamples:,} {BOOTSTRAPS[how.bootstrap]}, "
            f"seed {how.seed}."
        )

    def footnotes(self) -> list[str]:
        return [self.marks(), *self.notes]

    def wide(self) -> Wide:
        """The table: a row for each difference."""
        two = len(self.names) == 2
        names = [self.differences[0].system, self.baseline] if two else ["system", "value", "baseline"]
        interval = f"{100 * (1 - self.settings.alpha):g}% interval"
        head = ["metric", *names, "difference", interval, "p", "win/tie/loss", "d_z", "detectable"]
        rows = [list(map(Cell, self._texts(d))) for d in self]
        return Wide(head, rows, names=1 if two else 2)

    def _texts(self, d: Difference) -> list[str]:
        who = (
            [] if len(self.names) == 2 else [d.system if d.baseline == self.baseline else f"{d.system} - {d.baseline}"]
        )
        values = (d.value, d.baseline_value)
        # A count, of items for example, has no decimals.
        whole = d.method != "paired" and all(float(one).is_integer() for one in values) and max(values) > 1
        show, signed = ("{:,.0f}".format, "{:+,.0f}".format) if whole else (format_number, format_signed)
        return [
            d.metric,
            *who,
            *map(show, values),
            f"{signed(d.difference)} {d.mark}".strip(),
            "" if math.isnan(d.low) else f"{signed(d.low)} .. {signed(d.high)}",
            format_p(d.adjusted),
            f"{d.wins:,}/{d.ties:,}/{d.losses:,}" if d.method == "paired" else "",
            "" if math.isnan(d.d_z) else f"{d.d_z:+.3f}",
            "" if math.isnan(d.detectable) else format_number(d.detectable),
        ]

    def to_pandas(self) -> pd.DataFrame:
        """A row for each difference, with all its fields."""
        import pandas as pd

        return pd.DataFrame([asdict(d) | {"relative": d.relative} for d in self])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "format": FORMAT,
            "systems": list(self.names),
            "results": [asdict(d) | {"relative": d.relative} for d in self],
            "means": [asdict(mean) for mean in self.means],
            "friedman": {
                metric: asdict(test) | {"ranks": test.ranks.tolist(), "pairwise": test.pairwise.tolist()}
                for metric, test in self.friedman.items()
            },
            "slices": self.slices.to_dict() if self.slices else None,
            "settings": asdict(self.settings),
            "notes": list(self.notes),
            "manifest": {"versions": versions(), **self.manifest},
        }

    def to_html(self, path: str | os.PathLike[str] | None = None, **more: Any) -> str:
        """The report page with the comparison in it, one self-contained file."""
        from bridgeval.report.page.page import render_page

        page = render_page(self.reports, comparison=self, manifest=self.manifest, **{"title": "Comparison", **more})
        return write_text(page, path)

    def __str__(self) -> str:
        return "\n".join([str(self.wide()), "", *self.footnotes(), *(self.slices.headlines() if self.slices else [])])

    __repr__ = __str__


def format_p(p: float) -> str:
    """Formats a p.

    >>> format_p(0.01234), format_p(2e-9), format_p(float("nan"))
    ('0.0123', '<0.0001', 'undefined')
    """
    return "undefined" if math.isnan(p) else "<0.0001" if p < 1e-4 else f"{p:.4f}"


def format_signed(value: float) -> str:
    """Formats a difference with its sign.

    >>> format_signed(0.5), format_signed(-0.25)
    ('+0.5000', '-0.2500')
    """
    return format_number(value) if math.isnan(value) or value < 0 else f"+{format_number(value)}"
