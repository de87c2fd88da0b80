"""The loader of frames and of files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from bridgeval.plugin import (
    DeferredSource,
    Execution,
    LocalSource,
    Plan,
    Source,
    States,
    StreamedSource,
    TypedLoader,
    estimate_memory,
    held,
    is_frame,
    is_path,
    list_offers,
    open_dataset,
    open_table,
    read_schema,
)


class FramesLoader(TypedLoader):
    """Recommendations in a frame or a file; the relevance in a frame, a file or a mapping."""

    name = "frames"
    reads = tuple(product((is_frame, is_path), (is_frame, is_path, Mapping)))

    def load(self, recommendations: Any, relevance: Any, /, **extras: Any) -> Source:
        header = recommendations
        if is_path(recommendations):
            header = read_schema(os.fspath(recommendations)).empty_table()
        offers = list_offers(header, **extras)
        at_once = DeferredSource(offers, lambda needs: _held(recommendations, relevance, extras, offers))
        streamed = _streamed(recommendations, relevance, extras, offers)
        return at_once if streamed is None else FileSource(at_once, streamed)


@dataclass(frozen=True)
class FileSource:
    """Files: held at once where memory allows, streamed where it does not."""

    at_once: DeferredSource
    streamed: StreamedSource
    label: str = ""

    @property
    def offers(self) -> frozenset[str]:
        return self.at_once.offers

    def run(self, plan: Plan, how: Execution) -> States:
        # Users that only the history, the baseline or a list names belong to no chunk.
        fits = self.streamed.size <= how.budget
        at_once = fits or bool(plan.needs.users)
        return self.at_once.run(plan, how) if at_once else self.streamed.run(plan, how)


def _held(recommendations: Any, relevance: Any, extras: Mapping[str, Any], offers: frozenset[str]) -> LocalSource:
    given = {name: open_table(value) for name, value in extras.items()}
    return held(open_table(recommendations), open_table(relevance), given, offers)


def _streamed(
    recommendations: Any, relevance: Any, extras: Mapping[str, Any], offers: frozenset[str]
) -> StreamedSource | None:
    if not is_path(recommendations) or not is_path(relevance):
        return None
    paths = os.fspath(recommendations), os.fspath(relevance)
    shown, relevant = open_dataset(paths[0]), open_dataset(paths[1])
    if shown is None or relevant is None:
        return None
    size = estimate_memory(paths[0], shown) + estimate_memory(paths[1], relevant)
    return StreamedSource(shown, relevant, paths, extras, offers, size)
