"""Bases for metrics that are plain functions: of one user's list (`ListMetric`), of pairs (`RowMetric`)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bridgeval.batch.ranking import Ranking, Relevance
from bridgeval.engine.blocks import Block, Blocks, CandidateCount, Ranked, Relevant, RelevantScores, ShownColumn
from bridgeval.engine.metric import UserMetric
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import Moments, State
from bridgeval.engine.summary import Result
from bridgeval.errors import MetricFailedError


class Slate:
    """One user: a cheap view for metrics written as Python functions.

    Attributes:
        user: the id.
        items: ids shown, best first.
        relevant: ids that proved relevant.
        scores: scores of `items`, None for lists that came ranked.
        gains: gains of `relevant`.
    """

    __slots__ = ("gains", "items", "relevant", "scores", "user")

    def __init__(
        self, user: Any, items: list[Any], scores: list[float] | None, relevant: list[Any], gains: list[float]
    ) -> None:
        self.user = user
        self.items = items
        self.scores = scores
        self.relevant = relevant
        self.gains = gains


@dataclass(frozen=True)
class ListMetric(UserMetric):
    """A Python function of one user: `value(slate) -> float`, None or NaN where undefined.

    >>> @dataclass(frozen=True)
    ... class FirstIsRelevant(ListMetric):
    ...     name = "FirstIsRelevant"
    ...     def value(self, slate):
    ...         return float(slate.items[:1] == [i for i in slate.items[:1] if i in slate.relevant])
    >>> str(FirstIsRelevant())
    'FirstIsRelevant'
    """

    def value(self, slate: Slate) -> float | None:
        raise NotImplementedError(f"{type(self).__name__} must define value(slate)")

    def values(self, blocks: Blocks) -> Tensor:
        values = np.full(len(blocks), math.nan)
        for row, slate in read_slates(blocks, self):
            try:
                value = self.value(slate)
            except Exception as error:
                raise MetricFailedError(
                    f"{self} failed for user {slate.user!r}", f"{type(error).__name__}: {error}"
                ) from error
            values[row] = math.nan if value is None else value
        return torch.from_numpy(values).to(blocks.device)


def read_slates(blocks: Blocks, metric: UserMetric) -> Iterator[tuple[int, Slate]]:
    """(row of the batch, Slate) of every user who counts for a metric, ranked as the metric ranks."""
    shown, relevant = blocks[Ranked(metric.ranking)], blocks[Relevant(metric.relevance)]
    names = blocks.batch.slates.items
    scored = blocks.batch.shown.has("score")
    scores = blocks[ShownColumn("score", metric.ranking)].tolist() if scored else None
    shown_names, shown_ends = _names(names, shown.items, shown.valid)
    relevant_names, relevant_ends = _names(names, relevant.items, relevant.valid)
    gains = relevant.gains.tolist()
    users = blocks.batch.slates.users.slice(blocks.batch.start, blocks.batch.stop).tolist()
    for row in torch.nonzero(metric.counted(blocks)).flatten().tolist():
        items = shown_names[shown_ends[row] : shown_ends[row + 1]]
        wanted = relevant_names[relevant_ends[row] : relevant_ends[row + 1]]
        yield (
            row,
            Slate(
                users[row],
                items,
                scores[row][: len(items)] if scores is not None else None,
                wanted,
                gains[row][: len(wanted)],
            ),
        )


def _names(vocabulary: Any, items: Tensor, valid: Tensor) -> tuple[list[Any], list[int]]:
    ends = torch.cat([torch.zeros(1, dtype=torch.int64), valid.sum(1).cpu().cumsum(0)])
    return vocabulary.take(items[valid].cpu().numpy()).tolist(), ends.tolist()


@dataclass(frozen=True)
class JoinedPairs:
    """Shown pairs that also are in the truth, joined by (user, item).

    Attributes:
        rows: `[n]` the user of each pair, as row of the batch.
        predicted: `[n]` float64 scores.
        actual: `[n]` float64 gains.
        unpredicted: `[B]` truth rows without a prediction.
        unasked: `[B]` predictions without a truth row.
    """

    rows: Tensor
    predicted: Tensor
    actual: Tensor
    unpredicted: Tensor
    unasked: Tensor


@dataclass(frozen=True)
class Joined(Block[JoinedPairs]):
    """Predictions beside what they predict."""

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> JoinedPairs:
        truth = blocks[Relevant(self.relevance)]
        rows, at, predicted = blocks[RelevantScores(self.ranking, self.relevance)]
        found = torch.bincount(rows, minlength=len(blocks))
        return JoinedPairs(
            rows,
            predicted.double(),
            truth.gains[rows, at].double(),
            truth.counts - found,
            blocks[CandidateCount(self.ranking)] - found,
        )


@dataclass(frozen=True)
class RowMetric(UserMetric):
    """A function of pairs joined by (user, item), never by position.

    Subclasses define `rows(predicted, actual) -> [n]`, and `finish(mean)` if the mean is not yet the answer. Pairs that
    only one side has do not enter; the result notes how many there were on each side.

    Attributes:
        average: over "pairs" (one global mean), or over "users" (each user's own value, then `over`).
    """

    relevance: Relevance = field(default=Relevance(above=None), kw_only=True)
    average: Literal["pairs", "users"] = field(default="pairs", kw_only=True)

    def needs(self) -> Needs:
        return replace(super().needs(), depth=0) | Needs(pairs=frozenset({"score"}))

    def rows(self, predicted: Tensor, actual: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} must define rows(predicted, actual)")

    def finish(self, mean: Tensor) -> Tensor:
        return mean

    def values(self, blocks: Blocks) -> Tensor:
        pairs = blocks[Joined(self.ranking, self.relevance)]
        total = torch.zeros(len(blocks), dtype=torch.float64, device=blocks.device)
        count = torch.zeros_like(total)
        values = self.rows(pairs.predicted, pairs.actual).double()
        total.index_add_(0, pairs.rows, values)
        count.index_add_(0, pairs.rows, torch.ones_like(values))
        return self.finish(total / count)

    def start(self) -> State:
        return RowState() if self._over_pairs else super().start()

    def update(self, blocks: Blocks) -> State:
        if not self._over_pairs:
            return super().update(blocks)
        pairs, counted = blocks[Joined(self.ranking, self.relevance)], self.counted(blocks)
        values, unpredicted = self.rows(pairs.predicted, pairs.actual), pairs.unpredicted
        if not bool(counted.all()):
            values, unpredicted = values[counted[pairs.rows]], unpredicted[counted]
        return RowState(Moments.of(values.double().cpu().numpy()), int(unpredicted.sum()), int(pairs.unasked.sum()))

    def compute(self, state: Any) -> Result:
        if not self._over_pairs:
            return super().compute(state)
        mean = state.values.mean if state.values.count else math.nan
        value = float(self.finish(torch.tensor(mean, dtype=torch.float64)))
        notes = {
            "pairs": state.values.count,
            "pairs without a prediction": state.unpredicted,
            "predictions without a pair": state.unasked,
        }
        return Result(value, notes=notes)

    def per_user(self) -> RowMetric:
        return replace(self, over="per_user", average="users")

    @property
    def _over_pairs(self) -> bool:
        return self.average == "pairs" and self.over == "mean"


@dataclass(frozen=True)
class RowState:
    """Values of pairs, and how many rows of either side had no partner."""

    values: Moments = field(default_factory=Moments)
    unpredicted: int = 0
    unasked: int = 0

    def merge(self, other: RowState) -> RowState:
        return RowState(
            self.values.merge(other.values),
            self.unpredicted + other.unpredicted,
            self.unasked + other.unasked,
        )
