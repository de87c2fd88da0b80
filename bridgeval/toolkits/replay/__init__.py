"""RePlay: drop-in classes for `replay.metrics`. Change the import line; arguments, keys and numbers stay.

The older generation (`replay.experimental.metrics`, k at the call) is in `bridgeval.toolkits.replay.experimental`.
"""

from __future__ import annotations

from collections.abc import Iterable

from bridgeval.plugin import Convention, hookimpl
from bridgeval.toolkits.replay import experimental
from bridgeval.toolkits.replay.bases import Metric, NCISMetric, RecOnlyMetric
from bridgeval.toolkits.replay.calls import MetricDuplicatesWarning, get_enriched_recommendations
from bridgeval.toolkits.replay.conventions import EXPERIMENTAL, REPLAY
from bridgeval.toolkits.replay.experimental import NCISPrecision
from bridgeval.toolkits.replay.metrics_api import (
    MAP,
    MRR,
    NDCG,
    CategoricalDiversity,
    Coverage,
    HitRate,
    Novelty,
    Precision,
    Recall,
    RocAuc,
    Surprisal,
    Unexpectedness,
)
from bridgeval.toolkits.replay.modes import CalculationDescriptor, ConfidenceInterval, Mean, Median, PerUser
from bridgeval.toolkits.replay.offline import Experiment, OfflineMetrics
from bridgeval.toolkits.replay.ported import ported
from bridgeval.toolkits.replay.torch_builder import (
    DEFAULT_KS,
    DEFAULT_METRICS,
    MetricName,
    TorchMetricsBuilder,
    metrics_to_df,
)

__all__ = [
    "DEFAULT_KS",
    "DEFAULT_METRICS",
    "MAP",
    "MRR",
    "NDCG",
    "CalculationDescriptor",
    "CategoricalDiversity",
    "ConfidenceInterval",
    "Coverage",
    "Experiment",
    "HitRate",
    "Mean",
    "Median",
    "Metric",
    "MetricDuplicatesWarning",
    "MetricName",
    "NCISMetric",
    "NCISPrecision",
    "Novelty",
    "OfflineMetrics",
    "PerUser",
    "Precision",
    "RecOnlyMetric",
    "Recall",
    "RocAuc",
    "Surprisal",
    "TorchMetricsBuilder",
    "Unexpectedness",
    "experimental",
    "get_enriched_recommendations",
    "metrics_to_df",
    "ported",
]


@hookimpl
def bridgeval_conventions() -> Iterable[Convention]:
    return [REPLAY, EXPERIMENTAL]
