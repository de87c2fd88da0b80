"""Drop-in classes for `replay.metrics`: the same arguments, keys and numbers on every kind of frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bridgeval.plugin import Ids, Metric as EngineMetric, Over, Rows, encode_ids
from bridgeval.toolkits.replay import by_user
from bridgeval.toolkits.replay.bases import Metric, find_named, redefinition_error, sort_cutoffs
from bridgeval.toolkits.replay.calls import Question, answer
from bridgeval.toolkits.replay.conventions import REPLAY
from bridgeval.toolkits.replay.loader import FrameRules, choose_rules, read_inputs
from bridgeval.toolkits.replay.modes import CalculationDescriptor

# The name of base recommendations that are given without one.
SINGLE_BASE = "base_recommendations"


class _Named(Metric):
    """A metric of RePlay's own: a line of the convention, with the rules of the frames at hand."""

    def __init__(
        self,
        topk: int | Iterable[int],
        query_column: str = "query_id",
        item_column: str = "item_id",
        rating_column: str = "rating",
        mode: CalculationDescriptor | None = None,
    ) -> None:
        super().__init__(sort_cutoffs(topk, str(self)), query_column, item_column, rating_column, mode)

    def _engine_metrics(self, rules: FrameRules, over: Over) -> list[EngineMetric]:
        named, policy = find_named(self, __name__), self._policy(rules)
        if self._is_redefined:
            raise redefinition_error(self, named, "derive from Metric or from a metric of the ground truth")
        # The line of the convention is the name of a class of this module, which an author's subclasses keep.
        return [REPLAY.metrics[named.__name__](k=k, over=over, **policy) for k in self.topk]

    def _policy(self, rules: FrameRules) -> dict[str, Any]:
        return {"ties": rules.ties}

    @property
    def _is_redefined(self) -> bool:
        return type(self)._get_metric_value_by_user is not find_named(self, __name__)._get_metric_value_by_user


class _Quality(_Named):
    """A metric of the ground truth; a subclass may redefine its value by user."""

    def _engine_metrics(self, rules: FrameRules, over: Over) -> list[EngineMetric]:
        if self._is_redefined:
            return Metric._engine_metrics(self, rules, over)
        return super()._engine_metrics(rules, over)

    def _policy(self, rules: FrameRules) -> dict[str, Any]:
        return {"ties": rules.ties, "truth_duplicates": rules.truth_duplicates}


class HitRate(_Quality):
    """1 if a relevant item is among the first k.

    >>> HitRate(2)({1: [(7, 0.9), (8, 0.4)]}, {1: [8]})
    {'HitRate@2': 1.0}
    """

    _get_metric_value_by_user = staticmethod(by_user.at_cutoffs(by_user.compute_hit_rate))


class Precision(_Quality):
    """Relevant items among the first k, divided by k."""

    _get_metric_value_by_user = staticmethod(by_user.at_cutoffs(by_user.compute_precision))


class MAP(_Quality):
    """Average precision, divided by min(k, truth rows)."""

    _get_metric_value_by_user = staticmethod(by_user.at_cutoffs(by_user.compute_map))


class Recall(_Quality):
    """Relevant items among the first k, divided by all relevant items."""

    _get_metric_value_by_user = staticmethod(by_user.at_cutoffs(by_user.compute_recall))


class RocAuc(_Quality):
    """The share of pairs inside the first k with the hit above the miss."""

    _get_metric_value_by_user = staticmethod(by_user.at_cutoffs(by_user.compute_roc_auc))


class MRR(_Quality):
    """1 / place of the first hit."""

    _get_metric_value_by_user = staticmethod(by_user.at_cutoffs(by_user.compute_mrr))


class NDCG(_Quality):
    """Binary discounted gain over that of min(k, truth rows) hits.

    >>> NDCG([2, 1])({1: [(7, 0.9), (8, 0.4)]}, {1: [8]})
    {'NDCG@1': 0.0, 'NDCG@2': 0.6309297535714575}
    """

    _get_metric_value_by_user = staticmethod(by_user.at_cutoffs(by_user.compute_ndcg))


class _OfTrain(_Named):
    """A metric of the train data."""

    second = "train"

    def __call__(self, recommendations: Any, train: Any) -> Any:  # type: ignore[override]
        return self._newer_call(recommendations, train=train)


class Surprisal(_OfTrain):
    """Mean scaled self-information of the items shown, divided by k."""

    @staticmethod
    def _get_metric_value_by_user(
        ks: Sequence[int], pred_item_ids: Sequence[Any] | None, pred_weights: Sequence[float]
    ) -> list[float]:
        return [sum(pred_weights[: min(k, len(pred_item_ids or ()))]) / k for k in ks]


class Novelty(_OfTrain):
    """The share of items shown that the user does not have in the train data; over users of the train data."""

    @staticmethod
    def _get_metric_value_by_user(
        ks: Sequence[int], pred: Sequence[Any] | None, train: Sequence[Any] | None
    ) -> list[float]:
        if not pred or not train:
            return [1.0 for _ in ks]
        return [1.0 - by_user.count_common(pred[:k], train) / len(pred[:k]) for k in ks]


class Coverage(_OfTrain):
    """The share of the train data's items that is shown to anybody."""

    def __init__(
        self,
        topk: int | Iterable[int],
        query_column: str = "query_id",
        item_column: str = "item_id",
        rating_column: str = "rating",
        allow_caching: bool = True,
    ) -> None:
        super().__init__(topk, query_column, item_column, rating_column)

    def _policy(self, rules: FrameRules) -> dict[str, Any]:
        return {"ties": rules.coverage_ties}


class Unexpectedness(_Named):
    """The share of k places that another system's first k do not hold."""

    second = "base_recommendations"

    @staticmethod
    def _get_metric_value_by_user(
        ks: Sequence[int], base_recs: Sequence[Any] | None, recs: Sequence[Any] | None
    ) -> list[float]:
        if not base_recs or not recs:
            return [0.0 for _ in ks]
        return [1.0 - by_user.count_common(recs[:k], base_recs[:k]) / k for k in ks]

    def __call__(self, recommendations: Any, base_recommendations: Any) -> Any:  # type: ignore[override]
        return self._newer_call(recommendations, baselines={SINGLE_BASE: base_recommendations})

    def questions(self, rules: FrameRules, bases: Sequence[str] = ()) -> list[Question]:
        """One for each base recommendations and cutoff; keys carry the name of the base, if names are given."""
        plain = super().questions(rules)
        return plain if not bases else [self._rename(one, base) for base in bases for one in plain]

    @staticmethod
    def _rename(question: Question, base: str) -> Question:
        head, _, k = question.key.rpartition("@")
        return replace(question, key=f"{head}_{base}@{k}", metric=question.metric.with_parameters(baseline=base))

    def _policy(self, rules: FrameRules) -> dict[str, Any]:
        return {"ties": rules.ties, "baseline": SINGLE_BASE}


class CategoricalDiversity(_Named):
    """Different categories among the first k rows, divided by k; the recommendations have a column of categories.

    >>> CategoricalDiversity(2)({1: [("rock", 0.9), ("rock", 0.4)]})
    {'CategoricalDiversity@2': 0.5}
    """

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
        rules = choose_rules(recommendations)
        inputs = read_inputs(recommendations, columns=self._columns)
        shown = items_as_categories(inputs.recommendations)
        # A list may hold a category twice, so that each row becomes an item of its own.
        numbered = replace(shown, items=Ids(np.arange(len(shown), dtype=np.int64)))
        return answer(self.questions(rules), replace(inputs, recommendations=numbered), rules)

    def _policy(self, rules: FrameRules) -> dict[str, Any]:
        return {"ties": "given", "of": "rows"}


def items_as_categories(shown: Rows) -> Rows:
    """Rows with their items as a column of categories."""
    _, (codes,) = encode_ids([shown.items])
    return replace(shown, columns={**shown.columns, "category": codes.astype(np.float64)})
