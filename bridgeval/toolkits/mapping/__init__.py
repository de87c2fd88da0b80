"""Mappings by user: `{user: [items]}`, `{user: [(item, score)]}`, `{user: {item: score}}`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bridgeval.plugin import DeferredSource, Loader, hookimpl, is_frame, source_of


class MappingLoader:
    """Recommendations in a mapping; the relevance in a mapping or a frame."""

    name = "mapping"

    def recognizes(self, recommendations: Any, relevance: Any, /) -> bool:
        return isinstance(recommendations, Mapping) and (isinstance(relevance, Mapping) or is_frame(relevance))

    def load(self, recommendations: Any, relevance: Any, /, **extras: Any) -> DeferredSource:
        return source_of(recommendations, relevance, **extras)


@hookimpl
def bridgeval_loaders() -> Iterable[Loader]:
    return [MappingLoader()]
