"""Rating: how far is the predicted number from the real one? Pairs are joined by (user, item)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from bridgeval.engine.bases import RowMetric


@dataclass(frozen=True)
class MAE(RowMetric):
    """Mean absolute error over all pairs that both sides have: `mean |predicted - actual|`.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: {"a": 3.0, "b": 5.0}}, {1: {"a": 4.0, "b": 5.0}}, "MAE")["MAE"]
    0.5
    """

    name = "MAE"
    family = "rating"
    higher_is_better = False

    def rows(self, predicted: Tensor, actual: Tensor) -> Tensor:
        return (predicted - actual).abs()


@dataclass(frozen=True)
class MSE(RowMetric):
    """Mean squared error over all pairs that both sides have: `mean (predicted - actual)^2`.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: {"a": 3.0, "b": 5.0}}, {1: {"a": 4.0, "b": 5.0}}, "MSE")["MSE"]
    0.5
    """

    name = "MSE"
    family = "rating"
    higher_is_better = False

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
