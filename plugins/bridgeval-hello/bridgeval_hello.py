"""One metric: how far down is the first relevant item?"""

from dataclasses import dataclass

import torch

from bridgeval.plugin import Hits, TopKMetric, hookimpl


@dataclass(frozen=True)
class FirstHitPlace(TopKMetric):
    """The place (from 1) of the first relevant item within k; undefined for users who have none there."""

    name = "FirstHitPlace"
    higher_is_better = False

    def values(self, blocks):
        hits = blocks[Hits(self.ranking, self.relevance)][:, : self.k]
        before = (hits.cumsum(1) == 0).sum(1)
        return torch.where(hits.any(1), before + 1.0, torch.nan)


@hookimpl
def bridgeval_metrics():
    return [FirstHitPlace]
