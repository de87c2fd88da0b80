"""Metric classes that were written for RecBole, as metrics of bridgeval."""

from dataclasses import MISSING, dataclass, field
from functools import cache

import numpy as np
import torch

from bridgeval.errors import MetricFailedError
from bridgeval.plugin import Hits, RelevantCount, TopKMetric as UpToK, port_class


class TopkMetric:
    """Takes the place of RecBole's base of this name: a subclass defines `metric_info`, and may define the rest."""

    def __init__(self, config):
        self.topk = config["topk"]

    def metric_info(self, pos_index, pos_len=None):
        """Values of B users at each cutoff up to K: `[B, K]`.

        Args:
            pos_index: `[B, K]` bool, whether the item at each place is relevant.
            pos_len: `[B]`, the number of each user's relevant items.
        """
        raise NotImplementedError(f"{type(self).__name__} must define metric_info")


def ported(author, name=None):
    """Makes a subclass of `TopkMetric` a metric class that `bridgeval_metrics` may offer.

    Args:
        author: the class.
        name: the name that users ask for; that of the class by default.

    >>> class Found(TopkMetric):
    ...     def metric_info(self, pos_index, pos_len):
    ...         return pos_index.cumsum(axis=1) / pos_len.reshape(-1, 1)
    >>> str(ported(Found)(k=5))
    'Found@5'
    """
    return _port(author, name or author.__name__)


@cache
def _port(author, name):
    return port_class(author, name, {"k": MISSING}, _make, ported)


def _make(author, k):
    return _AtCutoff(k, author=author)


@dataclass(frozen=True)
class _AtCutoff(UpToK):
    """The column k of what `metric_info` returns."""

    name = "TopkMetric"
    author: type[TopkMetric] = field(kw_only=True)

    def values(self, blocks):
        hits = blocks[Hits(self.ranking, self.relevance)][:, : self.k]
        # RecBole gives k places to a shorter list too.
        places = torch.nn.functional.pad(hits, (0, self.k - hits.shape[1])).cpu().numpy()
        relevant = blocks[RelevantCount(self.relevance)].cpu().numpy()
        # A user without relevant items, whom RecBole never has, does not count: what 0 / 0 gives is not used.
        with np.errstate(all="ignore"):
            found = np.asarray(self.author({"topk": [self.k]}).metric_info(places, relevant), dtype=float)
        if found.shape != places.shape:
            raise MetricFailedError(
                f"{self.author.__name__}.metric_info must return a value for each user and place",
                f"shape {found.shape} for {places.shape[0]} users and {places.shape[1]} places",
                "return an array of the shape of pos_index",
            )
        return torch.from_numpy(found[:, -1]).to(blocks.device)
