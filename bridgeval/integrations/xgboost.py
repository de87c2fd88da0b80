"""XGBoost: any metric by group, with `xgboost.train`.

`XGBRanker` calls a metric once for each group and averages the numbers with the sizes of the groups as weights
(3.2.0), so that no metric of ours can be given to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bridgeval.integrations.grouped_rows import GroupMetrics, number_groups


def make_custom_metric(metrics: Any) -> Callable[[Any, Any], list[tuple[str, float]]]:
    """A function for `xgboost.train(..., custom_metric=)`; the groups are those of each `xgboost.DMatrix`.

    Args:
        metrics: as in `evaluate`.

    Values are named as by `encode_name`: `nDCG_at_10`. XGBoost does not learn which direction is better: give early
    stopping `maximize=`. The library's own definitions are `xgboost:ndcg@10`, `xgboost:map@10` and `xgboost:pre@10`.
    """
    chosen = GroupMetrics.of(metrics, higher_is_better=True)

    def custom_metric(scores: Any, matrix: Any) -> list[tuple[str, float]]:
        groups = number_groups(matrix.get_group(), matrix.num_row())
        return [(one.name, one.value) for one in chosen.measure(matrix.get_label(), scores, groups)]

    return custom_metric
