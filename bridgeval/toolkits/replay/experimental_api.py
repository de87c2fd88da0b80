"""How a metric of the older generation is called: k at the call, users that may be listed, Spark's summaries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from bridgeval.errors import BadParameterError, MetricFailedError, MissingDependencyError
from bridgeval.plugin import (
    Blocks,
    Counted,
    Ids,
    Inputs,
    Lookup,
    Needs,
    Over,
    Ranking,
    Relevance,
    Result,
    Rows,
    batches,
    encode_ids,
    summary,
    to_table,
)
from bridgeval.toolkits.replay.custom import row_function, user_lists
from bridgeval.toolkits.replay.engines import SPARK, column_names, engine_of, rows, table_of
from bridgeval.toolkits.replay.run import results_of

if TYPE_CHECKING:
    from bridgeval.toolkits.replay.bases import Metric

COLUMNS = {"user": "user_idx", "item": "item_idx", "score": "relevance"}
PAIRS = {"user": "user_idx", "item": "item_idx"}
ITEM_SCORES = {"item": "item_idx", "score": "relevance"}
NO_ROWS = Rows(Ids(np.zeros(0, dtype=np.int64)), Ids(np.zeros(0, dtype=np.int64)))

Results = dict[tuple[int, Over], Result]


@dataclass(frozen=True)
class Call:
    """What a metric is asked of.

    Attributes:
        recommendations: a frame, or Rows.
        ground_truth: a frame, or Rows; None for metrics of recommendations alone.
        ks: the cutoffs.
        max_k: lists are cut to this many rows before repeats are removed.
        users: a frame with the users that count; None takes those of the truth.
    """

    recommendations: Any
    ground_truth: Any
    ks: Sequence[int]
    max_k: int
    users: Any = None


def mean(metric: Metric, recommendations: Any, ground_truth: Any, k: Any, users: Any) -> Any:
    """A number for an int, a mapping by k for several."""
    ks = cutoffs_of(k, f"k of {metric}")
    found = results(metric, Call(recommendations, ground_truth, ks, max(ks), users), ["mean"])
    values = {one: found[one, "mean"].value for one in ks}
    return values[k] if isinstance(k, int) else values


def cutoffs_of(given: Any, what: str) -> list[int]:
    """The cutoffs in the order given.

    Args:
        given: a whole number, or several.
        what: how they are called in messages, e.g. "k of NDCG".
    """
    several = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    if not several or any(isinstance(k, bool) or not hasattr(k, "__index__") or k < 1 for k in several):
        raise BadParameterError(
            f"{what} must be a whole number from 1 up, or a list of them", f"{given!r}", "e.g. [5, 10]"
        )
    return [int(k) for k in several]


def results(metric: Metric, call: Call, overs: Sequence[Over]) -> Results:
    """The result at every k under every summary, in one pass."""
    if enriches(metric):
        return _enriched_results(metric, call, overs)
    inputs = inputs_of(call.recommendations, call.ground_truth, call.users, **metric._older_extras())
    given = call.users is not None
    asked = {
        (k, over): one
        for over in overs
        for k, one in zip(call.ks, metric._older_metrics(call.ks, call.max_k, over, given), strict=True)
    }
    found = results_of(asked.values(), inputs)
    return {key: found[one] for key, one in asked.items()}


def inputs_of(
    recommendations: Any,
    ground_truth: Any,
    ground_truth_users: Any = None,
    history: Any = None,
    baseline: Any = None,
    prev_scores: Any = None,
) -> Inputs:
    """Inputs of the engine from frames with the older generation's columns."""
    return Inputs(
        rows(recommendations, "recommendations", COLUMNS),
        NO_ROWS if ground_truth is None else rows(ground_truth, "relevance", PAIRS),
        None if history is None else rows(history, "history", PAIRS),
        None if baseline is None else rows(baseline, "baseline", COLUMNS),
        None if prev_scores is None else _policy_rows(prev_scores),
        users=None if ground_truth_users is None else users_of(ground_truth_users),
    )


def _policy_rows(prev_scores: Any) -> Rows:
    """The previous policy's scores, by user and item, or by item where the frame has no user."""
    by_user = isinstance(prev_scores, Rows | Mapping) or COLUMNS["user"] in column_names(prev_scores)
    return rows(prev_scores, "prev_scores", COLUMNS if by_user else ITEM_SCORES)


def users_of(users: Any) -> Ids:
    """Sorted ids of a frame with `user_idx`, or of a sequence."""
    if isinstance(users, Ids):
        return users
    if isinstance(users, list) and not users:
        return Ids(np.zeros(0, dtype=np.int64))
    if hasattr(users, "columns") or hasattr(users, "column_names"):
        users = table_of(users, [COLUMNS["user"]], "ground_truth_users")[COLUMNS["user"]]
    return encode_ids([Ids.of(users, "user ids in ground_truth_users")])[0]


# --- metrics with lists of their own -----------------------------------------------------------------------


def enriches(metric: Metric) -> bool:
    """Whether its author has defined `_get_enriched_recommendations`; our own go through the engine."""
    return not type(metric)._get_enriched_recommendations.__module__.startswith(__package__)


def _enriched_results(metric: Metric, call: Call, overs: Sequence[Over]) -> Results:
    as_frame = to_spark if metric.enriches == "spark" else _unchanged
    frame = metric._get_enriched_recommendations(
        as_frame(call.recommendations), as_frame(call.ground_truth), call.max_k, as_frame(call.users)
    )
    names = list(frame.columns)
    table = table_of(frame, names, "enriched recommendations")
    function = row_function(metric._get_metric_value_by_user, names[1:])
    users = Ids.of(table[names[0]], "user ids in the enriched recommendations")
    lists = [[value if value is not None else [] for value in table[name].to_pylist()] for name in names[1:]]
    found: Results = {}
    for k in call.ks:
        values = np.array([_value(metric, function, k, row) for row in zip(*lists, strict=True)])
        for over in overs:
            state = summary.state_of(over, users, values)
            found[k, over] = summary.result_of(over, state)
    return found


def _value(metric: Metric, function: Any, k: int, row: tuple[Any, ...]) -> float:
    try:
        return float(function(k, *row))
    except Exception as error:
        raise MetricFailedError(f"{metric} failed at k={k}", f"{type(error).__name__}: {error}") from error


def _unchanged(frame: Any) -> Any:
    return frame


def to_spark(frame: Any) -> Any:
    """A frame of any kind as a Spark frame; None stays None."""
    if frame is None or type(frame).__module__.startswith("pyspark."):
        return frame
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingDependencyError(
            "_get_enriched_recommendations is handed Spark frames, as RePlay does",
            "pyspark is not installed",
            "install bridgeval[spark], or set enriches = 'given' on the class to get frames as they were given",
        ) from error
    return SparkSession.builder.getOrCreate().createDataFrame(to_table(frame))


def enriched(recommendations: Any, ground_truth: Any, max_k: int, ground_truth_users: Any = None) -> Any:
    """(user_idx, pred, ground_truth) with lists: of pred at most `max_k`, best first, without repeats.

    Users of the ground truth, or those listed; a side that a user lacks is an empty list.
    """
    inputs = inputs_of(recommendations, ground_truth, ground_truth_users)
    given = ground_truth_users is not None
    needs = Needs(depth=None, users=frozenset({"users given"} if given else ()))
    ranking, relevance = Ranking(masked="keep", cut=max_k), Relevance(None, "first")
    counted = Counted("given" if given else "relevant", ranking, relevance)
    device = torch.device("cpu")
    columns: dict[str, list[Any]] = {"user_idx": [], "pred": [], "ground_truth": []}
    for slates in inputs.slates(needs):
        lookup = Lookup(inputs.context, slates, device)
        for batch in batches(slates, device):
            blocks = Blocks(batch, lookup)
            for _, *row in user_lists(blocks, blocks[counted], ranking, relevance):
                for name, value in zip(columns, row, strict=True):
                    columns[name].append(value)
    return _frame_like(recommendations, columns)


def _frame_like(frame: Any, columns: Mapping[str, list[Any]]) -> Any:
    engine = engine_of(frame)
    if engine.name == "polars":
        import polars

        return polars.DataFrame(dict(columns))
    import pandas as pd

    made = pd.DataFrame(dict(columns))
    return to_spark(made) if engine is SPARK else made


# --- values by how active a user is ------------------------------------------------------------------------


def user_distribution(metric: Metric, log: Any, recommendations: Any, ground_truth: Any, k: Any, users: Any) -> Any:
    """A pandas frame: number of log rows of a user, mean value of the users with that number; k after k."""
    import pandas as pd

    ks = cutoffs_of(k, f"k of {metric}")
    found = results(metric, Call(recommendations, ground_truth, ks, max(ks), users), ["per_user"])
    active, counts = np.unique(rows(log, "history", PAIRS).owners.to_numpy(), return_counts=True)
    count_of = dict(zip(active.tolist(), counts.tolist(), strict=True))
    parts = []
    for one in ks:
        table = found[one, "per_user"].per_user
        values = {} if table is None else table.to_dict()
        frame = pd.DataFrame({"count": [count_of.get(user, 0) for user in values], "value": list(values.values())})
        parts.append(frame.groupby("count", as_index=False)["value"].mean())
    return pd.concat(parts, ignore_index=True)
