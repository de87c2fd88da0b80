"""Sections of the report page: each takes the content and gives its part, or None where it has nothing to show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from bridgeval.report.definitions import definition_of
from bridgeval.report.page.page_data import Content, Drawn, Section
from bridgeval.report.table_view import Row, best_of, interval

CARDS = 4
CHARTS = 12
BEYOND_ACCURACY = ("novelty", "bias", "diversity", "coverage", "fairness")


def results(content: Content) -> Section:
    """The table of all numbers, and the leading ones as bars."""
    cards = [_card(content, name) for name in content.leading[:CARDS]]
    lines = [_line(content, row) for row in _by_family(content)]
    body = _rendered("results.html", content=content, cards=cards, lines=lines)
    return Section("results", "Results", body, " ".join(content.counted))


def against_cutoff(content: Content) -> Section | None:
    """Each metric that was asked for at several cutoffs, against them."""
    from bridgeval.report.page import charts

    figures = []
    for base, names in content.groups.items():
        if len(names) < 2:
            continue
        drawn = [
            charts.Curve(
                [content.metrics[name].k for name in names],  # type: ignore[attr-defined]
                *([getattr(content.rows[name][system], part) for name in names] for part in ("value", "low", "high")),
            )
            for system in content.names
            if all(system in content.rows.get(name, {}) for name in names)
        ]
        if drawn:
            figures.append(Drawn(base, charts.curves(drawn), f"{base} at k = {', '.join(_cutoffs(content, names))}"))
    about = "How each metric grows with the length of the list; bands are 95% intervals."
    return _figures("cutoffs", "Against the cutoff", content, figures[:CHARTS], about)


def over_users(content: Content) -> Section | None:
    """How the values of the leading metrics are spread over users."""
    import numpy as np

    from bridgeval.report.page import charts

    figures = []
    for name in content.leading:
        collected = [
            {report.marked(own): table for own, table in report.collected.items()}.get(name)
            for report in content.systems.values()
        ]
        values = [table.values for table in collected if table is not None]
        if len(values) == len(collected) and all(np.isfinite(one).any() for one in values):
            figures.append(Drawn(name, charts.distribution(values), f"share of users by their {name}"))
    about = "The share of users by their own value: a mean hides who it is made of. Dashed lines are the means."
    return _figures("users", "Over users", content, figures[:CHARTS], about)


def trade_offs(content: Content) -> Section | None:
    """Accuracy against what lies beyond it, for several systems."""
    from bridgeval.report.page import charts

    x = next((name for name in content.leading if content.metrics[name].family == "accuracy"), None)
    if len(content.systems) < 2 or x is None:
        return None
    figures = []
    for y in sorted(content.leading, key=lambda name: _place(content.metrics[name].family)):
        better = content.metrics[y].higher_is_better
        if (
            content.metrics[y].family not in BEYOND_ACCURACY
            or better is None
            or len(content.rows[y]) < len(content.names)
        ):
            continue
        points = [(content.rows[x][system].value, content.rows[y][system].value) for system in content.names]
        if not all(map(math.isfinite, (value for point in points for value in point))):
            continue
        front = charts.pareto(points, (True, better))
        drawing = charts.trade_off(points, front, not better)
        best = " and ".join(content.names[at] for at in front)
        direction = "more is better" if better else "less is better, so the axis is turned over"
        words = f"{direction}; not beaten on both: {best}"
        figures.append(Drawn(f"{y} against {x}", drawing, words, shown=True))
    about = f"Up and to the right is better. {x} runs along the bottom; filled marks are the Pareto front."
    return _figures("trade-offs", "Accuracy and beyond", content, figures[:CHARTS], about)


def inspection(content: Content) -> Section | None:
    """What was odd about the data."""
    if not content.inspections:
        return None
    body = _rendered("inspection.html", content=content)
    about = "What the data looks like, and what each oddity does to the first metric that was asked for."
    return Section("inspection", "Inspection of the data", body, about)


def definitions(content: Content) -> Section:
    """What each number means."""
    grouped: dict[tuple[Any, ...], list[str]] = {}
    asked = {r.marked(name): metric for r in content.systems.values() for name, metric in r.metrics.items()}
    for name, metric in asked.items():
        one = definition_of(metric)
        native = one.native.removesuffix(f"@{getattr(metric, 'k', None)}")
        grouped.setdefault((native, one.family, one.direction, one.summary, one.rules), []).append(name)
    body = _rendered("definitions.html", grouped=grouped)
    return Section(
        "definitions", "What the numbers mean", body, "The same name means different things elsewhere. Here it is this."
    )


def origin(content: Content) -> Section:
    """What made the page."""
    from bridgeval.report.manifest import versions

    body = _rendered("origin.html", content=content, versions=versions())
    return Section("origin", "How it was made", body)


@dataclass(frozen=True)
class Bar:
    """One system in a card, in percent of the card's width."""

    system: str
    text: str
    best: bool
    width: float
    low: float
    high: float


def _card(content: Content, name: str) -> dict[str, Any]:
    found = content.rows[name]
    scale = max((v for row in found.values() for v in (row.value, row.high) if math.isfinite(v)), default=0.0)
    best = best_of((row.value for row in found.values()), content.metrics[name].higher_is_better)

    def percent(value: float) -> float:
        return round(min(max(100 * value / scale, 0.0), 100.0), 2) if scale > 0 and math.isfinite(value) else 0.0

    bars = [
        Bar(system, row.text, row.value == best, percent(row.value), percent(row.low), percent(row.high))
        for system, row in found.items()
    ]
    return {"name": name, "direction": definition_of(content.metrics[name]).direction, "bars": bars}


def _by_family(content: Content) -> list[tuple[str, dict[str, Row]]]:
    return sorted(content.rows.items(), key=lambda pair: _place(content.metrics[pair[0]].family))


def _place(family: str) -> int:
    known = ("accuracy", "rating", *BEYOND_ACCURACY)
    return known.index(family) if family in known else len(known)


def _line(content: Content, row: tuple[str, dict[str, Row]]) -> dict[str, Any]:
    name, found = row
    metric = content.metrics[name]
    better = metric.higher_is_better
    best = best_of((one.value for one in found.values()), better)
    cells = []
    for system in content.names:
        one = found.get(system)
        cells.append(
            None
            if one is None
            else {
                "value": one.value,
                "text": one.text,
                "interval": interval(one.low, one.high).replace("..", "to"),
                "best": one.value == best,
                "users": one.users,
            }
        )
    arrow = "" if better is None else "↑" if better else "↓"
    return {"name": name, "family": metric.family, "arrow": arrow, "cells": cells}


def _cutoffs(content: Content, names: Sequence[str]) -> list[str]:
    return [str(getattr(content.metrics[name], "k", "")) for name in names]


def _figures(key: str, title: str, content: Content, figures: Sequence[Drawn], about: str) -> Section | None:
    if not figures:
        return None
    return Section(key, title, _rendered("figures.html", content=content, figures=figures), about)


def _rendered(template: str, **values: Any) -> Markup:
    from bridgeval.report.page.page import environment

    return Markup(environment().get_template(template).render(**values))
