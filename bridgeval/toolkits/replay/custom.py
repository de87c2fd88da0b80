"""An author's Python function as a metric of the engine."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bridgeval.errors import BadParameterError, MetricFailedError
from bridgeval.metrics import NCISPrecision
from bridgeval.plugin import Block, Blocks, Needs, Result, Slate, UserMetric, Users, read_slates

PRED, TRUTH, WEIGHTS = "pred", "ground_truth", "weights"


def is_newer(function: Callable[..., Any]) -> bool:
    """Whether it follows the newer contract `(ks, ground_truth, pred) -> list`; else the older `(k, pred, ...)`."""
    return next(iter(inspect.signature(function).parameters), "") == "ks"


def bind_lists(function: Callable[..., Any], columns: Sequence[str]) -> Callable[..., Any]:
    """A function of k and these lists that calls the author's by parameter name, so that no list takes another's place.

    A function whose parameters have other names gets the lists in the order of the columns. RePlay's frames say
    `weight` where its methods say `weights`; either is understood.

    >>> bind_lists(lambda k, ground_truth, pred: (pred, ground_truth), ["pred", "ground_truth"])(1, ["a"], ["b"])
    (['a'], ['b'])
    """
    places = {name: at for at, name in enumerate(columns)}
    for one, other in (("weight", "weights"), ("weights", "weight")):
        if one in places:
            places.setdefault(other, places[one])
    parameters = list(inspect.signature(function).parameters.values())[1:]
    asked = [one for one in parameters if one.name in places or one.default is one.empty]
    if all(one.name in places and one.kind is one.POSITIONAL_OR_KEYWORD for one in asked):
        by_name = {one.name: places[one.name] for one in asked}
        return lambda k, *lists: function(k, **{name: lists[at] for name, at in by_name.items()})
    return function


@dataclass(frozen=True)
class FunctionMetric(UserMetric):
    """An author's function of a user's lists, at one of its cutoffs.

    Attributes:
        function: takes k (or ks), the items shown and the relevant items, for NCIS metrics the weights too.
        ks: all cutoffs of the call.
        place: the position of this metric's cutoff among them.
        weighted: the native metric whose weights the function gets; None for a function without weights.
    """

    name = "Function"

    function: Callable[..., Any]
    ks: tuple[int, ...]
    place: int
    weighted: NCISPrecision | None = None
    users: Users = field(default="relevant", kw_only=True)

    @property
    def k(self) -> int:
        return self.ks[self.place]

    def needs(self) -> Needs:
        return super().needs() if self.weighted is None else super().needs() | self.weighted.needs()

    def values(self, blocks: Blocks) -> Tensor:
        # One block for all cutoffs: a newer function gives them all in one call.
        return blocks[FunctionValues(replace(self, place=0))][:, self.place]


@dataclass(frozen=True)
class FunctionValues(Block[Tensor]):
    """The values of a function at all its cutoffs: `[B, number of cutoffs]`; NaN for users who do not count."""

    metric: FunctionMetric

    def make(self, blocks: Blocks) -> Tensor:
        metric, ks = self.metric, list(self.metric.ks)
        newer = is_newer(metric.function)
        columns = [TRUTH, PRED] if newer else [PRED, TRUTH] if metric.weighted is None else [PRED, TRUTH, WEIGHTS]
        call = bind_lists(metric.function, columns)
        table = np.full((len(blocks), len(ks)), math.nan)
        for row, slate, weights in read_weighted(blocks, metric):
            # A user without recommendations has None for a list in RePlay's newer contract.
            lists = [slate.relevant, slate.items or None] if newer else [slate.items, slate.relevant, weights]
            try:
                values = call(ks, *lists) if newer else [call(k, *lists[: len(columns)]) for k in ks]
                found = [float(value) for value in values]
            except Exception as error:
                raise MetricFailedError(
                    f"{metric.label} failed for user {slate.user!r}", f"{type(error).__name__}: {error}"
                ) from error
            if len(found) != len(ks):
                raise BadParameterError(
                    f"{metric.label} must return one value for each k", f"{len(found)} values for {ks}"
                )
            table[row] = found
        return torch.from_numpy(table).to(blocks.device)


def read_weighted(
    blocks: Blocks, metric: FunctionMetric | EnrichedLists
) -> Iterator[tuple[int, Slate, list[float] | None]]:
    """(row of the batch, lists, weights of the items shown) of every user who counts."""
    weights = None if metric.weighted is None else blocks[metric.weighted.weights].weights.tolist()
    for row, slate in read_slates(blocks, metric):
        yield row, slate, None if weights is None else weights[row][: len(slate.items)]


@dataclass(frozen=True)
class ListRows:
    """Rows (user, items shown, their weights, relevant items); weights are None without a policy."""

    rows: tuple[tuple[Any, ...], ...] = ()

    def merge(self, other: ListRows) -> ListRows:
        return ListRows(self.rows + other.rows)


@dataclass(frozen=True)
class ListResult(Result):
    """A result that holds lists in place of a number."""

    rows: tuple[tuple[Any, ...], ...] = ()


@dataclass(frozen=True)
class EnrichedLists(UserMetric):
    """Collects the lists that an author's function gets: RePlay's enriched recommendations.

    Attributes:
        weighted: as in FunctionMetric.
    """

    name = "EnrichedLists"

    weighted: NCISPrecision | None = None

    def needs(self) -> Needs:
        return super().needs() if self.weighted is None else super().needs() | self.weighted.needs()

    def start(self) -> ListRows:
        return ListRows()

    def update(self, blocks: Blocks) -> ListRows:
        found = read_weighted(blocks, self)
        return ListRows(tuple((slate.user, slate.items, weights, slate.relevant) for _, slate, weights in found))

    def compute(self, state: ListRows) -> ListResult:
        return ListResult(None, rows=state.rows)
