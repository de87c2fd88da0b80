"""Two metrics: how far down is the first relevant item, and how dear are the items shown?"""

from dataclasses import dataclass

import torch

from bridgeval.plugin import Hits, ItemColumn, Needs, TopKMetric, hookimpl


@dataclass(frozen=True)
class FirstHitPlace(TopKMetric):
    """The place (from 1) of the first relevant item within k; undefined for users who have none there."""

    name = "FirstHitPlace"
    higher_is_better = False

    def values(self, blocks):
        hits = blocks[Hits(self.ranking, self.relevance)][:, : self.k]
        before = (hits.cumsum(1) == 0).sum(1)
        return torch.where(hits.any(1), before + 1.0, torch.nan)


@dataclass(frozen=True)
class ShownPrice(TopKMetric):
    """The mean price of the first k items, of those that have one; undefined for users who were shown none."""

    name = "ShownPrice"

    def needs(self):
        return super().needs() | Needs(items={"price"})

    def values(self, blocks):
        return blocks[ItemColumn("price", self.ranking)][:, : self.k].nanmean(1)


@hookimpl
def bridgeval_metrics():
    return [FirstHitPlace, ShownPrice]
