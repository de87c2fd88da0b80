"""The native metrics, a file per family. Each states its formula, its source and who is undefined."""

from __future__ import annotations

from collections.abc import Iterable

from bridgeval.engine.metric import Metric
from bridgeval.hookspecs import hookimpl
from bridgeval.metrics.accuracy import (
    AUC,
    F1,
    GAUC,
    LAUC,
    MAP,
    MAR,
    MRR,
    HitRate,
    Precision,
    Recall,
    RocAuc,
    nDCG,
    nDCGRendle2020,
)
from bridgeval.metrics.bias import ACLT, APLT, ARP, PopREO, PopRSP
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
from bridgeval.metrics.coverage import Coverage, ItemCoverage, NumRetrieved, UserCoverage, UserCoverageAtN
from bridgeval.metrics.diversity import CategoricalDiversity, Gini, ShannonEntropy, SRecall
from bridgeval.metrics.fairness import (
    REO,
    RSP,
    BiasDisparityBD,
    BiasDisparityBR,
    BiasDisparityBS,
    ItemMADRanking,
    ItemMADRating,
    UserMADRanking,
    UserMADRating,
)
from bridgeval.metrics.multiobjective import EucDistance, Hypervolume
from bridgeval.metrics.novelty import EFD, EPC, Novelty, Surprisal, Unexpectedness
from bridgeval.metrics.rating import MAE, MSE, RMSE

__all__ = [
    "ACLT",
    "APLT",
    "ARP",
    "AUC",
    "EFD",
    "EPC",
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
    "REO",
    "RMSE",
    "RSP",
    "SNIPS",
    "BiasDisparityBD",
    "BiasDisparityBR",
    "BiasDisparityBS",
    "CategoricalDiversity",
    "Coverage",
    "EucDistance",
    "Gini",
    "HitRate",
    "Hypervolume",
    "ItemCoverage",
    "ItemMADRanking",
    "ItemMADRating",
    "NCISHitRate",
    "NCISPrecision",
    "NCISRecall",
    "NCISnDCG",
    "Novelty",
    "NumRetrieved",
    "PopREO",
    "PopRSP",
    "Precision",
    "Recall",
    "RocAuc",
    "SRecall",
    "ShannonEntropy",
    "Surprisal",
    "Unexpectedness",
    "UserCoverage",
    "UserCoverageAtN",
    "UserMADRanking",
    "UserMADRating",
    "nDCG",
    "nDCGRendle2020",
]


@hookimpl
def bridgeval_metrics() -> Iterable[type[Metric]]:
    return [globals()[name] for name in __all__]
