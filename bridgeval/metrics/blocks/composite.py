"""What metrics made of other metrics share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bridgeval.engine.blocks import Block, Blocks
from bridgeval.engine.metric import Metric, UserMetric, UserValues
from bridgeval.errors import BadParameterError
from bridgeval.metrics.blocks.listed_items import who


@dataclass(frozen=True)
class PartValues(Block[Tensor]):
    """The per-user values of a metric inside another, NaN for users who do not count for it: `[B]` float64."""

    metric: UserMetric

    def make(self, blocks: Blocks) -> Tensor:
        values, counted = blocks[UserValues(self.metric)], who(blocks, self.metric)
        return values if counted is None else values.masked_fill(~blocks[counted], torch.nan)


def check_parts(name: str, metrics: Sequence[Metric]) -> None:
    """Raises unless every metric gives per-user values."""
    for metric in metrics:
        if not isinstance(metric, Metric) or metric.per_user() is None:
            raise BadParameterError(
                f"{name} is made of metrics that give every user a value",
                f"{metric}, which does not",
                "use a metric such as Precision, nDCG or MAP",
            )
