"""The convention `librec`: the names of librec-auto's Python metrics and of LibRec's Java metrics.

Java metrics go by the name that the log gives them (`librec:NormalizedDCGEvaluator@10`) and by the short name of the
configuration (`librec:ndcg@10`). Three measures are called NDCG there; each has a name of its own: `ndcg_binary` (the
Python script, git version), `ndcg_rating` (Java) and `ndcg_testorder` (the Python script, PyPI 0.2.13). `psp` is the
Python one, over all users with a list; the Java one, over users with test rows, is PStatisticalParityEvaluator.
"""

from __future__ import annotations

from dataclasses import replace

from bridgeval.errors import UnknownMetricError
from bridgeval.metrics import MAE, MAP, MRR, MSE, RMSE, Gini, HitRate, Precision, Recall, nDCG
from bridgeval.plugin import Convention, Entry, Metric, entry, literal
from bridgeval.toolkits.librec.exposure import AlphaCoverage, ListInformation, RatedCoverage, ShowingEntropy
from bridgeval.toolkits.librec.list_accuracy import (
    ExposureLoss,
    IdealDCG,
    OneItemReciprocalRank,
    SetOrderAUC,
    TestOrderNDCG,
)
from bridgeval.toolkits.librec.parity import (
    Miscalibration,
    PercentRule,
    PrecisionParity,
    ProportionalFairness,
    StatisticalParity,
)
from bridgeval.toolkits.librec.rerank import RBO, AverageOverlap, KendallTau, ProtectedRank
from bridgeval.toolkits.librec.shipped import AlphaIA, ScoreExposure
from bridgeval.toolkits.librec.study_config import Config, Feature, Script
from bridgeval.toolkits.librec.unfairness import MissRate, PredictionUnfairness, ScoreParity, SignedError

# Lists are ranked by the order of the file, and every test row is relevant, whatever its rating.
USERS = {"order": "given", "above": None, "truth_duplicates": "first"}
EVERYONE = {**USERS, "users": "known"}
# librec-auto's scripts count every row, also of a pair that came before.
ROWS = {**USERS, "duplicates": "all", "truth_duplicates": "all"}

# Short name in the configuration -> name in the log, and what it is.
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
    "entropy": ("EntropyEvaluator", entry(ShowingEntropy, **EVERYONE)),
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
    "alpha_ia": entry(AlphaIA, order="given"),
    "alpha_ia_pypi": entry(AlphaIA, order="given", users="relevant"),
    "alpha_coverage": entry(AlphaCoverage, **USERS),
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
)

METRICS = (
    AlphaCoverage,
    AlphaIA,
    AverageOverlap,
    ExposureLoss,
    IdealDCG,
    KendallTau,
    ListInformation,
    Miscalibration,
    MissRate,
    OneItemReciprocalRank,
    PercentRule,
    PrecisionParity,
    PredictionUnfairness,
    ProportionalFairness,
    ProtectedRank,
    RBO,
    RatedCoverage,
    ScoreExposure,
    ScoreParity,
    SetOrderAUC,
    ShowingEntropy,
    SignedError,
    StatisticalParity,
    TestOrderNDCG,
)

# Script that librec-auto ships, without its ending -> the metric it is, or sets out to be.
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
# Names of before 2021.
OLD_NAMES = {"sp": "psp"}


def java_metric(name: str, config: Config) -> str:
    """The metric that a configuration's `class` asks for.

    >>> java_metric("ndcg", Config(list_size=5)), java_metric("net.librec.eval.ranking.RecallEvaluator", Config())
    ('librec:NormalizedDCGEvaluator@5', 'librec:RecallEvaluator@10')
    """
    short = OLD_NAMES.get(name.lower(), name.lower())
    logged = JAVA[short][0] if short in JAVA else name.rpartition(".")[2]
    made = dict(JAVA.values()).get(logged)
    if made is None:
        raise UnknownMetricError(f"the Java metric {name!r} is not known", hint=f"known are {', '.join(JAVA)}")
    return _written(logged, made, config.list_size, config.protected)


def logged_name(metric: str) -> str | None:
    """The name under which LibRec logs a metric; None for one it does not have.

    >>> logged_name('librec:PStatisticalParityEvaluator(protected="new")@10'), logged_name("librec:rr@10")
    ('PStatisticalParityEvaluator', 'ReciprocalRankEvaluator')
    """
    toolkit, _, name = metric.partition("@")[0].partition("(")[0].rpartition(":")
    if toolkit != "librec":
        return None
    if name in PYTHON:
        return "NormalizedDCGEvaluator" if name == "ndcg_rating" else None
    return JAVA[name][0] if name in JAVA else name


def protecting(metric: Metric, feature: Feature | None) -> Metric:
    """The metric with a study's protected feature, where it has none of its own and is about the same side.

    >>> import bridgeval
    >>> print(protecting(bridgeval.parse("librec:psp@5")[0], Feature("new")))
    librec:psp(protected="new")@5
    """
    if feature is None or getattr(metric, "protected", feature) is not None:
        return metric
    if feature.side != ("user" if "user groups" in metric.needs().context else "item"):
        return metric
    head, given = (metric.label or "").removesuffix(")"), f"protected={literal(feature.id)}"
    label = f"{head}, {given})" if "(" in head else f"{head}({given})"
    return replace(metric, protected=feature.id, label=label if metric.label else None)  # type: ignore[call-arg]


def script_metric(script: Script) -> str | None:
    """The metric that a shipped script stands for; None for one that has none.

    >>> script_metric(Script("psp.py", None, {"list_size": "10", "protected_feature": "new"}))
    'librec:psp(protected="new")@10'
    """
    name = SCRIPTS.get(script.name.removesuffix(".py"))
    if name is None:
        return None
    made = PYTHON[name] if name in PYTHON else JAVA[name][1]
    protected = script.parameters.get("protected_feature") or script.parameters.get("protected-feature")
    cutoff = script.parameters.get("list_size", "10")
    alpha = script.parameters.get("alpha")
    given = {"alpha": int(alpha)} if alpha is not None and alpha.isdecimal() else {}
    return _written(name, made, int(cutoff), Feature(protected) if protected else None, given)


def _written(name: str, made: Entry, k: int, protected: Feature | None, given: dict[str, int] | None = None) -> str:
    taken = made.metric.default_parameters()  # type: ignore[attr-defined]
    parameters = [f"{key}={value}" for key, value in (given or {}).items() if key in taken]
    if "protected" in taken and protected is not None:
        parameters.append(f'protected="{protected.id}"')
    call = f"({', '.join(parameters)})" if parameters else ""
    return f"librec:{name}{call}" + (f"@{k}" if "k" in taken else "")
