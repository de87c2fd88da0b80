"""The report page: one self-contained HTML file, a list of sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bridgeval.report.page.page_data import PageData
from bridgeval.report.page.rendering import render
from bridgeval.report.page.section import Section
from bridgeval.report.page.sections import FIRST, LAST

if TYPE_CHECKING:
    from bridgeval.inspection import Inspection
    from bridgeval.report.comparison import Comparison
    from bridgeval.report.report import Report


def render_page(
    systems: Mapping[str, Report],
    *,
    title: str = "Evaluation report",
    inspections: Mapping[str, Inspection] | None = None,
    manifest: Mapping[str, Any] | None = None,
    comparison: Comparison | None = None,
    more: Sequence[Section] = (),
) -> str:
    """Renders the page of one system or of several.

    Args:
        systems: name -> report. Reports with per-user values get the distribution over users.
        title: the heading of the page.
        inspections: name -> the result of `bridgeval.inspect`.
        manifest: the record of what made the reports.
        comparison: of these systems.
        more: sections of your own, shown after the charts.
    """
    data = PageData(systems, inspections or {}, manifest or {}, comparison)
    found = [*(make(data) for make in FIRST), *more, *(make(data) for make in LAST)]
    shown = [section for section in found if section is not None]
    return str(render("page.html", title=title, data=data, sections=shown))
