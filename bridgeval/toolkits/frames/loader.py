"""The loader of frames, of files, and of lists without column names."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from bridgeval.plugin import Source, TypedLoader, file_source, is_frame, is_listing, is_path, is_sparse


class FramesLoader(TypedLoader):
    """Recommendations in a frame, a file, a Series or arrays; the relevance in these, a mapping or a sparse matrix.

    Also recommendations in a mapping, if the relevance is in a file.
    """

    name = "frames"
    reads = (
        *product((is_frame, is_path, is_listing), (is_frame, is_path, is_listing, Mapping, is_sparse)),
        (Mapping, is_path),
    )

    def load(self, recommendations: Any, relevance: Any, /, **extras: Any) -> Source:
        return file_source(recommendations, relevance, **extras)
