"""The loader of score matrices and of models that are asked for scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bridgeval.plugin import LocalSource, ScoredInputs, Scores, TypedLoader, open_table


class ScoresLoader(TypedLoader):
    """Recommendations as `bridgeval.Scores`; the relevance in a frame, a file or a mapping."""

    name = "scores"
    reads = ((Scores, object),)

    def load(
        self, recommendations: Any, relevance: Any, /, mask_seen: bool | None = None, **extras: Any
    ) -> LocalSource:
        scores = recommendations if mask_seen is None else replace(recommendations, mask_history=mask_seen)
        inputs = ScoredInputs.of(scores, open_table(relevance), **{k: open_table(v) for k, v in extras.items()})
        return LocalSource(inputs.slates, inputs.inputs.context, inputs.offers, label=inputs.label)
