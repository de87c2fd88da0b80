"""What a gate says: a check for each metric and slice, in words, as markdown and as JUnit."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass
from typing import Any, Literal
from xml.etree import ElementTree

from bridgeval.report.exports import written
from bridgeval.report.table_view import number

Verdict = Literal["holds", "worse", "unsure"]


@dataclass(frozen=True)
class Check:
    """What became of one metric.

    Attributes:
        gain: how much better the new system is; below 0 it is worse, whichever way the metric points.
        bound: the one-sided lower bound of the gain at confidence 1 - alpha.
        margin: the drop that would be borne.
        p: of the test that the gain is above -margin.
        verdict: "holds"; "worse" where the drop itself exceeds the margin; "unsure" where it does not but could. In a
            slice "worse" is what the test shows, and what is not shown either way is "unsure".
        slice: which one, e.g. "country = fr"; empty for everyone.
        p_worse: in a slice, of the test that the gain is below -margin; Holm-adjusted over all slices and metrics.
    """

    metric: str
    baseline: float
    value: float
    users: int
    gain: float
    bound: float
    limit: str
    margin: float
    p: float
    verdict: Verdict
    slice: str = ""
    p_worse: float = math.nan

    @property
    def title(self) -> str:
        return f"{self.metric} · {self.slice}" if self.slice else self.metric

    @property
    def passes(self) -> bool:
        """Everyone must be shown to hold; a slice must not be shown to be worse."""
        return self.verdict != "worse" if self.slice else self.verdict == "holds"

    def sentence(self) -> str:
        moved = f"{self.title} {number(self.baseline)} -> {number(self.value)} over {self.users:,} users"
        if self.slice and self.verdict == "worse":
            drop = f"it drops by {number(-self.gain)} where {number(self.margin)} would be borne"
            return f"{moved}: worse, {drop} (Holm-adjusted p = {self.p_worse:.3g})"
        if self.verdict == "holds":
            return f"{moved}: holds, a drop of {self.limit} is ruled out (p = {self.p:.3g})"
        if self.verdict == "worse":
            return f"{moved}: worse, it drops by {number(-self.gain)} where {number(self.margin)} would be borne"
        return (
            f"{moved}: unsure, the drop could be {number(-self.bound)} where {number(self.margin)} would be borne; "
            "more users or a wider limit would tell"
        )


@dataclass(frozen=True)
class Gate:
    """All checks, and what was odd about the data.

    Attributes:
        checks: one for each metric, over everyone.
        slices: one for each metric and slice.
    """

    checks: tuple[Check, ...]
    alpha: float
    notes: tuple[str, ...] = ()
    slices: tuple[Check, ...] = ()

    @property
    def holds(self) -> bool:
        return all(check.passes for check in (*self.checks, *self.slices))

    @property
    def worse(self) -> list[Check]:
        """Slices that are shown to be worse, the surest first."""
        return sorted((check for check in self.slices if not check.passes), key=lambda check: check.p_worse)

    def sentences(self) -> list[str]:
        """All that is to be said: a line for each metric, for each slice that is worse, and how slices are tested."""
        lines = [check.sentence() for check in (*self.checks, *self.worse)]
        if self.slices:
            lines.append(
                f"{len(self.worse)} of {len(self.slices)} slice(s) shown to drop by more than the limit, at "
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

        rows = [
            [c.title, number(c.baseline), number(c.value), f"{c.gain:+.4f}", f"{c.bound:+.4f}", f"-{number(c.margin)}",
             f"{c.users:,}", c.verdict]
            for c in (*self.checks, *self.slices)
        ]  # fmt: skip
        head = ["metric", "baseline", "now", "gain", f"{1 - self.alpha:.0%} bound", "limit", "users", "verdict"]
        slices = " No slice may be shown to." if self.slices else ""
        title = f"**{'Holds' if self.holds else 'Does not hold'}**: no metric may drop below its limit.{slices}"
        table = tabulate(rows, head, "github", disable_numparse=True)
        return written("\n\n".join([title, table, *self.notes]) + "\n", path)

    def to_junit(self, path: str | os.PathLike[str] | None = None) -> str:
        """JUnit XML: a test case for each metric and slice."""
        rows = (*self.checks, *self.slices)
        failed = str(sum(not check.passes for check in rows))
        suite = ElementTree.Element(
            "testsuite", name="bridgeval check", tests=str(len(rows)), failures=failed, errors="0"
        )
        for check in rows:
            case = ElementTree.SubElement(suite, "testcase", classname="bridgeval.check", name=check.title)
            if not check.passes:
                failure = ElementTree.SubElement(case, "failure", type=check.verdict, message=check.sentence())
                failure.text = check.sentence()
        return written(ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n", path)
