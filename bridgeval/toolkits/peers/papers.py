"""Conventions of the code of papers, which many published tables were made with."""

from __future__ import annotations

from typing import Any

from bridgeval.metrics import MAP, MRR, HitRate, Precision, Recall, RocAuc, nDCG
from bridgeval.plugin import Convention, entry

RULES: dict[str, Any] = {"ties": "given"}
# One target for each user or event: nDCG is 1 / log2(place + 1).
NCF = Convention(
    "ncf",
    {"HR": entry(HitRate, **RULES), "NDCG": entry(nDCG, gain="binary", **RULES)},
    "neural_collaborative_filtering: one target among 99 sampled negatives; give lists of these 100",
    verified="arithmetic",
    caveat="equal scores are in the order of a heap there",
)
SASREC = Convention(
    "sasrec",
    {"HR": entry(HitRate, **RULES), "NDCG": entry(nDCG, gain="binary", **RULES)},
    "SASRec: one target among 100 sampled negatives, which may repeat; at most 10,000 users",
    verified="arithmetic",
    caveat="negatives exclude training items only, so that the target may be among them",
)
LIGHTGCN = Convention(
    "lightgcn",
    {
        "precision": entry(Precision, **RULES),
        "recall": entry(Recall, **RULES),
        "ndcg": entry(nDCG, gain="binary", **RULES),
    },
    "LightGCN-PyTorch: users of the test set",
    verified="arithmetic",
    caveat="its MRRatK_r divides by log2(1 / place) and is no reciprocal rank",
)
NGCF = Convention(
    "ngcf",
    {
        "precision": entry(Precision, divide_by="shown", **RULES),
        "recall": entry(Recall, **RULES),
        "ndcg": entry(nDCG, gain="binary", ideal="found", **RULES),
        "hit_ratio": entry(HitRate, **RULES),
    },
    "NGCF: nDCG against the best order of what was found up to the largest k of the run: give it as cut",
    verified="arithmetic",
)
MULTVAE = Convention(
    "multvae",
    {"Recall": entry(Recall, divide_by="reachable", **RULES), "NDCG": entry(nDCG, gain="binary", **RULES)},
    "Mult-VAE: recall over min(k, P)",
    verified="arithmetic",
    caveat="equal scores have no order in its top-k",
)
GRU4REC_MODES = {"standard": "first", "conservative": "last", "median": "middle", "tiebreaking": "random"}
GRU4REC_RULES: dict[str, Any] = {"ties": "last", "names": {"mode": "ties"}, "words": {"mode": GRU4REC_MODES}}
GRU4REC = Convention(
    "gru4rec",
    {"Recall": entry(HitRate, **GRU4REC_RULES), "MRR": entry(MRR, **GRU4REC_RULES)},
    "GRU4Rec: means over next events, one target each: give ids made of session and event",
    verified="arithmetic",
    caveat="the mode decides about equal scores; here it is conservative unless given",
)
RECHORUS = Convention(
    "rechorus",
    {"HR": entry(HitRate, ties="last"), "NDCG": entry(nDCG, gain="binary", ties="last")},
    "ReChorus: one target, behind all equal scores",
    verified="arithmetic",
)
SELFREC = Convention(
    "selfrec",
    {
        "Hit_Ratio": entry(Recall, over="pooled", **RULES),
        "Precision": entry(Precision, **RULES),
        "Recall": entry(Recall, **RULES),
        "NDCG": entry(nDCG, gain="binary", **RULES),
    },
    "SELFRec: Hit Ratio is pooled, all hits over all relevant items",
    verified="arithmetic",
    caveat="printed numbers are rounded to 5 places",
)
HSTU = Convention(
    "hstu",
    {"hr": entry(HitRate, **RULES), "ndcg": entry(nDCG, gain="binary", **RULES), "mrr": entry(MRR, **RULES)},
    "HSTU: one target an event; seen ids are removed",
    verified="arithmetic",
    caveat="its MRR counts a target beyond 2500 as place 2501, here it is 0",
)
MIND_RULES: dict[str, Any] = {"users": "both", "ties": "given"}
MIND = Convention(
    "mind",
    {
        "mean_mrr": entry(MRR, mean_of="relevant", **MIND_RULES),
        "ndcg": entry(nDCG, **MIND_RULES),
        "group_auc": entry(RocAuc, tied="half", **MIND_RULES),
    },
    "MIND's evaluation: means over impressions; mean_mrr takes 1 / place of every clicked item",
    verified="arithmetic",
    caveat="equal scores have no order there",
)
ML_METRICS = Convention(
    "ml_metrics",
    {"mapk": entry(MAP, users="listed", ties="given", empty="one")},
    "Kaggle's ml_metrics: a user without relevant items scores 1 in the package of the index",
    version="0.1.4",
    verified="goldens",
)

PAPERS = (NCF, SASREC, LIGHTGCN, NGCF, MULTVAE, GRU4REC, RECHORUS, SELFREC, HSTU, MIND, ML_METRICS)
