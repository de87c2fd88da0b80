"""RePlay's names for native metrics: `replay:` for `replay.metrics`, `replay-experimental:` for the older generation.

Both count the users of the truth (whatever its ratings), keep items scored -inf and use binary relevance. The newer
generation also counts users whom a mapping names with an empty list, and keeps repeated recommendations and truth
rows, so that NDCG and MAP may exceed 1; the older one cuts the list to k rows first and then removes repeats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bridgeval.metrics import (
    MAP,
    MRR,
    CategoricalDiversity,
    Coverage,
    HitRate,
    NCISPrecision,
    Novelty,
    Precision,
    Recall,
    RocAuc,
    Surprisal,
    Unexpectedness,
    nDCG,
)
from bridgeval.plugin import Convention, Entry, entry

_LISTS: dict[str, Any] = {"duplicates": "all", "masked": "keep"}
_LISTED: dict[str, Any] = {**_LISTS, "users": "listed"}
_QUALITY: dict[str, Any] = {**_LISTS, "users": "judged", "above": None, "truth_duplicates": "all"}

REPLAY = Convention(
    "replay",
    {
        "HitRate": entry(HitRate, **_QUALITY),
        "Precision": entry(Precision, **_QUALITY),
        "MAP": entry(MAP, **_QUALITY),
        "Recall": entry(Recall, **_QUALITY),
        "RocAuc": entry(RocAuc, one_sided="bounds", **_QUALITY),
        "MRR": entry(MRR, **_QUALITY),
        "NDCG": entry(nDCG, gain="binary", **_QUALITY),
        "Novelty": entry(Novelty, users="history", empty="one", **_LISTS),
        "Surprisal": entry(Surprisal, divide_by="k", **_LISTED),
        "Unexpectedness": entry(Unexpectedness, divide_by="k", empty="zero", **_LISTED),
        "CategoricalDiversity": entry(CategoricalDiversity, divide_by="k", **_LISTED),
        "Coverage": entry(Coverage, known="history", **_LISTS),
    },
    "RePlay's replay.metrics on pandas frames; repeated rows count as often as they occur",
    verified="goldens",
)


# RePlay orders an NCIS list by the activated score.
_ORDERS = {"sigmoid": "sigmoid", "logit": "sigmoid", "softmax": "softmax"}


@dataclass(frozen=True)
class CallEntry(Entry):
    """A line whose lists are cut to the largest k of the call, which is its own k when it is asked for alone."""

    def __call__(self, **parameters: Any) -> Any:
        order = _ORDERS.get(parameters.get("activation", ""), "score")
        return super().__call__(**{"cut": parameters.get("k"), "order": order, **parameters})


def _call(metric: Any, **parameters: Any) -> CallEntry:
    return CallEntry(metric, {"masked": "keep", "above": None, "truth_duplicates": "first", **parameters})


def _mean(metric: Any, **parameters: Any) -> CallEntry:
    """A mean over users, whose interval is 0 wide if there is only one."""
    return _call(metric, lone="zero", **parameters)


EXPERIMENTAL = Convention(
    "replay-experimental",
    {
        "HitRate": _mean(HitRate),
        "Precision": _mean(Precision),
        "MAP": _mean(MAP, divide_by="k"),
        "Recall": _mean(Recall),
        "RocAuc": _mean(RocAuc, one_sided="bounds"),
        "MRR": _mean(MRR),
        "NDCG": _mean(nDCG, gain="binary"),
        "Surprisal": _mean(Surprisal, divide_by="k"),
        "Unexpectedness": _mean(Unexpectedness, users="baseline", divide_by="k", empty="zero"),
        "Coverage": _call(Coverage, known="history", shown="all", duplicates="all"),
        "NCISPrecision": _mean(NCISPrecision, missing="zero", arithmetic="plain"),
    },
    "RePlay's replay.experimental.metrics, each metric called with one k: MAP over k, coverage not limited to the log",
    verified="goldens",
)
