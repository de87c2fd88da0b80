"""The section of results: the leading metrics as bars, and the table of all numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from bridgeval.report.definitions import define
from bridgeval.report.exports import Reports
from bridgeval.report.page.page_data import Best, PageData
from bridgeval.report.page.rendering import render
from bridgeval.report.page.section import Section, order_families, render_exports
from bridgeval.report.table_view import Row, format_interval

CARDS = 4
NO_BAR = (0.0, 0.0, 0.0)


def results(data: PageData) -> Section | None:
    """The table of all numbers, and the leading ones as bars."""
    if not data.systems:
        return None
    cards = [_make_card(data, name) for name in data.leading[:CARDS]]
    ordered = sorted(data.rows.items(), key=lambda pair: order_families(data.metrics[pair[0]].family))
    lines = [_make_line(data, name, found) for name, found in ordered]
    # Slices have a table of their own.
    whole = Reports({name: replace(report, by=()) for name, report in data.systems.items()}, data.manifest)
    exports = render_exports("results", csv=whole.to_csv(), md=whole.to_markdown(), tex=whole.to_latex())
    body = render("results.html", data=data, cards=cards, lines=lines, exports=exports)
    return Section("results", "Results", body, " ".join(data.reports.describe_users()))


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
