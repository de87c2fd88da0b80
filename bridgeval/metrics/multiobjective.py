"""Several objectives at once, user by user. Any metric that gives per-user values can be one of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any, ClassVar

import torch
from torch import Tensor

from bridgeval.engine.blocks import Blocks
from bridgeval.engine.metric import TopKMetric, UserMetric
from bridgeval.engine.needs import Needs
from bridgeval.engine.summary import NEVER_NEGATIVE
from bridgeval.errors import BadParameterError
from bridgeval.metrics.blocks.composite import PartValues, check_parts


@dataclass(frozen=True)
class Objectives(TopKMetric):
    """The base of EucDistance and Hypervolume: a user has a value if all metrics have one."""

    family = "multiobjective"
    bounds = NEVER_NEGATIVE
    made_of: ClassVar[tuple[str, ...]] = ("metrics",)

    metrics: tuple[UserMetric, ...] = field(default=(), kw_only=True)

    def needs(self) -> Needs:
        return reduce(or_, (metric.needs() for metric in self.metrics), super().needs())

    def scores(self, blocks: Blocks) -> list[Tensor]:
        """`[B]` float64 each: the values of each metric."""
        return [blocks[PartValues(metric)] for metric in self.metrics]

    def _check(self, **points: tuple[Any, ...]) -> None:
        check_parts(self.name, self.metrics)
        for name, values in points.items():
            if not self.metrics or len(values) != len(self.metrics):
                raise BadParameterError(
                    f"{self.name} needs metrics and one number of {name} for each",
                    f"{len(self.metrics)} metric(s) and {len(values)} number(s)",
                    f'e.g. {self.name}(metrics=["Precision", "Recall"], {name}=[1.0, 1.0])@10',
                )


@dataclass(frozen=True)
class EucDistance(Objectives):
    """The distance of a user's values from the utopia point: `sqrt(sum_i (s_i - u_i)^2)` (Paparella et al. 2023).

    Undefined for users for whom one of the metrics is.

    Attributes:
        metrics: the objectives; names take the cutoff of the whole.
        utopia: the best value of each.

    >>> import bridgeval
    >>> name = 'EucDistance(metrics=["Precision", "Recall"], utopia=[1.0, 1.0])@2'
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: ["b"]}, name)[name]
    0.5
    """

    name = "EucDistance"
    higher_is_better = False

    utopia: tuple[float, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(utopia=self.utopia)

    def values(self, blocks: Blocks) -> Tensor:
        squares = ((score - best).square_() for score, best in zip(self.scores(blocks), self.utopia, strict=True))
        return reduce(torch.Tensor.add_, squares).sqrt_()


@dataclass(frozen=True)
class Hypervolume(Objectives):
    """The volume between the nadir point and a user's values: `prod_i max(0, s_i - n_i)`, `n_i - s_i` for metrics of
    which less is better (Zitzler and Thiele 1999, for one point). Undefined for users for whom one of the metrics is.

    Attributes:
        metrics: the objectives; names take the cutoff of the whole.
        nadir: the worst value of each.
        higher: whether more is better, for each; by default what the metrics themselves say.

    >>> import bridgeval
    >>> name = 'Hypervolume(metrics=["Precision", "Recall"], nadir=[0.0, 0.5])@2'
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: ["b"]}, name)[name]
    0.25
    """

    name = "Hypervolume"

    nadir: tuple[float, ...] = field(default=(), kw_only=True)
    higher: tuple[bool, ...] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(nadir=self.nadir, **({} if self.higher is None else {"higher": self.higher}))

    def values(self, blocks: Blocks) -> Tensor:
        higher = self.higher or tuple(metric.higher_is_better is not False for metric in self.metrics)
        sides = (
            (score - worst if up else worst - score).clamp_(min=0)
            for score, worst, up in zip(self.scores(blocks), self.nadir, higher, strict=True)
        )
        return reduce(torch.Tensor.mul_, sides)
