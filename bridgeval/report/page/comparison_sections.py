"""Sections of the page about a comparison: the table, the forest plot, critical differences, slices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from bridgeval.report.page import comparison_charts as charts
from bridgeval.report.page.comparison_charts import Interval
from bridgeval.report.page.page_data import Drawn, Section
from bridgeval.report.page.sections import CHARTS
from bridgeval.report.page.slice_sections import slice_section

if TYPE_CHECKING:
    from bridgeval.report.comparison import Comparison
    from bridgeval.stats.differences import Difference


def comparison_sections(comparison: Comparison) -> list[Section]:
    """All sections that have something to show."""
    found = [differences(comparison), forest(comparison), critical_differences(comparison)]
    if comparison.slices is not None:
        found.append(slice_section(comparison.names, comparison.slices))
    return [section for section in found if section is not None]


def differences(comparison: Comparison) -> Section:
    """The table of differences; what the marks mean stands above it."""
    body = _rendered("differences.html", wide=comparison.wide(), notes=comparison.notes)
    return Section("differences", f"Compared with {comparison.baseline}", body, comparison.marks())


def forest(comparison: Comparison) -> Section | None:
    """Differences with their intervals, in percent of the baseline's value so that all metrics fit on one axis."""
    figures = []
    for pair in dict.fromkeys((d.system, d.baseline) for d in comparison):
        rows = [_percent(comparison, d) for d in comparison if (d.system, d.baseline) == pair and _drawable(d)]
        if rows:
            words = f"difference of {pair[0]} to {pair[1]}, in % of {pair[1]}"
            figures.append(Drawn(" − ".join(pair), charts.forest(rows), words, shown=True))
    about = "An interval that does not touch zero has a clear sign. Filled marks are significant after the correction."
    return _figures("forest", "Differences and their intervals", comparison, figures, about)


def critical_differences(comparison: Comparison) -> Section | None:
    """Mean ranks of several systems, and which of them Nemenyi's test tells apart."""
    figures = [
        Drawn(
            metric,
            charts.critical_differences(comparison.names, test),
            f"Friedman p {'undefined' if math.isnan(test.p) else f'{test.p:.3g}'} over {test.users:,} users; "
            f"ranks further apart than {test.critical_difference:.3g} differ",
            True,
        )
        for metric, test in comparison.friedman.items()
    ]
    about = "Mean rank of each system over users, 1 is best. A bar joins those that Nemenyi's test does not part."
    return _figures("ranks", "Critical differences", comparison, figures, about)


def _drawable(d: Difference) -> bool:
    return not math.isnan(d.low) and d.baseline_value != 0


def _percent(comparison: Comparison, d: Difference) -> Interval:
    scale = 100 / abs(d.baseline_value)
    series = comparison.names.index(d.system)
    return Interval(d.metric, d.difference * scale, d.low * scale, d.high * scale, series, d.significant)


def _figures(key: str, title: str, comparison: Comparison, figures: list[Drawn], about: str) -> Section | None:
    if not figures:
        return None
    shown = figures[:CHARTS]
    more = f" {len(figures) - len(shown)} more are in the table." if len(figures) > len(shown) else ""
    return Section(key, title, _rendered("figures.html", content=comparison, figures=shown), about + more)


def _rendered(template: str, **values: Any) -> Markup:
    from bridgeval.report.page.page import environment

    return Markup(environment().get_template(template).render(**values))
