"""Rating: how far is the predicted number from the real one? Pairs are joined by (user, item)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from bridgeval.batch.kernels import sum_by_code
from bridgeval.engine.bases import Joined, RowMetric
from bridgeval.engine.blocks import Blocks
from bridgeval.engine.state import State, Sums
from bridgeval.engine.summary import NEVER_NEGATIVE, Result


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


@dataclass(frozen=True)
class LogLoss(RatingError):
    """The mean of `-ln p` for relevant pairs and `-ln(1 - p)` for others, over all pairs that both sides have.

    A pair is relevant if its gain is above 0. The score p is a probability; it is cut to [e, 1 - e] with e = 2^-52, so
    that a wrong certainty is not infinite.

    >>> import bridgeval
    >>> round(bridgeval.evaluate({1: {"a": 0.5, "b": 0.2}}, {1: {"a": 1, "b": 0}}, "LogLoss")["LogLoss"], 6)
    0.458145
    """

    name = "LogLoss"

    def rows(self, predicted: Tensor, actual: Tensor) -> Tensor:
        least = torch.finfo(torch.float64).eps
        chance = predicted.double().clamp(least, 1 - least)
        return -torch.where(actual > 0, chance, 1 - chance).log()


@dataclass(frozen=True)
class R2(RatingError):
    """The share of the variance of the ratings that predictions explain: `1 - sum (a - p)^2 / sum (a - mean a)^2`.

    The coefficient of determination, over all pairs that both sides have. Undefined where all ratings are equal.

    Attributes:
        bias: the mean error is "counted"; or "removed", which is the explained variance.
        constant: what equal ratings give: "undefined"; or "zero", and 1 if every prediction is right (scikit-learn).

    >>> import bridgeval
    >>> bridgeval.evaluate({1: {"a": 2.0, "b": 4.0}}, {1: {"a": 1.0, "b": 5.0}}, "R2")["R2"]
    0.75
    """

    name = "R2"
    higher_is_better = True
    bounds = (-torch.inf, 1.0)

    bias: Literal["counted", "removed"] = field(default="counted", kw_only=True)
    constant: Literal["undefined", "zero"] = field(default="undefined", kw_only=True)

    def values(self, blocks: Blocks) -> Tensor:
        pairs = blocks[Joined(self.ranking, self.relevance)]
        return self._explain(*(sum_by_code(pairs.rows, len(blocks), part) for part in self._parts(pairs)))

    def start(self) -> State:
        return Sums() if self._over_pairs else super().start()

    def update(self, blocks: Blocks) -> State:
        if not self._over_pairs:
            return super().update(blocks)
        pairs = blocks[Joined(self.ranking, self.relevance)]
        kept = self.counted(blocks)[pairs.rows].double()
        return Sums({"sums": torch.stack([(part * kept).sum() for part in self._parts(pairs)])})

    def compute(self, state: Any) -> Result:
        if not self._over_pairs:
            return super().compute(state)
        sums = torch.as_tensor(state["sums"], dtype=torch.float64, device="cpu").expand(5)
        return Result(float(self._explain(*sums)), notes={"pairs": int(sums[0])})

    @staticmethod
    def _parts(pairs: Any) -> tuple[Tensor, ...]:
        errors, actual, there = pairs.predicted - pairs.actual, pairs.actual, torch.ones_like(pairs.actual)
        if pairs.known is not None:
            errors, actual, there = (one.masked_fill(~pairs.known, 0) for one in (errors, actual, there))
        return there, errors, errors.square(), actual, actual.square()

    def _explain(self, count: Tensor, errors: Tensor, squares: Tensor, actual: Tensor, spread: Tensor) -> Tensor:
        missed = squares - errors.square() / count if self.bias == "removed" else squares
        there = spread - actual.square() / count
        # What is left of equal ratings is rounding.
        equal = there <= 1e-12 * spread
        if self.constant == "undefined":
            return torch.where(equal, torch.nan, 1 - missed / there)
        return torch.where(equal & (count > 0), (missed <= 1e-12 * spread).double(), 1 - missed / there)
