"""Conventions of recommender toolkits and of evaluators made for them."""

from __future__ import annotations

import re
from typing import Any

from bridgeval.metrics import (
    APLT,
    ARP,
    DCG,
    F1,
    FCP,
    GAUC,
    MAE,
    MAP,
    MAR,
    MCC,
    MRR,
    MSE,
    R2,
    RBP,
    RMSE,
    Accuracy,
    CategoryEntropy,
    Count,
    Coverage,
    Gini,
    HistoryDistance,
    HitPlace,
    HitRate,
    InterListDistance,
    IntraListDistance,
    ItemCoverage,
    ListFill,
    LogLoss,
    PartialAUC,
    PercentileRank,
    Precision,
    PropensityHits,
    RankBiasedOverlap,
    Recall,
    RocAuc,
    RowAuc,
    RPrecision,
    Serendipity,
    ShannonEntropy,
    StraightAUC,
    Surprisal,
    Unexpectedness,
    Unrepeated,
    nDCG,
)
from bridgeval.plugin import Convention, entry

RECTOOLS_RULES: dict[str, Any] = {"ties": "given", "gaps": "keep", "above": None, "truth_duplicates": "each"}
RECTOOLS_SHORT: dict[str, Any] = {
    "names": {"insufficient_handling": "short"},
    "words": {"insufficient_handling": {"ignore": "keep", "exclude": "drop"}},
}
RECTOOLS = Convention(
    "rectools",
    {
        "Precision": entry(
            Precision,
            repeated="each",
            names={"r_precision": "divide_by"},
            words={"r_precision": {True: "relevant", False: "k"}},
            **RECTOOLS_RULES,
        ),
        "Recall": entry(Recall, repeated="each", **RECTOOLS_RULES),
        "F1Beta": entry(F1, **RECTOOLS_RULES),
        "HitRate": entry(HitRate, **RECTOOLS_RULES),
        "MAP": entry(
            MAP,
            divide_by="relevant",
            repeated="once",
            words={"divide_by_k": {True: "k", False: "relevant"}},
            names={"divide_by_k": "divide_by"},
            **RECTOOLS_RULES,
        ),
        "MRR": entry(MRR, **RECTOOLS_RULES),
        "NDCG": entry(
            nDCG,
            gain="binary",
            ideal="k",
            names={"divide_by_achievable": "ideal", "log_base": None},
            words={"divide_by_achievable": {True: "reachable", False: "k"}},
            **RECTOOLS_RULES,
        ),
        "Accuracy": entry(Accuracy, **RECTOOLS_RULES),
        "MCC": entry(MCC, **RECTOOLS_RULES),
        "PartialAUC": entry(PartialAUC, **RECTOOLS_SHORT, **RECTOOLS_RULES),
        "PAP": entry(PartialAUC, hits="k", **RECTOOLS_SHORT, **RECTOOLS_RULES),
        "CatalogCoverage": entry(
            ItemCoverage,
            names={"normalize": "divide_by"},
            words={"normalize": {True: "catalogue", False: "one"}},
            ties="given",
            gaps="keep",
        ),
        "AvgRecPopularity": entry(
            ARP,
            users="shown",
            names={"normalize": "popularity"},
            words={"normalize": {True: "share", False: "users"}},
            **RECTOOLS_RULES,
        ),
        "MeanInvUserFreq": entry(Surprisal, scaled=False, **RECTOOLS_RULES),
        "CoveredUsers": entry(ListFill, fill="any", **RECTOOLS_RULES),
        "SufficientReco": entry(
            ListFill,
            fill="full",
            users="shown",
            names={"deep": "fill"},
            words={"deep": {True: "share", False: "full"}},
            **RECTOOLS_RULES,
        ),
        "UnrepeatedReco": entry(Unrepeated, deep=False, users="shown", **RECTOOLS_RULES),
        "IntraListDiversity": entry(IntraListDistance, distance="hamming", single="zero", **RECTOOLS_RULES),
        "Intersection": entry(Unexpectedness, count="expected", empty="zero", **RECTOOLS_RULES),
        "Serendipity": entry(Serendipity, **RECTOOLS_RULES),
    },
    "RecTools at its defaults: ranks are places, repeated interactions count each time, binary relevance, nDCG against "
    "a list of k relevant items",
    version="0.19.0",
    verified="goldens",
)

LENSKIT_RULES: dict[str, Any] = {
    "users": "measured",
    "ties": "given",
    "duplicates": "all",
    "above": None,
    "truth_duplicates": "all",
}
LENSKIT_LISTS: dict[str, Any] = {"users": "shown", "ties": "given", "duplicates": "all"}
LENSKIT_GAINS: dict[str, Any] = {
    "gain": "binary",
    "discount": "jarvelin",
    "names": {"weight": "discount"},
    "words": {"gain": {"rating": "linear"}, "weight": {"LogRankWeight(offset=1)": "log2"}},
    **LENSKIT_RULES,
}
LENSKIT = Convention(
    "lenskit",
    {
        "Precision": entry(Precision, divide_by="shown", repeated="each", **LENSKIT_RULES),
        "Recall": entry(Recall, divide_by="reachable", repeated="each", **LENSKIT_RULES),
        "Hit": entry(HitRate, **LENSKIT_RULES),
        "RecipRank": entry(MRR, **LENSKIT_RULES),
        "AveragePrecision": entry(MAP, divide_by="listed", **LENSKIT_RULES),
        "NDCG": entry(nDCG, **LENSKIT_GAINS),
        "DCG": entry(DCG, **LENSKIT_GAINS),
        "RBP": entry(RBP, p=0.85, names={"patience": "p"}, **LENSKIT_RULES),
        "ListLength": entry(Count, over="mean", **LENSKIT_RULES),
        "RMSE": entry(RMSE),
        "MAE": entry(MAE),
        "ListGini": entry(Gini, divide_by="items", **LENSKIT_LISTS),
        "ExposureGini": entry(Gini, divide_by="items", p=0.85, names={"patience": "p"}, **LENSKIT_LISTS),
        "MeanPopRank": entry(ARP, popularity="quantile", **LENSKIT_LISTS),
        "entropy": entry(CategoryEntropy, floor=1e-6, **LENSKIT_LISTS),
        "rank_biased_entropy": entry(CategoryEntropy, floor=1e-6, p=0.85, **LENSKIT_LISTS),
        "rank_biased_overlap": entry(RankBiasedOverlap, p=0.85, **LENSKIT_LISTS),
    },
    "LensKit 2025: users that have a list, every row of the truth, precision over the list's length, recall over "
    "min(k, relevant)",
    version="2025.8.1",
    verified="goldens",
)

MS_RECOMMENDERS_RULES: dict[str, Any] = {"ties": "given", "above": None}
# Both frames are joined row by row; nDCG joins them twice.
JOINED: dict[str, Any] = {"users": "both", "duplicates": "all", "truth_duplicates": "each", **MS_RECOMMENDERS_RULES}
MS_RECOMMENDERS = Convention(
    "recommenders",
    {
        "precision_at_k": entry(Precision, repeated="each", **JOINED),
        "recall_at_k": entry(Recall, repeated="each", **JOINED),
        "ndcg_at_k": entry(
            nDCG,
            gain="binary",
            names={"score_type": "gain", "discfun_type": "discount"},
            words={
                "score_type": {"binary": "binary", "raw": "linear", "exp": "exponential"},
                "discfun_type": {"loge": "ln", "log2": "log2"},
            },
            **MS_RECOMMENDERS_RULES,
        ),
        "map": entry(MAP, divide_by="relevant", **JOINED),
        "map_at_k": entry(MAP, **JOINED),
        "catalog_coverage": entry(Coverage, known="history", shown="all", ties="given"),
        "diversity": entry(IntraListDistance, distance="cosine", ties="given"),
        "novelty": entry(ShannonEntropy, against="history", base=2.0, ties="given"),
        "serendipity": entry(HistoryDistance, ties="given"),
        "auc": entry(RowAuc, above=None, at_least=1, ties="given"),
        "distributional_coverage": entry(ShannonEntropy, base=2.0, ties="given"),
        "rsquared": entry(R2, constant="zero"),
        "exp_var": entry(R2, bias="removed", constant="zero"),
        "logloss": entry(LogLoss),
        "rmse": entry(RMSE),
        "mae": entry(MAE),
        "r_precision_at_k": entry(RPrecision, missed="drop", users="both", ties="given"),
        "mean_mrr": entry(MRR, mean_of="relevant", users="both", ties="given"),
    },
    "Microsoft recommenders: users that both sides have, except for nDCG, which takes all users of the truth; mean_mrr "
    "is that of cal_metric; with score_type='raw' or 'exp' give above=0.0; diversity and serendipity compare items by "
    "who has them: give as item_features of each item the users who have it in the history",
    version="1.2.1",
    verified="goldens",
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
    version="4",
    verified="source",
)

IRSPACK_RULES: dict[str, Any] = {"ties": "item_ascending"}
IRSPACK = Convention(
    "irspack",
    {
        "precision": entry(Precision, divide_by="shown", **IRSPACK_RULES),
        "recall": entry(
            Recall,
            names={"recall_with_cutoff": "divide_by"},
            words={"recall_with_cutoff": {True: "listed", False: "relevant"}},
            **IRSPACK_RULES,
        ),
        "hit": entry(HitRate, **IRSPACK_RULES),
        "ndcg": entry(nDCG, gain="binary", ideal="listed", **IRSPACK_RULES),
        "map": entry(MAP, divide_by="relevant", **IRSPACK_RULES),
        "appeared_item": entry(ItemCoverage, users="relevant", **IRSPACK_RULES),
        "catalog_coverage": entry(ItemCoverage, divide_by="catalogue", users="relevant", **IRSPACK_RULES),
        "entropy": entry(ShannonEntropy, users="relevant", **IRSPACK_RULES),
        "gini_index": entry(Gini, divide_by="items", users="relevant", **IRSPACK_RULES),
        "valid_user": entry(Count, of="users", **IRSPACK_RULES),
        "total_user": entry(Count, of="users", users="listed", **IRSPACK_RULES),
        "n_items": entry(Count, of="catalogue", over="mean", users="listed", **IRSPACK_RULES),
    },
    "irspack: precision over the list's length, nDCG against a list as long as the user's; ties by item id ascending, "
    "which is the order of its columns",
    version="0.5.2",
    verified="goldens",
)

RECPACK = Convention(
    "recpack",
    {
        "PrecisionK": entry(Precision),
        "RecallK": entry(Recall),
        "CalibratedRecallK": entry(Recall, divide_by="reachable"),
        "NDCGK": entry(nDCG, gain="binary"),
        "DCGK": entry(DCG, gain="binary"),
        "DiscountedGainK": entry(DCG, gain="binary"),
        "IPSHitRateK": entry(PropensityHits),
        "IntraListDiversityK": entry(IntraListDistance, users="relevant", single="zero"),
        "PercentileRanking": entry(PercentileRank, percent=True, over="pooled"),
        "ReciprocalRankK": entry(MRR),
        "HitK": entry(HitRate, count="hits"),
        "CoverageK": entry(ItemCoverage, divide_by="catalogue", users="relevant"),
    },
    "RecPack: HitK is the number of hits",
    version="0.3.6",
    verified="goldens",
    caveat="equal scores have no order there; here item id descending",
)

RECBOLE_RULES: dict[str, Any] = {"ties": "given"}
RECBOLE = Convention(
    "recbole",
    {
        "hit": entry(HitRate, **RECBOLE_RULES),
        "mrr": entry(MRR, **RECBOLE_RULES),
        "map": entry(MAP, **RECBOLE_RULES),
        "recall": entry(Recall, **RECBOLE_RULES),
        "precision": entry(Precision, **RECBOLE_RULES),
        "ndcg": entry(nDCG, gain="binary", **RECBOLE_RULES),
        "gauc": entry(GAUC, weight="relevant"),
        "itemcoverage": entry(ItemCoverage, divide_by="catalogue", **RECBOLE_RULES),
        "giniindex": entry(Gini, divide_by="items", **RECBOLE_RULES),
        "shannonentropy": entry(ShannonEntropy, divide_by="items", **RECBOLE_RULES),
        "averagepopularity": entry(ARP, users="shown", **RECBOLE_RULES),
        "tailpercentage": entry(
            APLT, head="items", pop_ratio=0.9, unknown="neither", users="shown", divide_by="k", **RECBOLE_RULES
        ),
    },
    "RecBole: users of the split; its sequential models count every test row, each with one target: give ids made of "
    "user and event; its catalogue has the padding item too",
    version="1.2.1",
    verified="goldens",
    caveat="equal scores have no order in its top-k; printed numbers are rounded to 4 places; on several GPUs batches "
    "are weighed, not users",
)


def respell_implicit(name: str) -> str:
    """A function of implicit as a name here.

    >>> respell_implicit("mean_average_precision_at_k@5"), respell_implicit("AUC_at_k@10"), respell_implicit("map@5")
    ('map@5', 'AUC@10', 'map@5')
    """
    return re.sub(r"_at_k(?=@|\(|$)", "", name).replace("mean_average_precision", "map")


IMPLICIT_RULES: dict[str, Any] = {"ties": "given"}
IMPLICIT = Convention(
    "implicit",
    {
        "precision": entry(Precision, divide_by="relevant", over="pooled", **IMPLICIT_RULES),
        "map": entry(MAP, **IMPLICIT_RULES),
        "ndcg": entry(nDCG, gain="binary", **IMPLICIT_RULES),
        "auc": entry(StraightAUC, **IMPLICIT_RULES),
    },
    "implicit's ranking_metrics_at_k: users with a test item; precision is pooled: all hits over the sum of min(K, P)",
    version="0.7.3",
    verified="goldens",
    respell=respell_implicit,
)
LIGHTFM_RULES: dict[str, Any] = {
    "ties": "last",
    "names": {"preserve_rows": "users"},
    "words": {"preserve_rows": {True: "listed", False: "relevant"}},
}
LIGHTFM = Convention(
    "lightfm",
    {
        "precision_at_k": entry(Precision, **LIGHTFM_RULES),
        "recall_at_k": entry(Recall, empty="drop", **LIGHTFM_RULES),
        "reciprocal_rank": entry(MRR, **LIGHTFM_RULES),
        "auc_score": entry(
            RocAuc,
            one_sided="half",
            tied="last",
            names=LIGHTFM_RULES["names"],
            words=LIGHTFM_RULES["words"],
        ),
    },
    "LightFM: users with test entries; of equal scores every item stands at the last place of the group",
    version="1.17",
    verified="goldens",
    caveat="numbers are float32",
)
CORNAC_RULES: dict[str, Any] = {"ties": "given"}
CORNAC = Convention(
    "cornac",
    {
        "NDCG": entry(nDCG, gain="binary", **CORNAC_RULES),
        "Precision": entry(Precision, **CORNAC_RULES),
        "Recall": entry(Recall, **CORNAC_RULES),
        "F1": entry(F1, **CORNAC_RULES),
        "HitRatio": entry(HitRate, **CORNAC_RULES),
        "MRR": entry(MRR, **CORNAC_RULES),
        "MAP": entry(MAP, ties="last", divide_by="found"),
        "NCRR": entry(nDCG, gain="binary", discount="position", ideal="listed", **CORNAC_RULES),
        "AUC": entry(RocAuc, tied="lost"),
    },
    "Cornac: users with a test rating from the threshold up; MAP takes precision at the end of a group of equal scores",
    version="3.0.1",
    verified="goldens",
    caveat="all metrics of a call share one ranking up to the largest cutoff, and beyond it the order is arbitrary: "
    "MRR and uncut nDCG change with what else is asked for; MRR raises for a user without a hit",
)
SURPRISE = Convention(
    "surprise",
    {
        "rmse": entry(RMSE),
        "mse": entry(MSE),
        "mae": entry(MAE),
        "fcp": entry(FCP, above=None, unjudged="skip", users="truth"),
    },
    "Surprise: means over all pairs that have a rating and an estimate",
    version="1.1.5",
    verified="goldens",
    aliases=("scikit-surprise",),
)
ELLIOT_RULES: dict[str, Any] = {"users": "both", "ties": "given", "at_least": 1}
ELLIOT = Convention(
    "elliot",
    {
        "nDCG": entry(nDCG, gain="threshold", **ELLIOT_RULES),
        "MAP": entry(MAP, divide_by="places", **ELLIOT_RULES),
        "MAR": entry(MAR, divide_by="places", **ELLIOT_RULES),
        "MRR": entry(MRR, **ELLIOT_RULES),
        "Precision": entry(Precision, **ELLIOT_RULES),
        "Recall": entry(Recall, **ELLIOT_RULES),
        "HR": entry(HitRate, **ELLIOT_RULES),
    },
    "Elliot: users with a list and with an item from the threshold up (at_least, 1 here); MAP is the mean of precision "
    "at 1 to k",
    version="0.3.1",
    verified="arithmetic",
)
DAISYREC_RULES: dict[str, Any] = {"ties": "given"}
DAISYREC = Convention(
    "daisyrec",
    {
        "NDCG": entry(nDCG, gain="binary", ideal="hits", **DAISYREC_RULES),
        "MAP": entry(MAP, divide_by="hits", **DAISYREC_RULES),
        "MRR": entry(MRR, **DAISYREC_RULES),
        "Recall": entry(Recall, **DAISYREC_RULES),
        "Precision": entry(Precision, divide_by="shown", **DAISYREC_RULES),
        "HR": entry(HitRate, **DAISYREC_RULES),
    },
    "DaisyRec: nDCG against the best order of the hits that were found",
    version="2.3.0",
    verified="arithmetic",
)
JURITY = Convention(
    "jurity",
    {
        "NDCG": entry(nDCG, gain="binary", ideal="all", ties="given"),
        "MAP": entry(MAP, users="both", ties="given"),
        "Precision": entry(Precision, divide_by="shown", users="both", ties="given"),
        "Recall": entry(Recall, ties="given"),
        "AUC": entry(RowAuc, ties="given"),
        "CTR": entry(Precision, divide_by="judged", over="pooled", users="any", ties="given"),
    },
    "Jurity: nDCG against all relevant items; MAP and Precision over users of both sides; AUC and CTR over "
    "all rows of the first k places that the truth has",
    version="2.1.0",
    verified="goldens",
    caveat="ids that are strings give 0 there; equal scores have no order",
)
NAN_HANDLING: dict[str, Any] = {
    "ties": "given",
    "names": {"nan_handling": "empty"},
    "words": {"nan_handling": {"drop": "drop", "zerofill": "zero"}},
}
RANKEREVAL_RULES: dict[str, Any] = {"users": "listed", "empty": "drop", **NAN_HANDLING}
RANKEREVAL_CUT: dict[str, Any] = {
    "users": "listed",
    "empty": "drop",
    "ties": "given",
    "names": {**NAN_HANDLING["names"], "truncated": "divide_by"},
}
RANKEREVAL = Convention(
    "rankereval",
    {
        "Precision": entry(
            Precision, words={**NAN_HANDLING["words"], "truncated": {True: "shown", False: "k"}}, **RANKEREVAL_CUT
        ),
        "Recall": entry(
            Recall,
            words={**NAN_HANDLING["words"], "truncated": {True: "reachable", False: "relevant"}},
            **RANKEREVAL_CUT,
        ),
        "F1": entry(F1, **RANKEREVAL_RULES),
        "AP": entry(MAP, **RANKEREVAL_RULES),
        "ReciprocalRank": entry(MRR, **RANKEREVAL_RULES),
        "DCG": entry(DCG, gain="linear", discount="ln", **RANKEREVAL_RULES),
        "NDCG": entry(nDCG, gain="linear", **RANKEREVAL_RULES),
        "HitRate": entry(HitRate, targets="one", **RANKEREVAL_RULES),
        "FirstRelevantRank": entry(HitPlace, of="first", missed="infinite", **RANKEREVAL_RULES),
        "MeanRanks": entry(HitPlace, divide_by="relevant", missed="zero", **RANKEREVAL_RULES),
    },
    "rankerEval: every row; users without relevant items are dropped or, with nan_handling='zerofill', 0",
    version="0.2.0",
    verified="goldens",
    caveat="relevance_scaling='power' is r^2 - 1 there, below 0 and above 1; positive indices must be ascending",
)
RECMETRICS = Convention(
    "recmetrics",
    {
        "mark": entry(MAP, divide_by="relevant", users="listed", ties="given"),
        "mapk": entry(MAP, divide_by="hits", users="listed", ties="given"),
        "recommender_precision": entry(Precision, divide_by="shown", users="shown", ties="given"),
        "recommender_recall": entry(Recall, users="both", ties="given"),
        "prediction_coverage": entry(ItemCoverage, divide_by="catalogue", percent=True, ties="given"),
        "novelty": entry(Surprisal, scaled=False, divide_by="k", users="listed", ties="given"),
        "personalization": entry(InterListDistance, ties="given"),
    },
    "recmetrics: every pair handed in; mark is the sum of precision at hits over all relevant items",
    version="0.1.5",
    verified="goldens",
    caveat="precision and recall of every user are rounded to 4 places there, coverage to 2; mapk is in its repository "
    "only; catalog_coverage draws k lists at random, without a seed, and is not offered; personalization fails there "
    "on lists of different lengths",
)
RECOMETRICS_RULES: dict[str, Any] = {"ties": "item_ascending"}
RECOMETRICS = Convention(
    "recometrics",
    {
        "P": entry(Precision, **RECOMETRICS_RULES),
        "TP": entry(Precision, divide_by="relevant", **RECOMETRICS_RULES),
        "R": entry(Recall, **RECOMETRICS_RULES),
        "AP": entry(MAP, divide_by="relevant", **RECOMETRICS_RULES),
        "TAP": entry(MAP, **RECOMETRICS_RULES),
        "NDCG": entry(nDCG, gain="linear", **RECOMETRICS_RULES),
        "Hit": entry(HitRate, **RECOMETRICS_RULES),
        "RR": entry(MRR, **RECOMETRICS_RULES),
        "ROC_AUC": entry(RocAuc, **RECOMETRICS_RULES),
        "PR_AUC": entry(MAP, divide_by="relevant", **RECOMETRICS_RULES),
    },
    "recometrics: T stands for truncated, min(k, P)",
    version="0.1.6.post13",
    verified="goldens",
    caveat="equal scores have no order there",
)
REXMEX = Convention(
    "rexmex",
    {
        "average_precision_at_k": entry(MAP, users="listed", ties="given"),
        "hits_at_k": entry(Precision, divide_by="shown", users="shown", ties="given"),
        "average_recall_at_k": entry(MAP, divide_by="relevant", users="listed", ties="given"),
        "mean_reciprocal_rank": entry(MRR, mean_of="hits", missed="drop", users="both", ties="given"),
        "mean_rank": entry(HitPlace, users="both", ties="given"),
        "gmean_rank": entry(HitPlace, of="geometric", users="both", ties="given"),
        "normalized_discounted_cumulative_gain": entry(nDCG, gain="linear", ties="average", users="shown"),
    },
    "rexmex: every pair of lists handed in",
    version="0.1.3",
    verified="goldens",
)
EVIDENTLY_RULES: dict[str, Any] = {
    "ties": "middle",
    "names": {"no_feedback_users": "users", "min_rel_score": "at_least"},
    "words": {"no_feedback_users": {True: "shown", False: "both"}},
}
EVIDENTLY = Convention(
    "evidently",
    {
        "PrecisionTopKMetric": entry(Precision, divide_by="shown", users="both", **EVIDENTLY_RULES),
        "RecallTopKMetric": entry(Recall, users="both", **EVIDENTLY_RULES),
        "HitRateKMetric": entry(HitRate, users="both", **EVIDENTLY_RULES),
        "MRRKMetric": entry(MRR, users="both", **EVIDENTLY_RULES),
        "NDCGKMetric": entry(nDCG, gain="linear", users="both", **EVIDENTLY_RULES),
        "FBetaTopKMetric": entry(F1, divide_by="shown", mean_of="means", users="both", **EVIDENTLY_RULES),
        "PersonalizationMetric": entry(InterListDistance, divide_by="k", own="k", ties="given"),
    },
    "Evidently's legacy ranking metrics: only recommended rows are seen, so that relevant items which were not shown "
    "are lost: give a truth restricted to what was shown; with min_rel_score nDCG has gain='binary'",
    version="0.7.23",
    verified="goldens",
    caveat="of equal scores every row gets the mean rank, cut to an integer; MAP and MAR go above 1 for short lists "
    "and are not offered; a cutoff beyond the longest list is an error there",
)
MERLIN_RULES: dict[str, Any] = {"users": "any", "ties": "random"}
MERLIN = Convention(
    "merlin",
    {
        "ndcg_at": entry(nDCG, gain="binary", **MERLIN_RULES),
        "map_at": entry(MAP, **MERLIN_RULES),
        "mrr_at": entry(MRR, **MERLIN_RULES),
        "recall_at": entry(Recall, divide_by="reachable", **MERLIN_RULES),
        "precision_at": entry(Precision, **MERLIN_RULES),
    },
    "Merlin Models with binary labels: every row, 0 without truth; recall is divided by min(k, P)",
    version="23.12.0",
    verified="arithmetic",
    aliases=("merlin-models",),
    caveat="noise of up to 1e-6 is added to scores there, which reorders equal and near-equal ones; here ties='random'",
)
TRANSFORMERS4REC_RULES: dict[str, Any] = {"users": "any", "ties": "given"}
TRANSFORMERS4REC = Convention(
    "transformers4rec",
    {
        "ndcg_at": entry(nDCG, gain="binary", ideal="found", **TRANSFORMERS4REC_RULES),
        "avg_precision_at": entry(MAP, **TRANSFORMERS4REC_RULES),
        "mrr_at": entry(MRR, **TRANSFORMERS4REC_RULES),
        "recall_at": entry(Recall, **TRANSFORMERS4REC_RULES),
        "precision_at": entry(Precision, **TRANSFORMERS4REC_RULES),
    },
    "Transformers4Rec: every row, 0 without truth; nDCG against the labels found up to the largest k of the call: give "
    "it as cut",
    version="23.12.0",
    verified="arithmetic",
    caveat="equal scores have no order in its top-k",
)
TFRS = Convention(
    "tfrs",
    {"top_k_categorical_accuracy": entry(HitRate, users="any", ties="optimistic")},
    "TFRS' FactorizedTopK: one true item a row, in front of equal scores",
    version="0.7.7",
    verified="arithmetic",
    aliases=("tensorflow-recommenders",),
)

RECOMMENDERS = (
    RECTOOLS,
    LENSKIT,
    MS_RECOMMENDERS,
    SPARK_MLLIB,
    IRSPACK,
    RECPACK,
    RECBOLE,
    IMPLICIT,
    LIGHTFM,
    CORNAC,
    SURPRISE,
    ELLIOT,
    DAISYREC,
    JURITY,
    RANKEREVAL,
    RECMETRICS,
    RECOMETRICS,
    REXMEX,
    EVIDENTLY,
    MERLIN,
    TRANSFORMERS4REC,
    TFRS,
)
