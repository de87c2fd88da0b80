"""RePlay's NCIS (`replay.experimental.metrics`): its weights, NCISPrecision, and the base class for own metrics.

RePlay keeps the best `max_k` rows of a user, the largest cutoff of the call, before anything else; takes a missing
previous score as 0; divides whatever the activation gives; and orders the list by the activated score, so that scores
which a sigmoid makes equal come by item id.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from bridgeval.errors import MetricFailedError
from bridgeval.metrics import NCISPrecision as NativePrecision
from bridgeval.plugin import Blocks, Entry, Execution, LocalSource, Metric, Needs, Over, Plan, TopKMetric, Users
from bridgeval.toolkits.replay import experimental_api as older
from bridgeval.toolkits.replay.bases import Metric as ReplayMetric
from bridgeval.toolkits.replay.custom import user_lists

if TYPE_CHECKING:
    import pandas as pd

ORDERS = {None: "score", "sigmoid": "sigmoid", "logit": "sigmoid", "softmax": "softmax"}


@dataclass(frozen=True)
class NcisEntry(Entry):
    """A line of the table whose order follows from the activation; `cut` is the largest cutoff of the call."""

    def __call__(self, **parameters: Any) -> Any:
        implied = {"cut": parameters.get("k"), "order": ORDERS.get(parameters.get("activation"), "score")}
        return super().__call__(**{**implied, **parameters})


# Lines of the convention `replay-experimental`.
NCIS_METRICS = {
    "NCISPrecision": NcisEntry(
        NativePrecision,
        {
            "missing": "zero",
            "arithmetic": "plain",
            "masked": "keep",
            "above": None,
            "truth_duplicates": "first",
            "lone": "zero",
        },
    )
}


class NCISMetric(ReplayMetric):
    """The base of NCIS metrics written for RePlay: subclasses define the static `_get_metric_value_by_user`.

    It is given `k`, `pred` (items, best first, not cut to k), `ground_truth` (items) and `weights` (of `pred`) by
    these names, in whatever order the method declares them; a method that takes `*args` gets them in this order.

    Args:
        prev_policy_weights: a frame (user_idx, item_idx, relevance), or (item_idx, relevance), of the previous policy.
        threshold: weights are kept within [1 / threshold, threshold].
        activation: None, "logit" or "sigmoid", "softmax".
        use_scala_udf: for compatibility; makes no difference.
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
        self._weighed(1, 1)

    def metric(self, k: int, max_k: int | None = None, users: Users = "relevant") -> TopKMetric:
        """The metric behind one cutoff of a call whose largest cutoff is `max_k`."""
        weighed = self._weighed(k, max_k or k, users)
        return NcisFunction(k, function=self._get_metric_value_by_user, weighed=weighed, label=str(self))

    @staticmethod
    def _get_metric_value_by_user(k: int, *args: Any) -> float:
        raise NotImplementedError("define the static method _get_metric_value_by_user(k, pred, ground_truth, weights)")

    def _get_enriched_recommendations(
        self, recommendations: Any, ground_truth: Any, max_k: int, ground_truth_users: Any = None
    ) -> pd.DataFrame:
        """A pandas frame (user_idx, pred, weight, ground_truth) of lists, one row for each user that counts."""
        import pandas as pd

        plan = Plan.of([Enriched(self._weighed(max_k, max_k, _population(ground_truth_users is not None)))])
        inputs = older.inputs_of(recommendations, ground_truth, ground_truth_users, **self._older_extras())
        source = LocalSource(inputs.slates, inputs.context, inputs.offers)
        plan.check(source.offers)
        state: Any = source.run(plan, Execution(torch.device("cpu")))[0]
        return pd.DataFrame(state.rows, columns=["user_idx", "pred", "weight", "ground_truth"])

    def _older_metrics(self, ks: Sequence[int], max_k: int, over: Over, given: bool) -> list[Metric]:
        return [replace(self.metric(k, max_k, _population(given)), over=over) for k in ks]

    def _older_extras(self) -> dict[str, Any]:
        return {"prev_scores": self.prev_policy_weights}

    def _weighed(self, k: int, max_k: int, users: Users = "relevant") -> NativePrecision:
        line = NCIS_METRICS["NCISPrecision"]
        return line(k=k, cut=max_k, threshold=self.threshold, activation=self.activation, users=users)


def _population(given: bool) -> Users:
    return "given" if given else "relevant"


class NCISPrecision(NCISMetric):
    """The weighted share of the first k recommendations that are relevant: `sum(w_j h_j) / sum(w_j)`."""

    def metric(self, k: int, max_k: int | None = None, users: Users = "relevant") -> TopKMetric:
        if type(self)._get_metric_value_by_user is not NCISPrecision._get_metric_value_by_user:
            return super().metric(k, max_k, users)
        return replace(self._weighed(k, max_k or k, users), label=str(self))

    @staticmethod
    def _get_metric_value_by_user(k: int, pred: list[Any], ground_truth: list[Any], weights: list[float]) -> float:
        relevant = set(ground_truth)
        shown = list(zip(pred, weights, strict=True))[:k]
        total = math.fsum(weight for _, weight in shown)
        return math.fsum(weight for item, weight in shown if item in relevant) / total if shown else 0.0


@dataclass(frozen=True)
class NcisFunction(TopKMetric):
    """A Python function of one user's list, truth and weights.

    Attributes:
        function: takes k, pred, ground_truth and weights.
        weighed: whose lists, weights and population it is given.
    """

    name = "NcisFunction"

    function: Callable[..., float] = field(kw_only=True)
    weighed: NativePrecision = field(kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | self.weighed.needs()

    def counted(self, blocks: Blocks) -> Tensor:
        return self.weighed.counted(blocks)

    def values(self, blocks: Blocks) -> Tensor:
        call = by_name(self.function)
        values = np.full(len(blocks), math.nan)
        for row, user, pred, weights, truth in enriched(blocks, self.weighed):
            try:
                values[row] = call(self.k, pred, truth, weights)
            except Exception as error:
                raise MetricFailedError(
                    f"{self} failed for user {user!r}", f"{type(error).__name__}: {error}"
                ) from error
        return torch.from_numpy(values).to(blocks.device)


def by_name(function: Callable[..., float]) -> Callable[[int, list[Any], list[Any], list[float]], float]:
    """A call that hands over each argument by its name, where the function declares names that are known.

    >>> by_name(lambda k, weight, ground_truth, pred: (pred, ground_truth, weight))(1, ["a"], ["b"], [0.5])
    (['a'], ['b'], [0.5])
    """
    declared = list(inspect.signature(function).parameters)
    if not set(declared) <= {"k", "pred", "ground_truth", "weights", "weight"}:
        return function

    def call(k: int, pred: list[Any], ground_truth: list[Any], weights: list[float]) -> float:
        known = {"k": k, "pred": pred, "ground_truth": ground_truth, "weights": weights, "weight": weights}
        return function(**{name: known[name] for name in declared})

    return call


def enriched(blocks: Blocks, weighed: NativePrecision) -> Iterator[tuple[int, Any, list[Any], list[float], list[Any]]]:
    """(row of the batch, user, items shown, their weights, items of the truth) of every user that counts."""
    weights = blocks[weighed.weights].weights.tolist()
    counted = weighed.counted(blocks)
    for row, user, pred, truth in user_lists(blocks, counted, weighed.ranking, weighed.relevance):
        yield row, user, pred, weights[row][: len(pred)], truth


@dataclass(frozen=True)
class EnrichedRows:
    """Rows (user, items shown, their weights, items of the truth)."""

    rows: tuple[tuple[Any, ...], ...] = ()

    def merge(self, other: EnrichedRows) -> EnrichedRows:
        return EnrichedRows(self.rows + other.rows)


@dataclass(frozen=True)
class Enriched(Metric):
    """Collects what a Python function would be given; read from the state, it has no result."""

    name = "Enriched"

    weighed: NativePrecision

    def needs(self) -> Needs:
        return self.weighed.needs()

    def start(self) -> EnrichedRows:
        return EnrichedRows()

    def update(self, blocks: Blocks) -> EnrichedRows:
        return EnrichedRows(tuple(row[1:] for row in enriched(blocks, self.weighed)))
