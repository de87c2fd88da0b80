"""Rating: how far is the predicted number from the real one? Pairs are joined by (user, item)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from bridgeval.batch.kernels import sum_by_code
from bridgeval.engine.bases import Joined, RowMetric
from bridgeval.engine.blocks import Blocks
from bridgeval.engine.summary import NEVER_NEGATIVE


@dataclass(frozen=True)
class RatingError(RowMetric):
    """The base of the rating metrics.

    Attributes:
        unscored: a masked item, scored -inf, is "left_out"; or it "spoils" the value of its user, as in WarpRec (with
            masked="keep" and average="users"): undefined, or infinite where every masked item is a relevant one.
    """

    family = "rating"
    higher_is_better = False
    bounds = NEVER_NEGATIVE

    unscored: Literal["left_out", "spoils"] = field(default="left_out", kw_only=True)

    def values(self, blocks: Blocks) -> Tensor:
        values = super().values(blocks)
        if self.unscored == "left_out":
            return values
        pairs = blocks[Joined(self.ranking, self.relevance)]
        relevant = sum_by_code(pairs.rows, len(blocks), pairs.predicted == -torch.inf)
        return values.masked_fill(blocks.batch.shown.masked > relevant, torch.nan)


@dataclass(frozen=True)
class MAE(RatingError):
    """Mean absolute error over all pairs that both sides have: `mean |predicted - actual|`.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: {"a": 3.0, "b": 5.0}}, {1: {"a": 4.0, "b": 5.0}}, "MAE")["MAE"]
    0.5
    """

    name = "MAE"

    def rows(self, predicted: Tensor, actual: Tensor) -> Tensor:
        return (predicted - actual).abs()


@dataclass(frozen=True)
class MSE(RatingError):
    """Mean squared error over all pairs that both sides have: `mean (predicted - actual)^2`.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: {"a": 3.0, "b": 5.0}}, {1: {"a": 4.0, "b": 5.0}}, "MSE")["MSE"]
    0.5
    """

    name = "MSE"

    def rows(self, predicted: Tensor, actual: Tensor) -> Tensor:
        return (predicted - actual).square()


@dataclass(frozen=True)
class RMSE(MSE):
    """Root of the mean squared error over all pairs that both sides have.

    With average="users" it is the mean over users of each user's own root.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: {"a": 3.0}, 2: {"a": 1.0}}, {1: {"a": 4.0}, 2: {"a": 1.0}}, "RMSE")["RMSE"] ** 2
    0.5000000000000001
    """

    name = "RMSE"

    def finish(self, mean: Tensor) -> Tensor:
        return mean.sqrt()
