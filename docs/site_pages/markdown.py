"""Markdown as the generated pages need it."""

from __future__ import annotations

import re
from collections.abc import Iterable


def first_paragraph(text: str) -> str:
    """The first paragraph of a text, in one line."""
    return " ".join(text.split("\n\n")[0].split())


def escape(text: str) -> str:
    """A text as a cell of a table."""
    return text.replace("|", "\\|")


def write_table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """A Markdown table; `|` in cells is escaped where it is not yet."""
    head = list(head)
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    lines += [" | ".join(re.sub(r"(?<!\\)\|", r"\\|", cell) for cell in row) for row in rows]
    return [f"| {line} |" for line in lines]
