"""WarpRec: score matrices, its metric classes and the files it writes."""

from __future__ import annotations

from collections.abc import Iterable

from bridgeval.hookspecs import Loader, hookimpl
from bridgeval.toolkits.warprec.loader import ScoresLoader


@hookimpl
def bridgeval_loaders() -> Iterable[Loader]:
    return [ScoresLoader()]
