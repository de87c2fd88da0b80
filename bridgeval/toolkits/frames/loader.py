"""The loader of frames and of files."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from bridgeval.plugin import Source, TypedLoader, file_source, is_frame, is_path, source_of


class FramesLoader(TypedLoader):
    """Recommendations in a frame or a file; the relevance in a frame, a file or a mapping."""

    name = "frames"
    reads = tuple(product((is_frame, is_path), (is_frame, is_path, Mapping)))

    def load(self, recommendations: Any, relevance: Any, /, **extras: Any) -> Source:
        given = [one for one in (recommendations, relevance, *extras.values()) if one is not None and not is_frame(one)]
        load = file_source if any(map(is_path, given)) else source_of
        return load(recommendations, relevance, **extras)
