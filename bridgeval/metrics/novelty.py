"""Novelty: does the list hold relevant items that the user would not have met anyway?

Both metrics follow the framework of Vargas and Castells (2011), with popularity in the history as the chance of having
been met: `sum_j w_j * novelty(i_j) / log2(j + 1)` over the first k places, divided by the sum of the k discounts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from bridgeval.batch.ranking import Ranking, Relevance
from bridgeval.engine.blocks import Block, Blocks, Ranked, by_item
from bridgeval.engine.cumulative import Running
from bridgeval.engine.metric import TopKMetric
from bridgeval.engine.needs import Needs
from bridgeval.errors import BadParameterError
from bridgeval.metrics.blocks.gains import DiscountedGains, Gain, GradedHits, discounts
from bridgeval.metrics.blocks.listed_items import HitItems, ListedItems

Weight = Literal["binary", "linear", "exponential", "shifted", "none"]
OutOf = Literal["history", "known"]


@dataclass(frozen=True)
class ItemNovelty(Block[Tensor]):
    """How new each item of the vocabulary is, 0 for no item: `[V + 1]` float64.

    Attributes:
        kind: "surprisal", -log2 of the item's share of all interactions; "complement", the share of users who do not
            have it.
        floor: items of less popularity count as having this much.
        out_of: which users "complement" is a share of.
    """

    kind: Literal["surprisal", "complement"]
    floor: float = 0.0
    out_of: OutOf = "history"

    def make(self, blocks: Blocks) -> Tensor:
        return blocks.lookup.once(self, lambda: self._novelty(blocks))

    def _novelty(self, blocks: Blocks) -> Tensor:
        context = blocks.context
        popularity = blocks.lookup.items("popularity").clamp(min=self.floor)
        if self.kind == "surprisal":
            novelty = -torch.log2(popularity / max(context.history_pairs, 1))
        else:
            users = context.history_users if self.out_of == "history" else context.known_users
            novelty = 1 - popularity / max(users, 1)
        novelty[-1] = 0
        return novelty


@dataclass(frozen=True)
class HitNovelty(Block[Running[Tensor]]):
    """Weighted, discounted novelty of the hits in the first k places: `[B]` float64."""

    novelty: ItemNovelty
    gain: Gain
    ranking: Ranking
    relevance: Relevance

    def make(self, blocks: Blocks) -> Running[Tensor]:
        graded = blocks[GradedHits(self.gain, self.ranking, self.relevance)]
        gains = blocks[DiscountedGains(self.gain, "log2", self.ranking, self.relevance)]
        items = blocks[HitItems(self.ranking, graded.relevance)]
        return graded.hits.running(gains * by_item(blocks[self.novelty], items))


@dataclass(frozen=True)
class ListNovelty(Block[Running[Tensor]]):
    """Discounted novelty of all that is shown in the first k places: `[B]` float64."""

    novelty: ItemNovelty
    ranking: Ranking

    def make(self, blocks: Blocks) -> Running[Tensor]:
        weights = discounts("log2", blocks.batch.shown.width, blocks.device)[:, None]
        novelty, items = blocks[self.novelty], blocks[ListedItems(self.ranking)]
        return Running(lambda start, stop: (by_item(novelty, items[start:stop]) * weights[start:stop]).sum(0))


def novelty_of(blocks: Blocks, metric: EFD | EPC, novelty: ItemNovelty) -> Tensor:
    """`[B]`: what the first k places come to, over the sum of k discounts."""
    if metric.gain == "none":
        total = blocks[ListNovelty(novelty, metric.ranking)].up_to(metric.k)
    else:
        total = blocks[HitNovelty(novelty, metric.gain, metric.ranking, metric.relevance)].up_to(metric.k)
    return total / discounts("log2", metric.k, blocks.device).sum()


@dataclass(frozen=True)
class EFD(TopKMetric):
    """Expected free discovery: how surprising are the relevant items of the list?

    The novelty of an item is its self-information `-log2(pop / T)`, with pop the users of the history who have it and T
    all pairs of the history (Vargas and Castells 2011). Users count as in Precision; one without hits scores 0.

    Attributes:
        gain: the weight w_j: "binary", 1 for a relevant item and 0 for others; a gain as in nDCG; "none" weighs all
            items alike. WarpRec's relevance="discounted" is "shifted", which has no upper bound.
        floor: items of less popularity count as having this much; without it a new item is infinitely surprising.
        unknown: an item that the catalogue lacks is as new as can be ("rare"); or its user has no value
            ("undefined"), as in WarpRec where padding reaches the list.

    >>> import bridgeval
    >>> history = {1: ["a", "b"], 2: ["a"], 3: ["a"]}
    >>> bridgeval.evaluate({4: ["b"]}, {4: ["b"]}, "EFD@1", history=history)["EFD@1"]
    2.0
    """

    name = "EFD"
    family = "novelty"

    gain: Weight = field(default="binary", kw_only=True)
    floor: float = field(default=1.0, kw_only=True)
    unknown: Literal["rare", "undefined"] = field(default="rare", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.floor > 0:
            raise BadParameterError("EFD needs a floor above 0", f"{self.floor}", "1 counts a new item as seen once")

    def needs(self) -> Needs:
        context = {"item popularity"} if self.unknown == "rare" else {"item popularity", "catalogue"}
        return super().needs() | Needs(context=frozenset(context))

    def values(self, blocks: Blocks) -> Tensor:
        novelty = ItemNovelty("surprisal", self.floor)
        values = novelty_of(blocks, self, novelty)
        if self.unknown == "rare":
            return values
        shown = blocks[Ranked(self.ranking)]
        items, valid = shown.items[:, : self.k], shown.valid[:, : self.k]
        return values.masked_fill((valid & ~by_item(blocks.lookup.in_catalogue, items)).any(1), torch.nan)


@dataclass(frozen=True)
class EPC(TopKMetric):
    """Expected popularity complement: how many users do not have the relevant items of the list?

    The novelty of an item is `1 - pop / U`, with pop the users of the history who have it and U all users of the
    history (Vargas and Castells 2011).

    Attributes:
        gain: the weight w_j, as in EFD.
        floor: items of less popularity count as having this much; WarpRec takes 1.
        out_of: U: users of the "history", or, as in WarpRec, all that are "known", with or without history.

    >>> import bridgeval
    >>> history = {1: ["a", "b"], 2: ["a"], 3: ["a"], 4: ["a"]}
    >>> bridgeval.evaluate({5: ["b"]}, {5: ["b"]}, "EPC@1", history=history)["EPC@1"]
    0.75
    """

    name = "EPC"
    family = "novelty"

    gain: Weight = field(default="binary", kw_only=True)
    floor: float = field(default=0.0, kw_only=True)
    out_of: OutOf = field(default="history", kw_only=True)

    def needs(self) -> Needs:
        users = frozenset({"all users"} if self.out_of == "known" else ())
        return super().needs() | Needs(context=frozenset({"item popularity"}), users=users)

    def values(self, blocks: Blocks) -> Tensor:
        novelty = ItemNovelty("complement", self.floor, self.out_of)
        return novelty_of(blocks, self, novelty)
