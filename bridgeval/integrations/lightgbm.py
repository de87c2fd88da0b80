"""LightGBM: any metric by group, with `lightgbm.train` and with `LGBMRanker`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bridgeval.integrations.grouped_rows import GroupMetrics, number_groups

# Name, value, whether higher is better: for each number.
Evaluated = list[tuple[str, float, bool]]


def make_feval(metrics: Any, higher_is_better: bool | None = None) -> Callable[[Any, Any], Evaluated]:
    """A function for `lightgbm.train(..., feval=)`; the groups are those of each `lightgbm.Dataset`.

    Args:
        metrics: as in `evaluate`.
        higher_is_better: for early stopping, of metrics for which neither direction is better.

    Values are named as by `encode_name`: `nDCG_at_10`. The library's own definitions are `lightgbm:ndcg@10` and
    `lightgbm:map@10`.
    """
    chosen = GroupMetrics.of(metrics, higher_is_better)

    def feval(scores: Any, dataset: Any) -> Evaluated:
        return _measure(chosen, dataset.get_label(), scores, dataset.get_group())

    return feval


def make_eval_metric(metrics: Any, higher_is_better: bool | None = None) -> Callable[[Any, Any, Any, Any], Evaluated]:
    """A function for `LGBMRanker.fit(..., eval_metric=)`; see `make_feval`."""
    chosen = GroupMetrics.of(metrics, higher_is_better)

    # LightGBM counts the arguments: with four of them it gives the sizes of the groups.
    def eval_metric(labels: Any, scores: Any, weight: Any, sizes: Any) -> Evaluated:
        return _measure(chosen, labels, scores, sizes)

    return eval_metric


def _measure(metrics: GroupMetrics, labels: Any, scores: Any, sizes: Any) -> Evaluated:
    values = metrics.measure(labels, scores, number_groups(sizes, len(labels)))
    return [(one.name, one.value, one.higher_is_better) for one in values]
