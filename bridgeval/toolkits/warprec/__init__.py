"""WarpRec: its forty metrics by its names, its metric classes, and the files that it writes."""

from __future__ import annotations

from collections.abc import Iterable

from bridgeval.plugin import Convention, Loader, hookimpl
from bridgeval.toolkits.warprec.bases import (
    BaseMetric,
    MetricBlock,
    RatingMetric,
    TopKMetric,
    UserAverageTopKMetric,
)
from bridgeval.toolkits.warprec.conventions import WARPREC
from bridgeval.toolkits.warprec.custom import metric
from bridgeval.toolkits.warprec.loader import WrittenLoader, read_per_user, read_recommendations, read_split
from bridgeval.toolkits.warprec.ported import ported
from bridgeval.toolkits.warprec.registry import metric_registry

__all__ = [
    "BaseMetric",
    "MetricBlock",
    "RatingMetric",
    "TopKMetric",
    "UserAverageTopKMetric",
    "metric",
    "metric_registry",
    "ported",
    "read_per_user",
    "read_recommendations",
    "read_split",
]


@hookimpl
def bridgeval_conventions() -> Iterable[Convention]:
    return [WARPREC]


@hookimpl
def bridgeval_loaders() -> Iterable[Loader]:
    return [WrittenLoader()]
