"""Sections of the page about a comparison: the table, the forest plot, critical differences, slices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from bridgeval.report import comparison_charts as charts
from bridgeval.report.comparison_charts import Interval
from bridgeval.report.sections import CHARTS, Drawn, Section

if TYPE_CHECKING:
    from bridgeval.report.comparison import Comparison, Difference
    from bridgeval.report.slices import Slices


def comparison_sections(comparison: Comparison) -> list[Section]:
    """All sections that have something to show."""
    found = [differences(comparison), forest(comparison), critical_differences(comparison), slices(comparison)]
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


def slices(comparison: Comparison) -> Section | None:
    """Every metric by slices of users, and what each slice adds to the difference."""
    found = comparison.slices
    if found is None:
        return None
    figures = [
        Drawn(
            f"{metric} by {kind}",
            _slice_chart(comparison, found, metric, kind),
            _slice_words(found, metric, kind),
            True,
        )
        for kind in found.kinds
        for metric in found.metrics
    ]
    about = "The mean of each slice with its interval. Share times difference, summed, is the whole difference."
    return _figures("slices", "Slices of users", comparison, figures, about)


def _slice_chart(comparison: Comparison, found: Slices, metric: str, kind: str) -> Markup:
    first = comparison.names[0]
    rows = [
        Interval(
            row.slice if row.system == first else "", row.value, row.low, row.high, comparison.names.index(row.system)
        )
        for row in found.means
        if row.metric == metric and row.kind == kind
    ]
    return charts.forest(rows, zero=False)


def _slice_words(found: Slices, metric: str, kind: str) -> str:
    return " ".join(found.sentences(metric, kind))


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
    from bridgeval.report.page import environment

    return Markup(environment().get_template(template).render(**values))
