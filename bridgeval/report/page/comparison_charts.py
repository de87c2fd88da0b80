"""Charts of comparisons: forests of differences and of slices, critical differences. Names are drawn as plain text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes

from bridgeval.report.page.charts import INK, LINE, colour, marker, svg
from bridgeval.stats.tests import Friedman


@dataclass(frozen=True)
class Interval:
    """A number with its interval, in a row of its own.

    Attributes:
        series: which colour and marker it has.
        filled: whether the marker is; hollow ones are not significant.
    """

    label: str
    value: float
    low: float
    high: float
    series: int = 0
    filled: bool = True


def forest(rows: Sequence[Interval], zero: bool = True) -> Markup:
    """Intervals one below another, the first on top; a line marks zero."""

    def draw(axes: Axes) -> None:
        for at, row in enumerate(rows):
            axes.plot([row.low, row.high], [at, at], color=colour(row.series), linewidth=1.8, solid_capstyle="butt")
            face = colour(row.series) if row.filled else "none"
            axes.plot(row.value, at, marker(row.series), markersize=6, markeredgecolor=colour(row.series),
                      markerfacecolor=face)  # fmt: skip
        if zero:
            axes.axvline(0, color=INK, linewidth=1)
        axes.set_yticks(range(len(rows)), [row.label for row in rows], parse_math=False)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.grid(axis="y", visible=False)
        axes.spines["left"].set_visible(False)

    return svg(draw, (4.2, 0.6 + 0.26 * max(len(rows), 2)))


def critical_differences(names: Sequence[str], test: Friedman) -> Markup:
    """Systems at their mean ranks, the best on the left; a bar joins those that do not differ (Demsar 2006).

    The thin line on top is as long as the critical difference.
    """
    order = np.argsort(test.ranks, kind="stable")
    ranks = test.ranks[order]
    joined = cliques(ranks.tolist(), test.critical_difference)
    top = 0.8 + 0.25 * len(joined)

    def draw(axes: Axes) -> None:
        for at, (place, rank) in enumerate(zip(order.tolist(), ranks, strict=True)):
            axes.plot([rank, rank], [0, -at - 1], color=LINE, linewidth=1)
            axes.plot(rank, 0, marker(place), color=colour(place), markersize=7, clip_on=False)
            axes.annotate(names[place], (rank, -at - 1), xytext=(4, 0), textcoords="offset points", va="center",
                          color=INK, parse_math=False)  # fmt: skip
        for at, (first, last) in enumerate(joined):
            axes.plot([ranks[first], ranks[last]], [0.35 + 0.25 * at] * 2, color=INK, linewidth=3)
        reach = max(ranks[-1] - ranks[0], test.critical_difference)
        axes.plot([ranks[0], ranks[0] + test.critical_difference], [top, top], color=INK, linewidth=1, marker="|")
        axes.set_xlim(ranks[0] - 0.1 * reach, ranks[-1] + 0.4 * reach)
        axes.set_ylim(-len(names) - 0.6, top + 0.4)
        axes.set_yticks([])
        axes.xaxis.tick_top()
        axes.spines["left"].set_visible(False)
        axes.spines["bottom"].set_visible(False)
        axes.grid(visible=False)

    return svg(draw, (4.2, 0.9 + 0.24 * len(names)))


def cliques(ranks: Sequence[float], critical: float) -> list[tuple[int, int]]:
    """The longest runs of sorted mean ranks that are no further apart than the critical difference, of two or more.

    >>> cliques([1.0, 1.5, 2.5, 4.0], 1.2)
    [(0, 1), (1, 2)]
    """
    found: list[tuple[int, int]] = []
    for first, rank in enumerate(ranks):
        last = max(at for at in range(first, len(ranks)) if ranks[at] - rank <= critical)
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found
