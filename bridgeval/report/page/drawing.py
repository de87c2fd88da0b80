"""Drawing: SVG that scales with the page and takes its colors, with the numbers of every mark."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Placeholders for colors: the style sheet of the page defines them for light, dark and print.
INK, LINE = "#0000e1", "#0000e2"
SERIES = tuple(f"#0000f{at}" for at in range(1, 9))
VARIABLES = {INK: "var(--soft)", LINE: "var(--line)"} | {
    color: f"var(--series-{at})" for at, color in enumerate(SERIES, start=1)
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


@dataclass(frozen=True)
class Drawing:
    """A chart and the numbers in it.

    Attributes:
        svg: the drawing.
        head: titles of the numbers.
        rows: one for each mark, in the order of the marks.
    """

    svg: Markup
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()

    def __html__(self) -> Markup:
        return self.svg


def choose_style(at: int) -> tuple[str, str]:
    """The color and the marker of a system by its position."""
    return SERIES[at % len(SERIES)], MARKERS[at % len(MARKERS)]


def draw_svg(
    draw: Callable[[Axes], None],
    head: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    size: tuple[float, float] = (4.2, 2.5),
) -> Drawing:
    """Draws an SVG element that scales with the page.

    Args:
        draw: draws; an artist with the gid "mark-N" belongs to row N.
        head, rows: the numbers.
        size: in inches of 72 points.
    """
    with matplotlib.rc_context(SETTINGS):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.add_subplot()
        draw(axes)
        axes.set_axisbelow(True)
        axes.tick_params(length=0)
        written = io.StringIO()
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = written.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r'<svg [^>]*?viewBox="([^"]*)"[^>]*>', r'<svg viewBox="\1">', text, count=1)
    text = re.sub(r'<g id="mark-(\d+)">', lambda found: _open_mark(int(found[1]), head, rows), text)
    # Ids of groups, which nothing refers to and which would repeat in every chart.
    text = re.sub(r' id="\w+_\d+"', "", text)
    text = re.sub(r">\s+<", "><", re.sub("#0000[ef][0-9]", lambda found: VARIABLES.get(found[0], found[0]), text))
    return Drawing(Markup(text), head, tuple(rows))


def _open_mark(at: int, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The group of a mark. Browsers show the title, and its line breaks, on hover."""
    told = "\n".join(f"{title}: {text}" if title else text for title, text in zip(head, rows[at], strict=True) if text)
    return f'<g class="mark" data-row="{at}"><title>{escape(told)}</title>'
