"""The loader of score matrices."""

from __future__ import annotations

from typing import Any

from bridgeval.data.scores import ScoredInputs, Scores
from bridgeval.engine.source import LocalSource
from bridgeval.toolkits.frames.loader import opened


class ScoresLoader:
    """Recommendations as `bridgeval.Scores`; the relevance in a frame, a file or a mapping."""

    name = "scores"

    def recognises(self, recommendations: Any, relevance: Any, /) -> bool:
        return isinstance(recommendations, Scores)

    def load(self, recommendations: Any, relevance: Any, /, **extras: Any) -> LocalSource:
        inputs = ScoredInputs.of(recommendations, opened(relevance), **{k: opened(v) for k, v in extras.items()})
        return LocalSource(inputs.slates, inputs.inputs.context, inputs.inputs.offers, label=inputs.label)
