"""Character encodings of text that is not UTF-8, detected for error messages."""

from __future__ import annotations

import codecs
import re

# Longer marks first: that of UTF-16 begins that of UTF-32.
MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
CONTROL = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f]")


def detect_charset(head: bytes) -> tuple[str, str] | None:
    r"""Detects the encoding of a file that is not UTF-8 from its first bytes; None if they are not text.

    Returns:
        The name, as `iconv` and Python know it, and the evidence, for an error message.

    >>> detect_charset("user,item".encode("utf-16-le"))[0], detect_charset("user,caf\xe9".encode("latin-1"))[0]
    ('UTF-16LE', 'latin1')
    >>> detect_charset(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    """
    mark = next((mark for mark in MARKS if head.startswith(mark)), None)
    if mark is not None:
        return MARKS[mark], f"the byte order mark {mark!r} of {MARKS[mark]}"
    for name, zeros, others in (("UTF-16LE", head[1::2], head[::2]), ("UTF-16BE", head[::2], head[1::2])):
        if zeros and not zeros.strip(b"\0") and not CONTROL.search(others):
            return name, f"a zero byte beside every character, as in {name} without a byte order mark"
    if CONTROL.search(head):
        return None
    try:
        head.decode()
    except UnicodeDecodeError as error:
        there = f"{head[max(0, error.start - 8) : error.start + 8]!r} at byte {error.start}"
        return "latin1", f"{there}, as in Latin-1 (Western European) or another one-byte code"
    return None
