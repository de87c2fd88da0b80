"""Bases for metrics that are plain functions: of one user's list (`ListMetric`), of pairs (`RowMetric`)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bridgeval.batch.kernels import sum_by_code
from bridgeval.batch.ranking import Ranking, Relevance
from bridgeval.engine.blocks import (
    Block,
    Blocks,
    CandidateCount,
    Counted,
    ItemColumn,
    Ranked,
    Relevant,
    RelevantCount,
    RelevantScores,
    ShownColumn,
    UserColumn,
)
from bridgeval.engine.metric import UserMetric
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import Moments, Numbers, State
from bridgeval.engine.summary import Result
from bridgeval.errors import MetricFailedError
from bridgeval.tables.context import Table


class Slate:
    """One user: a cheap view for metrics written as Python functions.

    Attributes:
        user: the id.
        items: ids shown, best first.
        relevant: ids that proved relevant.
        scores: scores of `items`, None for lists that came ranked.
        gains: gains of `relevant`.
        item_values: table of `Needs.items` -> its values for `items`: numbers, or labels; NaN or None where missing.
        user_values: table of `Needs.by_user` -> the user's value.
    """

    __slots__ = ("gains", "item_values", "items", "relevant", "scores", "user", "user_values")

    def __init__(
        self,
        user: Any,
        items: list[Any],
        scores: list[float] | None,
        relevant: list[Any],
        gains: list[float],
    ) -> None:
        self.user = user
        self.items = items
        self.scores = scores
        self.relevant = relevant
        self.gains = gains
        self.item_values: dict[str, list[Any]] = {}
        self.user_values: dict[str, Any] = {}


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
            except (Exception, SystemExit) as error:
                raise MetricFailedError(
                    f"{self} failed for user {slate.user!r}", f"{type(error).__name__}: {error}"
                ) from error
            values[row] = math.nan if value is None else value
        return torch.from_numpy(values).to(blocks.device)


def read_slates(blocks: Blocks, metric: UserMetric) -> Iterator[tuple[int, Slate]]:
    """(row of the batch, Slate) of every user who counts for a metric, ranked as the metric ranks."""
    batch, shown, relevant = blocks.batch, blocks[Ranked(metric.ranking)], blocks[Relevant(metric.relevance)]
    names, scored = batch.slates.items, batch.shown.has("score")
    # Flat lists, sliced user by user: a list for every user at once would keep the garbage collector busy.
    items, wanted = (names.take(_cells(one.items, one.valid)).tolist() for one in (shown, relevant))
    gains = _cells(relevant.gains, relevant.valid).tolist()
    scores = _cells(blocks[ShownColumn("score", metric.ranking)], shown.valid).tolist() if scored else []
    shown_ends, relevant_ends = ([0, *one.valid.sum(1).cumsum(0).tolist()] for one in (shown, relevant))
    users = batch.slates.users.slice(batch.start, batch.stop).tolist()
    needs, context = metric.needs(), blocks.context
    of_items = {
        name: _name_values(_cells(blocks[ItemColumn(name, metric.ranking)], shown.valid), context.items[name])
        for name in needs.items
    }
    of_users = {
        name: _name_values(blocks[UserColumn(name)].cpu().numpy(), context.users[name]) for name in needs.by_user
    }
    for row in torch.nonzero(metric.counted(blocks)).flatten().tolist():
        a, b = slice(*shown_ends[row : row + 2]), slice(*relevant_ends[row : row + 2])
        slate = Slate(users[row], items[a], scores[a] if scored else None, wanted[b], gains[b])
        if of_items or of_users:
            slate.item_values = {name: values[a] for name, values in of_items.items()}
            slate.user_values = {name: values[row] for name, values in of_users.items()}
        yield row, slate


def _name_values(values: npt.NDArray[Any], table: Table) -> list[Any]:
    """Numbers as they are, labels for their codes."""
    names = (None, *table.labels)
    return [names[code] for code in values.tolist()] if table.labels else values.tolist()


def _cells(table: Tensor, valid: Tensor) -> npt.NDArray[Any]:
    """The valid cells, row after row. As an array: numpy makes a list in a tenth of torch's time."""
    return table[valid].cpu().numpy()


@dataclass(frozen=True)
class JoinedPairs:
    """Shown pairs that also are in the truth, joined by (user, item).

    Attributes:
        rows: `[n]` the user of each pair, as row of the batch.
        predicted: `[n]` float64 scores.
        actual: `[n]` float64 gains.
        known: `[n]` bool: which of these are pairs; None if all are.
        unpredicted: `[B]` truth rows without a prediction.
        unasked: `[B]` predictions without a truth row.
    """

    rows: Tensor
    predicted: Tensor
    actual: Tensor
    known: Tensor | None
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
        known = None if predicted.is_cpu else predicted == predicted
        found = sum_by_code(rows, len(blocks), known).long()
        return JoinedPairs(
            rows,
            predicted.double(),
            truth.gains[rows, at].double(),
            known,
            blocks[RelevantCount(self.relevance)] - found,
            blocks[CandidateCount(self.ranking)] - found,
        )


@dataclass(frozen=True)
class CountedPairs(Block[tuple[Tensor, Any, Any]]):
    """The pairs of users who count, `[n]` bool; their truth rows without a prediction, and all predictions without a
    truth row: one int64 each.
    """

    pairs: Joined
    counted: Counted

    def make(self, blocks: Blocks) -> tuple[Tensor, Any, Any]:
        pairs, counted = blocks[self.pairs], blocks[self.counted]
        kept = counted[pairs.rows] if pairs.known is None else counted[pairs.rows] & pairs.known
        return kept, (pairs.unpredicted * counted).sum(), pairs.unasked.sum()


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
        values = self.rows(pairs.predicted, pairs.actual)
        if pairs.known is not None:
            values = values.masked_fill(~pairs.known, 0)
        total = sum_by_code(pairs.rows, len(blocks), values)
        return self.finish(total / sum_by_code(pairs.rows, len(blocks), pairs.known))

    def start(self) -> State:
        return RowState() if self._over_pairs else super().start()

    def update(self, blocks: Blocks) -> State:
        if not self._over_pairs:
            return super().update(blocks)
        pairs = blocks[Joined(self.ranking, self.relevance)]
        kept, unpredicted, unasked = blocks[CountedPairs(Joined(self.ranking, self.relevance), self.population)]
        moments: Any = blocks.measure(kept, self.rows(pairs.predicted, pairs.actual).double())
        return RowState(moments, unpredicted, unasked)

    def compute(self, state: Any) -> Result:
        if not self._over_pairs:
            return super().compute(state)
        mean = state.values.mean if state.values.count else math.nan
        value = float(self.finish(torch.tensor(mean, dtype=torch.float64, device="cpu")))
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
class RowState(Numbers):
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
