"""Findings of an inspection, each with its effect on the numbers."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Level = Literal["stop", "alarm", "note", "fine"]
MARKS = {"stop": "✗", "alarm": "!", "note": "·", "fine": "✓"}


@dataclass(frozen=True)
class Finding:
    """One thing about the data.

    Attributes:
        key: a short name that does not change, for programs.
        level: "stop", no metric can be computed; "alarm", the number may mislead; "note"; "fine".
        what: the finding, a sentence.
        effect: its effect on the headline metric.
        count: the number of rows, users or items concerned.
    """

    key: str
    level: Level
    what: str
    effect: str = ""
    count: int = 0

    def __str__(self) -> str:
        return f"{self.what}: {self.effect}" if self.effect else self.what


@dataclass(frozen=True)
class Inspection:
    """All findings, the worst first.

    Attributes:
        headline: the metric for which effects are computed.
        value: its value; None if it cannot be computed.
        users: users in the recommendations, in the relevance, in both.
        findings: all of them, also what was checked and is fine.
    """

    headline: str
    value: float | None
    users: Mapping[str, int]
    findings: tuple[Finding, ...]

    @property
    def alarming(self) -> list[Finding]:
        """Findings to read before the number is used."""
        return [finding for finding in self.findings if finding.level in ("stop", "alarm")]

    def __getitem__(self, key: str) -> Finding:
        return {finding.key: finding for finding in self.findings}[key]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)

    def summary(self) -> str:
        """The numbers of users, in a line."""
        users = ", ".join(f"{count:,} {where}" for where, count in self.users.items())
        value = "" if self.value is None else f"; {self.headline} = {self.value:.4f}"
        return f"users: {users}{value}" if users else "nothing could be inspected"

    def __str__(self) -> str:
        lines = [f"{MARKS[finding.level]} {finding}" for finding in self.findings]
        return "\n".join([self.summary(), *lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{finding.level}</td><td>{html.escape(finding.what)}</td><td>{html.escape(finding.effect)}</td></tr>"
            for finding in self.findings
        )
        head = "<tr><th>level</th><th>what</th><th>effect</th></tr>"
        return f"<p>{html.escape(self.summary())}</p><table><thead>{head}</thead><tbody>{rows}</tbody></table>"
