"""The sections of a comparison: the table of differences, their intervals, critical differences of ranks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from markupsafe import Markup

from bridgeval.report.comparison import format_p, format_signed
from bridgeval.report.page.page_data import PageData
from bridgeval.report.page.rendering import render
from bridgeval.report.page.section import Chart, Section, make_chart_section, render_exports

if TYPE_CHECKING:
    from bridgeval.report.page.charts import Interval
    from bridgeval.stats.differences import Difference

GAINS = ("metric", "gain", "interval", "difference", "adjusted p")


def differences(data: PageData) -> Section | None:
    """The table of differences of a comparison; the meaning of the marks stands above it."""
    comparison = data.comparison
    if comparison is None:
        return None
    files = {"csv": comparison.to_csv(), "md": comparison.to_markdown(), "tex": comparison.to_latex()}
    tools = Markup('<div class="tools">{}</div>').format(render_exports("differences", **files))
    body = tools + render("wide_table.html", wide=comparison.wide(), notes=comparison.notes)
    return Section("differences", f"Compared with {comparison.baseline}", body, comparison.marks())


def forest(data: PageData) -> Section | None:
    """Differences with their intervals, in percent of the baseline's value so that all metrics fit on one axis."""
    from bridgeval.report.page import charts

    comparison, found = data.comparison or (), []
    for new, old in dict.fromkeys((d.system, d.baseline) for d in comparison):
        ours = [d for d in comparison if (d.system, d.baseline) == (new, old)]
        rows = [_to_gain(data, d) for d in ours if _is_drawable(d)]
        left = ", ".join(d.metric for d in ours if not _is_drawable(d))
        if rows:
            words = f"gain of {new} over {old}, in % of {old}" + (f"; only in the table: {left}" if left else "")
            drawing = charts.draw_forest(rows, GAINS, "← worse   % of the baseline   better →")
            found.append(Chart(f"{new} against {old}", drawing, words, True))
    about = (
        "Right is better, also where a lower number is (↓). If an interval excludes zero, the sign is clear. Filled "
        "marks are significant after the correction."
    )
    return make_chart_section("forest", "Differences and their intervals", data, found, about)


def critical_differences(data: PageData) -> Section | None:
    """Mean ranks of several systems, and which of them differ by Nemenyi's test."""
    from bridgeval.report.page import charts

    found = [
        Chart(
            metric,
            charts.draw_ranks(data.names, test),
            f"Friedman p {'undefined' if math.isnan(test.p) else f'{test.p:.3g}'} over {test.users:,} users; "
            f"ranks further apart than {test.critical_difference:.3g} differ",
            True,
        )
        for metric, test in (data.comparison.friedman if data.comparison else {}).items()
    ]
    about = "Mean rank of each system over users, 1 is best. A bar joins systems that do not differ by Nemenyi's test."
    return make_chart_section("ranks", "Critical differences", data, found, about)


def _is_drawable(d: Difference) -> bool:
    return not math.isnan(d.low) and d.baseline_value != 0 and d.higher_is_better is not None


def _to_gain(data: PageData, d: Difference) -> Interval:
    """A difference in percent of the baseline's value, above 0 where the system is better."""
    from bridgeval.report.page.charts import Interval

    scale = (100 if d.higher_is_better else -100) / abs(d.baseline_value)
    low, high = sorted((d.low * scale, d.high * scale))
    gain = d.difference * scale
    numbers = (
        d.metric,
        f"{gain:+.2f}%",
        f"{low:+.2f}% .. {high:+.2f}%",
        format_signed(d.difference),
        format_p(d.adjusted),
    )
    label = d.metric if d.higher_is_better else f"{d.metric} ↓"
    return Interval(label, gain, low, high, numbers, data.names.index(d.system), d.significant)
