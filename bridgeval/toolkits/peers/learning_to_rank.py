"""Conventions of learning to rank and of general machine learning, where groups of rows are ranked.

These libraries see the rows of a group and nothing else: a relevant item without a row is lost to them. Give such lists
whole, or with the truth restricted to what was shown.
"""

from __future__ import annotations

import re
from typing import Any

from bridgeval.metrics import (
    ARP,
    DCG,
    ERR,
    F1,
    MAP,
    MRR,
    FallOut,
    HitPlace,
    HitRate,
    InterListDistance,
    IntraListDistance,
    ItemCoverage,
    PairAccuracy,
    Precision,
    RankingLoss,
    Recall,
    RecallAtPrecision,
    RocAuc,
    RPrecision,
    nDCG,
)
from bridgeval.plugin import Convention, entry

SKLEARN_RULES: dict[str, Any] = {"users": "shown", "ties": "average"}
SKLEARN = Convention(
    "sklearn",
    {
        "ndcg_score": entry(nDCG, gain="linear", **SKLEARN_RULES),
        "dcg_score": entry(DCG, gain="linear", **SKLEARN_RULES),
        "label_ranking_average_precision_score": entry(
            MAP, users="shown", ties="last", divide_by="relevant", empty="one"
        ),
        "top_k_accuracy_score": entry(HitRate, users="shown", ties="item_descending"),
        "label_ranking_loss": entry(RankingLoss, users="shown", one_sided="zero"),
        "coverage_error": entry(HitPlace, of="last", users="shown", ties="last", missed="zero"),
    },
    "scikit-learn: linear gains, equal scores averaged; a row without a relevant label scores 0 in nDCG and 1 in LRAP",
    version="1.9.1",
    verified="goldens",
    aliases=("scikit-learn",),
    caveat="ignore_ties=True follows no order; one column is an error there",
)


def respell_xgboost(name: str) -> str:
    """XGBoost's own spelling as a name here: a group without relevant rows is worth 1, or 0 with the suffix "-".

    >>> respell_xgboost("ndcg@5-"), respell_xgboost("map-"), respell_xgboost("pre@3")
    ('ndcg(empty="zero")@5', 'map(empty="zero")', 'pre@3')
    """
    if found := re.fullmatch(r"(ndcg|map|pre)(\([^)]*\))?(@\d+)?-", name):
        metric, given, cutoff = found.groups()
        given = f'{given[:-1]}, empty="zero")' if given else '(empty="zero")'
        return f"{metric}{given}{cutoff or ''}"
    return name


XGBOOST_RULES: dict[str, Any] = {"users": "shown", "ties": "given", "k": 32}
XGBOOST = Convention(
    "xgboost",
    {
        "ndcg": entry(
            nDCG,
            empty="one",
            names={"ndcg_exp_gain": "gain"},
            words={"ndcg_exp_gain": {True: "exponential", False: "linear"}},
            **XGBOOST_RULES,
        ),
        "map": entry(MAP, empty="one", **XGBOOST_RULES),
        "pre": entry(Precision, divide_by="shown", **XGBOOST_RULES),
    },
    "XGBoost: without @ the cutoff is 32; a group without relevant rows is worth 1 in ndcg and map, or 0 with the "
    "suffix -, as in ndcg@5-",
    version="3.2.0",
    verified="goldens",
    respell=respell_xgboost,
)
LIGHTGBM = Convention(
    "lightgbm",
    {
        "ndcg": entry(nDCG, empty="one", users="shown", ties="given", names={"label_gain": "gain"}),
        "map": entry(MAP, empty="one", users="shown", ties="given", above=0.5),
    },
    "LightGBM: a group without relevant rows is worth 1; label_gain is a list of gains",
    version="4.7.0",
    verified="goldens",
)


def respell_catboost(name: str) -> str:
    """CatBoost's own spelling as a name here.

    >>> respell_catboost("NDCG:top=5;type=Exp"), respell_catboost("MAP:border=2"), respell_catboost("MRR@3")
    ('NDCG(type="Exp")@5', 'MAP(border=2)', 'MRR@3')
    """
    metric, _, rest = name.partition(":")
    parts = rest.split(";")
    if "(" in metric or not all("=" in one for one in parts):
        return name
    given = dict(one.split("=", 1) for one in parts)
    top = given.pop("top", "")
    words = [f'{key}="{value}"' if value.isalpha() else f"{key}={value}" for key, value in given.items()]
    return metric + (f"({', '.join(words)})" if words else "") + (f"@{top}" if top else "")


CATBOOST_RULES: dict[str, Any] = {"users": "shown", "ties": "pessimistic"}
CATBOOST_BORDER: dict[str, Any] = {"above": 0.5, "names": {"border": "above"}, **CATBOOST_RULES}
CATBOOST_GAINS: dict[str, Any] = {
    "gain": "linear",
    "names": {"type": "gain", "denominator": "discount"},
    "words": {
        "type": {"Base": "linear", "Exp": "exponential"},
        "denominator": {"LogPosition": "log2", "Position": "position"},
    },
    **CATBOOST_RULES,
}
CATBOOST = Convention(
    "catboost",
    {
        "NDCG": entry(nDCG, empty="one", **CATBOOST_GAINS),
        "DCG": entry(DCG, **CATBOOST_GAINS),
        "MAP": entry(MAP, **CATBOOST_BORDER),
        "MRR": entry(MRR, **CATBOOST_BORDER),
        "PrecisionAt": entry(Precision, divide_by="shown", **CATBOOST_BORDER),
        "RecallAt": entry(Recall, empty="one", **CATBOOST_BORDER),
        "ERR": entry(ERR, stop="linear", max_grade=1, **CATBOOST_RULES),
        "PFound": entry(ERR, stop="linear", max_grade=1, decay=0.85, **CATBOOST_RULES),
        "QueryAUC": entry(
            PairAccuracy,
            between="relevance",
            tied="half",
            unpaired="zero",
            users="shown",
            names={"type": "between"},
            words={"type": {"Classic": "relevance", "Ranking": "gains"}},
        ),
        "QueryAverage": entry(Precision, gain="linear", divide_by="shown", **CATBOOST_RULES),
    },
    "CatBoost: of equal scores the lower target comes first; a group without relevant rows is worth 1 in NDCG and "
    "RecallAt; ERR and PFound take targets for probabilities; its own spellings, NDCG:top=5;type=Exp, are read too",
    version="1.2.10",
    verified="goldens",
    respell=respell_catboost,
)

EMPTY_TARGET: dict[str, Any] = {
    "names": {"empty_target_action": "empty", "aggregation": "over", "top_k": "k"},
    "words": {
        "empty_target_action": {"neg": "zero", "pos": "one", "skip": "drop"},
        "aggregation": {"mean": "mean", "median": "lower_median", "min": "min", "max": "max"},
    },
}
TORCHMETRICS_RULES: dict[str, Any] = {"users": "shown", "ties": "given", **EMPTY_TARGET}
TORCHMETRICS = Convention(
    "torchmetrics",
    {
        "RetrievalNormalizedDCG": entry(nDCG, gain="linear", users="shown", ties="average", **EMPTY_TARGET),
        "RetrievalMAP": entry(MAP, divide_by="hits", score_above=0.0, **TORCHMETRICS_RULES),
        "RetrievalMRR": entry(MRR, score_above=0.0, **TORCHMETRICS_RULES),
        "RetrievalPrecision": entry(
            Precision,
            score_above=0.0,
            users="shown",
            ties="given",
            names={**EMPTY_TARGET["names"], "adaptive_k": "divide_by"},
            words={**EMPTY_TARGET["words"], "adaptive_k": {True: "shown", False: "k"}},
        ),
        "RetrievalRecall": entry(Recall, score_above=0.0, **TORCHMETRICS_RULES),
        "RetrievalHitRate": entry(HitRate, **TORCHMETRICS_RULES),
        "RetrievalRPrecision": entry(RPrecision, **TORCHMETRICS_RULES),
        "RetrievalAUROC": entry(RocAuc, one_sided="zero", tied="half", users="shown", ties="given", **EMPTY_TARGET),
        "RetrievalRecallAtFixedPrecision": entry(
            RecallAtPrecision, precision=0.0, users="shown", ties="given", names={"min_precision": "precision"}
        ),
        "RetrievalFallOut": entry(
            FallOut,
            out_of="list",
            faultless="one",
            users="shown",
            ties="given",
            names={**EMPTY_TARGET["names"], "empty_target_action": "faultless"},
            words={**EMPTY_TARGET["words"], "empty_target_action": {"neg": "zero", "pos": "one", "skip": "undefined"}},
        ),
    },
    "torchmetrics: every group; average precision over the hits within top_k; rows that score 0 or less are no hits in "
    "MAP, MRR, Precision and Recall",
    version="1.9.0",
    verified="goldens",
    caveat="equal scores have no order there, except in nDCG, where they are averaged; numbers are float32, and "
    "RetrievalAUROC makes high scores equal by a sigmoid in float32",
)
TORCHEVAL = Convention(
    "torcheval",
    {
        "retrieval_precision": entry(
            Precision,
            users="shown",
            ties="given",
            names={"limit_k_to_size": "divide_by", "empty_target_action": "missed"},
            words={
                "limit_k_to_size": {True: "shown", False: "k"},
                "empty_target_action": {"neg": "zero", "pos": "one", "skip": "drop"},
            },
        ),
        "hit_rate": entry(HitRate, users="shown", ties="optimistic"),
        "reciprocal_rank": entry(MRR, users="shown", ties="optimistic"),
    },
    "torcheval: every group; hit_rate and reciprocal_rank have one target a row, which stands first among equals",
    version="0.0.7",
    verified="goldens",
    caveat="retrieval_precision has no order of equal scores; its empty_target_action takes a list without a hit in "
    "its first k rows for one without relevant rows; numbers are float32",
)

RAX_RULES: dict[str, Any] = {"users": "shown", "ties": "given", "at_least": 1}
RAX = Convention(
    "rax",
    {
        "ndcg_metric": entry(nDCG, users="shown", ties="given"),
        "dcg_metric": entry(DCG, users="shown", ties="given"),
        "ap_metric": entry(MAP, divide_by="relevant", **RAX_RULES),
        "mrr_metric": entry(MRR, **RAX_RULES),
        "precision_metric": entry(Precision, divide_by="shown", **RAX_RULES),
        "recall_metric": entry(Recall, **RAX_RULES),
        "opa_metric": entry(PairAccuracy, tied="lost", unpaired="zero", users="shown"),
    },
    "rax without a key: every list, 0 without relevant rows, exponential gains, average precision over all relevant",
    version="0.4.0",
    verified="goldens",
    caveat="numbers are float32",
)
KERAS_RS = Convention(
    "keras_rs",
    {
        "NDCG": entry(nDCG, users="shown", ties="given"),
        "DCG": entry(DCG, users="shown", ties="given"),
        "MeanAveragePrecision": entry(MAP, divide_by="relevant", **RAX_RULES),
        "MeanReciprocalRank": entry(MRR, **RAX_RULES),
        "PrecisionAtK": entry(Precision, divide_by="shown", **RAX_RULES),
        "RecallAtK": entry(Recall, **RAX_RULES),
    },
    "keras-rs with shuffle_ties=False: as TF-Ranking; every list, 0 without relevant rows",
    version="0.4.0",
    verified="goldens",
    caveat="equal scores are shuffled by default, and keep no order above 16 on the torch backend; numbers are float32",
)
TF_RANKING_RULES: dict[str, Any] = {"users": "shown", "ties": "average", "at_least": 1}
TF_RANKING = Convention(
    "tfr",
    {
        "ndcg": entry(nDCG, users="shown", ties="average"),
        "dcg": entry(DCG, users="shown", ties="average"),
        "map": entry(MAP, divide_by="relevant", **TF_RANKING_RULES),
        "mrr": entry(MRR, **TF_RANKING_RULES),
        "precision": entry(Precision, divide_by="shown", **TF_RANKING_RULES),
        "recall": entry(Recall, **TF_RANKING_RULES),
        "hits": entry(HitRate, **TF_RANKING_RULES),
    },
    "TF-Ranking: every list, 0 without relevant rows, exponential gains, average precision over all relevant rows",
    version="0.5.5",
    verified="arithmetic",
    aliases=("tf-ranking", "tensorflow-ranking"),
    caveat="equal scores are shuffled there; here every number is its mean over all orders",
)

PYG_RULES: dict[str, Any] = {"ties": "given"}
PYG = Convention(
    "pyg",
    {
        "LinkPredPrecision": entry(Precision, **PYG_RULES),
        "LinkPredRecall": entry(
            Recall,
            names={"weighted": "gain"},
            words={"weighted": {True: "linear", False: "binary"}},
            **PYG_RULES,
        ),
        "LinkPredF1": entry(F1, **PYG_RULES),
        "LinkPredMAP": entry(MAP, **PYG_RULES),
        "LinkPredMRR": entry(MRR, **PYG_RULES),
        "LinkPredHitRatio": entry(HitRate, **PYG_RULES),
        "LinkPredCoverage": entry(ItemCoverage, divide_by="catalogue", **PYG_RULES),
        "LinkPredDiversity": entry(IntraListDistance, users="listed", **PYG_RULES),
        "LinkPredPersonalization": entry(InterListDistance, divide_by="k", users="listed", **PYG_RULES),
        "LinkPredAveragePopularity": entry(ARP, divide_by="k", users="listed", **PYG_RULES),
        "LinkPredNDCG": entry(
            nDCG,
            gain="binary",
            names={"weighted": "gain"},
            words={"weighted": {True: "linear", False: "binary"}},
            **PYG_RULES,
        ),
    },
    "PyTorch Geometric's link prediction metrics: users with a relevant item",
    version="2.8.1",
    verified="goldens",
    aliases=("torch-geometric",),
    caveat="numbers are float32",
)

LEARNING_TO_RANK = (
    SKLEARN,
    XGBOOST,
    LIGHTGBM,
    CATBOOST,
    TORCHMETRICS,
    TORCHEVAL,
    RAX,
    KERAS_RS,
    TF_RANKING,
    PYG,
)
