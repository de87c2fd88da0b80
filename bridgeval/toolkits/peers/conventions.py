"""Conventions of evaluators that need nothing but a table: their names for native metrics, and their numbers.

Each line is a native metric with the parameters on which that library differs. Input that a library does not accept,
such as a list without scores, is treated as the native metrics do.
"""

from __future__ import annotations

import math
from typing import Any

from bridgeval.metrics import MAP, MRR, HitRate, Precision, Recall, RPrecision, nDCG
from bridgeval.plugin import Convention, entry

# ranx takes gains from 1 up for relevant, also where they are not whole.
RANX_RULES: dict[str, Any] = {"users": "judged", "ties": "given", "above": math.nextafter(1, 0)}
RANX = Convention(
    "ranx",
    {
        "precision": entry(Precision, **RANX_RULES),
        "recall": entry(Recall, **RANX_RULES),
        "hit_rate": entry(HitRate, **RANX_RULES),
        "hits": entry(HitRate, count="hits", **RANX_RULES),
        "map": entry(MAP, divide_by="relevant", **RANX_RULES),
        "mrr": entry(MRR, **RANX_RULES),
        "ndcg": entry(nDCG, gain="linear", **RANX_RULES),
        "ndcg_burges": entry(nDCG, gain="exponential", **RANX_RULES),
        "r_precision": entry(RPrecision, **RANX_RULES),
    },
    "ranx with make_comparable=True: users of the truth, linear gain, average precision over all relevant items; ties "
    "keep their order, as in ranx up to 15 rows (longer lists have no order of ties there)",
)

TREC_EVAL_RULES: dict[str, Any] = {"users": "answered", "ties": "text_descending"}
TREC_EVAL = Convention(
    "trec_eval",
    {
        "P": entry(Precision, **TREC_EVAL_RULES),
        "recall": entry(Recall, **TREC_EVAL_RULES),
        "success": entry(HitRate, **TREC_EVAL_RULES),
        "map_cut": entry(MAP, divide_by="relevant", **TREC_EVAL_RULES),
        "recip_rank": entry(MRR, **TREC_EVAL_RULES),
        "ndcg_cut": entry(nDCG, gain="linear", **TREC_EVAL_RULES),
        "Rprec": entry(RPrecision, **TREC_EVAL_RULES),
    },
    "trec_eval as pytrec_eval averages it: users that both sides have, item id as text descending on ties",
)

RECTOOLS_RULES: dict[str, Any] = {"ties": "given", "gaps": "keep", "above": None, "truth_duplicates": "each"}
RECTOOLS = Convention(
    "rectools",
    {
        "Precision": entry(Precision, repeated="each", **RECTOOLS_RULES),
        "Recall": entry(Recall, repeated="each", **RECTOOLS_RULES),
        "HitRate": entry(HitRate, **RECTOOLS_RULES),
        "MAP": entry(MAP, divide_by="relevant", repeated="once", **RECTOOLS_RULES),
        "MRR": entry(MRR, **RECTOOLS_RULES),
        "NDCG": entry(nDCG, gain="binary", ideal="k", **RECTOOLS_RULES),
    },
    "RecTools at its defaults: ranks are places, repeated interactions count each time, binary relevance, nDCG against "
    "a list of k relevant items",
)

LENSKIT_RULES: dict[str, Any] = {
    "users": "measured",
    "ties": "given",
    "duplicates": "all",
    "above": None,
    "truth_duplicates": "all",
}
LENSKIT = Convention(
    "lenskit",
    {
        "Precision": entry(Precision, divide_by="shown", repeated="each", **LENSKIT_RULES),
        "Recall": entry(Recall, divide_by="reachable", repeated="each", **LENSKIT_RULES),
        "Hit": entry(HitRate, **LENSKIT_RULES),
        "RecipRank": entry(MRR, **LENSKIT_RULES),
        "NDCG": entry(nDCG, gain="binary", discount="jarvelin", **LENSKIT_RULES),
    },
    "LensKit 2025: users that have a list, every row of the truth, precision over the list's length, recall over "
    "min(k, relevant)",
)

MS_RECOMMENDERS_RULES: dict[str, Any] = {"ties": "given", "above": None}
# Both frames are joined row by row; nDCG joins them twice.
JOINED: dict[str, Any] = {"users": "both", "duplicates": "all", "truth_duplicates": "each", **MS_RECOMMENDERS_RULES}
MS_RECOMMENDERS = Convention(
    "recommenders",
    {
        "precision_at_k": entry(Precision, repeated="each", **JOINED),
        "recall_at_k": entry(Recall, repeated="each", **JOINED),
        "ndcg_at_k": entry(nDCG, gain="binary", **MS_RECOMMENDERS_RULES),
        "map": entry(MAP, divide_by="relevant", **JOINED),
        "map_at_k": entry(MAP, **JOINED),
    },
    "Microsoft recommenders: users that both sides have, except for nDCG, which takes all users of the truth",
)

SPARK_MLLIB_RULES: dict[str, Any] = {"users": "any", "ties": "given", "above": None}
SPARK_MLLIB = Convention(
    "mllib",
    {
        "precisionAt": entry(Precision, **SPARK_MLLIB_RULES),
        "recallAt": entry(Recall, **SPARK_MLLIB_RULES),
        "ndcgAt": entry(nDCG, gain="binary", **SPARK_MLLIB_RULES),
        "meanAveragePrecisionAt": entry(MAP, **SPARK_MLLIB_RULES),
        "meanAveragePrecision": entry(MAP, divide_by="relevant", **SPARK_MLLIB_RULES),
    },
    "pyspark.mllib RankingMetrics: every user of either side, 0 for those without relevant items",
)

IRSPACK_RULES: dict[str, Any] = {"ties": "item_ascending"}
IRSPACK = Convention(
    "irspack",
    {
        "precision": entry(Precision, divide_by="shown", **IRSPACK_RULES),
        "recall": entry(Recall, **IRSPACK_RULES),
        "hit": entry(HitRate, **IRSPACK_RULES),
        "ndcg": entry(nDCG, gain="binary", ideal="listed", **IRSPACK_RULES),
        "map": entry(MAP, divide_by="relevant", **IRSPACK_RULES),
    },
    "irspack: precision over the list's length, nDCG against a list as long as the user's; ties by item id ascending, "
    "which is the order of its columns",
)

RECPACK = Convention(
    "recpack",
    {
        "PrecisionK": entry(Precision),
        "RecallK": entry(Recall),
        "CalibratedRecallK": entry(Recall, divide_by="reachable"),
        "NDCGK": entry(nDCG, gain="binary"),
        "ReciprocalRankK": entry(MRR),
        "HitK": entry(HitRate, count="hits"),
    },
    "RecPack: HitK is the number of hits; ties have no order there, here item id descending",
)

PEERS = (RANX, TREC_EVAL, RECTOOLS, LENSKIT, MS_RECOMMENDERS, SPARK_MLLIB, IRSPACK, RECPACK)
