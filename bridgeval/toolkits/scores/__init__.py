"""Scores: a model's numbers for users and items, in place of ranked lists."""

from __future__ import annotations

from collections.abc import Iterable

from bridgeval.plugin import Loader, Reader, hookimpl
from bridgeval.toolkits.scores.loader import ScoresLoader
from bridgeval.toolkits.scores.reader import MatrixReader


@hookimpl
def bridgeval_loaders() -> Iterable[Loader]:
    return [ScoresLoader()]


@hookimpl
def bridgeval_readers() -> Iterable[Reader]:
    return [MatrixReader()]
