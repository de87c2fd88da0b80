"""The loader of the files that WarpRec writes."""

from __future__ import annotations

from typing import Any

from bridgeval.plugin import Inputs, LocalSource, TypedLoader, is_path, open_table
from bridgeval.toolkits.warprec.output_files import Recommendations, read_recommendations, read_split


class WrittenLoader(TypedLoader):
    """Recommendations that WarpRec wrote: what `read_recommendations` gives or, with `loader="warprec"`, the path.

    The relevance and the history may be paths of its split files; ids are strings on both sides.
    """

    name = "warprec"
    reads = ((Recommendations, object),)

    def load(self, recommendations: Any, relevance: Any, /, **extras: Any) -> LocalSource:
        written = read_recommendations(recommendations) if is_path(recommendations) else recommendations
        pairs = {name: _split(extras.pop(name, None)) for name in ("history", "prev_scores", "baseline")}
        others = {name: open_table(value) for name, value in extras.items()}
        inputs = Inputs.of(written.rows, _split(relevance), **pairs, **others)
        return LocalSource(inputs.slates, inputs.context, inputs.offers)


def _split(value: Any) -> Any:
    return read_split(value) if is_path(value) else value
