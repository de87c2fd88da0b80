"""Section and Chart: the parts of the report page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from bridgeval.report.page.rendering import render

if TYPE_CHECKING:
    from bridgeval.report.page.drawing import Drawing
    from bridgeval.report.page.page_data import PageData

CHARTS = 12
BEYOND_ACCURACY = ("novelty", "bias", "diversity", "coverage", "fairness")
MEDIA_TYPES = {"csv": "text/csv", "md": "text/markdown", "tex": "text/x-tex"}


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
        drawing: the SVG and the numbers in it.
        description: for screen readers.
        described: whether the description is also shown to everyone.
        wide: whether it takes the whole width.
    """

    title: str
    drawing: Drawing
    description: str
    described: bool = False
    wide: bool = False


def render_exports(name: str, **texts: str) -> Markup:
    """Links that save texts as files; the files are in the links, so that they need neither a script nor a network.

    Args:
        name: of the files.
        **texts: extension -> content.
    """
    files = {f"{name}.{ending}": (MEDIA_TYPES[ending], text) for ending, text in texts.items()}
    return render("exports.html", files=files)


def render_charts(data: PageData, charts: Sequence[Chart]) -> Markup:
    """The charts with a legend of the systems."""
    return render("figures.html", data=data, figures=charts)


def make_chart_section(key: str, title: str, data: PageData, found: Sequence[Chart], about: str) -> Section | None:
    """A section of charts; None if there are none."""
    if not found:
        return None
    left = ", ".join(chart.title for chart in found[CHARTS:])
    more = f" Not drawn: {left}; the table of results has them." if left else ""
    return Section(key, title, render_charts(data, found[:CHARTS]), about + more)


def order_families(family: str) -> int:
    """The place of a family of metrics on the page; unknown ones come last."""
    known = ("accuracy", "auc", "rating", *BEYOND_ACCURACY)
    return known.index(family) if family in known else len(known)
