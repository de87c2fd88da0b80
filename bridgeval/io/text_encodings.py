"""Character encodings of text that is not UTF-8, detected for error messages."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from bridgeval.errors import InputError

# Longer marks first: that of UTF-16 begins that of UTF-32.
MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
CONTROL = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f]")


@dataclass(frozen=True)
class Charset:
    """A character encoding that text seems to have.

    Attributes:
        name: as `iconv` and Python know it.
        evidence: the reason, for the error message.
    """

    name: str
    evidence: str

    def error(self, path: str) -> InputError:
        return InputError(
            f"{path!r} is text, but not in UTF-8",
            self.evidence,
            f"write it again in UTF-8, e.g. iconv -f {self.name} -t UTF-8 {path} > utf8.csv, or give a data frame: "
            f'pandas.read_csv({path!r}, encoding="{self.name}")',
        )


def detect_charset(head: bytes) -> Charset | None:
    r"""Detects the encoding of a file that is not UTF-8 from its first bytes; None if they are not text.

    >>> detect_charset("user,item".encode("utf-16-le")).name, detect_charset("user,caf\xe9".encode("latin-1")).name
    ('UTF-16LE', 'latin1')
    >>> detect_charset(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    """
    mark = next((mark for mark in MARKS if head.startswith(mark)), None)
    if mark is not None:
        return Charset(MARKS[mark], f"the byte order mark {mark!r} of {MARKS[mark]}")
    for name, zeros, others in (("UTF-16LE", head[1::2], head[::2]), ("UTF-16BE", head[::2], head[1::2])):
        if zeros and not zeros.strip(b"\0") and not CONTROL.search(others):
            return Charset(name, f"a zero byte beside every character, as in {name} without a byte order mark")
    if CONTROL.search(head):
        return None
    try:
        head.decode()
    except UnicodeDecodeError as error:
        there = f"{head[max(0, error.start - 8) : error.start + 8]!r} at byte {error.start}"
        return Charset("latin1", f"{there}, as in Latin-1 (Western European) or another one-byte code")
    return None
