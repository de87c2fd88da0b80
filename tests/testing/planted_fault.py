"""Fault: something that is planted, and the law that tells of it."""

from __future__ import annotations

from typing import Any, NamedTuple


class Fault(NamedTuple):
    """A fault: what is planted, the law that tells of it, a part of what it tells. NOT_CAUGHT in place of a law."""

    what: str
    planted: Any
    law: str
    phrase: str = ""


NOT_CAUGHT = ""
