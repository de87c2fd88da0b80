"""The loader of the files that WarpRec writes."""

from __future__ import annotations

from typing import Any

from bridgeval.plugin import Source, TypedLoader, is_path, make_source, open_table
from bridgeval.toolkits.warprec.output_files import Recommendations, read_recommendations, read_split


class WrittenLoader(TypedLoader):
    """Recommendations that WarpRec wrote: the result of `read_recommendations` or, with `loader="warprec"`, a path.

    The relevance and the history may be paths of split files; ids are strings on both sides.
    """

    name = "warprec"
    reads = ((Recommendations, object),)

    def load(self, recommendations: Any, relevance: Any, /, **extras: Any) -> Source:
        written = read_recommendations(recommendations) if is_path(recommendations) else recommendations
        splits = {name: _read_split(extras.pop(name, None)) for name in ("history", "prev_scores", "baseline")}
        others = {name: open_table(value) for name, value in extras.items()}
        return make_source(written.rows, _read_split(relevance), **splits, **others)


def _read_split(value: Any) -> Any:
    return read_split(value) if is_path(value) else value
