"""The loader of frames and of files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from bridgeval.data.files import is_path, schema_at, table_at
from bridgeval.data.inputs import offers_of
from bridgeval.data.rows import is_frame
from bridgeval.engine.source import DeferredSource, source_of


class FramesLoader:
    """Recommendations in a frame or a file; the relevance in a frame, a file or a mapping."""

    name = "frames"

    def recognises(self, recommendations: Any, relevance: Any, /) -> bool:
        readable = is_frame(recommendations) or is_path(recommendations)
        return readable and (is_frame(relevance) or is_path(relevance) or isinstance(relevance, Mapping))

    def load(self, recommendations: Any, relevance: Any, /, **extras: Any) -> DeferredSource:
        header = recommendations
        if is_path(recommendations):
            header = schema_at(os.fspath(recommendations)).empty_table()
        return DeferredSource(
            offers_of(header, **extras),
            lambda: source_of(opened(recommendations), opened(relevance), **{k: opened(v) for k, v in extras.items()}),
        )


def opened(value: Any) -> Any:
    """The table behind a path; anything else as it is."""
    return table_at(os.fspath(value)) if is_path(value) else value
