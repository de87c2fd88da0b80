"""How the command says things: arguments of Python functions as flags, paragraphs as wide as the terminal."""

from __future__ import annotations

import re
import shutil
import textwrap

# Where nobody looks there is no edge to wrap at; paragraphs are read all the same.
READABLE = 100
ARGUMENTS = (
    "history", "catalogue", "item_groups", "user_groups", "item_features", "prev_scores", "baseline", "users",
    "columns", "by", "loader", "memory",
)  # fmt: skip
# What a message says to those who write Python -> what those at a terminal can do.
TYPED = (
    (r"columns=\{'(\w+)': (?:\.\.\.|'([^']*)')\}", lambda found: f"--columns {found[1]}={found[2] or '...'}"),
    (r"convert one side, e\.g\. frame\S* = \S*\.astype\(str\)", lambda _: "--text-ids reads both as text"),
    (r"convert the column with \.astype\(str\)", lambda _: "--text-ids reads ids as text"),
    (r"convert it with \.astype\('float64'\)", lambda _: "write numbers in it"),
    (r"\b(loader|memory)=['\"]([^'\"]+)['\"]", lambda found: f"--{found[1]} {found[2]}"),
    (rf"(?<![\w(])({'|'.join(ARGUMENTS)})=(?=[\s;,.)]|$)", lambda found: f"--{found[1].replace('_', '-')}"),
)


def as_typed(text: str) -> str:
    """A message about arguments of `evaluate`, said in flags.

    >>> as_typed("give catalogue= (or history=)")
    'give --catalogue (or --history)'
    >>> as_typed("rename one to 'user_id' or say which it is with columns={'user': ...}")
    "rename one to 'user_id' or say which it is with --columns user=..."
    >>> as_typed('nDCG(users="given")@5 needs users given')
    'nDCG(users="given")@5 needs users given'
    """
    for pattern, flag in TYPED:
        text = re.sub(pattern, flag, text)
    return text


def wrapped(text: str, indent: str = "") -> str:
    """A paragraph, or a point of a list, as wide as the terminal; what follows its first line is indented alike."""
    width = min(shutil.get_terminal_size((READABLE, 24)).columns, READABLE)
    after = indent + "  " if text.startswith("- ") else indent
    return textwrap.fill(
        text, width, initial_indent=indent, subsequent_indent=after, break_on_hyphens=False, break_long_words=False
    )
