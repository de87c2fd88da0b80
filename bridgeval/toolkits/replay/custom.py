"""Per-user Python functions as metrics of the engine, and how their arguments are told apart."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bridgeval.errors import BadParameterError, MetricFailedError
from bridgeval.plugin import Block, Blocks, Counted, Ranked, Ranking, Relevance, Relevant, UserMetric, Users

# (pred, ground_truth) of one user -> one value for each cutoff.
ListFunction = Callable[[list[Any], list[Any]], Sequence[float]]

NEWER_CUTOFFS = "ks"


def is_newer(function: Callable[..., Any]) -> bool:
    """Whether it follows the newer contract `(ks, ground_truth, pred) -> list`; else the older `(k, pred, ...)`."""
    return next(iter(inspect.signature(function).parameters), "") == NEWER_CUTOFFS


def list_function(function: Callable[..., Any], ks: Sequence[int]) -> ListFunction:
    """A user's function of either contract, called by parameter names, so that lists cannot change places.

    >>> older = lambda k, pred, ground_truth: len(set(pred[:k]) & set(ground_truth)) / k
    >>> newer = lambda ks, ground_truth, pred: [len(set((pred or [])[:k]) & set(ground_truth)) / k for k in ks]
    >>> [list_function(one, [1, 2])(["a", "b"], ["b"]) for one in (older, newer)]
    [[0.0, 0.5], [0.0, 0.5]]
    """
    names = list(inspect.signature(function).parameters)
    by_name = {"pred", "ground_truth"} <= set(names)
    cutoffs = list(ks)
    if is_newer(function):
        if by_name:
            return lambda pred, truth: function(cutoffs, ground_truth=truth, pred=pred or None)
        return lambda pred, truth: function(cutoffs, truth, pred or None)
    if by_name:
        return lambda pred, truth: [function(k, pred=pred, ground_truth=truth) for k in cutoffs]
    return lambda pred, truth: [function(k, pred, truth) for k in cutoffs]


def row_function(function: Callable[..., Any], columns: Sequence[str]) -> Callable[..., float]:
    """A function of k and an enriched row: by name where all its parameters are columns, else in order.

    RePlay's frames call the column `weight` that its methods call `weights`.
    """
    parameters = list(inspect.signature(function).parameters.values())[1:]
    if any(parameter.name == "weights" for parameter in parameters):
        columns = ["weights" if name == "weight" else name for name in columns]
    names = [parameter.name for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    if len(names) == len(parameters) and set(names) <= set(columns):
        places = [columns.index(name) for name in names]
        return lambda k, *row: float(function(k, **{n: row[at] for n, at in zip(names, places, strict=True)}))
    return lambda k, *row: float(function(k, *row))


@dataclass(frozen=True)
class FunctionMetric(UserMetric):
    """A Python function of a user's lists at one of its cutoffs.

    Attributes:
        function: gives the values at all cutoffs; called once for each user, whatever number of cutoffs is asked for.
        place: which of them this is.
        title: the name of the class it came from.
    """

    name = "Function"

    function: ListFunction
    place: int
    title: str = ""
    users: Users = field(default="relevant", kw_only=True)

    def values(self, blocks: Blocks) -> Tensor:
        return blocks[FunctionValues(self.function, self.title, self.users, self.ranking, self.relevance)].select(
            1, self.place
        )


@dataclass(frozen=True)
class FunctionValues(Block[Tensor]):
    """The values of a function at all its cutoffs: `[B, number of cutoffs]`; NaN for users who do not count."""

    function: ListFunction
    title: str
    users: Users
    ranking: Ranking
    relevance: Relevance

    def make(self, blocks: Blocks) -> Tensor:
        counted = blocks[Counted(self.users, self.ranking, self.relevance)]
        rows, values = [], []
        for row, user, pred, truth in user_lists(blocks, counted, self.ranking, self.relevance):
            try:
                values.append([float(value) for value in self.function(pred, truth)])
            except Exception as error:
                raise MetricFailedError(
                    f"{self.title} failed for user {user!r}", f"{type(error).__name__}: {error}"
                ) from error
            rows.append(row)
        if len(set(map(len, values))) > 1:
            raise BadParameterError(
                f"{self.title} must return one value for each k", f"{sorted(set(map(len, values)))} values"
            )
        table = np.full((len(blocks), len(values[0]) if values else 1), math.nan)
        if rows:
            table[rows] = values
        return torch.from_numpy(table).to(blocks.device)


def user_lists(
    blocks: Blocks, counted: Tensor, ranking: Ranking, relevance: Relevance
) -> Iterator[tuple[int, Any, list[Any], list[Any]]]:
    """(row of the batch, user, items best first, relevant items) of every user who counts."""
    shown, relevant = blocks[Ranked(ranking)], blocks[Relevant(relevance)]
    batch = blocks.batch
    pred, pred_ends = _names(blocks, shown.items, shown.valid)
    truth, truth_ends = _names(blocks, relevant.items, relevant.valid)
    users = batch.slates.users.slice(batch.start, batch.stop).tolist()
    for row in torch.nonzero(counted).flatten().tolist():
        yield (
            row,
            users[row],
            pred[pred_ends[row] : pred_ends[row + 1]],
            truth[truth_ends[row] : truth_ends[row + 1]],
        )


def _names(blocks: Blocks, items: Tensor, valid: Tensor) -> tuple[list[Any], list[int]]:
    names = blocks.batch.slates.items.take(items[valid].cpu().numpy()).tolist()
    return names, [0, *valid.sum(1).cumsum(0).tolist()]
