"""PageData: everything that the sections of the report page show."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bridgeval.engine.metric import Metric
from bridgeval.engine.state import UserTable
from bridgeval.report.exports import Reports
from bridgeval.report.table_view import EVERYONE, Row, find_best, format_interval
from bridgeval.stats.all_pairs import PairTests, collect_pairs, compare_all_pairs
from bridgeval.stats.paired_values import Panel

if TYPE_CHECKING:
    from bridgeval.inspection import Inspection
    from bridgeval.report.comparison import Comparison
    from bridgeval.report.example_lists import Examples
    from bridgeval.report.report import Report

USUAL_CUTOFF = 10
ALPHA = 0.05


@dataclass(frozen=True)
class Best:
    """The best system of a metric.

    Attributes:
        second: the next best.
        p: of the test of these two; NaN if there is none.
        clear: whether it differs significantly from every other system.
    """

    system: str
    second: str
    p: float
    clear: bool


@dataclass(frozen=True)
class PageData:
    """Reports, and everything shown with them.

    Attributes:
        systems: name -> report.
        inspections: name -> the findings.
        manifest: the record of what made the reports.
        comparison: of the systems, if there is one.
        examples: users and items that stand out, if they were looked up.
    """

    systems: Mapping[str, Report]
    inspections: Mapping[str, Inspection]
    manifest: Mapping[str, Any]
    comparison: Comparison | None = None
    examples: Examples | None = None

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

    @property
    def alpha(self) -> float:
        return self.comparison.settings.alpha if self.comparison else ALPHA

    @cached_property
    def pair_tests(self) -> PairTests:
        """The tests of all pairs of systems: those of the comparison if it has all, else paired t tests."""
        if len(self.names) < 2:
            return {}
        if self.comparison and (found := collect_pairs(self.names, self.comparison.differences)):
            return found
        tables = {
            name: {
                report.marked(own): t
                for own, t in report.collected.items()
                if report.is_mean_of_users(own) and not math.isinf(report[own])
            }
            for name, report in self.systems.items()
        }
        # A report of a Spark job has its users' values there.
        local = all(isinstance(table, UserTable) for own in tables.values() for table in own.values())
        return compare_all_pairs(Panel.of(tables)) if local and len(tables) > 1 else {}

    def rank_systems(self, metric: str) -> list[Row]:
        """The systems with a number, the best first."""
        found = [row for row in self.rows.get(metric, {}).values() if math.isfinite(row.value)]
        return sorted(found, key=lambda row: row.value, reverse=self.metrics[metric].higher_is_better is not False)

    def judge(self, metric: str) -> Best | None:
        """The best system of a metric; None where neither direction is better, or where all are the same."""
        order = self.rank_systems(metric)
        if find_best((row.value for row in order), self.metrics[metric].higher_is_better) is None:
            return None
        others = [row.system for row in order[1:]]
        p = [self.pair_tests.get((metric, frozenset({order[0].system, other})), math.nan) for other in others]
        tested = not any(map(math.isnan, p))
        return Best(order[0].system, others[0], p[0], tested and max(p) < self.alpha)

    @cached_property
    def verdict(self) -> str:
        """The headline metric in a sentence."""
        if self.headline is None or not (order := self.rank_systems(self.headline)):
            return ""
        first = order[0]
        within = (
            ""
            if math.isnan(first.low)
            else f" (95% interval {format_interval(first.low, first.high).replace('..', 'to')})"
        )
        best = self.judge(self.headline)
        if best is None:
            return f"{self.headline} is {first.text}{within}" + (f" for {first.system}." if first.system else ".")
        second = order[1]
        side = "above" if first.value > second.value else "below"
        ahead = f", {abs(first.value / second.value - 1):.0%} {side} {second.system}" if second.value else ""
        return f"{first.system} has the best {self.headline}: {first.text}{within}{ahead}{self._tell_test(best)}."

    def _tell_test(self, best: Best) -> str:
        if math.isnan(best.p):
            return "; no test says whether the two differ by chance"
        p = "p < 0.0001" if best.p < 1e-4 else f"p = {best.p:.4f}"
        return f", significantly ({p})" if best.p < self.alpha else f", but not significantly ({p})"

    @property
    def tests_told(self) -> str:
        """The tests behind the marks of the best values, in a sentence."""
        if self.comparison and collect_pairs(self.names, self.comparison.differences):
            return "by the tests of the comparison"
        return f"by paired t tests over users, Holm-adjusted over all pairs of systems and metrics, p < {self.alpha:g}"
