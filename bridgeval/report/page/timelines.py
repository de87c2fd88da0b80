"""Timelines: the page of a history of runs, with a chart of each metric over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import TYPE_CHECKING

from bridgeval.report.page.section import CHARTS, Chart, Section
from bridgeval.report.table_view import Cell, Wide

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bridgeval.report.page.drawing import Drawing

HEAD = ("run", "system", "time", "value", "95% interval", "change")
# Mark of a change -> marker of its point.
POINTS = {"▲": "^", "▼": "v", "*": "D"}


@dataclass(frozen=True)
class Moment:
    """A number of a run.

    Attributes:
        mark: of the change since the run before: "▲" and "▼" if it is significant, else "".
        joined: whether a line joins it with the run before, because both were measured with the same truth.
        texts: its row of numbers, under HEAD.
    """

    time: datetime
    value: float
    low: float
    high: float
    mark: str
    joined: bool
    texts: tuple[str, ...]


@dataclass(frozen=True)
class RunsData:
    """What the page shows.

    Attributes:
        names: of the systems.
        timelines: metric -> system -> its numbers, the first run first.
        table: a row for each run.
        verdict: the history in a sentence.
        notes: below the charts.
    """

    names: Sequence[str]
    timelines: Mapping[str, Mapping[str, Sequence[Moment]]]
    table: Wide
    verdict: str
    notes: Sequence[str]
    headline: str = ""


def render_runs_page(data: RunsData, title: str) -> str:
    """The page: charts of at most twelve metrics, and the table of runs."""
    from bridgeval.report.page.rendering import render

    drawn = list(data.timelines)[:CHARTS]
    charts = [Chart(name, draw_timeline(data, name), f"{name} of each run over time") for name in drawn]
    left = ", ".join(list(data.timelines)[CHARTS:])
    about = " ".join(data.notes) + (f" Not drawn: {left}." if left else "")
    sections = [
        Section("timelines", "Over time", render("figures.html", data=data, figures=charts), about),
        Section("runs", "Runs", render("wide_table.html", wide=data.table, notes=())),
    ]
    return str(render("page.html", title=title, data=data, sections=sections))


def draw_timeline(data: RunsData, metric: str) -> Drawing:
    """Lines over time with their intervals as bands; a triangle is a significant change."""
    from bridgeval.report.page.drawing import choose_style, draw_svg

    timelines = data.timelines[metric]

    def draw(axes: Axes) -> None:
        mark = count()
        for system, moments in timelines.items():
            color, _ = choose_style(data.names.index(system))
            for part in _split(moments):
                times, values, lows, highs = zip(
                    *((_place(one), one.value, one.low, one.high) for one in part), strict=True
                )
                axes.plot(times, values, color=color, linewidth=1.8)
                axes.fill_between(times, lows, highs, color=color, alpha=0.16, linewidth=0)
            for one in moments:
                point, size = POINTS.get(one.mark, "o"), 9 if one.mark else 4
                axes.plot(_place(one), one.value, color=color, marker=point, markersize=size, gid=f"mark-{next(mark)}")
        _set_dates(axes)
        axes.margins(x=0.05)

    return draw_svg(draw, HEAD, [moment.texts for moments in timelines.values() for moment in moments])


def _set_dates(axes: Axes) -> None:
    """Labels the horizontal axis with a few dates."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=2, maxticks=5)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def _place(moment: Moment) -> float:
    from matplotlib.dates import date2num

    return float(date2num(moment.time))  # type: ignore[no-untyped-call]


def _split(moments: Sequence[Moment]) -> list[list[Moment]]:
    """The moments in parts that are joined by a line."""
    parts: list[list[Moment]] = []
    for moment in moments:
        if not parts or not moment.joined:
            parts.append([])
        parts[-1].append(moment)
    return parts


def make_table(head: Sequence[str], rows: Sequence[Sequence[str]], names: int) -> Wide:
    """A table of texts."""
    return Wide(list(head), [list(map(Cell, row)) for row in rows], names)
