"""Charts: small drawings as inline SVG, without words from the data in them, in colours that the page decides."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Colours that stand for others: the page's style sheet says what they are in the light, in the dark and on paper.
INK, LINE = "#0000e1", "#0000e2"
SERIES = tuple(f"#0000f{at}" for at in range(1, 9))
VARIABLES = {INK: "var(--soft)", LINE: "var(--line)"} | {
    colour: f"var(--series-{at})" for at, colour in enumerate(SERIES, start=1)
}
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "bridgeval",
    "font.size": 9,
    "axes.edgecolor": LINE,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
}
BINS = 24


@dataclass(frozen=True)
class Curve:
    """A metric against its cutoffs, for one system."""

    cutoffs: Sequence[int]
    values: Sequence[float]
    lows: Sequence[float]
    highs: Sequence[float]


def curves(systems: Sequence[Curve]) -> Markup:
    """Lines with their intervals as bands."""

    def draw(axes: Axes) -> None:
        for at, curve in enumerate(systems):
            axes.plot(curve.cutoffs, curve.values, color=colour(at), marker=marker(at), markersize=5, linewidth=1.8)
            axes.fill_between(curve.cutoffs, curve.lows, curve.highs, color=colour(at), alpha=0.16, linewidth=0)
        axes.set_xticks(sorted({k for curve in systems for k in curve.cutoffs}))
        axes.set_xlabel("k")
        axes.margins(x=0.05)

    return svg(draw)


def distribution(systems: Sequence[npt.NDArray[np.float64]]) -> Markup:
    """The share of users by value; a line marks each mean."""

    def draw(axes: Axes) -> None:
        defined = [values[~np.isnan(values)] for values in systems]
        everything = np.concatenate(defined)
        low, high = float(everything.min()), float(everything.max())
        edges = np.linspace(low, high if high > low else low + 1.0, BINS + 1)
        for at, values in enumerate(defined):
            shares = np.histogram(values, edges)[0] / max(len(values), 1) * 100
            if len(defined) < 3:
                axes.stairs(shares, edges, color=colour(at), fill=True, alpha=0.14)
            axes.stairs(shares, edges, color=colour(at), linewidth=1.4)
            axes.axvline(float(values.mean()), color=colour(at), linestyle="--", linewidth=1.4)
        axes.set_ylabel("% of users")
        axes.set_xlim(edges[0], edges[-1])

    return svg(draw)


def trade_off(points: Sequence[tuple[float, float]], front: Sequence[int], lower_is_better: bool) -> Markup:
    """Systems by two metrics; those that no other beats on both are joined."""

    def draw(axes: Axes) -> None:
        best = sorted(points[at] for at in front)
        if len(best) > 1:
            axes.plot(*zip(*best, strict=True), color=INK, linestyle=":", linewidth=1.4, zorder=1)
        for at, (x, y) in enumerate(points):
            face = colour(at) if at in front else "none"
            axes.plot(x, y, marker(at), color=colour(at), markersize=10, markeredgewidth=1.8, markerfacecolor=face)
        axes.margins(0.25)
        if lower_is_better:
            axes.invert_yaxis()

    return svg(draw)


def pareto(points: Sequence[tuple[float, float]], higher: tuple[bool, bool]) -> list[int]:
    """The points that no other is at least as good as on both axes and better on one.

    >>> pareto([(1, 3), (2, 2), (1, 1), (3, 1)], (True, True))
    [0, 1, 3]
    >>> pareto([(1, 3), (2, 2)], (True, False))
    [1]
    """
    signed = np.array(points, dtype=np.float64) * np.where(higher, 1.0, -1.0)
    at_least = (signed[:, None] >= signed[None]).all(2)
    better = (signed[:, None] > signed[None]).any(2)
    return [int(at) for at in np.flatnonzero(~(at_least & better).any(0))]


def colour(at: int) -> str:
    """The colour of a system by its place."""
    return SERIES[at % len(SERIES)]


def marker(at: int) -> str:
    """The marker of a system by its place."""
    return MARKERS[at % len(MARKERS)]


def svg(draw: Callable[[Axes], None], size: tuple[float, float] = (4.2, 2.5)) -> Markup:
    """The drawing as an SVG element that scales with the page."""
    with matplotlib.rc_context(SETTINGS):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.add_subplot()
        draw(axes)
        axes.set_axisbelow(True)
        axes.tick_params(length=0)
        written = io.StringIO()
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = written.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(
        r'<svg [^>]*?viewBox="([^"]*)"[^>]*>', r'<svg viewBox="\1" role="img" aria-hidden="true">', text, count=1
    )
    # Names of groups, which nothing points to and which every chart would repeat.
    text = re.sub(r' id="\w+_\d+"', "", text)
    return Markup(_coloured(text, VARIABLES))


def _coloured(text: str, variables: Mapping[str, str]) -> str:
    return re.sub("#0000[ef][0-9]", lambda found: variables.get(found[0], found[0]), text)
