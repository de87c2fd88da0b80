"""Diversity: how evenly are places given to items, and how many topics does a list touch?"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bridgeval.batch.kernels import find_repeats
from bridgeval.batch.ranking import Ranking, Relevance
from bridgeval.batch.sorting import numbers
from bridgeval.batch.tensors import where
from bridgeval.engine.blocks import (
    Block,
    Blocks,
    Ranked,
    Relevant,
    ShownColumn,
    Users,
    at_cutoff,
    by_item,
)
from bridgeval.engine.cumulative import Running
from bridgeval.engine.metric import TopKMetric, TotalMetric
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import Floats, Sums, Tally
from bridgeval.engine.summary import Result
from bridgeval.metrics.blocks.feature_bits import LabelBits, label_count
from bridgeval.metrics.blocks.hits import HitPlaces
from bridgeval.metrics.blocks.listed_items import (
    Among,
    HitItems,
    ListedItems,
    among_needs,
    bits_over_places,
    cell_counts,
    item_counts,
    places_counted,
    population,
)

# Numbers up to so many times as many as there are of them are counted, which takes less time than to sort them.
COUNTERS_PER_NUMBER = 32


@dataclass(frozen=True)
class Gini(TotalMetric):
    """How unequally the places of all lists are shared out among the items of the catalogue: 0 evenly, 1 all to one.

    With c_(1) <= ... <= c_(N) the number of lists that hold each item, 0 included:
    `sum_j (2j - N - 1) c_(j) / (N - 1) / sum_j c_(j)` (Gunawardana and Shani 2015). Shown items that the
    catalogue lacks are left out. Undefined for a catalogue of one item and where nothing was shown.

    Attributes:
        total: what the counts are shares of: those "counted"; or all "cells" of the lists, as in WarpRec, which divides
            by users times k and so also by padding.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a"], 2: ["a"]}, {1: ["a"]}, "Gini@1", catalogue=["a", "b", "c"])["Gini@1"]
    1.0
    """

    name = "Gini"
    family = "diversity"
    higher_is_better = False

    total: Literal["counted", "cells"] = field(default="counted", kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"catalogue"}))

    def update(self, blocks: Blocks) -> Tally:
        cells = float(cell_counts(blocks, self).sum())
        sums = Sums({"users": population(blocks, self), "cells": cells})
        return Tally(sums, item_counts(blocks, self, "catalogue"), {"items": len(blocks.lookup.catalogue)})

    def compute(self, state: Any) -> Result:
        counts, times = _occurring(state.items.values)
        items = state.facts.get("items", 0)
        total = counts @ times if self.total == "counted" else state.sums["cells"]
        value = float("nan")
        if items > 1 and total:
            # Items of one count stand in places that follow upon one another, behind all of a smaller one.
            before = items - times.sum() + np.cumsum(times) - times
            value = float(counts @ (times * (2 * before + times - items)) / total / (items - 1))
        return Result(value, users=state.sums["users"])


def _occurring(counts: Floats) -> tuple[Floats, Floats]:
    """The different numbers above 0 among whole numbers, ascending, and how often each occurs.

    >>> _occurring(np.array([3.0, 0.0, 1.0, 3.0])), _occurring(np.array([900.0, 1.0, 0.0]))
    ((array([1., 3.]), array([1., 2.])), (array([  1., 900.]), array([1., 1.])))
    """
    if counts.max(initial=0) > COUNTERS_PER_NUMBER * len(counts):
        different, times = np.unique(counts[counts > 0], return_counts=True)
        return different, times.astype(np.float64)
    times_of = np.bincount(counts.astype(np.int64), minlength=1)
    occurring = np.flatnonzero(times_of[1:] > 0) + 1
    return occurring.astype(np.float64), times_of[occurring].astype(np.float64)


@dataclass(frozen=True)
class ShannonEntropy(TotalMetric):
    """The entropy of the items in all lists: `-sum_i p_i ln p_i`, p_i the share of the places that hold item i.

    In nats: 0 when one item fills every place, ln N when N items are shown equally often (Gunawardana and Shani 2015,
    there without a base). Undefined where nothing was shown.

    Attributes:
        among: all items "shown"; or without those that the "catalogue" lacks, as WarpRec leaves padding out.
        share_of: p_i is the share of all "places", or of all "users", as in LibRec; these shares do not sum to 1.
        base: of the logarithm.

    >>> import bridgeval
    >>> round(bridgeval.evaluate({1: ["a"], 2: ["b"]}, {1: ["a"]}, "ShannonEntropy@1")["ShannonEntropy@1"], 6)
    0.693147
    """

    name = "ShannonEntropy"
    family = "diversity"

    among: Among = field(default="shown", kw_only=True)
    share_of: Literal["places", "users"] = field(default="places", kw_only=True)
    base: float = field(default=math.e, kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | among_needs(self.among)

    def update(self, blocks: Blocks) -> Tally:
        return Tally(Sums({"users": population(blocks, self)}), item_counts(blocks, self, self.among))

    def compute(self, state: Any) -> Result:
        counts, users = state.items.values[state.items.values > 0], state.sums["users"]
        total = counts.sum() if self.share_of == "places" else users
        if not total:
            return Result(math.nan, users=users)
        shares = counts / total
        return Result(float(-(shares * np.log(shares)).sum() / math.log(self.base)), users=users)


@dataclass(frozen=True)
class SRecall(TopKMetric):
    """Subtopic recall: the share of the topics of a user's relevant items that the hits in the first k places touch.

    Topics are the features with a value above 0 (Zhai, Cohen and Lafferty 2003). Undefined for users whose
    relevant items have no feature at all.

    Attributes:
        undefined: what these users get: "nan", or "zero" as in WarpRec.

    >>> import bridgeval
    >>> topics = {"a": ["jazz"], "b": ["jazz", "rock"]}
    >>> dict(bridgeval.evaluate({1: ["a", "b"]}, {1: ["a", "b"]}, "SRecall@1,2", item_features=topics))
    {'SRecall@1': 0.5, 'SRecall@2': 1.0}
    """

    name = "SRecall"
    family = "diversity"

    undefined: Literal["nan", "zero"] = field(default="nan", kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"item features"}))

    def values(self, blocks: Blocks) -> Tensor:
        found = blocks[NewTopics(self.ranking, self.relevance)].up_to(self.k)
        there = blocks[RelevantTopics(self.relevance)]
        none = 0.0 if self.undefined == "zero" else torch.nan
        return where(numbers(there) > 0, found / there, none)


@dataclass(frozen=True)
class NewTopics(Block[Running[Tensor]]):
    """How many features the hits in the first k places have between them: `[B]` float64."""

    ranking: Ranking
    relevance: Relevance

    def make(self, blocks: Blocks) -> Running[Tensor]:
        items = blocks[HitItems(self.ranking, self.relevance)]
        hits = blocks[HitPlaces(self.ranking, self.relevance)]
        most = int(hits.ordinal.max()) if len(hits.rows) else 0
        where = hits.ordinal * hits.size + hits.rows
        touched = []
        for bits in blocks[LabelBits(positive=True)]:
            cells = bits.new_zeros((most + 1) * hits.size).scatter_(0, where, by_item(bits, items))
            for above, here in pairwise(cells.view(most + 1, hits.size)):
                here |= above
            touched.append(cells.index_select(0, where))
        found, ordinal = numbers(label_count(touched)), numbers(hits.ordinal)
        more = found[1:] - found[:-1] * (ordinal[1:] > 1)
        return hits.running(torch.cat([torch.as_tensor(found[:1]), torch.as_tensor(more)]).double())


@dataclass(frozen=True)
class RelevantTopics(Block[Tensor]):
    """How many features the relevant items of each user have between them: `[B]` float64."""

    relevance: Relevance

    def make(self, blocks: Blocks) -> Tensor:
        items = blocks[Relevant(self.relevance)].items
        none = torch.zeros(len(blocks), dtype=torch.int32, device=blocks.device)
        return label_count(
            reduce(torch.bitwise_or, by_item(bits, items).unbind(1), none) for bits in blocks[LabelBits(positive=True)]
        ).double()


@dataclass(frozen=True)
class CategoricalDiversity(TopKMetric):
    """How many different categories the first k places show, for each item shown.

    Items of several categories show all of them, so that the value may exceed 1; items without one show none.

    Undefined for users who were shown nothing.

    Attributes:
        of: the categories of "items", given as item_features; or of "rows", each with its own, which lists
            that RePlay's class reads have.
        divide_by: "shown", n; or "k".

    >>> import bridgeval
    >>> genres = {"a": "rock", "b": "rock", "c": "jazz"}
    >>> report = bridgeval.evaluate({1: ["a", "b"]}, {1: ["b"]}, "CategoricalDiversity@2", item_features=genres)
    >>> report["CategoricalDiversity@2"]
    0.5
    """

    name = "CategoricalDiversity"
    family = "diversity"

    users: Users = field(default="shown", kw_only=True)
    of: Literal["items", "rows"] = field(default="items", kw_only=True)
    divide_by: Literal["shown", "k"] = field(default="shown", kw_only=True)

    def needs(self) -> Needs:
        if self.of == "rows":
            return super().needs() | Needs(pairs=frozenset({"category"}))
        return super().needs() | Needs(context=frozenset({"item features"}))

    def values(self, blocks: Blocks) -> Tensor:
        if self.of == "items":
            cutoffs = blocks.together_with(self.k)
            different = blocks[ListedLabels(self.ranking, cutoffs)][cutoffs.index(self.k)]
        else:
            different = at_cutoff(blocks[CategoryCounts(self.ranking)], self.k).double()
        return different / places_counted(blocks, self.ranking, self.k, self.divide_by)


@dataclass(frozen=True)
class ListedLabels(Block[Tensor]):
    """How many features the items in the first places of each list have between them: `[cutoffs, B]` float64."""

    ranking: Ranking
    cutoffs: tuple[int, ...]

    def make(self, blocks: Blocks) -> Tensor:
        items = blocks[ListedItems(self.ranking)]
        return label_count(bits_over_places(items, words, self.cutoffs) for words in blocks[LabelBits()]).double()


@dataclass(frozen=True)
class CategoryCounts(Block[Tensor]):
    """Different categories, of the column `category`, in the first 1, 2, ... places: `[B, D]` int64."""

    ranking: Ranking = Ranking()

    def make(self, blocks: Blocks) -> Tensor:
        codes = blocks[ShownColumn("category", self.ranking)].long()
        none = int(codes.max()) + 1 if codes.numel() else 0
        codes = codes.masked_fill(~blocks[Ranked(self.ranking)].valid | (codes < 0), none)
        return ((codes != none) & ~find_repeats(codes, none)).cumsum(1)
