"""The report page: one self-contained HTML file, a list of sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bridgeval import plugins
from bridgeval.errors import PluginFailedError
from bridgeval.report.page.page_data import PageData
from bridgeval.report.page.rendering import render
from bridgeval.report.page.section import Section
from bridgeval.report.page.sections import LAST

if TYPE_CHECKING:
    from bridgeval.inspection import Inspection
    from bridgeval.report.comparison import Comparison
    from bridgeval.report.example_lists import Examples
    from bridgeval.report.report import Report


def render_page(
    systems: Mapping[str, Report],
    *,
    title: str = "Evaluation report",
    inspections: Mapping[str, Inspection] | None = None,
    manifest: Mapping[str, Any] | None = None,
    comparison: Comparison | None = None,
    examples: Examples | None = None,
    more: Sequence[Section] = (),
) -> str:
    """Renders the page of one system or of several.

    Args:
        systems: name -> report. Reports with per-user values get the distribution over users.
        title: the heading of the page.
        inspections: name -> the result of `bridgeval.inspect`.
        manifest: the record of what made the reports.
        comparison: of these systems.
        examples: the result of `bridgeval.find_examples`.
        more: sections of your own, shown after the charts and the sections of plugins.
    """
    data = PageData(systems, inspections or {}, manifest or {}, comparison, examples)
    makers = plugins.installed().report_sections
    first = [_make_section(name, data) for name, make in makers.items() if make not in LAST]
    last = [_make_section(name, data) for name, make in makers.items() if make in LAST]
    shown = [section for section in (*first, *more, *last) if section is not None]
    return str(render("page.html", title=title, data=data, sections=shown))


def _make_section(name: str, data: PageData) -> Section | None:
    """A section; None if it has nothing to show, or if a plugin fails to make it, which is reported."""
    known = plugins.installed()
    owner = known.find_owner("report_sections", name)

    def make() -> Section | None:
        section = known.report_sections[name](data)
        if section is not None and not isinstance(section, Section):
            raise PluginFailedError(f"the report section {name!r} is no Section", f"{section!r}")
        return section

    return known.attempt(owner, f"report section {name!r}", None, make)
