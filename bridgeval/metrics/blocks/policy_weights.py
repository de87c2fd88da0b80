"""Importance weights: how much more the current policy favors a shown pair than the previous one did; and
the bases of metrics that weigh with them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from bridgeval.batch.ranking import Ranking
from bridgeval.engine.blocks import Block, Blocks, Ranked, ShownColumn, ShownCount
from bridgeval.engine.metric import TopKMetric
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import Numbers, State, Sums
from bridgeval.engine.summary import Bounds, Result
from bridgeval.errors import BadParameterError, BadValueError

Activation = Literal[None, "sigmoid", "logit", "softmax"]
Missing = Literal["leave_out", "zero"]
Arithmetic = Literal["checked", "plain"]


@dataclass(frozen=True)
class Weights:
    """Weights of shown pairs, each `[B, D]`.

    Attributes:
        weights: float64, within the bounds; 0 where there is none.
        known: pairs that have a weight.
        below: pairs whose ratio was under the lower bound.
        above: pairs whose ratio was over the upper bound.
        missing: shown pairs without a previous score, or with both scores 0.
    """

    weights: Tensor
    known: Tensor
    below: Tensor
    above: Tensor
    missing: Tensor


@dataclass(frozen=True)
class NcisWeights(Block[Weights]):
    """`f(score) / f(previous score)` of each shown pair, kept within [low, high].

    Under arithmetic="checked" scores without an activation must not be negative; a previous score of 0 gives
    the upper bound, the limit of the ratio; softmax runs over the first `rows` places that have both scores.
    Under "plain" nothing is refused: a ratio that cannot be told (x / 0, NaN after an overflow) is the upper
    bound, the lower bound is looked at first, and softmax runs over the first `rows` rows, repeated items
    included.

    Attributes:
        rows: how many places get a weight.
        low, high: the bounds; 0 and infinity for none.
    """

    rows: int
    low: float
    high: float
    activation: Activation = None
    missing: Missing = "leave_out"
    arithmetic: Arithmetic = "checked"
    ranking: Ranking = Ranking()

    def make(self, blocks: Blocks) -> Weights:
        inside = _first(blocks[Ranked(self.ranking)].valid, self.rows)
        current = blocks[ShownColumn("score", self.ranking)].double()
        previous = blocks[ShownColumn("prev_score", self.ranking)].double()
        missing = inside & previous.isnan()
        known = inside & ~missing if self.missing == "leave_out" else inside
        previous = previous.masked_fill(missing, 0)
        if self.arithmetic == "plain":
            ratio = self._plain_ratio(blocks, current, previous)
        else:
            ratio = self._checked_ratio(current, previous, known)
            undecided = known & ratio.isnan()
            missing, known = missing | undecided, known & ~undecided
        below, above = known & (ratio < self.low), known & ~(ratio <= self.high)
        above &= ~below
        weights = ratio.masked_fill(above, self.high).masked_fill(below, self.low).masked_fill(~known, 0)
        _check_finite(weights)
        return Weights(weights, known, below, above, missing)

    def _checked_ratio(self, current: Tensor, previous: Tensor, known: Tensor) -> Tensor:
        if self.activation is None:
            _check_positive(current, "score", known)
            _check_positive(previous, "previous score", known)
            return current / previous
        if self.activation == "softmax":
            current, previous = (_log_softmax(scores, known) for scores in (current, previous))
        else:
            current, previous = logsigmoid(current), logsigmoid(previous)
        return torch.exp(current - previous)

    def _plain_ratio(self, blocks: Blocks, current: Tensor, previous: Tensor) -> Tensor:
        if self.activation == "softmax":
            repeated = replace(self.ranking, duplicates="all")
            rows = _first(blocks[Ranked(repeated)].valid, self.rows)
            previous_rows = blocks[ShownColumn("prev_score", repeated)].double().nan_to_num(0.0)
            current = _softmax(current, blocks[ShownColumn("score", repeated)].double(), rows)
            previous = _softmax(previous, previous_rows, rows)
        elif self.activation is not None:
            current, previous = (1 / (1 + torch.exp(-scores)) for scores in (current, previous))
        return torch.where(previous == 0, torch.inf, current / previous)


def _first(valid: Tensor, places: int) -> Tensor:
    """`[B, D]`: the valid cells among the first places."""
    return valid & (torch.arange(valid.shape[1], device=valid.device) < places)


def _log_softmax(scores: Tensor, known: Tensor) -> Tensor:
    scores = scores.masked_fill(~known, -torch.inf)
    return scores - scores.logsumexp(1, keepdim=True)


def _softmax(scores: Tensor, rows: Tensor, valid: Tensor) -> Tensor:
    """Softmax of `scores` over the valid `rows`, shifted by the lowest and therefore free to overflow."""
    if not rows.shape[1]:
        return scores
    lowest = rows.masked_fill(~valid, torch.inf).amin(1, keepdim=True)
    total = torch.exp(rows - lowest).masked_fill(~valid, 0).sum(1, keepdim=True)
    return torch.exp(scores - lowest) / total


def _check_positive(scores: Tensor, what: str, known: Tensor) -> None:
    negative = known & (scores < 0)
    if bool(negative.any()):
        raise BadValueError(
            f"{int(negative.sum())} shown pair(s) of a batch have a negative {what}, which is no propensity",
            f"{float(scores[negative][0]):g}",
            'give probabilities, or turn scores into them with activation="softmax" or "sigmoid"',
        )


def _check_finite(weights: Tensor) -> None:
    infinite = weights.isinf()
    if bool(infinite.any()):
        raise BadValueError(
            f"{int(infinite.sum())} shown pair(s) of a batch have an infinite weight",
            "a previous score of 0, or a ratio beyond float64",
            "cap the weights, e.g. SNIPS(cap=100.0) or NCISPrecision(threshold=10.0)",
        )


@dataclass(frozen=True)
class WeightedState(Numbers):
    """Values of users, and sums over the pairs behind them."""

    users: Any
    pairs: Sums = field(default_factory=Sums)

    def merge(self, other: WeightedState) -> WeightedState:
        return WeightedState(self.users.merge(other.users), self.pairs.merge(other.pairs))


@dataclass(frozen=True)
class WeightedMetric(TopKMetric):
    """A mean of rewards with importance weights: `sum(w_j r_j) / sum(w_j)` for each user.

    Subclasses define `rewards(blocks)` and `weight_bounds`. A user who was shown nothing scores 0; one with items
    but without any weight is undefined. The notes of the result say what the value rests on, over the pairs
    of users that count: `pairs`, how many were shown; `effective sample size`, (sum w)^2 / sum w^2; `clipped
    below` and `clipped above`, shares of the weights; `without previous score`, the share of shown pairs.

    Attributes:
        activation: what scores pass through before the ratio: None, "sigmoid" (also called "logit"), or
            "softmax" over the user's first k places that have both scores.
        missing: a pair without a previous score (or with both scores 0) is left out, "leave_out": nothing is
            known about it; or its previous score is taken as "zero", before the activation.
        arithmetic: "checked" refuses what has no meaning (negative scores without an activation, bounds that
            cross) and runs in logarithms, so that large scores neither overflow nor change the result;
            "plain" takes every ratio as float64 gives it, and softmax over all rows that `cut` keeps, see
            `NcisWeights`.
        average: over "users", or over all "pairs" at once (one ratio of sums).
    """

    family = "counterfactual"

    activation: Activation = field(default=None, kw_only=True)
    missing: Missing = field(default="leave_out", kw_only=True)
    arithmetic: Arithmetic = field(default="checked", kw_only=True)
    average: Literal["users", "pairs"] = field(default="users", kw_only=True)

    @property
    def weight_bounds(self) -> Bounds:
        """The lowest and the highest weight."""
        raise NotImplementedError(f"{type(self).__name__} must define weight_bounds")

    @property
    def weights(self) -> NcisWeights:
        low, high = self.weight_bounds
        rows = self.k if self.arithmetic == "checked" else max(self.k, self.ranking.cut or self.k)
        return NcisWeights(rows, low, high, self.activation, self.missing, self.arithmetic, self.ranking)

    def needs(self) -> Needs:
        columns = Needs(depth=max(self.k, self.ranking.cut or 0), pairs=frozenset({"score", "prev_score"}))
        return super().needs() | columns

    def rewards(self, blocks: Blocks) -> Tensor:
        """`[B, D]` float64: the reward of each place; those beyond k are not read."""
        raise NotImplementedError(f"{type(self).__name__} must define rewards(blocks)")

    def values(self, blocks: Blocks) -> Tensor:
        rewarded, weight = blocks[RewardSums(self)]
        value = rewarded / torch.where(weight > 0, weight, torch.nan)
        return value.masked_fill(self.places(blocks) == 0, 0)

    def places(self, blocks: Blocks) -> Tensor:
        """`[B]` float64: n, the places within k that hold an item."""
        return blocks[ShownCount(self.ranking)].clamp(max=self.k).double()

    def start(self) -> State:
        return WeightedState(super().start())

    def update(self, blocks: Blocks) -> State:
        counted = self.counted(blocks)
        found = blocks[self.weights]
        rewarded, weight = blocks[RewardSums(self._unsummarized())]
        pairs = {
            "rewarded": torch.where(counted, rewarded, 0.0).sum(),
            "weight": torch.where(counted, weight, 0.0).sum(),
            "squares": torch.where(counted[:, None], found.weights[:, : self.k], 0.0).square().sum(),
        }
        inside = blocks[Ranked(self.ranking)].valid[:, : self.k] & counted[:, None]
        counts = {
            "pairs": inside,
            "weighed": inside & found.known[:, : self.k],
            "below": inside & found.below[:, : self.k],
            "above": inside & found.above[:, : self.k],
            "missing": inside & found.missing[:, : self.k],
        }
        pairs |= {name: cells.sum() for name, cells in counts.items()}
        return WeightedState(super().update(blocks), Sums(pairs))

    def compute(self, state: Any) -> Result:
        result = super().compute(state.users)
        pairs = state.pairs
        notes = {
            "pairs": pairs["pairs"],
            "effective sample size": _ratio(pairs["weight"] * pairs["weight"], pairs["squares"]),
            "clipped below": _ratio(pairs["below"], pairs["weighed"]),
            "clipped above": _ratio(pairs["above"], pairs["weighed"]),
            "without previous score": _ratio(pairs["missing"], pairs["pairs"]),
        }
        if self.average == "pairs" and self.over == "mean":
            return Result(_ratio(pairs["rewarded"], pairs["weight"]), users=result.users, notes=notes)
        return replace(result, notes=notes)


@dataclass(frozen=True)
class RewardSums(Block[tuple[Tensor, Tensor]]):
    """Weighted rewards, and weights, summed over the first k places: `[B]` each."""

    metric: WeightedMetric

    def make(self, blocks: Blocks) -> tuple[Tensor, Tensor]:
        k = self.metric.k
        weights = blocks[self.metric.weights].weights[:, :k]
        return (weights * self.metric.rewards(blocks)[:, :k]).sum(1), weights.sum(1)


def _ratio(above: float, below: float) -> float:
    return above / below if below else math.nan


@dataclass(frozen=True)
class NcisMetric(WeightedMetric):
    """Normalized capped importance sampling (Gilotte et al. 2018): weights within [1 / threshold, threshold].

    A base: subclasses define `rewards(blocks)`.

    Attributes:
        threshold: the cap, at least 1; 1 makes all weights equal.
    """

    threshold: float = field(default=10.0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        number = isinstance(self.threshold, int | float) and math.isfinite(self.threshold)
        if not number or self.threshold <= 0 or (self.threshold < 1 and self.arithmetic == "checked"):
            raise BadParameterError(
                f"{self.name} needs a threshold of at least 1",
                f"{self.threshold!r}",
                "weights are kept within [1 / threshold, threshold]; 10 is usual, SNIPS has no lower bound",
            )

    @property
    def weight_bounds(self) -> Bounds:
        return 1 / self.threshold, self.threshold
