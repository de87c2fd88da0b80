"""Sections of the report page, offered by the hook that plugins use.

A section is a function that takes the PageData and returns a Section, or None if it has nothing to show. To add one,
write the function here, or in a file of its own if it is large, and name it in FIRST or LAST. Templates are in
`templates/`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from bridgeval.hookspecs import MakeSection, hookimpl
from bridgeval.report.definitions import define
from bridgeval.report.page.comparison_sections import critical_differences, differences, forest
from bridgeval.report.page.examples_section import examples
from bridgeval.report.page.page_data import PageData
from bridgeval.report.page.rendering import render
from bridgeval.report.page.results_section import results
from bridgeval.report.page.section import BEYOND_ACCURACY, Chart, Section, make_chart_section, order_families
from bridgeval.report.page.slices_section import slices


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
        # Infinite values have no place on an axis.
        drawable = (np.isfinite(one).any() and not np.isinf(one).any() for one in values.values())
        if len(values) == len(collected) and all(drawable):
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
    for y in sorted(data.leading, key=lambda name: order_families(data.metrics[name].family)):
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
