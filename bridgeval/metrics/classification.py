"""Classification: every item of the catalogue is shown or not, relevant or not; and areas under such curves.

h hits and n items within the first k places, P relevant items, N items of the catalogue.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bridgeval.batch.kernels import sum_by_code
from bridgeval.engine.blocks import Blocks, HitIndex, RelevantCount, ShownCount, Users
from bridgeval.engine.metric import PrefixMetric, TopKMetric, TotalMetric
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import Sums, Tally
from bridgeval.engine.summary import NEVER_NEGATIVE, SHARE, UNBOUNDED, Bounds, Result
from bridgeval.errors import BadParameterError
from bridgeval.metrics.blocks.hits import HitCounts, HitPlaces
from bridgeval.metrics.blocks.listed_items import check_depth

CATALOGUE = Needs(context=frozenset({"catalogue"}))


@dataclass(frozen=True)
class ConfusionMetric(TopKMetric):
    """The base of metrics of the four counts: all k places count as shown, however short the list is."""

    def needs(self) -> Needs:
        return super().needs() | CATALOGUE

    def count(self, blocks: Blocks) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """`[B]` float64 each: hits, misses, relevant items that were not shown, and the rest of the catalogue."""
        hits = blocks[HitCounts(self.ranking, self.relevance)].up_to(self.k)
        lost = blocks[RelevantCount(self.relevance)] - hits
        return hits, self.k - hits, lost, len(blocks.lookup.catalogue) - self.k - lost


@dataclass(frozen=True)
class Accuracy(ConfusionMetric):
    """The share of the catalogue that is rightly shown or rightly not shown: `(h + N - k - (P - h)) / N`.

    A list shorter than k counts as if its missing places held irrelevant items.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: ["b"]}, "Accuracy@2", catalogue=["a", "b", "c", "d"])["Accuracy@2"]
    0.75
    """

    name = "Accuracy"
    family = "classification"

    @property
    def bounds(self) -> Bounds:
        # A cutoff beyond the catalogue counts items that are not there.
        return UNBOUNDED

    def values(self, blocks: Blocks) -> Tensor:
        hits, _, _, rest = self.count(blocks)
        return (hits + rest) / len(blocks.lookup.catalogue)


@dataclass(frozen=True)
class MCC(ConfusionMetric):
    """Matthews correlation of shown and relevant: `(t u - f l) / sqrt((t + f) (t + l) (u + f) (u + l))`.

    t hits, f misses, l relevant items that were not shown, u the rest of the catalogue (Matthews 1975); 0 where the
    denominator is 0. A list shorter than k counts as if its missing places held irrelevant items.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["b"]}, {1: ["b"]}, "MCC@1", catalogue=["a", "b", "c", "d"])["MCC@1"]
    1.0
    """

    name = "MCC"
    family = "classification"

    @property
    def bounds(self) -> Bounds:
        return UNBOUNDED

    def values(self, blocks: Blocks) -> Tensor:
        hits, misses, lost, rest = self.count(blocks)
        below = (hits + misses) * (hits + lost) * (rest + misses) * (rest + lost)
        return torch.where(below == 0, 0.0, (hits * rest - misses * lost) / below.sqrt())


@dataclass(frozen=True)
class FallOut(PrefixMetric):
    """The share of the irrelevant items that stand in the first k places: `(n - h) / irrelevant`.

    Manning, Raghavan and Schütze 2008, 8.3. Undefined for users to whom everything is relevant.

    Attributes:
        out_of: the irrelevant items of the "catalogue", N - P; or those of the whole "list".
        faultless: what a user without irrelevant items gets: "undefined", "zero" or "one".

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: ["b"]}, "FallOut@2", catalogue=["a", "b", "c"])["FallOut@2"]
    0.5
    """

    name = "FallOut"
    family = "classification"
    higher_is_better = False

    out_of: Literal["catalogue", "list"] = field(default="catalogue", kw_only=True)
    faultless: Literal["undefined", "zero", "one"] = field(default="undefined", kw_only=True)

    @property
    def bounds(self) -> Bounds:
        # Lists may show items that the catalogue lacks; a relevant item that is shown again is no miss.
        return SHARE if self.out_of == "list" and self.ranking.duplicates == "best" else UNBOUNDED

    def needs(self) -> Needs:
        return super().needs() | CATALOGUE if self.out_of == "catalogue" else replace(super().needs(), depth=None)

    def values(self, blocks: Blocks) -> Tensor:
        shown = blocks[ShownCount(self.ranking)]
        misses = shown.clamp(max=self.k) - blocks[HitCounts(self.ranking, self.relevance)].up_to(self.k)
        if self.out_of == "list":
            rows, _, _ = blocks[HitIndex(self.ranking, self.relevance, whole=True)]
            irrelevant = shown - sum_by_code(rows, len(blocks))
        else:
            irrelevant = (len(blocks.lookup.catalogue) - blocks[RelevantCount(self.relevance)]).double()
        filled = {"undefined": torch.nan, "zero": 0.0, "one": 1.0}[self.faultless]
        return torch.where(irrelevant > 0, misses / irrelevant, filled)


@dataclass(frozen=True)
class PartialAUC(TopKMetric):
    """The area under the ROC curve up to k false positives: `sum over hits of max(0, k - misses above) / (k P)`.

    It reads the list as far as k misses go, whatever its length; a hit above all misses counts k (Shi et al. 2023).

    Attributes:
        hits: "all" of them; or the first "k", divided by min(k, P): RecTools' PAP.
        short: a list that ends before k misses, while relevant items are missing from it, is taken as it is ("keep");
            or its user has no value ("drop").

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b", "c"]}, {1: ["b"]}, "PartialAUC@2")["PartialAUC@2"]
    0.5
    """

    name = "PartialAUC"
    family = "classification"
    bounds = SHARE

    hits: Literal["all", "k"] = field(default="all", kw_only=True)
    short: Literal["keep", "drop"] = field(default="keep", kw_only=True)

    def needs(self) -> Needs:
        return replace(super().needs(), depth=None)

    def values(self, blocks: Blocks) -> Tensor:
        hits = blocks[HitPlaces(self.ranking, self.relevance, "once", whole=True)]
        relevant = blocks[RelevantCount(self.relevance)]
        worth = (self.k - (hits.ranks - hits.ordinals)).clamp(min=0)
        if self.hits == "k":
            worth, relevant = worth.masked_fill(hits.ordinals > self.k, 0), relevant.clamp(max=self.k)
        area = sum_by_code(hits.rows, len(blocks), worth) / (self.k * relevant.clamp(min=1))
        if self.short == "keep":
            return area
        found = sum_by_code(hits.rows, len(blocks))
        misses, lost = blocks[ShownCount(self.ranking)] - found, blocks[RelevantCount(self.relevance)] - found
        return area.masked_fill((misses < self.k) & (lost > 0), torch.nan)


@dataclass(frozen=True)
class RecallAtPrecision(TotalMetric):
    """The highest mean recall at a cutoff from 1 to k where the mean precision is at least a given one; else 0.

    Both are means over users, so that there is one value for all lists.

    Attributes:
        precision: the least precision.
        value: the "recall"; or the cutoff "k" that gives it, the largest of those, and k itself where there is none.

    >>> import bridgeval
    >>> lists, truth = {1: ["a", "b", "c"]}, {1: ["a", "c"]}
    >>> names = ["RecallAtPrecision@3", "RecallAtPrecision(precision=1)@3"]
    >>> dict(bridgeval.evaluate(lists, truth, names))
    {'RecallAtPrecision@3': 1.0, 'RecallAtPrecision(precision=1)@3': 0.5}
    """

    name = "RecallAtPrecision"
    family = "classification"

    users: Users = field(default="relevant", kw_only=True)
    precision: float = field(default=0.5, kw_only=True)
    value: Literal["recall", "k"] = field(default="recall", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_depth(self.name, self.k)
        if not 0 <= self.precision <= 1:
            raise BadParameterError("RecallAtPrecision needs a precision from 0 to 1", f"{self.precision}", "e.g. 0.5")

    @property
    def bounds(self) -> Bounds:
        return SHARE if self.value == "recall" and self.ranking.duplicates == "best" else NEVER_NEGATIVE

    def update(self, blocks: Blocks) -> Tally:
        hits = blocks[HitPlaces(self.ranking, self.relevance)]
        counted = self.counted(blocks)
        there = (hits.places < self.k) & counted[hits.rows]
        rows, places = hits.rows[there], hits.places[there]
        recall = 1 / blocks[RelevantCount(self.relevance)].clamp(min=1).double()
        sums = {
            "users": counted.sum(),
            "hits": sum_by_code(places, self.k),
            "recall": sum_by_code(places, self.k, recall[rows]),
        }
        return Tally(Sums(sums))

    def compute(self, state: Any) -> Result:
        users = state.sums["users"]
        if not users:
            return Result(math.nan, users=0)
        places = np.arange(1, self.k + 1)
        precision = np.cumsum(state.sums["hits"]) / (users * places)
        recall = np.cumsum(state.sums["recall"]) / users
        fitting = np.flatnonzero(precision >= self.precision)
        # Recall never falls, so that the largest cutoff has the highest.
        best = int(fitting[-1]) if len(fitting) else -1
        if self.value == "k":
            return Result(float(places[best]), users=users)
        return Result(float(recall[best]) if len(fitting) else 0.0, users=users)
