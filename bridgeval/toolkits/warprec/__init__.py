"""WarpRec: its forty metrics by its names, with its numbers."""

from __future__ import annotations

from collections.abc import Iterable

from bridgeval.convention import Convention
from bridgeval.hookspecs import hookimpl
from bridgeval.toolkits.warprec.metrics import WARPREC


@hookimpl
def bridgeval_conventions() -> Iterable[Convention]:
    return [WARPREC]
