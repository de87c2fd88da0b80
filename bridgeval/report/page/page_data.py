"""PageData: everything that the sections of the report page show."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bridgeval.engine.metric import Metric
from bridgeval.report.exports import Reports
from bridgeval.report.table_view import EVERYONE, Row, format_interval

if TYPE_CHECKING:
    from bridgeval.inspection import Inspection
    from bridgeval.report.comparison import Comparison
    from bridgeval.report.report import Report

USUAL_CUTOFF = 10


@dataclass(frozen=True)
class PageData:
    """Reports, and everything shown with them.

    Attributes:
        systems: name -> report.
        inspections: name -> the findings.
        manifest: the record of what made the reports.
        comparison: of the systems, if there is one.
    """

    systems: Mapping[str, Report]
    inspections: Mapping[str, Inspection]
    manifest: Mapping[str, Any]
    comparison: Comparison | None = None

    @cached_property
    def reports(self) -> Reports:
        return Reports(self.systems, self.manifest)

    @cached_property
    def names(self) -> list[str]:
        return list(self.comparison.names if self.comparison else self.systems)

    @cached_property
    def metrics(self) -> dict[str, Metric]:
        """Name of a number -> its metric, of all systems; parts of a metric have their own entries."""
        return {
            report.marked(name): report.metrics[whole]
            for report in self.systems.values()
            for whole, result in report.results.items()
            for name in result.numbers(whole)
        }

    @cached_property
    def rows(self) -> dict[str, dict[str, Row]]:
        """Metric -> system -> row, over everyone."""
        found: dict[str, dict[str, Row]] = {}
        for row in self.reports.rows():
            if row.slice == EVERYONE:
                found.setdefault(row.metric, {})[row.system] = row
        return found

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """Name without its cutoff -> names with it, by cutoff."""
        found: dict[str, list[str]] = {}
        for name, metric in self.metrics.items():
            if name in self.rows:
                # A metric of whole lists is no point of a curve over cutoffs.
                whole = metric.cutoff is None and hasattr(metric, "k")
                base = f"{name} of whole lists" if whole else name.replace(f"@{metric.cutoff}", "")
                found.setdefault(base, []).append(name)
        return {base: sorted(names, key=lambda n: self.metrics[n].cutoff or 0) for base, names in found.items()}

    @cached_property
    def leading(self) -> list[str]:
        """One metric of each group, at the cutoff nearest to the usual one."""

        def distance(name: str) -> int:
            return abs((self.metrics[name].cutoff or USUAL_CUTOFF) - USUAL_CUTOFF)

        return [min(names, key=distance) for names in self.groups.values()]

    @cached_property
    def headline(self) -> str | None:
        return self.leading[0] if self.leading else None

    @cached_property
    def verdict(self) -> str:
        """The headline metric in a sentence."""
        found = self.rows.get(self.headline or "", {})
        order = [row for row in found.values() if math.isfinite(row.value)]
        if not order:
            return ""
        higher = self.metrics[self.headline or ""].higher_is_better
        order.sort(key=lambda row: row.value, reverse=higher is not False)
        best = order[0]
        within = (
            ""
            if math.isnan(best.low)
            else f" (95% interval {format_interval(best.low, best.high).replace('..', 'to')})"
        )
        if len(order) == 1 or higher is None:
            return f"{self.headline} is {best.text}{within}" + (f" for {best.system}." if best.system else ".")
        second = order[1]
        side = "above" if best.value > second.value else "below"
        ahead = f", {abs(best.value / second.value - 1):.0%} {side} {second.system}" if second.value else ""
        return f"{best.system} has the best {self.headline}: {best.text}{within}{ahead}."
