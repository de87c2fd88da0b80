"""Sections of the report page, offered by the hook that plugins use.

A section is a function that takes the PageData and returns a Section, or None if it has nothing to show. To add one,
write the function here (its template, if it needs one, in `templates/`) and name it in FIRST or LAST.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from bridgeval.hookspecs import MakeSection, hookimpl
from bridgeval.report.definitions import define
from bridgeval.report.page.page_data import PageData
from bridgeval.report.page.rendering import render
from bridgeval.report.table_view import Row, find_best, format_interval
from bridgeval.stats.slice_results import Slices

if TYPE_CHECKING:
    from bridgeval.report.page.charts import Interval
    from bridgeval.stats.differences import Difference

CARDS = 4
CHARTS = 12
BEYOND_ACCURACY = ("novelty", "bias", "diversity", "coverage", "fairness")
OF_USERS = "Slices of users: share times difference, summed over slices, is the whole difference."
OF_ITEMS = (
    "Slices of items: users with a relevant item in the slice, evaluated against these items alone; a user may be in "
    "several. The contribution of a slice is weighted by the share of each user's relevant items."
)


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
class Chart:
    """A drawing with its description.

    Attributes:
        title: its heading.
        drawing: SVG.
        description: for screen readers.
        described: whether the description is also shown to everyone.
    """

    title: str
    drawing: Markup
    description: str
    described: bool = False


def results(data: PageData) -> Section | None:
    """The table of all numbers, and the leading ones as bars."""
    if not data.systems:
        return None
    cards = [_make_card(data, name) for name in data.leading[:CARDS]]
    ordered = sorted(data.rows.items(), key=lambda pair: _family_order(data.metrics[pair[0]].family))
    lines = [_make_line(data, name, found) for name, found in ordered]
    body = render("results.html", data=data, cards=cards, lines=lines)
    return Section("results", "Results", body, " ".join(data.reports.footnotes()))


def against_cutoff(data: PageData) -> Section | None:
    """Each metric that was asked for at several cutoffs, against them."""
    from bridgeval.report.page import charts

    found = []
    for base, names in data.groups.items():
        cutoffs = [data.metrics[name].cutoff or 0 for name in names]
        drawn = [
            charts.Curve(
                cutoffs,
                *([getattr(data.rows[name][system], part) for name in names] for part in ("value", "low", "high")),
            )
            for system in data.names
            if all(system in data.rows.get(name, {}) for name in names)
        ]
        if drawn and len(names) > 1:
            words = f"{base} at k = {', '.join(map(str, cutoffs))}"
            found.append(Chart(base, charts.draw_curves(drawn), words))
    return _chart_section("cutoffs", "By cutoff", data, found, "Each metric by list length. Bands are 95% intervals.")


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
        values = [table.values for table in collected if table is not None]
        if len(values) == len(collected) and all(np.isfinite(one).any() for one in values):
            found.append(Chart(name, charts.draw_distribution(values), f"share of users by their {name}"))
    about = "The share of users by their own value. Dashed lines are the means."
    return _chart_section("users", "Distribution over users", data, found, about)


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
        found.append(Chart(f"{y} against {x}", charts.draw_trade_off(points, front, not better), words, True))
    about = f"Up and to the right is better. The horizontal axis is {x}; filled marks are the Pareto front."
    return _chart_section("trade-offs", "Accuracy and beyond", data, found, about)


def differences(data: PageData) -> Section | None:
    """The table of differences of a comparison; the meaning of the marks stands above it."""
    comparison = data.comparison
    if comparison is None:
        return None
    body = render("wide_table.html", wide=comparison.wide(), notes=comparison.notes)
    return Section("differences", f"Compared with {comparison.baseline}", body, comparison.marks())


def forest(data: PageData) -> Section | None:
    """Differences with their intervals, in percent of the baseline's value so that all metrics fit on one axis."""
    from bridgeval.report.page import charts

    comparison, found = data.comparison or (), []
    for new, old in dict.fromkeys((d.system, d.baseline) for d in comparison):
        rows = [_to_percent(data, d) for d in comparison if (d.system, d.baseline) == (new, old) and _drawable(d)]
        if rows:
            words = f"difference of {new} to {old}, in % of {old}"
            found.append(Chart(f"{new} − {old}", charts.draw_forest(rows), words, True))
    about = "If an interval excludes zero, the sign is clear. Filled marks are significant after the correction."
    return _chart_section("forest", "Differences and their intervals", data, found, about)


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
    return _chart_section("ranks", "Critical differences", data, found, about)


def slices(data: PageData) -> Section | None:
    """Every metric by slices, all systems in one chart; and the contribution of each slice to a difference."""
    found = data.comparison.slices if data.comparison else _merge_slices(data)
    if found is None or not found.means:
        return None
    figures = [
        Chart(
            f"{metric} by {kind}",
            _draw_slices(data.names, found, metric, kind),
            " ".join(found.sentences(metric, kind)),
            True,
        )
        for kind in found.kinds
        for metric in found.metrics
    ]
    sides = {row.side for row in found.means}
    about = ["The mean of each slice with its interval."]
    if found.changes or "item" in sides:
        about += [words for side, words in (("user", OF_USERS), ("item", OF_ITEMS)) if side in sides]
    return _chart_section("slices", "Slices", data, figures, " ".join(about))


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
)
LAST: tuple[MakeSection, ...] = (inspection, definitions, origin)


@hookimpl
def bridgeval_report_sections() -> Iterable[MakeSection]:
    return (*FIRST, *LAST)


def _chart_section(key: str, title: str, data: PageData, found: Sequence[Chart], about: str) -> Section | None:
    if not found:
        return None
    more = f" {len(found) - CHARTS} more are in the table." if len(found) > CHARTS else ""
    return Section(key, title, render("figures.html", data=data, figures=found[:CHARTS]), about + more)


@dataclass(frozen=True)
class Bar:
    """One system in a card, in percent of the card's width."""

    system: str
    text: str
    best: bool
    width: float
    low: float
    high: float


def _make_card(data: PageData, name: str) -> dict[str, Any]:
    found = data.rows[name]
    scale = max((v for row in found.values() for v in (row.value, row.high) if math.isfinite(v)), default=0.0)
    best = find_best((row.value for row in found.values()), data.metrics[name].higher_is_better)

    def percent(value: float) -> float:
        return round(min(max(100 * value / scale, 0.0), 100.0), 2) if scale > 0 and math.isfinite(value) else 0.0

    bars = [
        Bar(system, row.text, row.value == best, percent(row.value), percent(row.low), percent(row.high))
        for system, row in found.items()
    ]
    return {"name": name, "direction": define(data.metrics[name]).direction, "bars": bars}


def _make_line(data: PageData, name: str, found: dict[str, Row]) -> dict[str, Any]:
    """A row of the table of results; None for a system without the metric."""
    metric = data.metrics[name]
    best = find_best((one.value for one in found.values()), metric.higher_is_better)
    cells = [
        {
            "value": row.value,
            "text": row.text,
            "interval": format_interval(row.low, row.high).replace("..", "to"),
            "best": row.value == best,
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


def _drawable(d: Difference) -> bool:
    return not math.isnan(d.low) and d.baseline_value != 0


def _to_percent(data: PageData, d: Difference) -> Interval:
    from bridgeval.report.page.charts import Interval

    scale = 100 / abs(d.baseline_value)
    series = data.names.index(d.system)
    return Interval(d.metric, d.difference * scale, d.low * scale, d.high * scale, series, d.significant)


def _merge_slices(data: PageData) -> Slices:
    """The slices of all reports that were made with by=."""
    return Slices(
        tuple(
            replace(row, system=name)
            for name, report in data.systems.items()
            for row in (report.slices.means if report.slices else ())
        )
    )


def _draw_slices(names: Sequence[str], found: Slices, metric: str, kind: str) -> Markup:
    from bridgeval.report.page.charts import Interval, draw_forest

    rows = [row for row in found.means if row.metric == metric and row.kind == kind]
    labels = list(dict.fromkeys(row.slice for row in rows))
    ordered = sorted(rows, key=lambda row: (labels.index(row.slice), names.index(row.system)))
    # Systems of one slice stand one below another; only the first of them has the label.
    titles = [row.slice if at == 0 or row.slice != ordered[at - 1].slice else "" for at, row in enumerate(ordered)]
    drawn = [
        Interval(title, row.value, row.low, row.high, names.index(row.system))
        for title, row in zip(titles, ordered, strict=True)
    ]
    return draw_forest(drawn, zero=False)
