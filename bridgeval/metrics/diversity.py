"""Diversity: how evenly are places given to items, and how many topics does a list touch?"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bridgeval.batch.kernels import find_repeats
from bridgeval.batch.ranking import Ranking, Relevance
from bridgeval.engine.blocks import Block, Blocks, Ranked, Relevant, ShownColumn, ShownCount, Users
from bridgeval.engine.cumulative import Cumulative
from bridgeval.engine.metric import TopKMetric, TotalMetric
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import ItemSums, Sums, Tally
from bridgeval.engine.summary import NEVER_NEGATIVE, SHARE, UNBOUNDED, Bounds, Result
from bridgeval.errors import BadParameterError
from bridgeval.metrics.blocks.feature_bits import (
    FeatureBits,
    count_bits,
    count_features,
    has_feature,
    unite_features,
)
from bridgeval.metrics.blocks.hits import HitPlaces
from bridgeval.metrics.blocks.listed_items import (
    Among,
    ListedItems,
    among_needs,
    counts_by_item,
    item_counts,
    list_length,
    population,
)
from bridgeval.metrics.blocks.pair_distances import Distance, HistoryDistances, PairDistances


@dataclass(frozen=True)
class Gini(TotalMetric):
    """The inequality of the items of the catalogue in the places they get: 0 if all get as many, 1 if one gets all.

    With c_(1) <= ... <= c_(N) the number of lists that hold each item, 0 included:
    `sum_j (2j - N - 1) c_(j) / (N - 1) / sum_j c_(j)` (Gunawardana and Shani 2015). Shown items that the
    catalogue lacks are left out. Undefined for a catalogue of one item and where nothing was shown.

    Attributes:
        total: what the counts are shares of: those "counted"; or all "cells" of the lists, as in WarpRec, which divides
            by users times k and so also by padding.
        divide_by: N - 1, the "others", so that 1 is reached; or all N "items".
        p: place j counts as `p^(j - 1)`: with p below 1 it is the inequality of exposure (Diaz et al. 2020).

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a"], 2: ["a"]}, {1: ["a"]}, "Gini@1", catalogue=["a", "b", "c"])["Gini@1"]
    1.0
    """

    name = "Gini"
    family = "diversity"
    higher_is_better = False
    bounds = SHARE

    total: Literal["counted", "cells"] = field(default="counted", kw_only=True)
    divide_by: Literal["others", "items"] = field(default="others", kw_only=True)
    p: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.p <= 1:
            raise BadParameterError("Gini needs a p above 0, at most 1", f"{self.p}", "1 counts all places alike")

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"catalogue"}))

    def update(self, blocks: Blocks) -> Tally:
        counts = counts_by_item(blocks, self, self.p)
        sums = Sums({"users": population(blocks, self), "cells": counts.sum()})
        known = ItemSums.of(blocks.batch.slates.items, counts * blocks.lookup.in_catalogue[:-1])
        return Tally(sums, known, {"items": len(blocks.lookup.catalogue)})

    def compute(self, state: Any) -> Result:
        counts, items = np.sort(state.items.values), state.facts.get("items", 0)
        total = counts.sum() if self.total == "counted" else state.sums["cells"]
        value = float("nan")
        if items > 1 and total:
            # Items of the catalogue that no list has seen come first, with a count of 0.
            j = np.arange(items - len(counts), items) + 1
            below = items - 1 if self.divide_by == "others" else items
            value = float(((2 * j - items - 1) * counts).sum() / total / below)
        return Result(value, users=state.sums["users"])


@dataclass(frozen=True)
class ShannonEntropy(TotalMetric):
    """The entropy of the items in all lists: `-sum_i p_i ln p_i`, p_i the share of the places that hold item i.

    In nats: 0 when one item fills every place, ln N when N items are shown equally often (Gunawardana and Shani 2015,
    there without a base). Undefined where nothing was shown.

    Attributes:
        among: all items "shown"; or without those that the "catalogue" lacks, as WarpRec leaves padding out.
        share_of: p_i is the share of all "places", or of all "users", as in LibRec; these shares do not sum to 1.
        base: of the logarithm.
        divide_by: "one"; or the number of different "items" that were shown, as in RecBole.
        against: "itself"; or the "history": `-sum_i p_i ln q_i`, q_i the share of the pairs of the history that have
            item i: the mean surprise of the places (Castells et al. 2011). Items that the history lacks add nothing.

    >>> import bridgeval
    >>> round(bridgeval.evaluate({1: ["a"], 2: ["b"]}, {1: ["a"]}, "ShannonEntropy@1")["ShannonEntropy@1"], 6)
    0.693147
    """

    name = "ShannonEntropy"
    family = "diversity"

    among: Among = field(default="shown", kw_only=True)
    share_of: Literal["places", "users"] = field(default="places", kw_only=True)
    base: float = field(default=math.e, kw_only=True)
    divide_by: Literal["one", "items"] = field(default="one", kw_only=True)
    against: Literal["itself", "history"] = field(default="itself", kw_only=True)

    @property
    def bounds(self) -> Bounds:
        return NEVER_NEGATIVE if self.share_of == "places" and self.base > 1 else UNBOUNDED

    def needs(self) -> Needs:
        popularity = Needs(context=frozenset({"item popularity"} if self.against == "history" else ()))
        return super().needs() | among_needs(self.among) | popularity

    def update(self, blocks: Blocks) -> Tally:
        users, counts = Sums({"users": population(blocks, self)}), item_counts(blocks, self, self.among)
        if self.against == "itself":
            return Tally(users, counts)
        # Beside each count the same times the popularity, which batches that lack the item leave as it is.
        shown: Any = counts.values
        numbers = torch.stack([shown, shown * blocks.lookup.items("popularity")[:-1].double()], dim=1)
        by_item = ItemSums.of(blocks.batch.slates.items, numbers)
        return Tally(users, by_item, {"pairs": int(blocks.context.history_pairs)})

    def compute(self, state: Any) -> Result:
        numbers, users = state.items.values, state.sums["users"]
        counts = numbers if self.against == "itself" else numbers.reshape(-1, 2)[:, 0]
        shown = counts > 0
        counts = counts[shown]
        total = counts.sum() if self.share_of == "places" else users
        if not total:
            return Result(math.nan, users=users)
        shares = expected = counts / total
        if self.against == "history":
            expected = numbers[shown, 1] / counts / max(state.facts["pairs"], 1)
        surprise = -np.log(expected, where=expected > 0, out=np.zeros(len(expected)))
        entropy = float((shares * surprise).sum() / math.log(self.base))
        return Result(entropy if self.divide_by == "one" else entropy / len(shares), users=users)


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
    bounds = SHARE

    undefined: Literal["nan", "zero"] = field(default="nan", kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"item features"}))

    def values(self, blocks: Blocks) -> Tensor:
        found, there = blocks[TopicCounts(self.ranking, self.relevance)]
        missing = 0.0 if self.undefined == "zero" else torch.nan
        return (found.up_to(self.k) / there).masked_fill(there == 0, missing)


@dataclass(frozen=True)
class TopicCounts(Block[tuple[Cumulative, Tensor]]):
    """The number of different features of the hits in the first k places, and of all relevant items: `[B]` float64."""

    ranking: Ranking
    relevance: Relevance

    def make(self, blocks: Blocks) -> tuple[Cumulative, Tensor]:
        hits, shown = blocks[HitPlaces(self.ranking, self.relevance)], blocks[Ranked(self.ranking)]
        words, relevant = blocks[FeatureBits(positive=True)], blocks[Relevant(self.relevance)].items.t()
        found = shown.items.new_full(shown.items.shape[::-1], shown.pad)
        found[hits.places, hits.rows] = hits.items
        joined = [unite_features(words, found, blocks.cutoffs), unite_features(words, relevant, (len(relevant),))]
        counts = count_bits(torch.cat(joined, 1)).sum(0).double()
        return Cumulative(blocks.cutoffs, counts[:-1]), counts[-1]


@dataclass(frozen=True)
class CategoricalDiversity(TopKMetric):
    """The number of different categories in the first k places, divided by the number of items.

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
    bounds = NEVER_NEGATIVE

    users: Users = field(default="shown", kw_only=True)
    of: Literal["items", "rows"] = field(default="items", kw_only=True)
    divide_by: Literal["shown", "k"] = field(default="shown", kw_only=True)

    def needs(self) -> Needs:
        if self.of == "rows":
            return super().needs() | Needs(pairs=frozenset({"category"}))
        return super().needs() | Needs(context=frozenset({"item features"}))

    def values(self, blocks: Blocks) -> Tensor:
        if self.of == "items":
            different = blocks[ListedFeatures(self.ranking)].up_to(self.k)
        else:
            different = blocks[ListedCategories(self.ranking)].up_to(self.k)
        return different / list_length(blocks, self, self.divide_by)


@dataclass(frozen=True)
class ListedFeatures(Block[Cumulative]):
    """The number of different features of the items in the first k places: `[B]` float64."""

    ranking: Ranking

    def make(self, blocks: Blocks) -> Cumulative:
        return count_features(blocks[FeatureBits()], blocks[ListedItems(self.ranking)], blocks.cutoffs)


@dataclass(frozen=True)
class ListedCategories(Block[Cumulative]):
    """The number of different categories, of the column `category`, in the first k places: `[B]` float64."""

    ranking: Ranking

    def make(self, blocks: Blocks) -> Cumulative:
        codes = blocks[ShownColumn("category", self.ranking)].long()
        none = int(codes.max()) + 1 if codes.numel() else 0
        codes = codes.masked_fill(~blocks[Ranked(self.ranking)].valid | (codes < 0), none)
        new = ((codes != none) & ~find_repeats(codes, none)).double()
        return Cumulative.of_cells(blocks.cutoffs, new, dim=1)


@dataclass(frozen=True)
class IntraListDistance(TopKMetric):
    """The mean distance of two items of the list: `2 / (n (n - 1)) sum_{i < j} d(i, j)` (Ziegler et al. 2005).

    Undefined for users who were shown fewer than two items.

    Attributes:
        distance: of the features of two items: "jaccard", the share of those that either has which they do not share, 0
            if neither has any; "hamming", how many differ, of items with one value in each of several columns;
            "cosine", 1 less those that both have over the geometric mean of those that each has.
        single: what users with fewer than two items get: "undefined" or "zero".

    >>> import bridgeval
    >>> genres, name = {"a": ["rock"], "b": ["rock", "jazz"], "c": ["folk"]}, "IntraListDistance@3"
    >>> round(bridgeval.evaluate({1: ["a", "b", "c"]}, {1: ["b"]}, name, item_features=genres)[name], 4)
    0.8333
    """

    name = "IntraListDistance"
    family = "diversity"

    users: Users = field(default="shown", kw_only=True)
    distance: Distance = field(default="jaccard", kw_only=True)
    single: Literal["undefined", "zero"] = field(default="undefined", kw_only=True)

    @property
    def bounds(self) -> Bounds:
        return SHARE if self.distance != "hamming" else NEVER_NEGATIVE

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"item features"}))

    def values(self, blocks: Blocks) -> Tensor:
        shown = blocks[ShownCount(self.ranking)].clamp(max=self.k).double()
        pairs = shown * (shown - 1) / 2
        total = blocks[PairDistances(self.distance, self.ranking)].up_to(self.k)
        return torch.where(pairs > 0, total / pairs, torch.nan if self.single == "undefined" else 0.0)


@dataclass(frozen=True)
class HistoryDistance(TopKMetric):
    """The mean distance of the items shown from what the user has in the history: `1/n sum_j mean_h d(i_j, h)`.

    Unserendipity of Zhang et al. 2012, turned round. Undefined for users who were shown nothing, or have no history.

    Attributes:
        distance: as in IntraListDistance.

    >>> import bridgeval
    >>> genres, name = {"a": ["rock"], "b": ["rock", "jazz"]}, "HistoryDistance@1"
    >>> report = bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, name, history={1: ["b"]}, item_features=genres)
    >>> round(report[name], 4)
    0.2929
    """

    name = "HistoryDistance"
    family = "diversity"

    users: Users = field(default="shown", kw_only=True)
    distance: Distance = field(default="cosine", kw_only=True)

    @property
    def bounds(self) -> Bounds:
        return SHARE if self.distance != "hamming" else NEVER_NEGATIVE

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"item features"}), lists=frozenset({"history lists"}))

    def values(self, blocks: Blocks) -> Tensor:
        total = blocks[HistoryDistances(self.distance, self.ranking)].up_to(self.k)
        return total / blocks[ShownCount(self.ranking)].clamp(max=self.k)


@dataclass(frozen=True)
class CategoryEntropy(TopKMetric):
    """The entropy of the categories in the first k places: `-sum_c p_c log2 p_c`, p_c the share of category c.

    An item of several categories shows all of them. Undefined for users who were shown nothing.

    Attributes:
        p: place j counts as `p^(j - 1)`: with p below 1 it is the rank-biased entropy.
        floor: what is added to each category before shares are taken (LensKit: 0.000001).

    >>> import bridgeval
    >>> genres, name = {"a": "rock", "b": "jazz", "c": "rock"}, "CategoryEntropy@1,2"
    >>> dict(bridgeval.evaluate({1: ["a", "b"]}, {1: ["b"]}, name, item_features=genres))
    {'CategoryEntropy@1': 0.0, 'CategoryEntropy@2': 1.0}
    """

    name = "CategoryEntropy"
    family = "diversity"
    bounds = NEVER_NEGATIVE

    users: Users = field(default="shown", kw_only=True)
    p: float = field(default=1.0, kw_only=True)
    floor: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (0 < self.p <= 1 and self.floor >= 0):
            raise BadParameterError(
                "CategoryEntropy needs a p above 0, at most 1, and a floor from 0 up",
                f"p={self.p}, floor={self.floor}",
                "p=1 counts all places alike",
            )

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"item features"}))

    def values(self, blocks: Blocks) -> Tensor:
        # [F, B]: how much of the list each category has.
        weights = blocks[CategoryWeights(self.p, self.ranking)].up_to(self.k) + self.floor
        shares = weights / weights.sum(0)
        entropy = torch.special.entr(shares).sum(0) / math.log(2)
        return torch.where(blocks[ShownCount(self.ranking)] > 0, entropy, torch.nan)


@dataclass(frozen=True)
class CategoryWeights(Block[Cumulative]):
    """What each category has of the first k places, place j counting p^(j - 1): `[F, B]` float64."""

    p: float
    ranking: Ranking

    def make(self, blocks: Blocks) -> Cumulative:
        words, items = blocks[FeatureBits()], blocks[ListedItems(self.ranking)]
        places = torch.arange(len(items), dtype=torch.float64, device=blocks.device)
        weights = (self.p**places)[:, None]
        size = blocks.context.items["features"].values.shape[1]
        found = [
            Cumulative.of_cells(blocks.cutoffs, has_feature(words, number, items) * weights, dim=0).sums
            for number in range(size)
        ]
        return Cumulative(blocks.cutoffs, torch.stack(found, dim=1))
