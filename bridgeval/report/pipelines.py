"""A gate's result in the formats of GitHub and GitLab."""

from __future__ import annotations

import hashlib
import json

from bridgeval.report.gate import Gate, describe

# Verdict of a check -> severity of GitLab's code quality report.
SEVERITIES = {"worse": "critical", "unsure": "major"}


def list_annotations(gate: Gate) -> list[str]:
    """Workflow commands of GitHub: an error for each check that fails, a notice for each that holds.

    Slices are named only if they fail: a run shows ten annotations of a kind.
    """
    rows = (*gate.checks, *gate.worse)
    return [
        f"::{'notice' if check.passes else 'error'} title={_escape(check.title, ':,')}::{_escape(describe(check))}"
        for check in rows
    ]


def _escape(text: str, more: str = "") -> str:
    r"""Escapes a text for a workflow command.

    >>> _escape("nDCG@10: 5%\n", ":,")
    'nDCG@10%3A 5%25%0A'
    """
    return "".join(f"%{ord(letter):02X}" if letter in "%\r\n" + more else letter for letter in text)


def to_code_quality(gate: Gate, path: str) -> str:
    """GitLab's code quality report: an issue for each check that fails, at the recommendations' file.

    Args:
        path: of the recommendations, relative to the repository.
    """
    failing = [check for check in (*gate.checks, *gate.worse) if not check.passes]
    issues = [
        {
            "description": describe(check),
            "check_name": check.title,
            # The same check of the same file is the same issue, whatever its numbers.
            "fingerprint": hashlib.sha256(f"{path} {check.title}".encode()).hexdigest(),
            "severity": SEVERITIES[check.verdict],
            "location": {"path": path, "lines": {"begin": 1}},
        }
        for check in failing
    ]
    return json.dumps(issues, indent=2) + "\n"
