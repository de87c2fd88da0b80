"""The report page: one self-contained HTML file. It is a list of sections; whoever has more to say adds one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup, escape

from bridgeval.report.page import sections
from bridgeval.report.page.page_data import Content, Section
from bridgeval.report.page.slice_sections import slices_of_reports

if TYPE_CHECKING:
    from bridgeval.inspection import Inspection
    from bridgeval.report.report import Report

# The order in which they stand; sections given to `page` come after the charts.
FIRST: tuple[Callable[[Content], Section | None], ...] = (
    sections.results,
    sections.against_cutoff,
    sections.over_users,
    sections.trade_offs,
    slices_of_reports,
)
LAST: tuple[Callable[[Content], Section | None], ...] = (
    sections.inspection,
    sections.definitions,
    sections.origin,
)


def page(
    systems: Mapping[str, Report],
    *,
    title: str = "Evaluation report",
    inspections: Mapping[str, Inspection] | None = None,
    manifest: Mapping[str, Any] | None = None,
    more: Sequence[Section] = (),
) -> str:
    """The page of one system or of several.

    Args:
        systems: name -> report. Reports with per-user values get the distribution over users.
        title: what stands on top.
        inspections: name -> what `bridgeval.inspect` found.
        manifest: what made the reports.
        more: further sections, e.g. a comparison.
    """
    compared = any(section.key == "differences" for section in more)
    content = Content(systems, inspections or {}, manifest or {}, compared)
    first, last = (FIRST, LAST) if systems else ((), ())
    found: list[Section | None] = [*(make(content) for make in first), *more, *(make(content) for make in last)]
    shown = [section for section in found if section is not None]
    return environment().get_template("page.html").render(title=title, content=content, sections=shown)


@cache
def environment() -> jinja2.Environment:
    """Everything that is filled in is escaped."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("bridgeval.report.page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["code"] = _code
    return made


def _code(text: str) -> Markup:
    """Text, escaped, with what stands between backticks as code."""
    return Markup(re.sub("`([^`]*)`", r"<code>\1</code>", str(escape(text))))
