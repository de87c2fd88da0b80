"""The native metrics, a file per family. Each states its formula, its source and its undefined users."""

from __future__ import annotations

from collections.abc import Iterable

from bridgeval.engine.metric import Metric
from bridgeval.hookspecs import hookimpl
from bridgeval.metrics.accuracy import (
    DCG as DCG,
    F1 as F1,
    MAP as MAP,
    MAR as MAR,
    MRR as MRR,
    HitRate as HitRate,
    Precision as Precision,
    Recall as Recall,
    RPrecision as RPrecision,
    nDCG as nDCG,
    nDCGRendle2020 as nDCGRendle2020,
)
from bridgeval.metrics.auc import AUC as AUC, GAUC as GAUC, LAUC as LAUC, RocAuc as RocAuc, RowAuc as RowAuc
from bridgeval.metrics.bias import ACLT as ACLT, APLT as APLT, ARP as ARP, PopREO as PopREO, PopRSP as PopRSP
from bridgeval.metrics.classification import (
    MCC as MCC,
    Accuracy as Accuracy,
    FallOut as FallOut,
    PartialAUC as PartialAUC,
    RecallAtPrecision as RecallAtPrecision,
)
from bridgeval.metrics.confidence import Abstention as Abstention
from bridgeval.metrics.counterfactual import (
    IPS as IPS,
    NCISMAP as NCISMAP,
    NCISMRR as NCISMRR,
    SNIPS as SNIPS,
    NCISHitRate as NCISHitRate,
    NCISnDCG as NCISnDCG,
    NCISPrecision as NCISPrecision,
    NCISRecall as NCISRecall,
)
from bridgeval.metrics.counts import (
    Count as Count,
    ListFill as ListFill,
    SetAP as SetAP,
    Unrepeated as Unrepeated,
    Utility as Utility,
)
from bridgeval.metrics.coverage import (
    Coverage as Coverage,
    Hole as Hole,
    ItemCoverage as ItemCoverage,
    NumRetrieved as NumRetrieved,
    UserCoverage as UserCoverage,
    UserCoverageAtN as UserCoverageAtN,
)
from bridgeval.metrics.diversity import (
    CategoricalDiversity as CategoricalDiversity,
    CategoryEntropy as CategoryEntropy,
    Gini as Gini,
    HistoryDistance as HistoryDistance,
    IntraListDistance as IntraListDistance,
    ShannonEntropy as ShannonEntropy,
    SRecall as SRecall,
)
from bridgeval.metrics.fairness import (
    REO as REO,
    RSP as RSP,
    BiasDisparityBD as BiasDisparityBD,
    BiasDisparityBR as BiasDisparityBR,
    BiasDisparityBS as BiasDisparityBS,
    ItemMADRanking as ItemMADRanking,
    ItemMADRating as ItemMADRating,
    UserMADRanking as UserMADRanking,
    UserMADRating as UserMADRating,
)
from bridgeval.metrics.graded import (
    Compatibility as Compatibility,
    GainG as GainG,
    HitnDCG as HitnDCG,
    LevelnDCG as LevelnDCG,
)
from bridgeval.metrics.multiobjective import EucDistance as EucDistance, Hypervolume as Hypervolume
from bridgeval.metrics.novelty import (
    EFD as EFD,
    EPC as EPC,
    Novelty as Novelty,
    PropensityHits as PropensityHits,
    Serendipity as Serendipity,
    Surprisal as Surprisal,
    Unexpectedness as Unexpectedness,
)
from bridgeval.metrics.order import (
    FCP as FCP,
    HitPlace as HitPlace,
    PairAccuracy as PairAccuracy,
    PercentileRank as PercentileRank,
    RankingLoss as RankingLoss,
    StraightAUC as StraightAUC,
)
from bridgeval.metrics.overlap import InterListDistance as InterListDistance, RankBiasedOverlap as RankBiasedOverlap
from bridgeval.metrics.rating import MAE as MAE, MSE as MSE, R2 as R2, RMSE as RMSE, LogLoss as LogLoss
from bridgeval.metrics.retrieval import (
    ERR as ERR,
    RBP as RBP,
    BPref as BPref,
    ExpectedUtility as ExpectedUtility,
    InfAP as InfAP,
    InterpolatedPrecision as InterpolatedPrecision,
    Judged as Judged,
    RBPResidual as RBPResidual,
)
from bridgeval.metrics.weighted import WeightedMean as WeightedMean

# `x as x` above marks a public name for type checkers. `Metric` itself has no name.
__all__ = [name for name, one in globals().items() if isinstance(one, type) and issubclass(one, Metric) and one.name]


@hookimpl
def bridgeval_metrics() -> Iterable[type[Metric]]:
    return [globals()[name] for name in __all__]
