"""CatBoost: any metric by group as `eval_metric`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bridgeval.integrations.grouped_rows import GroupMetrics, KnownGroups
from bridgeval.integrations.metric_names import encode_name


def make_eval_metric(metric: Any, *pools: Any, higher_is_better: bool | None = None) -> PoolMetric:
    """An object for `CatBoost({"eval_metric": ...})` or `CatBoostRanker(eval_metric=...)`.

    Args:
        metric: one name or metric object; CatBoost takes no more than one.
        *pools: every `catboost.Pool` that is trained or evaluated on, with labels and group ids. CatBoost does not tell
            a metric the groups, so a pool is found by its labels.
        higher_is_better: for metrics for which neither direction is better.

    The value is named as by `encode_name`: `nDCG_at_10`. The library's own definitions are `catboost:NDCG@10` and
    others.
    """
    chosen = GroupMetrics.of(metric, higher_is_better)
    known = KnownGroups.of((pool.get_label(), _number_groups(pool)) for pool in pools)
    # CatBoost shows the name of the class.
    kind = type(encode_name(str(chosen.only)), (PoolMetric,), {"__doc__": PoolMetric.__doc__})
    made: PoolMetric = kind(chosen, known)
    return made


@dataclass(frozen=True)
class PoolMetric:
    """A metric of known pools, with the methods that CatBoost calls."""

    metrics: GroupMetrics
    groups: KnownGroups

    def is_max_optimal(self) -> bool:
        """Whether higher is better."""
        return self.metrics.direction(self.metrics.only)

    def evaluate(self, approxes: Any, target: Any, weight: Any) -> tuple[float, float]:
        """The value and a weight of 1: it is no sum over rows."""
        return self.metrics.measure_only(target, approxes[0], self.groups.find(target)), 1.0

    def get_final_error(self, error: float, weight: float) -> float:
        """The value itself."""
        return error / weight


def _number_groups(pool: Any) -> Any:
    """The number of each row's group; CatBoost keeps hashes of 64 bits, too large for ids."""
    import numpy as np

    return np.unique(pool.get_group_id_hash(), return_inverse=True)[1]
