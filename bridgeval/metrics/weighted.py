"""Means over users who do not count alike."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from torch import Tensor

from bridgeval.engine.blocks import WHOLE, Blocks, RelevantCount, UserColumn
from bridgeval.engine.metric import Metric, UserMetric, UserValues, check_cutoff
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import State, Sums
from bridgeval.engine.summary import Bounds, Result
from bridgeval.errors import BadParameterError, BadValueError


class _DirectionInside:
    """`higher_is_better` of the metric inside; None of the class, which may hold any."""

    def __get__(self, weighted: WeightedMean | None, owner: type[WeightedMean]) -> bool | None:
        return None if weighted is None else weighted.metric.higher_is_better


@dataclass(frozen=True)
class WeightedMean(Metric):
    """The mean of a metric's values where some users count more than others: `sum_u w_u v_u / sum_u w_u`.

    The weights are a table of `context=` by user. Undefined for users without a value or without a weight; the whole
    where all weights are 0.

    Attributes:
        metric: whose values; any metric that gives per-user values. A name without a cutoff takes that of the whole.
        weight: the name of the table.
        weigh_empty: False takes the values of users without a relevant item as they are in the sum above, and their
            weights below all the same, as XGBoost and LightGBM do in nDCG; the number may then lie beyond the values.

    >>> import bridgeval
    >>> name = 'WeightedMean(metric="Recall", weight="visits")@1'
    >>> lists, truth = {1: ["a"], 2: ["b"]}, {1: ["a"], 2: ["a"]}
    >>> bridgeval.evaluate(lists, truth, name, context={"visits": {1: 3.0, 2: 1.0}})[name]
    0.75
    """

    name = "WeightedMean"
    family = "weighted"
    higher_is_better: ClassVar[Any] = _DirectionInside()
    made_of: ClassVar[tuple[str, ...]] = ("metric",)

    k: int = WHOLE
    metric: UserMetric = field(kw_only=True)
    weight: str = field(kw_only=True)
    weigh_empty: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_cutoff(self.name, self.k, whole=True)
        if not self.weight:
            raise BadParameterError(
                f"{self.name} needs the name of a table of context=", f"weight={self.weight!r}", 'e.g. weight="visits"'
            )

    @property
    def bounds(self) -> Bounds:
        low, high = self.metric.bounds
        return (low, high) if self.weigh_empty else (low, math.inf)

    def needs(self) -> Needs:
        return self.metric.needs() | Needs(by_user={self.weight})

    def start(self) -> State:
        return Sums()

    def update(self, blocks: Blocks) -> State:
        if self.weight in blocks.context.users and blocks.context.users[self.weight].labels:
            raise BadValueError(
                f"{self} needs numbers", f"labels in the table {self.weight!r}", "give a number by user"
            )
        values, weights = blocks[UserValues(self.metric)], blocks[UserColumn(self.weight)].double()
        counted = blocks[self.metric.population]
        kept = counted & ~values.isnan() & ~weights.isnan()
        own = weights
        if not self.weigh_empty:
            own = weights.masked_fill(blocks[RelevantCount(self.metric.relevance)] == 0, 1.0)
        return Sums(
            {
                "above": _add_where(kept, own * values),
                "below": _add_where(kept, weights),
                "users": kept.sum(),
                "undefined": (counted & ~kept).sum(),
                "below zero": (counted & (weights < 0)).sum(),
            }
        )

    def compute(self, state: Any) -> Result:
        if state["below zero"]:
            raise BadValueError(
                f"{self} needs weights of 0 and more", f"{state['below zero']} user(s) with less", "mend the table"
            )
        value = state["above"] / state["below"] if state["below"] else math.nan
        return Result(value, users=state["users"], undefined=state["undefined"])


def _add_where(kept: Tensor, values: Tensor) -> Tensor:
    return values.masked_fill(~kept, 0.0).sum()
