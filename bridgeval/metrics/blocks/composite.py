"""Metrics that are made of other metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bridgeval.engine.blocks import Block, Blocks, LeftOut
from bridgeval.engine.metric import Metric, UserMetric, UserValues
from bridgeval.errors import BadParameterError


@dataclass(frozen=True)
class PartValues(Block[Tensor]):
    """The per-user values of a metric inside another, NaN for users who do not count for it: `[B]` float64."""

    metric: UserMetric

    def make(self, blocks: Blocks) -> Tensor:
        return blocks[UserValues(self.metric)].masked_fill(blocks[LeftOut(self.metric.population)], torch.nan)


def check_parts(name: str, metrics: Sequence[Metric]) -> None:
    """Raises unless every metric gives per-user values."""
    for metric in metrics:
        if not isinstance(metric, Metric) or metric.per_user() is None:
            raise BadParameterError(
                f"{name} is made of metrics that give every user a value",
                f"{metric}, which does not",
                "use a metric such as Precision, nDCG or MAP",
            )
