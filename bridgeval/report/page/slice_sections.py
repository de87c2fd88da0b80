"""The section of the page about slices: small multiples, one for each metric and kind of slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

from markupsafe import Markup

from bridgeval.report.page import comparison_charts as charts
from bridgeval.report.page.comparison_charts import Interval
from bridgeval.report.page.page_data import Content, Drawn, Section
from bridgeval.report.page.sections import CHARTS
from bridgeval.stats.slice_results import Slices

OF_USERS = "Of users: share times difference, summed over slices, is the whole difference."
OF_ITEMS = (
    "Of items: the users who have a relevant item in the slice, measured against these items alone; a user may be in "
    "several. What slices add to a difference is weighed by the share of each user's relevant items."
)


def slices_of_reports(content: Content) -> Section | None:
    """The slices of reports that were made with by=, all systems in one chart."""
    means = tuple(
        replace(row, system=name)
        for name, report in content.systems.items()
        for row in (report.slices.means if report.slices else ())
    )
    return slice_section(content.names, Slices(means)) if means else None


def slice_section(names: Sequence[str], slices: Slices) -> Section | None:
    """Every metric by slices, and what each slice adds to the difference where there is one."""
    from bridgeval.report.page.page import environment

    figures = [
        Drawn(
            f"{metric} by {kind}", _chart(names, slices, metric, kind), " ".join(slices.sentences(metric, kind)), True
        )
        for kind in slices.kinds
        for metric in slices.metrics
    ]
    if not figures:
        return None
    sides = {row.side for row in slices.means}
    about = [
        "The mean of each slice with its interval.",
        *(_about(slices) if slices.changes or "item" in sides else ()),
    ]
    if len(figures) > CHARTS:
        about.append(f"{len(figures) - CHARTS} more are in the table.")
    legend = SimpleNamespace(names=names)
    body = environment().get_template("figures.html").render(content=legend, figures=figures[:CHARTS])
    return Section("slices", "Slices", Markup(body), " ".join(about))


def _about(slices: Slices) -> list[str]:
    sides = {row.side for row in slices.means}
    return [words for side, words in (("user", OF_USERS), ("item", OF_ITEMS)) if side in sides]


def _chart(names: Sequence[str], slices: Slices, metric: str, kind: str) -> Markup:
    rows = [row for row in slices.means if row.metric == metric and row.kind == kind]
    labels = list(dict.fromkeys(row.slice for row in rows))
    # Systems of one slice stand one below another; the first of them has its label.
    ordered = sorted(rows, key=lambda row: (labels.index(row.slice), names.index(row.system)))
    seen: set[str] = set()
    drawn = []
    for row in ordered:
        label = "" if row.slice in seen else row.slice
        seen.add(row.slice)
        drawn.append(Interval(label, row.value, row.low, row.high, names.index(row.system)))
    return charts.forest(drawn, zero=False)
