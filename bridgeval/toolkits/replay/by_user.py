"""RePlay's metrics of one user's lists, for authors who build on them: `NDCG._get_metric_value_by_user(...)`.

Functions of the older contract, `(k, pred, ground_truth) -> float`; `at_cutoffs` gives them the newer one. A user who
lacks a list gets 0. The drop-in classes themselves are computed by the engine, in columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

Items = Sequence[Any]


def at_cutoffs(function: Callable[[int, Items, Items], float]) -> Callable[..., list[float]]:
    """A function of one cutoff as RePlay's newer contract: `(ks, ground_truth, pred) -> list`; a missing list is None.

    >>> at_cutoffs(compute_recall)([1, 2], ground_truth=[7, 8], pred=[8, 7])
    [0.5, 1.0]
    """

    def compute_values(ks: Sequence[int], ground_truth: Items | None, pred: Items | None) -> list[float]:
        return [function(k, pred or (), ground_truth or ()) for k in ks]

    return compute_values


def compute_hit_rate(k: int, pred: Items, ground_truth: Items) -> float:
    """1 if a relevant item is among the first k."""
    return float(any(_mark_hits(k, pred, ground_truth)))


def compute_precision(k: int, pred: Items, ground_truth: Items) -> float:
    """Different relevant items among the first k, divided by k."""
    return count_common(pred[:k], ground_truth) / k


def compute_recall(k: int, pred: Items, ground_truth: Items) -> float:
    """Different relevant items among the first k, divided by all of them."""
    return count_common(pred[:k], ground_truth) / len(set(ground_truth)) if ground_truth else 0.0


def compute_mrr(k: int, pred: Items, ground_truth: Items) -> float:
    """1 / place of the first hit."""
    return next((1 / place for place, hit in enumerate(_mark_hits(k, pred, ground_truth), start=1) if hit), 0.0)


def compute_map(k: int, pred: Items, ground_truth: Items) -> float:
    """The precisions at the hits, divided by min(k, relevant rows): the newer generation."""
    return _sum_precisions(k, pred, ground_truth) / min(k, len(ground_truth)) if ground_truth else 0.0


def compute_map_over_k(k: int, pred: Items, ground_truth: Items) -> float:
    """The precisions at the hits, divided by k: the older generation."""
    return _sum_precisions(k, pred, ground_truth) / k


def compute_ndcg(k: int, pred: Items, ground_truth: Items) -> float:
    """Binary discounted gain over that of min(k, relevant rows) hits."""
    ideal = _discount([True] * min(k, len(ground_truth)))
    return _discount(_mark_hits(k, pred, ground_truth)) / ideal if ideal else 0.0


def compute_roc_auc(k: int, pred: Items, ground_truth: Items) -> float:
    """The share of pairs inside the first k with the hit above the miss; 1 without misses, 0 without hits."""
    misses = above = 0
    hits = _mark_hits(k, pred, ground_truth)
    for hit in hits:
        above += misses if hit else 0
        misses += not hit
    if misses == len(hits):
        return 0.0
    return 1 - above / (misses * (len(hits) - misses)) if above else 1.0


def count_common(some: Items, others: Items) -> int:
    """The number of different items that both have."""
    return len(set(some) & set(others))


def _mark_hits(k: int, pred: Items, ground_truth: Collection[Any]) -> list[bool]:
    relevant = set(ground_truth)
    return [item in relevant for item in pred[:k]]


def _sum_precisions(k: int, pred: Items, ground_truth: Items) -> float:
    places = [place for place, hit in enumerate(_mark_hits(k, pred, ground_truth), start=1) if hit]
    return sum(count / place for count, place in enumerate(places, start=1))


def _discount(hits: Sequence[bool]) -> float:
    return sum(1 / math.log2(place + 1) for place, hit in enumerate(hits, start=1) if hit)
