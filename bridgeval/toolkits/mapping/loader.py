"""The loader of mappings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bridgeval.plugin import Source, TypedLoader, is_frame, is_listing, is_sparse, make_source


class MappingLoader(TypedLoader):
    """Recommendations in a mapping; the relevance in a mapping, a frame, a Series, arrays or a sparse matrix."""

    name = "mapping"
    reads = tuple((Mapping, kind) for kind in (Mapping, is_frame, is_listing, is_sparse))

    def load(self, recommendations: Any, relevance: Any, /, **extras: Any) -> Source:
        return make_source(recommendations, relevance, **extras)
