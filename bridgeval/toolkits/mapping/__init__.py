"""Mappings by user: `{user: [items]}`, `{user: [(item, score)]}`, `{user: {item: score}}`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bridgeval.plugin import DeferredSource, Loader, TypedLoader, hookimpl, is_frame, source_of


class MappingLoader(TypedLoader):
    """Recommendations in a mapping; the relevance in a mapping or a frame."""

    name = "mapping"
    reads = ((Mapping, Mapping), (Mapping, is_frame))

    def load(self, recommendations: Any, relevance: Any, /, **extras: Any) -> DeferredSource:
        return source_of(recommendations, relevance, **extras)


@hookimpl
def bridgeval_loaders() -> Iterable[Loader]:
    return [MappingLoader()]
