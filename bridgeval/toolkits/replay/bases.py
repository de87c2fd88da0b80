"""The classes that RePlay's users extend: change the import line and a metric written for RePlay runs.

Two contracts, told apart by the name of the first parameter of the static `_get_metric_value_by_user`:

* older: `(k, pred, ground_truth) -> float`, called as `metric(recommendations, ground_truth, k, ground_truth_users)`;
* newer: `(ks, ground_truth, pred) -> list of floats`, made as `MyMetric(topk)`, called as
  `metric(recommendations, ground_truth)`, and accepted by `OfflineMetrics` and `Experiment` on every kind of frame.

Either may define `_get_enriched_recommendations`, which gives a frame with the user first and then the lists that
`_get_metric_value_by_user` takes after k. `CalculationDescriptor`, the base of modes, is in `modes.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from bridgeval.errors import BadParameterError
from bridgeval.metrics import NCISPrecision as NativePrecision
from bridgeval.plugin import Metric as EngineMetric, Over, Ranking, Relevance, Users
from bridgeval.toolkits.replay import calls
from bridgeval.toolkits.replay.calls import Question
from bridgeval.toolkits.replay.conventions import EXPERIMENTAL
from bridgeval.toolkits.replay.custom import EnrichedLists, FunctionMetric, is_newer
from bridgeval.toolkits.replay.loader import FrameRules, choose_rules, read_inputs
from bridgeval.toolkits.replay.modes import CalculationDescriptor, Mean, name_class

if TYPE_CHECKING:
    import pandas as pd


class Metric:
    """An author's metric over users of the ground truth; the parent of all drop-in classes.

    Args:
        topk: the cutoff or cutoffs (newer contract).
        query_column: name of the column with users.
        item_column: name of the column with items.
        rating_column: name of the column with scores.
        mode: the summary of the users' values.
        use_scala_udf: accepted for compatibility; has no effect.

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
    # The frames that `_get_enriched_recommendations` gets: "spark", as in RePlay, or as they were "given".
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
        self.topk = () if topk is None else sort_cutoffs(topk, str(self))
        self.query_column = query_column
        self.item_column = item_column
        self.rating_column = rating_column
        self.mode = mode or Mean()

    @property
    def __name__(self) -> str:
        """The name in keys: that of the class, and of the mode unless it is the mean."""
        return f"{name_class(self)}{self.mode.key}"

    def __str__(self) -> str:
        return name_class(self)

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
        return calls.call_metric(self, recommendations, ground_truth, k, ground_truth_users)

    @staticmethod
    def _get_metric_value_by_user(k: Any, *args: Any) -> Any:
        raise NotImplementedError("a metric must define _get_metric_value_by_user(k, pred, ground_truth)")

    def _get_enriched_recommendations(
        self, recommendations: Any, ground_truth: Any, max_k: int, ground_truth_users: Any = None
    ) -> Any:
        """A frame (user_idx, pred, ground_truth) of the same kind as `recommendations`, lists best first."""
        return calls.get_enriched_recommendations(recommendations, ground_truth, max_k, ground_truth_users)

    def user_distribution(
        self, log: Any, recommendations: Any, ground_truth: Any, k: Any, ground_truth_users: Any = None
    ) -> pd.DataFrame:
        """The mean value of users by the number of their rows in `log`: a pandas frame (count, value) for each k."""
        return calls.compute_user_distribution(self, log, recommendations, ground_truth, k, ground_truth_users)

    # --- the newer generation ----------------------------------------------------------------------------

    def _newer_call(
        self, recommendations: Any, ground_truth: Any = None, train: Any = None, baselines: Any = None
    ) -> dict[str, Any]:
        rules = choose_rules(recommendations, ground_truth, train, *(baselines or {}).values())
        inputs = read_inputs(recommendations, ground_truth, columns=self._columns, history=train, baselines=baselines)
        return calls.answer(self.questions(rules), inputs, rules)

    @property
    def _columns(self) -> dict[str, str]:
        return {"user": self.query_column, "item": self.item_column, "score": self.rating_column}

    def questions(self, rules: FrameRules, bases: Sequence[str] = ()) -> list[Question]:
        """One for each cutoff, in ascending order.

        Args:
            rules: of the frames at hand.
            bases: the names of base recommendations, for metrics that read these.
        """
        metrics = self._engine_metrics(rules, self.mode.over(rules))
        return [
            Question(f"{self.__name__}@{k}", metric, self.mode) for k, metric in zip(self.topk, metrics, strict=True)
        ]

    def _engine_metrics(self, rules: FrameRules, over: Over) -> list[EngineMetric]:
        """The engine's metric for each cutoff: here the author's function."""
        if calls.enriches(self):
            raise BadParameterError(
                f"{self} defines _get_enriched_recommendations, which the newer contract does not call",
                hint="call it as metric(recommendations, ground_truth, k)",
            )
        if not is_newer(self._get_metric_value_by_user):
            raise BadParameterError(
                f"{self} follows the older contract, with k at the call",
                f"_get_metric_value_by_user{inspect.signature(self._get_metric_value_by_user)}",
                "call it as metric(recommendations, ground_truth, k), or name the first parameter ks and return a list",
            )
        ranking = Ranking(ties=rules.ties, duplicates="all", masked="keep")
        return self._functions(self.topk, over, "judged", ranking, Relevance(None, rules.truth_duplicates))

    def _functions(
        self,
        ks: Sequence[int],
        over: Over,
        users: Users,
        ranking: Ranking,
        relevance: Relevance,
        weighted: NativePrecision | None = None,
    ) -> list[EngineMetric]:
        values: dict[str, Any] = {"users": users, "ranking": ranking, "relevance": relevance, "label": str(self)}
        function = self._get_metric_value_by_user
        return [FunctionMetric(function, tuple(ks), place, weighted, over=over, **values) for place in range(len(ks))]

    # --- the older generation ----------------------------------------------------------------------------

    def _older_metrics(self, ks: Sequence[int], max_k: int, over: Over, given: bool) -> list[EngineMetric]:
        """The engine's metric for each k of a call whose largest is `max_k`.

        Args:
            ks: the cutoffs.
            max_k: lists are cut to this many rows before repeats are removed.
            over: the summary.
            given: whether the users that count were listed.
        """
        ranking, relevance = Ranking(masked="keep", cut=max_k), Relevance(None, "first")
        return self._functions(ks, over, choose_users(given), ranking, relevance)

    def _older_inputs(self) -> dict[str, Any]:
        """The data that the constructor took: "history", "baseline" or "prev_scores"."""
        return {}


class RecOnlyMetric(Metric):
    """A metric that looks at recommendations alone, and at what its constructor was given.

    Subclasses define `__init__(log, ...)`, `_get_enriched_recommendations` and `_get_metric_value_by_user(k, *lists)`.
    """

    def __call__(self, recommendations: Any, k: Any = None, ground_truth_users: Any = None) -> Any:  # type: ignore[override]
        self._check_contract()
        return calls.call_metric(self, recommendations, None, k, ground_truth_users)

    def _check_contract(self) -> None:
        """Raises if an author's class does not say which lists it takes, or takes all cutoffs at once."""
        function = type(self)._get_metric_value_by_user
        # What derives from one of RePlay's own metrics is told that it redefines it, where its lists are made.
        own = [one for one in type(self).__mro__ if one.__module__.startswith(__package__)]
        if function.__module__.startswith(__package__) or own[0] is not RecOnlyMetric:
            return
        if not calls.enriches(self):
            raise BadParameterError(
                f"{self} must define _get_enriched_recommendations",
                "a RecOnlyMetric, which has no ground truth to make lists of",
                "return a frame with the user first, then the lists that _get_metric_value_by_user takes after k",
            )
        if is_newer(function):
            raise BadParameterError(
                f"{self} looks at recommendations alone, and is called for one k after the other",
                f"_get_metric_value_by_user{inspect.signature(function)}",
                "call the first parameter k, and return a number",
            )


class NCISMetric(Metric):
    """The base of NCIS metrics: subclasses define the static `_get_metric_value_by_user`.

    It gets `k`, `pred` (items, best first, not cut to k), `ground_truth` (items) and `weights` (of `pred`) by these
    names, in whatever order the method declares them; a method that takes `*args` gets them in this order.

    RePlay keeps the best `max_k` rows of a user, the largest cutoff of the call, before anything else; takes a missing
    previous score as 0; divides whatever the activation gives; and orders the list by the activated score, so that
    scores which a sigmoid makes equal come by item id.

    Args:
        prev_policy_weights: a frame (user_idx, item_idx, relevance), or (item_idx, relevance), of the previous policy.
        threshold: weights are kept within [1 / threshold, threshold].
        activation: None, "logit" or "sigmoid", "softmax".
        use_scala_udf: accepted for compatibility; has no effect.
    """

    def __init__(
        self,
        prev_policy_weights: Any,
        threshold: float = 10.0,
        activation: str | None = None,
        use_scala_udf: bool = False,
    ) -> None:
        self.prev_policy_weights = prev_policy_weights
        self.threshold = threshold
        self.activation = activation
        self._native_metric(1, 1)  # refuses a bad threshold or activation here and not at the call

    @staticmethod
    def _get_metric_value_by_user(k: int, *args: Any) -> float:
        raise NotImplementedError("define the static method _get_metric_value_by_user(k, pred, ground_truth, weights)")

    def _get_enriched_recommendations(
        self, recommendations: Any, ground_truth: Any, max_k: int, ground_truth_users: Any = None
    ) -> Any:
        """A frame (user_idx, pred, weight, ground_truth) of the same kind as `recommendations`, lists best first."""
        native = self._native_metric(max_k, max_k, choose_users(ground_truth_users is not None))
        inputs = read_inputs(recommendations, ground_truth, ground_truth_users, **self._older_inputs())
        lists = EnrichedLists(native, users=native.users, ranking=native.ranking, relevance=native.relevance)
        return calls.make_enriched(lists, inputs, recommendations, ground_truth)

    def _older_metrics(self, ks: Sequence[int], max_k: int, over: Over, given: bool) -> list[EngineMetric]:
        native = self._native_metric(max_k, max_k, choose_users(given))
        return self._functions(ks, over, native.users, native.ranking, native.relevance, native)

    def _older_inputs(self) -> dict[str, Any]:
        return {"prev_scores": self.prev_policy_weights}

    def _native_metric(self, k: int, max_k: int, users: Users = "relevant", **others: Any) -> NativePrecision:
        given = {"threshold": self.threshold, "activation": self.activation, "users": users, **others}
        found: NativePrecision = EXPERIMENTAL.metrics["NCISPrecision"](k=k, cut=max_k, **given)
        return found


def choose_users(given: bool) -> Users:
    """Who counts in the older generation: the users listed, or those of the ground truth."""
    return "given" if given else "relevant"


def find_named(metric: Metric, module: str) -> type[Any]:
    """The class of `module`, one of RePlay's own metrics, that a metric is or derives from."""
    return next(one for one in type(metric).__mro__ if one.__module__ == module)


def redefinition_error(metric: Metric, named: type[Any], hint: str) -> BadParameterError:
    """The error of a subclass that redefines the value by user of a metric which has no lists of a user to give."""
    return BadParameterError(
        f"{metric} redefines _get_metric_value_by_user of {named.__name__}",
        "that is computed in columns, not user by user",
        hint,
    )


def sort_cutoffs(topk: Any, name: str) -> list[int]:
    """Cutoffs in ascending order, each once.

    >>> sort_cutoffs([10, 5], "NDCG")
    [5, 10]
    """
    return sorted(set(calls.read_cutoffs(topk, f"topk of {name}")))
