"""Confidence: does a system know for whom it is wrong?"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bridgeval.batch.ranking import Ranking
from bridgeval.engine.blocks import Block, Blocks, Ranked, ShownColumn
from bridgeval.engine.metric import RankingMetric, UserMetric, check_cutoff
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import Collected, Floats, State
from bridgeval.engine.summary import Bounds, Result
from bridgeval.metrics.accuracy import nDCG
from bridgeval.metrics.blocks.composite import PartValues, check_parts

Signal = Literal["highest", "spread", "lead"]
# The shares of users who are left out: 0, 0.1, ..., 0.9.
LEFT_OUT = np.arange(10) / 10


@dataclass(frozen=True)
class Abstention(RankingMetric):
    """What is gained by leaving out the users whom the scores say least about, as a share of what can be gained.

    `(A - F) / (O - F)`: A is the area under the mean value of a metric when 0, 10, ..., 90 % of the users are left out,
    the least confident first; O the same when the worst are left out first; F of the mean that never changes. Users of
    equal confidence count with their mean. 1 is the best, 0 says nothing, below 0 the scores mislead (Gisserot-Boukhlef
    et al. 2024). Undefined where all users have the same value.

    Attributes:
        metric_1: whose values; by default nDCG at the same cutoff; any metric that gives per-user values.
        signal: a user's "highest" score; the "spread" of all scores, their standard deviation; or the "lead" of the
            highest over the second, 0 for a list of one.

    >>> import bridgeval
    >>> shown = {1: {"a": 0.9, "b": 0.1}, 2: {"a": 0.5, "b": 0.4}}
    >>> bridgeval.evaluate(shown, {1: ["a"], 2: ["b"]}, "Abstention@1")["Abstention@1"]
    1.0
    """

    name = "Abstention"
    family = "confidence"
    made_of: ClassVar[tuple[str, ...]] = ("metric_1",)

    k: int
    metric_1: UserMetric | None = field(default=None, kw_only=True)
    signal: Signal = field(default="highest", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_cutoff(self.name, self.k)
        if self.metric_1 is not None:
            check_parts(self.name, [self.metric_1])

    @property
    def part(self) -> UserMetric:
        return self.metric_1 or nDCG(self.k, **self.policies)

    @property
    def bounds(self) -> Bounds:
        return -math.inf, 1.0

    def needs(self) -> Needs:
        # The spread is that of the whole list.
        return super().needs() | self.part.needs() | Needs(depth=None, pairs=frozenset({"score"}))

    def start(self) -> State:
        return Collected()

    def update(self, blocks: Blocks) -> State:
        sure = blocks[ListConfidence(self.signal, self.ranking)]
        pairs = torch.stack([sure, blocks[PartValues(self.part)]], dim=1)
        users = blocks.batch.slates.users.slice(blocks.batch.start, blocks.batch.stop)

        def collect(counted: npt.NDArray[np.bool_], pairs: Floats) -> State:
            rows = np.flatnonzero(counted & ~np.isnan(pairs[:, 1]))
            return Collected(((users.take(rows), pairs[rows]),)) if len(rows) else Collected()

        return blocks.finish(collect, self.counted(blocks), pairs)

    def compute(self, state: Any) -> Result:
        pairs = state.table().values.reshape(-1, 2)
        sure, values = pairs[:, 0], pairs[:, 1]
        if not len(values):
            return Result(math.nan, users=0)
        found, best = area_of_abstention(sure, values), area_of_abstention(values, values)
        flat = float(values.mean()) * (LEFT_OUT[-1] - LEFT_OUT[0])
        # What is left of equal values is rounding.
        gain = best - flat
        value = (found - flat) / gain if gain > 1e-12 * max(abs(best), abs(flat)) else math.nan
        return Result(float(value), users=len(values))


def area_of_abstention(sure: Floats, values: Floats) -> float:
    """The area under the mean of the values that are kept, by the share of those left out, the least sure first.

    >>> round(area_of_abstention(np.array([1.0, 2.0]), np.array([0.0, 1.0])), 6)
    0.775
    """
    _, group, sizes = np.unique(sure, return_inverse=True, return_counts=True)
    means = np.bincount(group, weights=values) / sizes
    kept_means = np.repeat(means, sizes)
    kept = [kept_means[min(round(share * len(values)), len(values) - 1) :].mean() for share in LEFT_OUT.tolist()]
    return float(np.trapezoid(kept, LEFT_OUT))


@dataclass(frozen=True)
class ListConfidence(Block[Tensor]):
    """What the scores of each whole list say about how sure the system is: `[B]` float64, 0 without a list."""

    signal: Signal
    ranking: Ranking

    def make(self, blocks: Blocks) -> Tensor:
        there = blocks[Ranked(self.ranking)].valid
        scores = blocks[ShownColumn("score", self.ranking)].double()
        count = there.sum(1)
        if self.signal == "spread":
            mean = torch.where(there, scores, 0.0).sum(1) / count.clamp(min=1)
            apart = torch.where(there, scores - mean[:, None], 0.0)
            return (apart.square().sum(1) / count.clamp(min=1)).sqrt()
        # The ranking decides which rows are first, the scores which are highest.
        best = scores.masked_fill(~there, -torch.inf)
        first = torch.nn.functional.pad(best, (0, 2), value=-torch.inf).topk(2, dim=1).values
        if self.signal == "highest":
            return torch.where(count > 0, first[:, 0], 0.0)
        return torch.where(count > 1, first[:, 0] - first[:, 1], 0.0)
