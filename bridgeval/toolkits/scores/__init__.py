"""Scores: a model's numbers for users and items, in place of ranked lists."""

from __future__ import annotations

from collections.abc import Iterable

from bridgeval.plugin import Loader, hookimpl
from bridgeval.toolkits.scores.loader import ScoresLoader


@hookimpl
def bridgeval_loaders() -> Iterable[Loader]:
    return [ScoresLoader()]
