"""The native metrics, a file per family. Each states its formula, its source and who is undefined."""

from __future__ import annotations

from collections.abc import Iterable

from bridgeval.engine.metric import Metric
from bridgeval.hookspecs import hookimpl
from bridgeval.metrics.accuracy import (
    F1,
    MAP,
    MAR,
    MRR,
    HitRate,
    Precision,
    Recall,
    nDCG,
    nDCGRendle2020,
)
from bridgeval.metrics.auc import AUC, GAUC, LAUC
from bridgeval.metrics.counterfactual import (
    IPS,
    NCISMAP,
    NCISMRR,
    SNIPS,
    NCISHitRate,
    NCISnDCG,
    NCISPrecision,
    NCISRecall,
)
from bridgeval.metrics.rating import MAE, MSE, RMSE

__all__ = [
    "AUC",
    "F1",
    "GAUC",
    "IPS",
    "LAUC",
    "MAE",
    "MAP",
    "MAR",
    "MRR",
    "MSE",
    "NCISMAP",
    "NCISMRR",
    "RMSE",
    "SNIPS",
    "HitRate",
    "NCISHitRate",
    "NCISPrecision",
    "NCISRecall",
    "NCISnDCG",
    "Precision",
    "Recall",
    "nDCG",
    "nDCGRendle2020",
]


@hookimpl
def bridgeval_metrics() -> Iterable[type[Metric]]:
    return [globals()[name] for name in __all__]
