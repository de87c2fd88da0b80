"""Gate: the result of `bridgeval.check` in words, as Markdown and as JUnit XML."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any
from xml.etree import ElementTree

from bridgeval.report.exports import write_text
from bridgeval.report.table_view import Cell, Wide, format_number
from bridgeval.stats.non_inferiority import Check

# The numbers of a check that JUnit shows.
REPORTED = ("baseline", "value", "gain", "bound", "limit", "margin", "p", "users", "verdict")


@dataclass(frozen=True)
class Gate:
    """Whether a system may replace its baseline.

    Attributes:
        checks: one for each metric, over all users.
        alpha: the level of the tests.
        notes: sentences about the data.
        slices: one for each metric and slice.
    """

    checks: tuple[Check, ...]
    alpha: float
    notes: tuple[str, ...] = ()
    slices: tuple[Check, ...] = ()

    @property
    def holds(self) -> bool:
        return all(check.passes for check in (*self.checks, *self.slices))

    def __bool__(self) -> bool:
        """The verdict, so that `assert bridgeval.check(...)` fails where the gate does not hold."""
        return self.holds

    @property
    def worse(self) -> list[Check]:
        """Slices that are significantly worse, the smallest p first."""
        return sorted((check for check in self.slices if not check.passes), key=lambda check: check.p_worse)

    def sentences(self) -> list[str]:
        """A line for each metric and for each slice that is worse; then how slices are tested, and the notes."""
        lines = [describe(check) for check in (*self.checks, *self.worse)]
        if self.slices:
            lines.append(
                f"{len(self.worse)} of {len(self.slices)} slice(s) drop significantly by more than the limit, at "
                f"{self.alpha:g} with Holm's correction."
            )
        return [*lines, *self.notes]

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def to_dict(self) -> dict[str, Any]:
        checks, slices = ([asdict(check) for check in rows] for rows in (self.checks, self.slices))
        return {"holds": self.holds, "alpha": self.alpha, "checks": checks, "slices": slices, "notes": list(self.notes)}

    def to_markdown(self, path: str | os.PathLike[str] | None = None) -> str:
        """A table for a merge request."""
        from tabulate import tabulate

        head, rows = self._table()
        table = tabulate(rows, head, "github", disable_numparse=True)
        return write_text("\n\n".join([f"**{self._verdict}**: {self._rule}", table, *self.notes]) + "\n", path)

    def _repr_html_(self) -> str:
        """The verdict and the table for a notebook."""
        from bridgeval.report.page.rendering import render

        head, rows = self._table()
        wide = Wide(head, [list(map(Cell, row)) for row in rows])
        return render("gate.html", verdict=self._verdict, rule=self._rule, wide=wide, notes=self.notes)

    @property
    def _verdict(self) -> str:
        return "Holds" if self.holds else "Does not hold"

    @property
    def _rule(self) -> str:
        slices = " No slice may drop significantly by more than its limit." if self.slices else ""
        return f"every metric must be shown to drop by less than its limit.{slices}"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """The titles and the cells, a row for each check."""
        rows = [
            [
                check.title,
                *map(format_number, (check.baseline, check.value)),
                f"{check.gain:+.4f}",
                f"{check.bound:+.4f}",
                f"-{format_number(check.margin)}",
                f"{check.users:,}",
                check.verdict,
            ]
            for check in (*self.checks, *self.slices)
        ]
        head = ["metric", "baseline", "now", "gain", f"{1 - self.alpha:.0%} bound", "limit", "users", "verdict"]
        return head, rows

    def to_junit(self, path: str | os.PathLike[str] | None = None) -> str:
        """JUnit XML: a test case for each metric and slice, with its values as properties and in its output."""
        rows = (*self.checks, *self.slices)
        failed = str(sum(not check.passes for check in rows))
        suite = ElementTree.Element(
            "testsuite", name="bridgeval check", tests=str(len(rows)), failures=failed, errors="0"
        )
        for check in rows:
            case = ElementTree.SubElement(suite, "testcase", classname="bridgeval.check", name=check.title)
            properties = ElementTree.SubElement(case, "properties")
            for name in REPORTED:
                ElementTree.SubElement(properties, "property", name=name, value=str(getattr(check, name)))
            if not check.passes:
                failure = ElementTree.SubElement(case, "failure", type=check.verdict, message=describe(check))
                failure.text = describe(check)
            ElementTree.SubElement(case, "system-out").text = describe(check)
        return write_text(ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n", path)


def describe(check: Check) -> str:
    """One check in a sentence."""
    moved = f"{check.title} {format_number(check.baseline)} -> {format_number(check.value)} over {check.users:,} users"
    allowed = f"the largest acceptable drop is {format_number(check.margin)}"
    if check.verdict == "holds":
        return f"{moved}: holds, a drop of {check.limit} is ruled out (p = {check.p:.3g})"
    if check.verdict == "worse":
        adjusted = f" (Holm-adjusted p = {check.p_worse:.3g})" if check.slice else ""
        return f"{moved}: worse, it drops by {format_number(-check.gain)} and {allowed}{adjusted}"
    possible = format_number(-check.bound)
    return f"{moved}: unsure, the drop could be {possible} and {allowed}; use more users or a wider limit"
