"""Drop-in classes for `replay.experimental.metrics`: k at the call, the log in the constructor."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from bridgeval.plugin import Metric as EngineMetric, Over, Result, Rows
from bridgeval.toolkits.replay import by_user, calls
from bridgeval.toolkits.replay.bases import (
    Metric,
    NCISMetric,
    RecOnlyMetric,
    choose_users,
    find_named,
    redefinition_error,
)
from bridgeval.toolkits.replay.conventions import EXPERIMENTAL
from bridgeval.toolkits.replay.loader import COLUMNS, PAIRS, SPARK, read_frame
from bridgeval.toolkits.replay.modes import ConfidenceInterval
from bridgeval.toolkits.replay.system_table import SystemTable

__all__ = [
    "MAP",
    "MRR",
    "NDCG",
    "Coverage",
    "Experiment",
    "HitRate",
    "Metric",
    "NCISMetric",
    "NCISPrecision",
    "Precision",
    "RecOnlyMetric",
    "Recall",
    "RocAuc",
    "Surprisal",
    "Unexpectedness",
]


class _Named(Metric):
    """A metric of RePlay's own: a line of the convention."""

    def __init__(self, use_scala_udf: bool = False) -> None:
        super().__init__()

    def _older_metrics(self, ks: Sequence[int], max_k: int, over: Over, given: bool) -> list[EngineMetric]:
        # The line of the convention is the name of a class of this module, which an author's subclasses keep.
        named = find_named(self, __name__)
        if type(self)._get_metric_value_by_user is not named._get_metric_value_by_user:
            if isinstance(self, RecOnlyMetric):
                raise redefinition_error(self, named, "derive from RecOnlyMetric and make the lists too")
            return super()._older_metrics(ks, max_k, over, given)
        users = {"users": "given"} if given else {}
        return [EXPERIMENTAL.metrics[named.__name__](k=k, cut=max_k, over=over, **users) for k in ks]


class HitRate(_Named):
    """1 if a relevant item is among the first k."""

    _get_metric_value_by_user = staticmethod(by_user.compute_hit_rate)


class Precision(_Named):
    """Relevant items among the first k, divided by k."""

    _get_metric_value_by_user = staticmethod(by_user.compute_precision)


class MAP(_Named):
    """Average precision, divided by k."""

    _get_metric_value_by_user = staticmethod(by_user.compute_map_over_k)


class Recall(_Named):
    """Relevant items among the first k, divided by all relevant items."""

    _get_metric_value_by_user = staticmethod(by_user.compute_recall)


class RocAuc(_Named):
    """The share of pairs inside the first k with the hit above the miss."""

    _get_metric_value_by_user = staticmethod(by_user.compute_roc_auc)


class MRR(_Named):
    """1 / place of the first hit."""

    _get_metric_value_by_user = staticmethod(by_user.compute_mrr)


class NDCG(_Named):
    """Binary discounted gain over that of min(k, relevant items) hits.

    >>> import pandas as pd
    >>> recs = pd.DataFrame({"user_idx": [1, 1], "item_idx": [7, 8], "relevance": [0.9, 0.4]})
    >>> NDCG()(recs, pd.DataFrame({"user_idx": [1], "item_idx": [7]}), k=[2, 1])
    {2: 1.0, 1: 1.0}
    """

    _get_metric_value_by_user = staticmethod(by_user.compute_ndcg)


class NCISPrecision(NCISMetric):
    """The weighted share of the first k recommendations that are relevant: `sum(w_j h_j) / sum(w_j)`."""

    @staticmethod
    def _get_metric_value_by_user(k: int, pred: list[Any], ground_truth: list[Any], weights: list[float]) -> float:
        relevant = set(ground_truth)
        shown = list(zip(pred, weights, strict=True))[:k]
        total = math.fsum(weight for _, weight in shown)
        return math.fsum(weight for item, weight in shown if item in relevant) / total if shown else 0.0

    def _older_metrics(self, ks: Sequence[int], max_k: int, over: Over, given: bool) -> list[EngineMetric]:
        if type(self)._get_metric_value_by_user is not NCISPrecision._get_metric_value_by_user:
            return super()._older_metrics(ks, max_k, over, given)
        return [self._native_metric(k, max_k, choose_users(given), over=over, label=str(self)) for k in ks]


class _RecOnly(RecOnlyMetric, _Named):
    """A metric of recommendations and of one other data set, which the constructor takes.

    Class attributes:
        role: the data set, as the engine calls it.
    """

    role: Literal["history", "baseline"]

    def __init__(self, data: Any, use_scala_udf: bool = False) -> None:
        super().__init__()
        self._data: Rows = read_frame(data, self.role, PAIRS if self.role == "history" else COLUMNS)

    def _older_inputs(self) -> dict[str, Any]:
        return {self.role: self._data}


class Surprisal(_RecOnly):
    """Mean scaled self-information of the items shown, divided by k; over users of the recommendations."""

    role = "history"

    def __init__(self, log: Any, use_scala_udf: bool = False) -> None:
        super().__init__(log)

    @staticmethod
    def _get_metric_value_by_user(k: int, rec_weight: Sequence[float], *args: Any) -> float:
        return sum(rec_weight[:k]) / k


class Unexpectedness(_RecOnly):
    """The share of k places that another system's first k do not hold; over users of that system."""

    role = "baseline"

    def __init__(self, pred: Any, use_scala_udf: bool = False) -> None:
        super().__init__(pred)

    @staticmethod
    def _get_metric_value_by_user(k: int, pred: Sequence[Any], base_pred: Sequence[Any]) -> float:
        return 1.0 - by_user.count_common(pred[:k], base_pred[:k]) / k if pred else 0.0


class Coverage(_RecOnly):
    """Different items shown, divided by those of the log; may exceed 1."""

    role = "history"

    def __init__(self, log: Any) -> None:
        super().__init__(log)

    def _older_metrics(self, ks: Sequence[int], max_k: int, over: Over, given: bool) -> list[EngineMetric]:
        # One number for all users: every summary of it is the number itself.
        return super()._older_metrics(ks, max_k, "mean", given)


class Experiment(SystemTable):
    """Values of several systems in one table.

    Args:
        test: the ground truth, the same for all systems.
        metrics: metric object -> the cutoff or cutoffs.
        calc_median: whether to add a column with the (lower) median after each value.
        calc_conf_interval: the confidence of a column with half the width of the mean's interval; None adds none.
        per_user: whether to keep the users' values, for `significance`; 8 bytes for each user, column and system.

    Attributes:
        results: a pandas frame, a row for each system.
    """

    def __init__(
        self,
        test: Any,
        metrics: Mapping[Metric, Any],
        calc_median: bool = False,
        calc_conf_interval: float | None = None,
        *,
        per_user: bool = False,
    ) -> None:
        super().__init__()
        in_order = sorted(metrics.items(), key=lambda entry: str(entry[0]))
        self._metrics = {metric: calls.read_cutoffs(ks, f"k of {metric}") for metric, ks in in_order}
        # Metrics that make their lists themselves need frames; for all others a frame is read once.
        self._wants_frames = any(map(calls.enriches, self._metrics))
        self._test = test if self._wants_frames else read_frame(test, "relevance", PAIRS)
        self._max_k = max(max(ks) for ks in self._metrics.values())
        self._interval = None if calc_conf_interval is None else ConfidenceInterval(calc_conf_interval)
        self._per_user = per_user
        self._overs: list[Over] = ["mean"]
        self._overs += ["lower_median"] if calc_median else []
        self._overs += ["per_user"] if per_user else []

    def add_result(self, name: str, pred: Any, ground_truth_users: Any = None) -> None:
        """Evaluates a system and adds its row; lists are cut to the largest k of all metrics."""
        shown = pred if self._wants_frames else read_frame(pred, "recommendations", COLUMNS)
        # (metric, k, summary) -> result
        found: dict[tuple[Metric, int, Over], Result] = {}
        for metric, ks in self._metrics.items():
            results = calls.compute_call(metric, shown, self._test, ks, ground_truth_users, self._overs, self._max_k)
            found |= {(metric, k, over): result for (k, over), result in results.items()}
        columns = {f"{metric}@{k}": (metric, k) for metric, ks in self._metrics.items() for k in sorted(ks)}
        values: dict[str, Any] = {}
        for column, (metric, k) in columns.items():
            mean = found[metric, k, "mean"]
            values[column] = mean.value
            if "lower_median" in self._overs:
                values[f"{column}_median"] = found[metric, k, "lower_median"].value
            if self._interval is not None:
                # A value that is not taken over users has no interval.
                width = 0.0 if mean.users is None else self._interval.value(mean, SPARK)
                values[f"{column}_{self._interval.alpha}_conf_interval"] = width
        if self._per_user:
            self._keep_users(
                name,
                {column: self._engine_metric(metric, k, column) for column, (metric, k) in columns.items()},
                {column: found[metric, k, "mean"] for column, (metric, k) in columns.items()},
                {column: found[metric, k, "per_user"].per_user for column, (metric, k) in columns.items()},
            )
        self._add_row(name, values)

    def _engine_metric(self, metric: Metric, k: int, column: str) -> EngineMetric:
        """The metric that says whether higher is better; it is, for an author's metric."""
        if calls.enriches(metric):
            return EngineMetric(label=column)
        return metric._older_metrics([k], self._max_k, "mean", given=False)[0]
