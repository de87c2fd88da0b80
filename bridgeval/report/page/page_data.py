"""Content of the report page: what its sections are made of, and what they give."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from bridgeval.engine.metric import Metric
from bridgeval.report.exports import Reports
from bridgeval.report.table_view import EVERYONE, Row, interval

if TYPE_CHECKING:
    from bridgeval.inspection import Inspection
    from bridgeval.report.report import Report

USUAL_CUTOFF = 10


@dataclass(frozen=True)
class Section:
    """A part of the page.

    Attributes:
        key: its anchor.
        title: its heading.
        body: HTML, already escaped.
        about: a sentence below the heading.
    """

    key: str
    title: str
    body: Markup
    about: str = ""


@dataclass(frozen=True)
class Drawn:
    """A chart, and what it shows in words: for those who cannot see it, or for all."""

    title: str
    drawing: Markup
    words: str
    shown: bool = False


@dataclass(frozen=True)
class Content:
    """All that the sections are made of.

    Attributes:
        systems: name -> report.
        inspections: name -> what was found.
        manifest: what made the reports.
        compared: whether the page says which differences are more than chance.
    """

    systems: Mapping[str, Report]
    inspections: Mapping[str, Inspection]
    manifest: Mapping[str, Any]
    compared: bool = False

    @cached_property
    def reports(self) -> Reports:
        return Reports(self.systems, self.manifest)

    @cached_property
    def names(self) -> list[str]:
        return list(self.systems)

    @cached_property
    def metrics(self) -> dict[str, Metric]:
        """Name -> metric, of all systems; parts of a metric have entries of their own."""
        return {
            report.marked(name): report.metrics[whole]
            for report in self.systems.values()
            for whole, result in report.results.items()
            for name in (whole, *(f"{whole}[{part}]" for part in result.parts))
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
                found.setdefault(name.replace(f"@{getattr(metric, 'k', None)}", ""), []).append(name)
        return {base: sorted(names, key=lambda n: getattr(self.metrics[n], "k", 0)) for base, names in found.items()}

    @cached_property
    def leading(self) -> list[str]:
        """One metric of each group, at the cutoff nearest to the usual one."""

        def distance(name: str) -> int:
            return abs(getattr(self.metrics[name], "k", USUAL_CUTOFF) - USUAL_CUTOFF)

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
        within = "" if math.isnan(best.low) else f" (95% interval {interval(best.low, best.high).replace('..', 'to')})"
        if len(order) == 1 or higher is None:
            return f"{self.headline} is {best.text}{within}" + (f" for {best.system}." if best.system else ".")
        second = order[1]
        side = "above" if best.value > second.value else "below"
        ahead = f", {abs(best.value / second.value - 1):.0%} {side} {second.system}" if second.value else ""
        return f"{best.system} has the best {self.headline}: {best.text}{within}{ahead}."

    @cached_property
    def counted(self) -> list[str]:
        return self.reports.footnotes()
