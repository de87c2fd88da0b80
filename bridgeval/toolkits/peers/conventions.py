"""Conventions of evaluators that need nothing but a table: their names for native metrics, and their numbers.

Each line is a native metric with the parameters on which that library differs. Input that a library does not accept,
such as a list without scores, is treated as the native metrics do.
"""

from __future__ import annotations

from bridgeval.metrics import MAP, MRR, HitRate, Precision, Recall, nDCG
from bridgeval.plugin import Convention, entry

RANX = Convention(
    "ranx",
    {
        "precision": entry(Precision, ties="given"),
        "recall": entry(Recall, ties="given"),
        "hit_rate": entry(HitRate, ties="given"),
        "hits": entry(HitRate, ties="given", count="hits"),
        "map": entry(MAP, ties="given", divide_by="relevant"),
        "mrr": entry(MRR, ties="given"),
        "ndcg": entry(nDCG, ties="given", gain="linear"),
        "ndcg_burges": entry(nDCG, ties="given", gain="exponential"),
        "r_precision": entry(Precision, ties="given", divide_by="relevant"),
    },
    "ranx with make_comparable=True: users of the truth, linear gain, average precision over all relevant items",
)

TREC_EVAL = Convention(
    "trec_eval",
    {
        "P": entry(Precision, users="both"),
        "recall": entry(Recall, users="both"),
        "success": entry(HitRate, users="both"),
        "map_cut": entry(MAP, users="both", divide_by="relevant"),
        "recip_rank": entry(MRR, users="both"),
        "ndcg_cut": entry(nDCG, users="both", gain="linear"),
    },
    "trec_eval as pytrec_eval averages it: users that both sides have, item id descending on ties",
)

RECTOOLS = Convention(
    "rectools",
    {
        "Precision": entry(Precision, ties="given", above=None),
        "Recall": entry(Recall, ties="given", above=None),
        "HitRate": entry(HitRate, ties="given", above=None),
        "MAP": entry(MAP, ties="given", above=None, divide_by="relevant"),
        "MRR": entry(MRR, ties="given", above=None),
        "NDCG": entry(nDCG, ties="given", above=None, gain="binary", ideal="k"),
    },
    "RecTools at its defaults: binary relevance, nDCG against a list of k relevant items",
)

LENSKIT = Convention(
    "lenskit",
    {
        "Precision": entry(Precision, ties="given", users="shown", divide_by="shown"),
        "Recall": entry(Recall, ties="given", users="shown", divide_by="reachable"),
        "Hit": entry(HitRate, ties="given", users="shown"),
        "RecipRank": entry(MRR, ties="given", users="shown"),
        "NDCG": entry(nDCG, ties="given", users="shown", gain="binary", discount="jarvelin"),
    },
    "LensKit 2025: users that were shown something, precision over the list's length, recall over min(k, relevant)",
)

MS_RECOMMENDERS = Convention(
    "recommenders",
    {
        "precision_at_k": entry(Precision, ties="given", users="both", above=None),
        "recall_at_k": entry(Recall, ties="given", users="both", above=None),
        "ndcg_at_k": entry(nDCG, ties="given", gain="binary", above=None),
        "map": entry(MAP, ties="given", users="both", divide_by="relevant", above=None),
        "map_at_k": entry(MAP, ties="given", users="both", above=None),
    },
    "Microsoft recommenders: users that both sides have, except for nDCG, which takes all users of the truth",
)

SPARK_MLLIB = Convention(
    "mllib",
    {
        "precisionAt": entry(Precision, ties="given", users="any", above=None),
        "recallAt": entry(Recall, ties="given", users="any", above=None),
        "ndcgAt": entry(nDCG, ties="given", users="any", above=None, gain="binary"),
        "meanAveragePrecisionAt": entry(MAP, ties="given", users="any", above=None),
        "meanAveragePrecision": entry(MAP, ties="given", users="any", above=None, divide_by="relevant"),
    },
    "pyspark.mllib RankingMetrics: every user of either side, 0 for those without relevant items",
)

IRSPACK = Convention(
    "irspack",
    {
        "precision": entry(Precision, ties="given", divide_by="shown"),
        "recall": entry(Recall, ties="given"),
        "hit": entry(HitRate, ties="given"),
        "ndcg": entry(nDCG, ties="given", gain="binary"),
        "map": entry(MAP, ties="given", divide_by="relevant"),
    },
    "irspack: precision over the list's length",
)

RECPACK = Convention(
    "recpack",
    {
        "PrecisionK": entry(Precision, ties="given"),
        "RecallK": entry(Recall, ties="given"),
        "CalibratedRecallK": entry(Recall, ties="given", divide_by="reachable"),
        "NDCGK": entry(nDCG, ties="given", gain="binary"),
        "ReciprocalRankK": entry(MRR, ties="given"),
        "HitK": entry(HitRate, ties="given", count="hits"),
    },
    "RecPack: HitK is the number of hits",
)

PEERS = (RANX, TREC_EVAL, RECTOOLS, LENSKIT, MS_RECOMMENDERS, SPARK_MLLIB, IRSPACK, RECPACK)
