"""scikit-learn: a scorer that ranks rows within groups, for `cross_val_score`, `GridSearchCV` and the rest."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from bridgeval.errors import MissingColumnError
from bridgeval.integrations.grouped_rows import GroupMetrics

Scorer = Callable[..., float]


def make_scorer(
    metric: Any, groups: Any = None, *, response_method: Any = "predict", higher_is_better: bool | None = None
) -> Scorer:
    """A scorer of a metric by group; lower-is-better metrics are negated, as scikit-learn does.

    Args:
        metric: one name or metric object.
        groups: the name of a column of X with the groups; or a pandas Series with the group of every row, found by the
            index of X, so that the model does not see it. None takes what metadata routing brings:
            `cross_val_score(..., params={"groups": groups})`.
        response_method: as in `sklearn.metrics.make_scorer`, e.g. "predict_proba" or "decision_function".
        higher_is_better: for metrics for which neither direction is better.
    """
    from sklearn.metrics import make_scorer as make_sklearn_scorer

    chosen = GroupMetrics.of(metric, higher_is_better)
    greater = chosen.direction(chosen.only)

    def score_groups(labels: Any, scores: Any, *, groups: Any) -> float:
        return chosen.measure_only(labels, scores, groups)

    make = partial(make_sklearn_scorer, response_method=response_method, greater_is_better=greater)
    if groups is None:
        routed: Scorer = make(score_groups).set_score_request(groups=True)
        return routed

    def score(estimator: Any, data: Any, labels: Any) -> float:
        found = _find_groups(groups, data)
        return float(make(partial(score_groups, groups=found))(estimator, data, labels))

    return score


def _find_groups(groups: Any, data: Any) -> Any:
    """The groups of these rows: a column of theirs, or the values at their index."""
    if not hasattr(data, "columns"):
        raise MissingColumnError(
            "the groups of the rows cannot be found",
            f"X of type {type(data).__name__}",
            "give X as a pandas frame, or leave out groups= and route them: params={'groups': ...}",
        )
    if not isinstance(groups, str):
        return groups.loc[data.index]
    if groups not in data.columns:
        raise MissingColumnError(
            f"X has no column {groups!r}",
            f"columns {', '.join(map(str, data.columns))}",
            "give the column of the groups",
        )
    return data[groups]
