"""Charts: small drawings as inline SVG, each with the numbers behind it.

The page chooses the colors. Names from the data are drawn as plain text. What can be pointed at is a mark: it
carries its row of numbers as the title of its SVG group, which browsers show on hover, and the page's script also on
focus and touch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from bridgeval.report.page.drawing import INK, LINE, SERIES, Drawing, choose_style, draw_svg
from bridgeval.report.table_view import format_interval
from bridgeval.stats.tests import Friedman

BINS = 24


@dataclass(frozen=True)
class Curve:
    """A metric against its cutoffs, for one system."""

    system: str
    cutoffs: Sequence[int]
    values: Sequence[float]
    lows: Sequence[float]
    highs: Sequence[float]


def draw_curves(systems: Sequence[Curve]) -> Drawing:
    """Lines with their intervals as bands."""
    rows = [
        (curve.system, str(k), f"{value:.4f}", format_interval(low, high))
        for curve in systems
        for k, value, low, high in zip(curve.cutoffs, curve.values, curve.lows, curve.highs, strict=True)
    ]

    def draw(axes: Axes) -> None:
        mark = count()
        for at, curve in enumerate(systems):
            color, marker = choose_style(at)
            axes.plot(curve.cutoffs, curve.values, color=color, linewidth=1.8)
            axes.fill_between(curve.cutoffs, curve.lows, curve.highs, color=color, alpha=0.16, linewidth=0)
            for point in zip(curve.cutoffs, curve.values, strict=True):
                axes.plot(*point, color=color, marker=marker, markersize=5, gid=f"mark-{next(mark)}")
        axes.set_xticks(sorted({k for curve in systems for k in curve.cutoffs}))
        axes.set_xlabel("k")
        axes.margins(x=0.05)

    return draw_svg(draw, ("system", "k", "value", "95% interval"), rows)


def draw_distribution(systems: Mapping[str, npt.NDArray[np.float64]]) -> Drawing:
    """The share of users by value; a line marks each mean. A mark is a bin, of all systems."""
    defined = [values[~np.isnan(values)] for values in systems.values()]
    everything = np.concatenate(defined)
    low, high = float(everything.min()), float(everything.max())
    edges = np.linspace(low, high if high > low else low + 1.0, BINS + 1)
    shares = [np.histogram(values, edges)[0] / max(len(values), 1) * 100 for values in defined]
    rows = [
        (f"{start:.3g} to {end:.3g}", *(f"{share[at]:.1f}%" for share in shares))
        for at, (start, end) in enumerate(pairwise(edges.tolist()))
    ]

    def draw(axes: Axes) -> None:
        for at, (values, share) in enumerate(zip(defined, shares, strict=True)):
            color, _ = choose_style(at)
            if len(defined) < 3:
                axes.stairs(share, edges, color=color, fill=True, alpha=0.14)
            axes.stairs(share, edges, color=color, linewidth=1.4)
            axes.axvline(float(values.mean()), color=color, linestyle="--", linewidth=1.4)
        for at, (start, end) in enumerate(pairwise(edges.tolist())):
            axes.axvspan(start, end, alpha=0, gid=f"mark-{at}")
        axes.set_ylabel("% of users")
        axes.set_xlim(edges[0], edges[-1])

    return draw_svg(draw, ("value", *(name or "users" for name in systems)), rows)


def draw_trade_off(
    systems: Mapping[str, tuple[float, float]], axis_names: tuple[str, str], front: Sequence[int], lower_is_better: bool
) -> Drawing:
    """Systems by two metrics; a line joins the Pareto front."""
    points = list(systems.values())
    rows = [
        (name, f"{x:.4f}", f"{y:.4f}", "yes" if at in front else "no")
        for at, (name, (x, y)) in enumerate(systems.items())
    ]

    def draw(axes: Axes) -> None:
        best = sorted(points[at] for at in front)
        if len(best) > 1:
            axes.plot(*zip(*best, strict=True), color=INK, linestyle=":", linewidth=1.4, zorder=1)
        for at, (x, y) in enumerate(points):
            color, marker = choose_style(at)
            face = color if at in front else "none"
            style: Any = {"color": color, "markersize": 10, "markeredgewidth": 1.8, "markerfacecolor": face}
            axes.plot(x, y, marker, gid=f"mark-{at}", **style)
        axes.margins(0.25)
        if lower_is_better:
            axes.invert_yaxis()

    return draw_svg(draw, ("system", *axis_names, "on the Pareto front"), rows)


def find_front(points: Sequence[tuple[float, float]], higher: tuple[bool, bool]) -> list[int]:
    """The points that no other is at least as good as on both axes and better on one.

    >>> find_front([(1, 3), (2, 2), (1, 1), (3, 1)], (True, True))
    [0, 1, 3]
    >>> find_front([(1, 3), (2, 2)], (True, False))
    [1]
    """
    signed = np.array(points, dtype=np.float64) * np.where(higher, 1.0, -1.0)
    at_least = (signed[:, None] >= signed[None]).all(2)
    better = (signed[:, None] > signed[None]).any(2)
    return [int(at) for at in np.flatnonzero(~(at_least & better).any(0))]


@dataclass(frozen=True)
class Interval:
    """A number with its interval, in a row of its own.

    Attributes:
        numbers: its row of numbers.
        series: its color and marker.
        filled: whether the marker is; hollow ones are not significant.
    """

    label: str
    value: float
    low: float
    high: float
    numbers: tuple[str, ...]
    series: int = 0
    filled: bool = True


def draw_forest(rows: Sequence[Interval], head: tuple[str, ...], better: str = "") -> Drawing:
    """Intervals one below another, the first on top.

    Args:
        rows: the intervals.
        head: titles of their numbers.
        better: the caption of the horizontal axis for differences, of which a line marks zero.
    """

    def draw(axes: Axes) -> None:
        for at, row in enumerate(rows):
            color, marker = choose_style(row.series)
            gid = f"mark-{at}"
            axes.plot([row.low, row.high], [at, at], color=color, linewidth=1.8, solid_capstyle="butt", gid=gid)
            face = color if row.filled else "none"
            axes.plot(row.value, at, marker, markersize=6, markeredgecolor=color, markerfacecolor=face, gid=gid)
        if better:
            axes.axvline(0, color=INK, linewidth=1)
            axes.set_xlabel(better)
        axes.set_yticks(range(len(rows)), [row.label for row in rows], parse_math=False)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.grid(axis="y", visible=False)
        axes.spines["left"].set_visible(False)

    height = 0.6 + 0.26 * max(len(rows), 2) + (0.2 if better else 0)
    return draw_svg(draw, head, [row.numbers for row in rows], (4.2, height))


def draw_waterfall(first: tuple[str, float], changes: Sequence[tuple[str, float]], last: tuple[str, float]) -> Drawing:
    """A number, what each change adds to it or takes from it, and the number that comes of it; one below another."""
    levels = np.cumsum([first[1], *(effect for _, effect in changes)])
    names = [first[0], *(name for name, _ in changes), last[0]]
    written = [f"{first[1]:.4f}", *(f"{effect:+.4f}" for _, effect in changes), f"{last[1]:.4f}"]

    def draw(axes: Axes) -> None:
        total, rise, fall = SERIES[0], SERIES[2], SERIES[1]
        bars = [(0.0, first[1], total)]
        bars += [(levels[at], effect, rise if effect > 0 else fall) for at, (_, effect) in enumerate(changes)]
        for at, (left, width, color) in enumerate([*bars, (0.0, last[1], total)]):
            axes.barh(at, width, left=left, color=color, height=0.6)[0].set_gid(f"mark-{at}")
        for at, level in enumerate(levels):
            axes.plot([level, level], [at - 0.3, at + 1.3], color=INK, linewidth=0.8)
        ends = [first[1], *(max(pair) for pair in pairwise(levels)), last[1]]
        for at, (text, end) in enumerate(zip(written, ends, strict=True)):
            axes.annotate(text, (end, at), xytext=(4, 0), textcoords="offset points", va="center", color=INK)
        axes.set_yticks(range(len(names)), names, parse_math=False)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.margins(x=0.15)
        axes.grid(axis="y", visible=False)
        axes.spines["left"].set_visible(False)

    rows = list(zip(names, written, strict=True))
    return draw_svg(draw, ("", "value"), rows, (6.4, 0.6 + 0.3 * (len(changes) + 2)))


def draw_ranks(names: Sequence[str], test: Friedman) -> Drawing:
    """Systems at their mean ranks, the best on the left; a bar joins those that do not differ (Demsar 2006).

    The thin line on top is as long as the critical difference.
    """
    order = np.argsort(test.ranks, kind="stable")
    ranks = test.ranks[order]
    joined = find_cliques(ranks.tolist(), test.critical_difference)
    top = 0.8 + 0.25 * len(joined)

    def draw(axes: Axes) -> None:
        for at, (place, rank) in enumerate(zip(order.tolist(), ranks, strict=True)):
            axes.plot([rank, rank], [0, -at - 1], color=LINE, linewidth=1)
            color, marker = choose_style(place)
            axes.plot(rank, 0, marker, color=color, markersize=7, clip_on=False, gid=f"mark-{at}")
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

    rows = [(names[place], f"{rank:.3f}") for place, rank in zip(order.tolist(), ranks, strict=True)]
    return draw_svg(draw, ("system", "mean rank"), rows, (4.2, 0.9 + 0.24 * len(names)))


def find_cliques(ranks: Sequence[float], critical: float) -> list[tuple[int, int]]:
    """The longest runs of sorted mean ranks that are no further apart than the critical difference, of two or more.

    >>> find_cliques([1.0, 1.5, 2.5, 4.0], 1.2)
    [(0, 1), (1, 2)]
    """
    found: list[tuple[int, int]] = []
    for first, rank in enumerate(ranks):
        last = max(at for at in range(first, len(ranks)) if ranks[at] - rank <= critical)
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found
