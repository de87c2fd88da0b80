"""The loader of score matrices and of models that are asked for scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bridgeval.plugin import LocalSource, ScoredInputs, Scores, TypedLoader, is_sparse, open_table


class ScoresLoader(TypedLoader):
    """Recommendations as `bridgeval.Scores`, or a sparse matrix; the relevance in a frame, a file or a mapping."""

    name = "scores"
    reads = ((Scores, object), (is_sparse, object))

    def load(
        self, recommendations: Any, relevance: Any, /, mask_seen: bool | None = None, **extras: Any
    ) -> LocalSource:
        scores = Scores(recommendations) if is_sparse(recommendations) else recommendations
        scores = scores if mask_seen is None else replace(scores, mask_history=mask_seen)
        inputs = ScoredInputs.of(scores, open_table(relevance), **{k: open_table(v) for k, v in extras.items()})
        return LocalSource(inputs.slates, inputs.inputs.context, inputs.offers, label=inputs.label)
