"""Bases of metrics of one's own, as RePlay's users write them: change the import line and they run.

Two contracts, told apart by the name of the first parameter of the static `_get_metric_value_by_user`:

* older: `(k, pred, ground_truth) -> float`, called as `metric(recommendations, ground_truth, k, ground_truth_users)`;
* newer: `(ks, ground_truth, pred) -> list of floats`, made as `MyMetric(topk)`, called as
  `metric(recommendations, ground_truth)`, and a part of `OfflineMetrics` and `Experiment` on every kind of frame.

Either may define `_get_enriched_recommendations`, which gives a frame with the user first and then the lists that
`_get_metric_value_by_user` takes after k.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal

from bridgeval.errors import BadParameterError
from bridgeval.plugin import Inputs, Over
from bridgeval.plugin import Metric as EngineMetric
from bridgeval.toolkits.replay import experimental_api as older
from bridgeval.toolkits.replay.custom import FunctionMetric, is_newer, list_function
from bridgeval.toolkits.replay.engines import Engine, engine_of, rows
from bridgeval.toolkits.replay.modes import CalculationDescriptor, Mean
from bridgeval.toolkits.replay.run import Question, answers


class Metric:
    """A metric of one's own over users of the ground truth; the parent of all drop-in classes.

    Args:
        topk: the cutoff or cutoffs (newer contract).
        query_column: name of the column with users.
        item_column: name of the column with items.
        rating_column: name of the column with scores.
        mode: what becomes of the per-user values.
        use_scala_udf: taken for the sake of old code; nothing here needs it.

    >>> import pandas as pd
    >>> class FirstHit(Metric):
    ...     @staticmethod
    ...     def _get_metric_value_by_user(k, pred, ground_truth):
    ...         return float(any(item in ground_truth for item in pred[:1]))
    >>> recs = pd.DataFrame({"user_idx": [1, 1], "item_idx": [7, 8], "relevance": [0.9, 0.4]})
    >>> FirstHit()(recs, pd.DataFrame({"user_idx": [1], "item_idx": [7]}), k=1)
    1.0
    """

    topk: Sequence[int] = ()
    query_column: str = "query_id"
    item_column: str = "item_id"
    rating_column: str = "rating"
    mode: CalculationDescriptor = Mean()

    # The data set that the call takes beside the recommendations.
    second: ClassVar[str] = "ground_truth"
    # What `_get_enriched_recommendations` is handed: "spark" frames, as RePlay does, or frames as "given".
    enriches: ClassVar[Literal["spark", "given"]] = "spark"

    def __init__(
        self,
        topk: int | Iterable[int] | None = None,
        query_column: str = "query_id",
        item_column: str = "item_id",
        rating_column: str = "rating",
        mode: CalculationDescriptor | None = None,
        use_scala_udf: bool = False,
    ) -> None:
        self.topk = () if topk is None else cutoffs(topk, type(self).__name__)
        self.query_column = query_column
        self.item_column = item_column
        self.rating_column = rating_column
        self.mode = mode or Mean()

    def __str__(self) -> str:
        return type(self).__name__

    def __call__(self, recommendations: Any, ground_truth: Any, k: Any = None, ground_truth_users: Any = None) -> Any:
        """The value, or the values by key.

        Args:
            recommendations: a frame with user, item and score, or a mapping user -> [(item, score)].
            ground_truth: a frame with user and item, or a mapping user -> [item].
            k: the cutoff or cutoffs of a metric of the older contract.
            ground_truth_users: a frame with the users that count (older contract); None takes those of the truth.
        """
        if k is None and self.topk:
            return self._newer_call(recommendations, ground_truth=ground_truth)
        return older.mean(self, recommendations, ground_truth, k, ground_truth_users)

    @staticmethod
    def _get_metric_value_by_user(k: Any, *args: Any) -> Any:
        raise NotImplementedError("a metric must define _get_metric_value_by_user(k, pred, ground_truth)")

    def _get_enriched_recommendations(
        self, recommendations: Any, ground_truth: Any, max_k: int, ground_truth_users: Any = None
    ) -> Any:
        """A frame (user_idx, pred, ground_truth) of the same kind as `recommendations`, lists best first."""
        return older.enriched(recommendations, ground_truth, max_k, ground_truth_users)

    def user_distribution(
        self, log: Any, recommendations: Any, ground_truth: Any, k: Any, ground_truth_users: Any = None
    ) -> Any:
        """The mean value of users by the number of their rows in `log`: a pandas frame (count, value) for each k."""
        return older.user_distribution(self, log, recommendations, ground_truth, k, ground_truth_users)

    # --- the newer generation ----------------------------------------------------------------------------

    def _newer_call(self, recommendations: Any, base_recommendations: Any = None, **others: Any) -> dict[str, Any]:
        bases = base_recommendations or {}
        engine = engine_of(recommendations, *others.values(), *bases.values())
        inputs = inputs_of(self._columns, recommendations, base_recommendations=bases, **others)
        return answers(self.questions(engine), inputs, engine)

    @property
    def _columns(self) -> dict[str, str]:
        return {"user": self.query_column, "item": self.item_column, "score": self.rating_column}

    def questions(self, engine: Engine) -> list[Question]:
        """One for each cutoff, in ascending order."""
        metrics = self._engine_metrics(engine, self.mode.over(engine))
        head = f"{type(self).__name__}{self.mode.key}"
        return [Question(f"{head}@{k}", metric, self.mode) for k, metric in zip(self.topk, metrics, strict=True)]

    def _engine_metrics(self, engine: Engine, over: Over) -> list[EngineMetric]:
        """The engine's metric for each cutoff: here the function of one's own."""
        if older.enriches(self):
            raise BadParameterError(
                f"{type(self).__name__} defines _get_enriched_recommendations, which the newer contract does not call",
                hint="call it as metric(recommendations, ground_truth, k)",
            )
        if not is_newer(self._get_metric_value_by_user):
            raise BadParameterError(
                f"{type(self).__name__} follows the older contract, with k at the call",
                f"_get_metric_value_by_user{inspect.signature(self._get_metric_value_by_user)}",
                "call it as metric(recommendations, ground_truth, k), or name the first parameter ks and return a list",
            )
        policy = {"ties": engine.ties, "truth_duplicates": engine.truth_duplicates, "users": "judged"}
        return self._functions(self.topk, over, **policy)

    def _functions(self, ks: Sequence[int], over: Over, **policy: Any) -> list[EngineMetric]:
        function = list_function(self._get_metric_value_by_user, ks)
        policy = {"duplicates": "all", "masked": "keep", "above": None, **policy}
        return [
            FunctionMetric.from_parameters(
                function=function, place=place, title=type(self).__name__, over=over, **policy
            )
            for place in range(len(ks))
        ]

    # --- the older generation ----------------------------------------------------------------------------

    def _older_metrics(self, ks: Sequence[int], max_k: int, over: Over, given: bool) -> list[EngineMetric]:
        """The engine's metric for each k of a call whose largest is `max_k`.

        Args:
            ks: the cutoffs.
            max_k: lists are cut to this many rows before repeats are removed.
            over: the summary.
            given: whether the users that count were listed.
        """
        policy: dict[str, Any] = {"users": "given"} if given else {}
        return self._functions(ks, over, cut=max_k, duplicates="best", truth_duplicates="first", **policy)

    def _older_extras(self) -> dict[str, Any]:
        """What the constructor was given for the engine: `history` or `baseline`."""
        return {}


class RecOnlyMetric(Metric):
    """A metric that looks at recommendations alone, and at what its constructor was given.

    Subclasses define `__init__(log, ...)`, `_get_enriched_recommendations` and `_get_metric_value_by_user(k, *lists)`.
    """

    def __call__(self, recommendations: Any, k: Any = None, ground_truth_users: Any = None) -> Any:  # type: ignore[override]
        return older.mean(self, recommendations, None, k, ground_truth_users)


def cutoffs(topk: Any, name: str) -> list[int]:
    """Cutoffs in ascending order, each once.

    >>> cutoffs([10, 5], "NDCG")
    [5, 10]
    """
    return sorted(set(older.cutoffs_of(topk, f"topk of {name}")))


def inputs_of(
    columns: dict[str, str],
    recommendations: Any,
    ground_truth: Any = None,
    train: Any = None,
    base_recommendations: Any = None,
    category: str | None = None,
) -> Inputs:
    """Inputs of the engine from RePlay's arguments; `base_recommendations` is a mapping name -> frame."""
    pairs = {part: name for part, name in columns.items() if part != "score"}
    return Inputs(
        rows(recommendations, "recommendations", columns, category),
        older.NO_ROWS if ground_truth is None else rows(ground_truth, "relevance", pairs),
        None if train is None else rows(train, "history", pairs),
        baselines={name: rows(frame, "baseline", columns) for name, frame in (base_recommendations or {}).items()},
    )
