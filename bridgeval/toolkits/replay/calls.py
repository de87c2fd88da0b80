"""Calls of RePlay's metrics in either form, each answered in one pass over the data.

The newer form gives values by key, `{"NDCG@10": 0.3}`. The older form takes k at the call and may list the users that
count; an older metric may also make its lists itself, in `_get_enriched_recommendations`.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from bridgeval.errors import (
    BadParameterError,
    DuplicateRowsWarning,
    InputError,
    MetricFailedError,
    MissingDependencyError,
)
from bridgeval.plugin import (
    Blocks,
    Floats,
    Ids,
    Inputs,
    LocalSource,
    Metric,
    Needs,
    Over,
    Ranking,
    Relevance,
    Result,
    Rows,
    Sums,
    encode_ids,
    run_metrics,
    summarize,
    to_table,
)
from bridgeval.toolkits.replay.custom import EnrichedLists, ListResult, bind_lists
from bridgeval.toolkits.replay.loader import PAIRS, SPARK, FrameRules, choose_rules, read_frame, read_inputs, read_table
from bridgeval.toolkits.replay.modes import CalculationDescriptor

if TYPE_CHECKING:
    from bridgeval.toolkits.replay.bases import Metric as ReplayMetric


class MetricDuplicatesWarning(DuplicateRowsWarning):
    """The recommendations, or base recommendations, hold a (user, item) pair more than once."""


# --- one pass ----------------------------------------------------------------------------------------------


def compute(metrics: Iterable[Metric], inputs: Inputs) -> dict[Metric, Result]:
    """The results of all metrics; warns once of repeated recommendations, refuses a metric for which no user counts."""
    source = LocalSource(inputs.slates, inputs.context, inputs.offers)
    results = run_metrics([Repeats(), *metrics], source)
    repeated = {
        "recommendations": int(results[Repeats()].notes["repeated"]),
        "base recommendations": sum(map(count_repeats, inputs.baselines.values())),
    }
    if any(repeated.values()):
        counts = [f"{count} repeated (user, item) rows in the {where}" for where, count in repeated.items() if count]
        warnings.warn(
            f"{' and '.join(counts)}; values may exceed 1, or depend on the largest k: drop them",
            MetricDuplicatesWarning,
            stacklevel=_find_caller(),
        )
    for metric, result in results.items():
        if result.users == 0 and not result.undefined:
            raise InputError(
                f"there is no user to evaluate {metric.name} for",
                "no rows in the data set whose users it counts",
                "check the ground truth, the train data or the recommendations",
            )
    return results


def _find_caller() -> int:
    """The `stacklevel` with which the function that calls this one warns at the line that called the toolkit."""
    modules = [frame.frame.f_globals.get("__name__", "") for frame in inspect.stack(context=0)[1:]]
    return next(level for level, module in enumerate(modules, start=1) if not module.startswith(__package__))


def count_repeats(rows: Rows) -> int:
    """The number of rows that repeat an earlier (user, item)."""
    _, (users,) = encode_ids([rows.owners])
    items, (codes,) = encode_ids([rows.items])
    pairs = np.sort(users.astype(np.int64) * max(len(items), 1) + codes)
    return int(np.count_nonzero(pairs[1:] == pairs[:-1]))


@dataclass(frozen=True)
class Repeats(Metric):
    """The number of recommendation rows that repeat an earlier (user, item).

    A metric, because the batch has sorted these rows already; `count_repeats` sorts those of other data sets.
    """

    name = "Repeats"

    def needs(self) -> Needs:
        return Needs(depth=0)

    def start(self) -> Sums:
        return Sums()

    def update(self, blocks: Blocks) -> Sums:
        return Sums({"repeated": blocks.batch.shown.repeated})

    def compute(self, state: Any) -> Result:
        return Result(None, notes={"repeated": state["repeated"]})


# --- the newer form ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """One entry of a result: its key, the metric that answers it, and the mode that makes its value."""

    key: str
    metric: Metric
    mode: CalculationDescriptor


def answer(questions: Sequence[Question], inputs: Inputs, rules: FrameRules) -> dict[str, Any]:
    """Values by key, in the order of the questions."""
    results = compute([question.metric for question in questions], inputs)
    return {question.key: question.mode.value(results[question.metric], rules) for question in questions}


# --- the older form ----------------------------------------------------------------------------------------


def call_metric(metric: ReplayMetric, recommendations: Any, ground_truth: Any, k: Any, users: Any) -> Any:
    """The mean: a number for an int, a mapping by k for several."""
    ks = read_cutoffs(k, f"k of {metric}")
    found = compute_call(metric, recommendations, ground_truth, ks, users, ["mean"])
    values = {one: found[one, "mean"].value for one in ks}
    return values[k] if isinstance(k, int) else values


def read_cutoffs(given: Any, what: str) -> list[int]:
    """The cutoffs in the order given.

    Args:
        given: a whole number, or several.
        what: their name in messages, e.g. "k of NDCG".
    """
    several = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    if not several or any(isinstance(k, bool) or not hasattr(k, "__index__") or k < 1 for k in several):
        raise BadParameterError(
            f"{what} must be a whole number from 1 up, or a list of them", f"{given!r}", "e.g. [5, 10]"
        )
    return [int(k) for k in several]


def compute_call(
    metric: ReplayMetric,
    recommendations: Any,
    ground_truth: Any,
    ks: Sequence[int],
    users: Any,
    overs: Sequence[Over],
    max_k: int | None = None,
) -> dict[tuple[int, Over], Result]:
    """The result at every k under every summary, in one pass.

    Args:
        metric: of the older form.
        recommendations: a frame, or Rows.
        ground_truth: a frame, or Rows; None for metrics of recommendations alone.
        ks: the cutoffs.
        users: a frame with the users that count; None takes those of the truth.
        overs: the summaries.
        max_k: lists are cut to this many rows before repeats are removed; the largest of `ks` by default.
    """
    max_k = max(ks) if max_k is None else max_k
    if enriches(metric):
        values_by_k = _call_enriched(metric, recommendations, ground_truth, ks, users, max_k)
        return {(k, over): summarize(over, *found) for k, found in values_by_k.items() for over in overs}
    inputs = read_inputs(recommendations, ground_truth, users, **metric._older_inputs())
    asked = {
        (k, over): one
        for over in overs
        for k, one in zip(ks, metric._older_metrics(ks, max_k, over, given=users is not None), strict=True)
    }
    found = compute(asked.values(), inputs)
    return {key: found[one] for key, one in asked.items()}


def compute_user_distribution(
    metric: ReplayMetric, log: Any, recommendations: Any, ground_truth: Any, k: Any, users: Any
) -> Any:
    """A pandas frame: number of log rows of a user, mean value of the users with that number; k after k."""
    import pandas as pd

    ks = read_cutoffs(k, f"k of {metric}")
    found = compute_call(metric, recommendations, ground_truth, ks, users, ["per_user"])
    active, counts = np.unique(read_frame(log, "history", PAIRS).owners.to_numpy(), return_counts=True)
    count_of = dict(zip(active.tolist(), counts.tolist(), strict=True))
    parts = []
    for one in ks:
        table = found[one, "per_user"].per_user
        values = {} if table is None else table.to_dict()
        frame = pd.DataFrame({"count": [count_of.get(user, 0) for user in values], "value": list(values.values())})
        parts.append(frame.groupby("count", as_index=False)["value"].mean())
    return pd.concat(parts, ignore_index=True)


# --- metrics that make their lists themselves ---------------------------------------------------------------


def enriches(metric: ReplayMetric) -> bool:
    """Whether its author has defined `_get_enriched_recommendations`; all others go through the engine."""
    return not type(metric)._get_enriched_recommendations.__module__.startswith(__package__)


def _call_enriched(
    metric: ReplayMetric, recommendations: Any, ground_truth: Any, ks: Sequence[int], users: Any, max_k: int
) -> dict[int, tuple[Ids, Floats]]:
    """Cutoff -> the users of the lists that the metric makes, and their values."""
    shown, truth, listed = (
        frame if frame is None or metric.enriches == "given" else to_spark(frame)
        for frame in (recommendations, ground_truth, users)
    )
    frame = metric._get_enriched_recommendations(shown, truth, max_k, listed)
    names = list(frame.columns)
    table = read_table(frame, names, "enriched recommendations")
    function = bind_lists(metric._get_metric_value_by_user, names[1:])
    ids = Ids.of(table[names[0]], "user ids in the enriched recommendations")
    lists = [[value if value is not None else [] for value in table[name].to_pylist()] for name in names[1:]]
    found: dict[int, tuple[Ids, Floats]] = {}
    for k in ks:
        try:
            found[k] = ids, np.array([float(function(k, *row)) for row in zip(*lists, strict=True)])
        except Exception as error:
            raise MetricFailedError(f"{metric} failed at k={k}", f"{type(error).__name__}: {error}") from error
    return found


def to_spark(frame: Any) -> Any:
    """A frame of any kind as a Spark frame."""
    if type(frame).__module__.startswith("pyspark."):
        return frame
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingDependencyError(
            "_get_enriched_recommendations is handed Spark frames, as in RePlay",
            "pyspark is not installed",
            "install bridgeval[spark], or set enriches = 'given' on the class to get frames as they were given",
        ) from error
    return SparkSession.builder.getOrCreate().createDataFrame(to_table(frame))


def get_enriched_recommendations(
    recommendations: Any, ground_truth: Any, max_k: int, ground_truth_users: Any = None
) -> Any:
    """A frame (user_idx, pred, ground_truth) of the same kind as `recommendations`, with a list in every cell.

    At most `max_k` items of pred, best first, without repeats. One row for each user of the ground truth, or for each
    user listed; a list that a user lacks is empty.
    """
    lists = EnrichedLists(
        users="relevant" if ground_truth_users is None else "given",
        ranking=Ranking(masked="keep", cut=max_k),
        relevance=Relevance(None, "first"),
    )
    inputs = read_inputs(recommendations, ground_truth, ground_truth_users)
    return make_enriched(lists, inputs, recommendations, ground_truth)


def make_enriched(lists: EnrichedLists, inputs: Inputs, recommendations: Any, ground_truth: Any) -> Any:
    """A frame (user_idx, pred, weight, ground_truth) of the users that count; without weight if the lists have none.

    It is of the same kind as `recommendations`; a Spark frame keeps the types of the columns of both frames.
    """
    source = LocalSource(inputs.slates, inputs.context, inputs.offers)
    rows = cast(ListResult, run_metrics([lists], source)[lists]).rows
    names = ["user_idx", "pred", "weight", "ground_truth"]
    if lists.weighted is None:
        names.remove("weight")
        rows = tuple((user, pred, truth) for user, pred, _, truth in rows)
    rules = choose_rules(recommendations)
    if rules is SPARK:
        shown, truth = dict(recommendations.dtypes), dict(to_spark(ground_truth).dtypes)
        types = {
            "user_idx": shown["user_idx"],
            "pred": f"array<{shown['item_idx']}>",
            "weight": "array<double>",
            "ground_truth": f"array<{truth['item_idx']}>",
        }
        schema = ", ".join(f"{name} {types[name]}" for name in names)
        return recommendations.sparkSession.createDataFrame(list(rows), schema)
    import pandas as pd

    frame = pd.DataFrame(rows, columns=names)
    if rules.name == "polars":
        import polars

        return polars.DataFrame(frame.to_dict("list"))
    return frame
