"""The loader of mappings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bridgeval.plugin import Source, TypedLoader, is_frame, make_source


class MappingLoader(TypedLoader):
    """Recommendations in a mapping; the relevance in a mapping or a frame."""

    name = "mapping"
    reads = ((Mapping, Mapping), (Mapping, is_frame))

    def load(self, recommendations: Any, relevance: Any, /, **extras: Any) -> Source:
        return make_source(recommendations, relevance, **extras)
