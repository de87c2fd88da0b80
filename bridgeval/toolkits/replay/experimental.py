"""Drop-in classes for `replay.experimental.metrics`: k at the call, the log in the constructor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bridgeval.plugin import Metric as EngineMetric
from bridgeval.plugin import Over, Result, Rows, UserTable
from bridgeval.toolkits.replay import experimental_api as older
from bridgeval.toolkits.replay.bases import Metric, RecOnlyMetric
from bridgeval.toolkits.replay.conventions import EXPERIMENTAL
from bridgeval.toolkits.replay.engines import SPARK, rows
from bridgeval.toolkits.replay.modes import ConfidenceInterval
from bridgeval.toolkits.replay.ncis import NCISMetric, NCISPrecision
from bridgeval.toolkits.replay.significance import Systems, kept
from bridgeval.toolkits.replay.system_tables import with_row

if TYPE_CHECKING:
    from bridgeval.plugin import Report

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
    line: str

    def __init__(self, use_scala_udf: bool = False) -> None:
        super().__init__()

    def _older_metrics(self, ks: Sequence[int], max_k: int, over: Over, given: bool) -> list[EngineMetric]:
        if type(self)._get_metric_value_by_user is not Metric._get_metric_value_by_user:
            return super()._older_metrics(ks, max_k, over, given)
        policy: dict[str, Any] = {"users": "given"} if given else {}
        return [EXPERIMENTAL.metrics[self.line](k=k, cut=max_k, over=over, **policy) for k in ks]


class HitRate(_Named):
    """1 if a relevant item is among the first k."""

    line = "HitRate"


class Precision(_Named):
    """Relevant items among the first k, divided by k."""

    line = "Precision"


class MAP(_Named):
    """Average precision, divided by k."""

    line = "MAP"


class Recall(_Named):
    """Relevant items among the first k, divided by all relevant items."""

    line = "Recall"


class RocAuc(_Named):
    """The share of pairs inside the first k with the hit above the miss."""

    line = "RocAuc"


class MRR(_Named):
    """1 / place of the first hit."""

    line = "MRR"


class NDCG(_Named):
    """Binary discounted gain over that of min(k, relevant items) hits.

    >>> import pandas as pd
    >>> recs = pd.DataFrame({"user_idx": [1, 1], "item_idx": [7, 8], "relevance": [0.9, 0.4]})
    >>> NDCG()(recs, pd.DataFrame({"user_idx": [1], "item_idx": [7]}), k=[2, 1])
    {2: 1.0, 1: 1.0}
    """

    line = "NDCG"


class _RecOnly(RecOnlyMetric, _Named):
    extra: str

    def __init__(self, data: Any, use_scala_udf: bool = False) -> None:
        super().__init__()
        self._data: Rows = self._rows(data)

    def _rows(self, data: Any) -> Rows:
        return rows(data, "history", older.PAIRS)

    def _older_extras(self) -> dict[str, Any]:
        return {self.extra: self._data}


class Surprisal(_RecOnly):
    """Mean scaled self-information of the items shown, divided by k; over users of the recommendations."""

    line = "Surprisal"
    extra = "history"

    def __init__(self, log: Any, use_scala_udf: bool = False) -> None:
        super().__init__(log)


class Unexpectedness(_RecOnly):
    """The share of k places that another system's first k do not hold; over users of that system."""

    line = "Unexpectedness"
    extra = "baseline"

    def __init__(self, pred: Any, use_scala_udf: bool = False) -> None:
        super().__init__(pred)

    def _rows(self, data: Any) -> Rows:
        return rows(data, "baseline", older.COLUMNS)


class Coverage(_RecOnly):
    """Different items shown, divided by those of the log; may exceed 1."""

    line = "Coverage"
    extra = "history"

    def __init__(self, log: Any) -> None:
        super().__init__(log)

    def _older_metrics(self, ks: Sequence[int], max_k: int, over: Over, given: bool) -> list[EngineMetric]:
        return super()._older_metrics(ks, max_k, "mean", given)


class Experiment(Systems):
    """Values of several systems in one table.

    Args:
        test: what proved relevant; the same for all systems.
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
        import pandas as pd

        in_order = sorted(metrics.items(), key=lambda entry: str(entry[0]))
        self._metrics = {metric: older.cutoffs_of(ks, f"k of {metric}") for metric, ks in in_order}
        # Metrics that make lists of their own want frames; for all others a frame is read once.
        self._wants_frames = any(map(older.enriches, self._metrics))
        self._test = test if self._wants_frames else rows(test, "relevance", older.PAIRS)
        self._max_k = max(max(ks) for ks in self._metrics.values())
        self._calc_median = calc_median
        self._interval = None if calc_conf_interval is None else ConfidenceInterval(calc_conf_interval)
        self._per_user = per_user
        self._kept: dict[str, Report] = {}
        self.results = pd.DataFrame()

    def add_result(self, name: str, pred: Any, ground_truth_users: Any = None) -> None:
        """Evaluates a system and adds its row; lists are cut to the largest k of all metrics."""
        shown = pred if self._wants_frames else rows(pred, "recommendations", older.COLUMNS)
        values: dict[str, Any] = {}
        asked_for: dict[Over, bool] = {"mean": True, "lower_median": self._calc_median, "per_user": self._per_user}
        overs = [over for over, wanted in asked_for.items() if wanted]
        means: dict[str, Result] = {}
        users: dict[str, UserTable | None] = {}
        asked: dict[str, EngineMetric] = {}
        for metric, ks in self._metrics.items():
            found = older.results(metric, older.Call(shown, self._test, ks, self._max_k, ground_truth_users), overs)
            for k in sorted(ks):
                column = f"{metric}@{k}"
                values[column] = found[k, "mean"].value
                if self._per_user:
                    means[column], users[column] = found[k, "mean"], found[k, "per_user"].per_user
                    asked[column] = self._engine_metric(metric, k, column)
                if self._calc_median:
                    values[f"{column}_median"] = found[k, "lower_median"].value
                if self._interval is not None:
                    values[f"{column}_{self._interval.alpha}_conf_interval"] = self._half_width(found[k, "mean"])
        if self._per_user:
            self._kept[name] = kept(asked, means, users)
        self.results = with_row(self.results, name, values)

    def _engine_metric(self, metric: Metric, k: int, column: str) -> EngineMetric:
        """What says in which direction a column is better; of one's own metrics higher is."""
        if older.enriches(metric):
            return EngineMetric(label=column)
        return metric._older_metrics([k], self._max_k, "mean", given=False)[0]

    def _half_width(self, result: Any) -> float:
        """0 for a value that is not taken over users."""
        return 0.0 if result.users is None or self._interval is None else self._interval.value(result, SPARK)
