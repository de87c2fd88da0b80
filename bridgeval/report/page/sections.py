"""Sections of the report page, offered by the hook that plugins use.

A section is a function that takes the PageData and returns a Section, or None if it has nothing to show. To add one,
write the function here (its template, if it needs one, in `templates/`) and name it in FIRST or LAST.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from bridgeval.hookspecs import MakeSection, hookimpl
from bridgeval.report.comparison import format_p, format_signed
from bridgeval.report.definitions import define
from bridgeval.report.exports import Reports
from bridgeval.report.page.examples_section import examples
from bridgeval.report.page.page_data import Best, PageData
from bridgeval.report.page.rendering import render
from bridgeval.report.page.section import Chart, Section, make_chart_section, render_exports
from bridgeval.report.page.slices_section import slices
from bridgeval.report.table_view import Row, format_interval

if TYPE_CHECKING:
    from bridgeval.report.page.charts import Interval
    from bridgeval.stats.differences import Difference

CARDS = 4
GAINS = ("metric", "gain", "interval", "difference", "adjusted p")
NO_BAR = (0.0, 0.0, 0.0)
BEYOND_ACCURACY = ("novelty", "bias", "diversity", "coverage", "fairness")


def results(data: PageData) -> Section | None:
    """The table of all numbers, and the leading ones as bars."""
    if not data.systems:
        return None
    cards = [_make_card(data, name) for name in data.leading[:CARDS]]
    ordered = sorted(data.rows.items(), key=lambda pair: _family_order(data.metrics[pair[0]].family))
    lines = [_make_line(data, name, found) for name, found in ordered]
    # Slices have a table of their own.
    whole = Reports({name: replace(report, by=()) for name, report in data.systems.items()}, data.manifest)
    exports = render_exports("results", csv=whole.to_csv(), md=whole.to_markdown(), tex=whole.to_latex())
    body = render("results.html", data=data, cards=cards, lines=lines, exports=exports)
    return Section("results", "Results", body, " ".join(data.reports.describe_users()))


def against_cutoff(data: PageData) -> Section | None:
    """Each metric that was asked for at several cutoffs, against them."""
    from bridgeval.report.page import charts

    found = []
    for base, names in data.groups.items():
        cutoffs = [data.metrics[name].cutoff or 0 for name in names]
        drawn = [
            charts.Curve(
                system,
                cutoffs,
                *([getattr(data.rows[name][system], part) for name in names] for part in ("value", "low", "high")),
            )
            for system in data.names
            if all(system in data.rows.get(name, {}) for name in names)
        ]
        if drawn and len(names) > 1:
            words = f"{base} at k = {', '.join(map(str, cutoffs))}"
            found.append(Chart(base, charts.draw_curves(drawn), words))
    return make_chart_section(
        "cutoffs", "By cutoff", data, found, "Each metric by list length. Bands are 95% intervals."
    )


def over_users(data: PageData) -> Section | None:
    """The distribution of the leading metrics over users."""
    import numpy as np

    from bridgeval.report.page import charts

    found = []
    for name in data.leading:
        collected = [
            {report.marked(own): table for own, table in report.collected.items()}.get(name)
            for report in data.systems.values()
        ]
        values = {own: one.values for own, one in zip(data.systems, collected, strict=True) if one is not None}
        if len(values) == len(collected) and all(np.isfinite(one).any() for one in values.values()):
            found.append(Chart(name, charts.draw_distribution(values), f"share of users by their {name}"))
    about = "The share of users by their own value. Dashed lines are the means."
    return make_chart_section("users", "Distribution over users", data, found, about)


def trade_offs(data: PageData) -> Section | None:
    """Accuracy against novelty, coverage and the like, for several systems."""
    from bridgeval.report.page import charts

    x = next((name for name in data.leading if data.metrics[name].family == "accuracy"), None)
    if len(data.systems) < 2 or x is None:
        return None
    found = []
    for y in sorted(data.leading, key=lambda name: _family_order(data.metrics[name].family)):
        better = data.metrics[y].higher_is_better
        beyond = data.metrics[y].family in BEYOND_ACCURACY
        if not beyond or better is None or len(data.rows[y]) < len(data.names):
            continue
        points = [(data.rows[x][system].value, data.rows[y][system].value) for system in data.names]
        if not all(map(math.isfinite, (value for point in points for value in point))):
            continue
        front = charts.find_front(points, (True, better))
        best = " and ".join(data.names[at] for at in front)
        direction = "higher is better" if better else "lower is better, so the axis is inverted"
        words = f"{direction}; Pareto front: {best}"
        found.append(
            Chart(
                f"{y} against {x}",
                charts.draw_trade_off(dict(zip(data.names, points, strict=True)), (x, y), front, not better),
                words,
                True,
            )
        )
    about = f"Up and to the right is better. The horizontal axis is {x}; filled marks are the Pareto front."
    return make_chart_section("trade-offs", "Accuracy and beyond", data, found, about)


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


def inspection(data: PageData) -> Section | None:
    """The findings of the inspection."""
    if not data.inspections:
        return None
    about = "Oddities of the data, and the effect of each on the first ranking metric that was asked for."
    return Section("inspection", "Inspection of the data", render("inspection.html", data=data), about)


def definitions(data: PageData) -> Section | None:
    """The definition of each number."""
    grouped: dict[tuple[Any, ...], list[str]] = {}
    asked = {r.marked(name): metric for r in data.systems.values() for name, metric in r.metrics.items()}
    for name, metric in asked.items():
        one = define(metric)
        native = one.native.removesuffix(f"@{getattr(metric, 'k', None)}")
        grouped.setdefault((native, one.family, one.direction, one.summary, one.rules), []).append(name)
    if not grouped:
        return None
    about = "Other evaluators use the same names for other definitions. These are the definitions used here."
    return Section("definitions", "Definitions", render("definitions.html", grouped=grouped), about)


def origin(data: PageData) -> Section:
    """The record of what made the page."""
    from bridgeval.report.manifest import versions

    return Section("origin", "How it was made", render("origin.html", data=data, versions=versions()))


# The order on the page; sections of plugins, and those given to `to_html(more=)`, stand between the two.
FIRST: tuple[MakeSection, ...] = (
    results,
    against_cutoff,
    over_users,
    trade_offs,
    differences,
    forest,
    critical_differences,
    slices,
    examples,
)
LAST: tuple[MakeSection, ...] = (inspection, definitions, origin)


@hookimpl
def bridgeval_report_sections() -> Iterable[MakeSection]:
    return (*FIRST, *LAST)


@dataclass(frozen=True)
class Bar:
    """One system in a card, in percent of the card's width."""

    system: str
    text: str
    mark: str
    width: float
    low: float
    high: float


def _make_card(data: PageData, name: str) -> dict[str, Any]:
    """A metric as bars: of several systems from 0 to the highest, of one system over all values that it can have."""
    found, metric = data.rows[name], data.metrics[name]
    best = data.judge(name)
    start, end = 0.0, max((v for row in found.values() for v in (row.value, row.high) if math.isfinite(v)), default=0.0)
    direction = define(metric).direction
    if len(found) == 1:
        start, end = metric.number_bounds
        if math.isfinite(start) and math.isfinite(end):
            direction += f"; from {start:g} to {end:g}"

    def percent(value: float) -> float:
        return round(min(max(100 * (value - start) / (end - start), 0.0), 100.0), 2) if math.isfinite(value) else 0.0

    drawn = math.isfinite(start) and math.isfinite(end) and end > start
    bars = [
        Bar(system, row.text, _mark(best, system), *(map(percent, (row.value, row.low, row.high)) if drawn else NO_BAR))
        for system, row in found.items()
    ]
    return {"name": name, "direction": direction, "bars": bars, "drawn": drawn}


def _mark(best: Best | None, system: str) -> str:
    """The class of a number: "best" if it is significantly so, "leading" if it may be so by chance."""
    if best is None or system != best.system:
        return ""
    return "best" if best.clear else "leading"


def _make_line(data: PageData, name: str, found: dict[str, Row]) -> dict[str, Any]:
    """A row of the table of results; None for a system without the metric."""
    metric = data.metrics[name]
    best = data.judge(name)
    cells = [
        {
            "value": row.value,
            "text": row.text,
            "interval": format_interval(row.low, row.high).replace("..", "to"),
            "mark": _mark(best, system),
            "users": row.users,
        }
        if (row := found.get(system)) is not None
        else None
        for system in data.names
    ]
    arrow = {None: "", True: "↑", False: "↓"}[metric.higher_is_better]
    return {"name": name, "family": metric.family, "arrow": arrow, "cells": cells}


def _family_order(family: str) -> int:
    known = ("accuracy", "rating", *BEYOND_ACCURACY)
    return known.index(family) if family in known else len(known)


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
