"""The convention `librec`: the names of librec-auto's Python metrics and of LibRec's Java metrics.

Java metrics have the name of the log (`librec:NormalizedDCGEvaluator@10`) and the short name of the configuration
(`librec:ndcg@10`). Three of their measures are called NDCG; here each has a name of its own: `ndcg_binary` (the Python
script, git version), `ndcg_rating` (Java) and `ndcg_testorder` (the Python script, PyPI 0.2.13). `psp` is the Python
one, over all users with a list; the Java one, over users with test rows, is PStatisticalParityEvaluator.
"""

from __future__ import annotations

from typing import Any

from bridgeval.errors import UnknownMetricError
from bridgeval.metrics import (
    MAE,
    MAP,
    MRR,
    MSE,
    RMSE,
    Gini,
    HitRate,
    ItemCoverage,
    Precision,
    Recall,
    ShannonEntropy,
    nDCG,
)
from bridgeval.plugin import Convention, Entry, entry
from bridgeval.toolkits.librec.exposure import (
    AlphaIA,
    ExposureLoss,
    ListInformation,
    RatedCoverage,
)
from bridgeval.toolkits.librec.list_accuracy import IdealDCG, OneItemReciprocalRank, SetOrderAUC, TestOrderNDCG
from bridgeval.toolkits.librec.parity import (
    Miscalibration,
    PercentRule,
    PrecisionParity,
    ProportionalFairness,
    StatisticalParity,
)
from bridgeval.toolkits.librec.prediction import MissRate, PredictionUnfairness, ScoreExposure, ScoreParity, SignedError
from bridgeval.toolkits.librec.rerank import RBO, AverageOverlap, KendallTau, ProtectedRank
from bridgeval.toolkits.librec.study_config import Config, Script

# Lists are ranked by the order of the file, and every test row is relevant, whatever its rating.
USERS = {"order": "given", "above": None, "truth_duplicates": "first"}
EVERYONE = {**USERS, "users": "known"}
# librec-auto's scripts count every row, also a repeated one.
ROWS = {**USERS, "duplicates": "all", "truth_duplicates": "all"}

# Short name in the configuration -> name in the log, and the metric.
JAVA: dict[str, tuple[str, Entry]] = {
    "precision": ("PrecisionEvaluator", entry(Precision, **USERS)),
    "recall": ("RecallEvaluator", entry(Recall, **USERS)),
    "ndcg": ("NormalizedDCGEvaluator", entry(nDCG, gain="linear", ideal="listed", **USERS)),
    "idcg": ("IdealDCGEvaluator", entry(IdealDCG, **USERS)),
    "ap": ("AveragePrecisionEvaluator", entry(MAP, divide_by="listed", **{**USERS, "users": "both"})),
    "rr": ("ReciprocalRankEvaluator", entry(MRR, **USERS)),
    "arhr": ("AverageReciprocalHitRankEvaluator", entry(OneItemReciprocalRank, **USERS)),
    "auc": ("AUCEvaluator", entry(SetOrderAUC, **USERS)),
    "hitrate": ("HitRateEvaluator", entry(HitRate, **USERS)),
    "novelty": ("NoveltyEvaluator", entry(ListInformation, **EVERYONE)),
    "entropy": ("EntropyEvaluator", entry(ShannonEntropy, share_of="users", base=2, **EVERYONE)),
    "giniindex": ("GiniIndexEvaluator", entry(Gini, **USERS)),
    "icov": ("ItemCoverageEvaluator", entry(RatedCoverage, **USERS)),
    "rmse": ("RMSEEvaluator", entry(RMSE, **USERS)),
    "mse": ("MSEEvaluator", entry(MSE, **USERS)),
    "mae": ("MAEEvaluator", entry(MAE, **USERS)),
    "mpe": ("MPEEvaluator", entry(MissRate, **USERS)),
    "psp": (
        "PStatisticalParityEvaluator",
        entry(StatisticalParity, **{**USERS, "users": "relevant", "undefined": "spoil"}),
    ),
    "ppr": ("PPercentRuleEvaluator", entry(PercentRule, **USERS)),
    "dppf": ("DiscountedProportionalPFairnessEvaluator", entry(ProportionalFairness, **USERS)),
    "dpcf": ("DiscountedProportionalCFairnessEvaluator", entry(ProportionalFairness, side="user", **USERS)),
    "csp": ("CStatisticalParityEvaluator", entry(PrecisionParity, **USERS)),
    "miscalib": ("MiscalibrationEvaluator", entry(Miscalibration, undefined="spoil", **USERS)),
    "nonpar": ("NonParityUnfairnessEvaluator", entry(ScoreParity, **USERS)),
    "valunfairness": ("ValueUnfairnessEvaluator", entry(PredictionUnfairness, error="value", **USERS)),
    "absunfairness": ("AbsoluteUnfairnessEvaluator", entry(PredictionUnfairness, error="absolute", **USERS)),
    "overestimate": ("OverestimationUnfairnessEvaluator", entry(PredictionUnfairness, error="over", **USERS)),
    "underestimate": (
        "UnderestimationUnfairnessEvaluator",
        entry(PredictionUnfairness, error="under", **USERS),
    ),
}

PYTHON: dict[str, Entry] = {
    "ndcg_binary": entry(nDCG, gain="binary", **USERS),
    "ndcg_head": entry(nDCG, gain="binary", **{**ROWS, "users": "both"}),
    "ndcg_rating": JAVA["ndcg"][1],
    "ndcg_testorder": entry(TestOrderNDCG, **ROWS),
    "ap": entry(MAP, divide_by="listed", **USERS),
    "hit": entry(HitRate, **USERS),
    "signed_error": entry(SignedError, **USERS),
    "psp": entry(StatisticalParity, **USERS),
    "psp_head": entry(StatisticalParity, any_row=True, **ROWS),
    "alpha_ia": entry(AlphaIA),
    "alpha_ia_pypi": entry(AlphaIA, users="relevant"),
    # The share of the catalogue that is shown at least alpha times: what alpha-IA sets out to measure.
    "alpha_coverage": Entry(ItemCoverage, {"divide_by": "catalogue", **USERS}, {"alpha": "at_least"}),
    "kendall_tau": entry(KendallTau, **USERS),
    "average_overlap": entry(AverageOverlap, **USERS),
    "rbo": entry(RBO, **USERS),
    "lowest_protected_rank": entry(ProtectedRank, **USERS),
    "lowest_item_promoted": entry(ProtectedRank, which="highest", any_row=True, none="minus_one", **USERS),
    "expected_exposure": entry(ScoreExposure, order="given"),
    "expected_exposure_loss": entry(ExposureLoss, **USERS),
}

LIBREC = Convention(
    "librec",
    {**{short: made for short, (_, made) in JAVA.items()}, **dict(JAVA.values()), **PYTHON},
    "librec-auto's Python metrics and LibRec's Java metrics, over lists in the order of the file",
    verified="goldens",
)

# Metrics of this folder, which are registered under their own names too.
METRICS: tuple[Any, ...] = tuple(
    dict.fromkeys(
        line.metric
        for line in (*dict(JAVA.values()).values(), *PYTHON.values())
        if line.metric.__module__.startswith("bridgeval.toolkits.librec.")
    )
)

# Script that librec-auto ships, without its ending -> the metric it is, or is meant to be.
SCRIPTS = {
    "rmse_metric": "rmse",
    "rmse": "rmse",
    "ndcg_metric": "ndcg_binary",
    "ndcg": "ndcg_binary",
    "psp": "psp",
    "alpha-IA": "alpha_ia",
    "kendall_tau": "kendall_tau",
    "rank_biased_overlap": "average_overlap",
    "lowest_item_promoted": "lowest_protected_rank",
    "expected_exposure_metric": "expected_exposure",
}
# Names from before 2021.
OLD_NAMES = {"sp": "psp"}


def name_java_metric(name: str, config: Config) -> str:
    """Names the metric that a configuration's `class` asks for.

    >>> name_java_metric("ndcg", Config(list_size=5)), name_java_metric("net.librec.eval.RecallEvaluator", Config())
    ('librec:NormalizedDCGEvaluator@5', 'librec:RecallEvaluator@10')
    """
    short = OLD_NAMES.get(name.lower(), name.lower())
    logged = JAVA[short][0] if short in JAVA else name.rpartition(".")[2]
    line = dict(JAVA.values()).get(logged)
    if line is None:
        raise UnknownMetricError(f"there is no Java metric {name!r}", hint=f"choose one of {', '.join(JAVA)}")
    protected = config.protected.id if config.protected is not None else None
    return _write(logged, line, k=config.list_size, protected=protected)


def name_script_metric(script: Script) -> str | None:
    """Names the metric that a shipped script stands for; None for a script without one.

    >>> name_script_metric(Script("psp.py", None, {"list_size": "10", "protected_feature": "new"}))
    'librec:psp(protected="new")@10'
    """
    name = SCRIPTS.get(script.name.removesuffix(".py"))
    if name is None:
        return None
    given, alpha = script.parameters, script.parameters.get("alpha", "")
    return _write(
        name,
        PYTHON[name] if name in PYTHON else JAVA[name][1],
        k=int(given.get("list_size", "10")),
        alpha=int(alpha) if alpha.isdecimal() else None,
        protected=given.get("protected_feature") or given.get("protected-feature"),
    )


def find_logged_name(metric: str) -> str | None:
    """Returns the name under which LibRec logs a metric; None for a metric it does not have.

    >>> find_logged_name('librec:PStatisticalParityEvaluator(protected="new")@10'), find_logged_name("librec:rr@10")
    ('PStatisticalParityEvaluator', 'ReciprocalRankEvaluator')
    """
    toolkit, _, name = metric.partition("@")[0].partition("(")[0].rpartition(":")
    if toolkit != "librec":
        return None
    if name in PYTHON:
        return "NormalizedDCGEvaluator" if name == "ndcg_rating" else None
    return JAVA[name][0] if name in JAVA else name


def _write(name: str, line: Entry, k: int, **parameters: Any) -> str:
    """Writes a metric's name with those of the parameters that it has."""
    known = line.metric.default_parameters()  # type: ignore[attr-defined]
    given = {key: value for key, value in parameters.items() if key in known and value is not None}
    arguments = [f'{key}="{value}"' if isinstance(value, str) else f"{key}={value}" for key, value in given.items()]
    return f"librec:{name}" + (f"({', '.join(arguments)})" if arguments else "") + (f"@{k}" if "k" in known else "")
