"""A class written for RePlay as a metric class that a plugin offers."""

from __future__ import annotations

from dataclasses import MISSING
from functools import cache
from typing import Any

from bridgeval.errors import BadParameterError
from bridgeval.plugin import Metric as EngineMetric, port_class
from bridgeval.toolkits.replay import calls
from bridgeval.toolkits.replay.bases import Metric, NCISMetric, RecOnlyMetric
from bridgeval.toolkits.replay.custom import is_newer
from bridgeval.toolkits.replay.loader import PANDAS


def ported(author: type[Metric], name: str | None = None) -> type[EngineMetric]:
    """Makes a class written for RePlay a metric class, which `bridgeval_metrics` may offer.

    Its parameters are the cutoff and the summary `over`; those of an NCISMetric also `threshold` and `activation`, and
    the previous policy is what `evaluate` is given as `prev_scores`. Lists are ranked as RePlay ranks pandas frames.

    Args:
        author: a subclass of Metric or NCISMetric that defines `_get_metric_value_by_user`.
        name: the name that users ask for; that of the class by default.

    >>> from bridgeval.toolkits.replay import Metric
    >>> class FirstHit(Metric):
    ...     @staticmethod
    ...     def _get_metric_value_by_user(k, pred, ground_truth):
    ...         return float(any(item in ground_truth for item in pred[:1]))
    >>> str(ported(FirstHit)(k=1))
    'FirstHit@1'
    """
    return _port(author, name or author.__name__)  # type: ignore[arg-type]


@cache
def _port(author: type[Metric], name: str) -> type[EngineMetric]:
    if issubclass(author, RecOnlyMetric) or calls.enriches(author.__new__(author)):
        raise BadParameterError(
            f"{author.__name__} makes its own lists, so it cannot be one of the metrics of an evaluation",
            "a RecOnlyMetric, or a class with _get_enriched_recommendations",
            "call it as metric(recommendations, ..., k)",
        )
    parameters = {"k": MISSING, "over": "mean"}
    if issubclass(author, NCISMetric):
        parameters |= {"threshold": 10.0, "activation": None}
    return port_class(author, name, parameters, _make, ported)


def _make(author: type[Metric], k: int, over: Any = "mean", **policy: Any) -> EngineMetric:
    if not issubclass(author, NCISMetric) and is_newer(author._get_metric_value_by_user):
        (found,) = author(k)._engine_metrics(PANDAS, over)
    else:
        instance = author(None, **policy) if issubclass(author, NCISMetric) else author()
        (found,) = instance._older_metrics(calls.read_cutoffs(k, f"k of {author.__name__}"), k, over, given=False)
    return found
