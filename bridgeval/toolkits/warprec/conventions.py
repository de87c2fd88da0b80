"""WarpRec 1.4.6: its names and parameters for native metrics that give its numbers.

Where WarpRec raises an error, or mixes in an earlier evaluation (F1, EucDistance, Hypervolume and BiasDisparityBD do if
an evaluator is used twice), the correct value is given. Three rules hold for the whole table:

- Masked items, scored -inf, stay in lists that are too short without them; they count as recommended, and as hits.
- Metrics with a value for each user are averaged over users with a relevant item. Metrics over all lists take every
  user that has a row of relevance, even if its gain is 0 or below. F1 and metrics made of others take all users: those
  of `users=`, else those of the history, which are the rows of WarpRec's training matrix.
- Equal scores are ordered as in native metrics; WarpRec leaves their order to `torch.topk`.
"""

from __future__ import annotations

from typing import Any

from bridgeval import metrics as native
from bridgeval.plugin import Convention, Entry, entry


def own(metric: Any, **parameters: Any) -> Entry:
    """A metric with a value for each user."""
    return entry(metric, **{"masked": "keep", **parameters})


def total(metric: Any, **parameters: Any) -> Entry:
    """A metric over all lists."""
    return entry(metric, masked="keep", users="truth", **parameters)


def novelty(metric: Any, **parameters: Any) -> Entry:
    words = {"binary": "binary", "discounted": "shifted"}
    return Entry(metric, {"masked": "keep", **parameters}, {"relevance": "gain"}, {"relevance": words})


def objectives(metric: Any, **names: str) -> Entry:
    return Entry(metric, {"masked": "keep", "users": "known"}, {"metric_names": "metrics", **names})


AUC = {"tied": "order", "negatives": "catalogue"}
RATING = {"above": 0.0, "average": "users", "unscored": "spoils"}
COMPARED = {"unassigned": "group", "undefined": "zero"}

WARPREC = Convention(
    "warprec",
    {
        "AUC": own(native.AUC, **AUC),
        "F1": own(native.F1, users="known", undefined="zero"),
        "GAUC": own(native.GAUC, **AUC),
        "HitRate": own(native.HitRate),
        "LAUC": own(native.LAUC, **AUC),
        "MAP": own(native.MAP),
        "MAR": own(native.MAR),
        "MRR": own(native.MRR),
        "nDCG": own(native.nDCG, gain="shifted"),
        "nDCGRendle2020": own(native.nDCGRendle2020),
        "Precision": own(native.Precision),
        "Recall": own(native.Recall),
        "MAE": own(native.MAE, **RATING),
        "MSE": own(native.MSE, **RATING),
        "RMSE": own(native.RMSE, **RATING),
        "ItemCoverage": total(native.ItemCoverage, among="catalogue"),
        "UserCoverage": entry(native.UserCoverage, users="relevant"),
        "NumRetrieved": entry(native.NumRetrieved),
        "UserCoverageAtN": total(native.UserCoverageAtN, retrieved="positive"),
        "EFD": novelty(native.EFD, unknown="undefined"),
        "EPC": novelty(native.EPC, floor=1.0, out_of="known"),
        "Gini": total(native.Gini, total="cells"),
        "ShannonEntropy": total(native.ShannonEntropy, among="catalogue"),
        "SRecall": own(native.SRecall, undefined="zero"),
        "ACLT": own(native.ACLT, unknown="neither"),
        "APLT": own(native.APLT, unknown="neither", divide_by="k"),
        "ARP": own(native.ARP, floor=1.0, unknown="left_out"),
        "PopREO": total(native.PopREO, count="shown"),
        "PopRSP": total(native.PopRSP, candidates="all", undefined="zero"),
        "BiasDisparityBD": total(native.BiasDisparityBD, source="truth", undefined="zero"),
        "BiasDisparityBR": total(native.BiasDisparityBR, undefined="zero"),
        "BiasDisparityBS": total(native.BiasDisparityBS, source="truth", undefined="zero"),
        "ItemMADRanking": total(native.ItemMADRanking, gain="shifted", discount="none", **COMPARED),
        "ItemMADRating": total(native.ItemMADRating, count="hits", **COMPARED),
        "REO": total(native.REO, **COMPARED),
        "RSP": total(native.RSP, candidates="estimated", **COMPARED),
        "UserMADRanking": own(native.UserMADRanking, gain="shifted", **COMPARED),
        "UserMADRating": own(native.UserMADRating, **COMPARED),
        "EucDistance": objectives(native.EucDistance, utopia_points="utopia"),
        "Hypervolume": objectives(native.Hypervolume, nadir_points="nadir", higher_is_better="higher"),
    },
    "WarpRec 1.4.6: masked items stay in short lists, gain 2^(r + 1) - 1, F1 over all users",
    verified="goldens",
)
