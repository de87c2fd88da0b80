"""Drop-in classes for `replay.metrics`: the same arguments, keys and numbers on every kind of frame."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

import numpy as np

from bridgeval import metrics as native
from bridgeval.errors import BadParameterError
from bridgeval.plugin import Ids, Over, Rows, encode_ids
from bridgeval.plugin import Metric as EngineMetric
from bridgeval.toolkits.replay.bases import Metric, cutoffs, inputs_of
from bridgeval.toolkits.replay.conventions import REPLAY
from bridgeval.toolkits.replay.engines import Engine, engine_of
from bridgeval.toolkits.replay.modes import CalculationDescriptor
from bridgeval.toolkits.replay.run import Question, answers

SINGLE_BASE = "base_recommendations"


class _Named(Metric):
    """A metric of RePlay's: a line of the convention, with the rules of the engine at hand."""

    # The line of the convention; subclasses of a metric keep its line whatever they are called.
    line: str

    def __init__(
        self,
        topk: int | Iterable[int],
        query_column: str = "query_id",
        item_column: str = "item_id",
        rating_column: str = "rating",
        mode: CalculationDescriptor | None = None,
    ) -> None:
        super().__init__(cutoffs(topk, type(self).__name__), query_column, item_column, rating_column, mode)

    def _engine_metrics(self, engine: Engine, over: Over) -> list[EngineMetric]:
        if self._is_redefined:
            raise BadParameterError(
                f"{type(self).__name__} redefines _get_metric_value_by_user of {self.line}",
                "that is computed in columns, not user by user",
                "derive from Metric or from a metric of the ground truth",
            )
        policy = self._policy(engine)
        return [REPLAY.metrics[self.line](k=k, over=over, **policy) for k in self.topk]

    def _policy(self, engine: Engine) -> dict[str, Any]:
        return {"ties": engine.ties}

    @property
    def _is_redefined(self) -> bool:
        return type(self)._get_metric_value_by_user is not Metric._get_metric_value_by_user


class _Quality(_Named):
    def _engine_metrics(self, engine: Engine, over: Over) -> list[EngineMetric]:
        if self._is_redefined:
            return Metric._engine_metrics(self, engine, over)
        return super()._engine_metrics(engine, over)

    def _policy(self, engine: Engine) -> dict[str, Any]:
        return {"ties": engine.ties, "truth_duplicates": engine.truth_duplicates}


class HitRate(_Quality):
    """1 if a relevant item is among the first k.

    >>> HitRate(2)({1: [(7, 0.9), (8, 0.4)]}, {1: [8]})
    {'HitRate@2': 1.0}
    """

    line = "HitRate"


class Precision(_Quality):
    """Relevant items among the first k, divided by k."""

    line = "Precision"


class MAP(_Quality):
    """Average precision, divided by min(k, truth rows)."""

    line = "MAP"


class Recall(_Quality):
    """Relevant items among the first k, divided by all relevant items."""

    line = "Recall"


class RocAuc(_Quality):
    """The share of pairs inside the first k with the hit above the miss."""

    line = "RocAuc"


class MRR(_Quality):
    """1 / place of the first hit."""

    line = "MRR"


class NDCG(_Quality):
    """Binary discounted gain over that of min(k, truth rows) hits.

    >>> NDCG([2, 1])({1: [(7, 0.9), (8, 0.4)]}, {1: [8]})
    {'NDCG@1': 0.0, 'NDCG@2': 0.6309297535714575}
    """

    line = "NDCG"


class _OfTrain(_Named):
    second = "train"

    def __call__(self, recommendations: Any, train: Any) -> Any:  # type: ignore[override]
        return self._newer_call(recommendations, train=train)


class Surprisal(_OfTrain):
    """Mean scaled self-information of the items shown, divided by k."""

    line = "Surprisal"


class Novelty(_OfTrain):
    """The share of items shown that the user does not have in the train data; over users of the train data."""

    line = "Novelty"


class Coverage(_OfTrain):
    """The share of the train data's items that is shown to anybody."""

    line = "Coverage"

    def __init__(
        self,
        topk: int | Iterable[int],
        query_column: str = "query_id",
        item_column: str = "item_id",
        rating_column: str = "rating",
        allow_caching: bool = True,
    ) -> None:
        super().__init__(topk, query_column, item_column, rating_column)

    def _policy(self, engine: Engine) -> dict[str, Any]:
        return {"ties": engine.coverage_ties}


class Unexpectedness(_Named):
    """The share of k places that another system's first k do not hold."""

    line = "Unexpectedness"
    second = "base_recommendations"

    def __call__(self, recommendations: Any, base_recommendations: Any) -> Any:  # type: ignore[override]
        return self._newer_call(recommendations, base_recommendations={SINGLE_BASE: base_recommendations})

    def questions_against(self, base: str, engine: Engine) -> list[Question]:
        """The questions about one of several base recommendations; their keys carry its name."""
        found = []
        for question in self.questions(engine):
            name, _, k = question.key.rpartition("@")
            metric = replace(cast(native.Unexpectedness, question.metric), baseline=base)
            found.append(Question(f"{name}_{base}@{k}", metric, question.mode))
        return found

    def _policy(self, engine: Engine) -> dict[str, Any]:
        return {"ties": engine.ties, "baseline": SINGLE_BASE}


class CategoricalDiversity(_Named):
    """Different categories among the first k rows, divided by k; the recommendations have a column of categories.

    >>> CategoricalDiversity(2)({1: [("rock", 0.9), ("rock", 0.4)]})
    {'CategoricalDiversity@2': 0.5}
    """

    line = "CategoricalDiversity"
    second = ""

    def __init__(
        self,
        topk: int | Iterable[int],
        query_column: str = "query_id",
        category_column: str = "category_id",
        rating_column: str = "rating",
        mode: CalculationDescriptor | None = None,
    ) -> None:
        super().__init__(topk, query_column, category_column, rating_column, mode)
        self.category_column = category_column

    def __call__(self, recommendations: Any) -> Any:  # type: ignore[override]
        engine = engine_of(recommendations)
        inputs = inputs_of(self._columns, recommendations)
        shown = items_as_categories(inputs.recommendations)
        # A category may well occur twice in a list, so that rows become the items.
        numbered = replace(shown, items=Ids(np.arange(len(shown), dtype=np.int64)))
        return answers(self.questions(engine), replace(inputs, recommendations=numbered), engine)

    def _policy(self, engine: Engine) -> dict[str, Any]:
        return {"ties": "given", "of": "rows"}


def items_as_categories(shown: Rows) -> Rows:
    """Rows with their items as a column of categories."""
    _, (codes,) = encode_ids([shown.items])
    return replace(shown, columns={**shown.columns, "category": codes.astype(np.float64)})
