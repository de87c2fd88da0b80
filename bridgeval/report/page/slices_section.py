"""The section on slices: charts where slices differ clearly, and all slices in a folded table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bridgeval.report.page.page_data import PageData
from bridgeval.report.page.rendering import render
from bridgeval.report.page.section import CHARTS, Chart, Section, render_charts, render_exports
from bridgeval.report.table_view import format_interval
from bridgeval.stats.slice_results import SliceChange, SliceMean, Slices

if TYPE_CHECKING:
    from bridgeval.report.page.drawing import Drawing

OF_USERS = "Slices of users: share times difference, summed over slices, is the whole difference."
OF_ITEMS = (
    "Slices of items: users with a relevant item in the slice, evaluated against these items alone; a user may be in "
    "several."
)
OF_ITEM_CHANGES = " The contribution of a slice is weighted by the share of each user's relevant items."


@dataclass(frozen=True)
class SliceRow:
    """A row of the table: one slice and metric, with the mean of each system and the differences that were asked for.

    Attributes:
        means: one for each system; None if it has none.
        changes: one for each pair of systems; None if it has none.
    """

    kind: str
    label: str
    metric: str
    users: int
    means: tuple[SliceMean | None, ...]
    changes: tuple[SliceChange | None, ...]


def slices(data: PageData) -> Section | None:
    """Metrics by slices where these differ clearly, all systems in one chart; and the table of all slices."""
    found = data.comparison.slices if data.comparison else _merge_slices(data)
    if found is None or not found.means:
        return None
    differing = set(found.differing(data.alpha))
    # The headline metric comes first, and each metric with all kinds, so that no kind is left without a chart.
    ordered = sorted(found.metrics, key=lambda name: name not in data.leading)
    chosen = [(metric, kind) for metric in ordered for kind in found.kinds if (metric, kind) in differing]
    figures = [
        Chart(
            f"{metric} by {kind}",
            _draw_slices(data.names, found, metric, kind),
            " ".join(found.sentences(metric, kind)),
            True,
        )
        for metric, kind in chosen[:CHARTS]
    ]
    pairs = list(dict.fromkeys((change.system, change.baseline) for change in found.changes))
    rows = list(_make_rows(data.names, found, pairs))
    exports = render_exports("slices", csv=found.to_pandas().to_csv(index=False))
    table = render("slices.html", data=data, rows=rows, pairs=pairs, exports=exports)
    body = (render_charts(data, figures) if figures else "") + table
    return Section("slices", "Slices", body, _describe(found, len(chosen), len(figures)))


def _describe(found: Slices, differing: int, drawn: int) -> str:
    """The sentences above the charts."""
    possible = len(found.metrics) * len(found.kinds)
    said = [
        f"In {differing} of {possible} combinations of a metric and a kind of slice the slices differ clearly "
        "(Cochran's Q of their means or differences, Bonferroni-corrected)."
    ]
    if drawn:
        said.append("These are drawn" if drawn == differing else f"The first {drawn} are drawn")
        said[-1] += "; the table below has all slices. Each mark is the mean of a slice with its interval."
    else:
        said.append("The table below has all slices.")
    sides = {row.side for row in found.means}
    if found.changes and "user" in sides:
        said.append(OF_USERS)
    if "item" in sides:
        said.append(OF_ITEMS + (OF_ITEM_CHANGES if found.changes else ""))
    return " ".join(said)


def _make_rows(names: Sequence[str], found: Slices, pairs: Sequence[tuple[str, str]]) -> Iterator[SliceRow]:
    means = {(row.kind, row.slice, row.metric, row.system): row for row in found.means}
    changes = {(row.kind, row.slice, row.metric, row.system, row.baseline): row for row in found.changes}
    rows: dict[tuple[str, str, str], int] = {}
    everything: tuple[SliceMean | SliceChange, ...] = (*found.means, *found.changes)
    for row in everything:
        rows.setdefault((row.kind, row.slice, row.metric), row.users)
    for key, users in rows.items():
        own = tuple(means.get((*key, name)) for name in names)
        yield SliceRow(*key, users, own, tuple(changes.get((*key, *pair)) for pair in pairs))


def _merge_slices(data: PageData) -> Slices:
    """The slices of all reports that were made with by=."""
    return Slices(
        tuple(
            replace(row, system=name)
            for name, report in data.systems.items()
            for row in (report.slices.means if report.slices else ())
        )
    )


def _draw_slices(names: Sequence[str], found: Slices, metric: str, kind: str) -> Drawing:
    from bridgeval.report.page.charts import Interval, draw_forest

    rows = [row for row in found.means if row.metric == metric and row.kind == kind]
    labels = list(dict.fromkeys(row.slice for row in rows))
    ordered = sorted(rows, key=lambda row: (labels.index(row.slice), names.index(row.system)))
    # Systems of one slice stand one below another; only the first of them has the label.
    titles = [row.slice if at == 0 or row.slice != ordered[at - 1].slice else "" for at, row in enumerate(ordered)]
    drawn = [
        Interval(title, row.value, row.low, row.high, _list_numbers(row), names.index(row.system))
        for title, row in zip(titles, ordered, strict=True)
    ]
    return draw_forest(drawn, (kind, "system", "users", metric, "interval"))


def _list_numbers(row: SliceMean) -> tuple[str, ...]:
    return (row.slice, row.system, f"{row.users:,}", f"{row.value:.4f}", format_interval(row.low, row.high))
