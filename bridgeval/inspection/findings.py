"""Findings: what an inspection found, each with its effect on the numbers."""

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
        level: "stop", no number can be had; "alarm", the number may not mean what it seems; "note"; "fine".
        what: what was found, a sentence.
        effect: what it does to the headline metric.
        count: how many rows, users or items it is about.
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
        headline: the metric whose change is given as the effect.
        value: what it comes to; None where it cannot be had.
        users: users in the recommendations, in the relevance, in both.
        findings: what was found; what was looked for and is fine is among them.
    """

    headline: str
    value: float | None
    users: Mapping[str, int]
    findings: tuple[Finding, ...]

    @property
    def alarming(self) -> list[Finding]:
        """What a person should see before the number is used."""
        return [finding for finding in self.findings if finding.level in ("stop", "alarm")]

    def __getitem__(self, key: str) -> Finding:
        return {finding.key: finding for finding in self.findings}[key]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)

    def summary(self) -> str:
        """Who is there, in a line."""
        users = ", ".join(f"{count:,} {where}" for where, count in self.users.items())
        value = "" if self.value is None else f"; {self.headline} = {self.value:.4f}"
        return f"users: {users}{value}" if users else "nothing could be read"

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
