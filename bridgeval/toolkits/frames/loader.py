"""The loader of frames and of files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import product
from typing import Any

from bridgeval.plugin import Source, TypedLoader, file_source, is_frame, is_path, make_source


class FramesLoader(TypedLoader):
    """Recommendations in a frame or a file; the relevance in a frame, a file or a mapping."""

    name = "frames"
    reads = tuple(product((is_frame, is_path), (is_frame, is_path, Mapping)))

    def load(self, recommendations: Any, relevance: Any, /, **extras: Any) -> Source:
        paths = [one for one in (recommendations, relevance, *extras.values()) if isinstance(one, str | os.PathLike)]
        load = file_source if paths else make_source
        return load(recommendations, relevance, **extras)
