"""Text from data, made harmless where it is shown: on a terminal, in Markdown and in a spreadsheet."""

from __future__ import annotations

import unicodedata

# Control characters, among them escape sequences of terminals and line breaks; marks that turn the direction of text;
# surrogates, which cannot be written.
HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
# A spreadsheet takes a cell that begins so for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def show_hidden(text: str) -> str:
    r"""The text with everything that a terminal or a table would obey, not show, as an escape.

    >>> print(show_hidden("red \x1b[31m\nline"))
    red \x1b[31m\nline
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(one) if unicodedata.category(one) in HIDDEN else one for one in text)


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


def escape_markdown(text: str) -> str:
    r"""The text as a cell of a Markdown table, without markup of HTML.

    >>> print(escape_markdown("a|b <b>"))
    a\|b &lt;b>
    """
    return show_hidden(text).replace("&", "&amp;").replace("<", "&lt;").replace("|", r"\|")


def escape_formula(text: object) -> object:
    """A cell of CSV; text that a spreadsheet would take for a formula gets an apostrophe in front.

    >>> escape_formula("=1+1"), escape_formula("nDCG@5"), escape_formula(-0.5)
    ("'=1+1", 'nDCG@5', -0.5)
    """
    return f"'{text}" if isinstance(text, str) and text.startswith(FORMULA) else text
