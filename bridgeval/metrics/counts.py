"""Counts: how many items were shown, relevant, found; and measures of lists as sets.

h hits within k, P relevant items, n items shown within k.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from bridgeval.batch.ranking import Ranking
from bridgeval.engine.blocks import Blocks, RelevantCount, ShownCount
from bridgeval.engine.metric import PrefixMetric
from bridgeval.engine.needs import Needs
from bridgeval.engine.summary import NEVER_NEGATIVE, SHARE, UNBOUNDED, Bounds, Over
from bridgeval.metrics.blocks.hits import HitCounts, JudgedPlaces, sum_places
from bridgeval.metrics.novelty import FirstShown


@dataclass(frozen=True)
class Count(PrefixMetric):
    """The number of items, summed over users; with over="mean" the mean number for a user.

    Attributes:
        of: items "shown", n; "relevant" items, P; "hits", h; items that were judged and are "irrelevant", among those
            shown; "users"; or the "catalogue", N.
        unshown: users who were shown nothing count as others do ("kept"), or as "zero".

    >>> import bridgeval
    >>> names = ['Count', 'Count(of="relevant")', 'Count(of="hits")@1']
    >>> dict(bridgeval.evaluate({1: ["a", "b"], 2: ["b"]}, {1: ["b", "c"], 2: ["b"]}, names))
    {'Count': 3.0, 'Count(of="relevant")': 3.0, 'Count(of="hits")@1': 1.0}
    """

    name = "Count"
    family = "counts"
    higher_is_better = None
    bounds = NEVER_NEGATIVE

    of: Literal["shown", "relevant", "hits", "irrelevant", "users", "catalogue"] = field(default="shown", kw_only=True)
    unshown: Literal["kept", "zero"] = field(default="kept", kw_only=True)
    over: Over = field(default="sum", kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"catalogue"} if self.of == "catalogue" else ()))

    def values(self, blocks: Blocks) -> Tensor:
        values = self._count(blocks)
        if self.unshown == "kept":
            return values
        return values.double().masked_fill(blocks[ShownCount(self.ranking)] == 0, 0)

    def _count(self, blocks: Blocks) -> Tensor:
        match self.of:
            case "catalogue":
                size = float(len(blocks.lookup.catalogue))
                return torch.full((len(blocks),), size, dtype=torch.float64, device=blocks.device)
            case "relevant":
                return blocks[RelevantCount(self.relevance)]
            case "hits":
                return blocks[HitCounts(self.ranking, self.relevance)].up_to(self.k)
            case "irrelevant":
                judged = sum_places(blocks, blocks[JudgedPlaces(self.ranking)].double()).up_to(self.k)
                return judged - blocks[HitCounts(self.ranking, self.relevance)].up_to(self.k)
            case "users":
                return torch.ones(len(blocks), dtype=torch.float64, device=blocks.device)
            case _:
                return blocks[ShownCount(self.ranking)].clamp(max=self.k)


@dataclass(frozen=True)
class Utility(PrefixMetric):
    """The worth of a list as a set: `hit * h + miss * (n - h) + lost * (P - h) + left * (N + h - n - P)`.

    N is the size of the catalogue, which is needed only where `left` is not 0 (trec_eval's `utility`).

    Attributes:
        hit: what a relevant item that was shown is worth.
        miss: the same of an irrelevant one that was shown.
        lost: of a relevant one that was not shown.
        left: of an irrelevant one that was not shown.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b", "c"]}, {1: ["b"]}, "Utility")["Utility"]
    -1.0
    """

    name = "Utility"
    family = "counts"

    hit: float = field(default=1.0, kw_only=True)
    miss: float = field(default=-1.0, kw_only=True)
    lost: float = field(default=0.0, kw_only=True)
    left: float = field(default=0.0, kw_only=True)

    @property
    def bounds(self) -> Bounds:
        return UNBOUNDED

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"catalogue"} if self.left else ()))

    def values(self, blocks: Blocks) -> Tensor:
        hits = blocks[HitCounts(self.ranking, self.relevance)].up_to(self.k)
        shown, relevant = blocks[ShownCount(self.ranking)].clamp(max=self.k), blocks[RelevantCount(self.relevance)]
        value = self.hit * hits + self.miss * (shown - hits) + self.lost * (relevant - hits)
        return value + self.left * (len(blocks.lookup.catalogue) + hits - shown - relevant) if self.left else value


@dataclass(frozen=True)
class SetAP(PrefixMetric):
    """Precision times recall of the first k places as a set: `h^2 / (n P)`, 0 for an empty list.

    Average precision of a list without an order: each relevant item that was found is worth the precision of the set
    (trec_eval's `set_map`).

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: ["b"]}, "SetAP")["SetAP"]
    0.5
    """

    name = "SetAP"
    family = "counts"
    bounds = SHARE

    def values(self, blocks: Blocks) -> Tensor:
        hits = blocks[HitCounts(self.ranking, self.relevance)].up_to(self.k)
        shown = blocks[ShownCount(self.ranking)].clamp(min=1, max=self.k)
        return hits.square() / (shown * blocks[RelevantCount(self.relevance)].clamp(min=1))


@dataclass(frozen=True)
class ListFill(PrefixMetric):
    """The share of the first k places that are filled: `n / k`.

    Attributes:
        fill: the "share" of the places that hold an item; or 1 if they are "full", else 0; or 1 if there is "any" item.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a"], 2: []}, {1: ["a"], 2: ["a"]}, "ListFill@2")["ListFill@2"]
    0.25
    """

    name = "ListFill"
    family = "counts"
    bounds = SHARE

    fill: Literal["share", "full", "any"] = field(default="share", kw_only=True)

    def values(self, blocks: Blocks) -> Tensor:
        shown = blocks[ShownCount(self.ranking)].clamp(max=self.k)
        if self.fill == "any":
            return (shown > 0).double()
        full = shown.double() / self.places(blocks)
        return (full == 1).double() if self.fill == "full" else full


@dataclass(frozen=True)
class Unrepeated(PrefixMetric):
    """The share of the first k places whose item does not stand further up.

    Other metrics drop repeated rows; this one keeps them (duplicates="all"). Undefined for users who were shown
    nothing.

    Attributes:
        deep: whether it is a share; otherwise 1 if no item is repeated, else 0.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: ["a"]}, "Unrepeated@2")["Unrepeated@2"]
    1.0
    """

    name = "Unrepeated"
    family = "counts"
    bounds = SHARE

    ranking: Ranking = field(default=Ranking(duplicates="all"), kw_only=True)
    deep: bool = field(default=True, kw_only=True)

    def values(self, blocks: Blocks) -> Tensor:
        new = sum_places(blocks, blocks[FirstShown(self.ranking)].double()).up_to(self.k)
        share = new / blocks[ShownCount(self.ranking)].clamp(max=self.k)
        return share if self.deep else torch.where(share.isnan(), torch.nan, (share == 1).double())
