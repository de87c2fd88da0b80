"""Counterfactual: what are these lists worth, judged by how the previous policy scored the same pairs?

Every shown pair has a weight w, the ratio of its current score to its previous one (`prev_scores=`), kept
within bounds. A metric is a mean of rewards with these weights. Notation as in `accuracy`: h_j, P, k;
n = min(k, items shown); w_j, r_j = weight and reward of place j, summed over places that have a weight.

Rewards are n times what a place adds to the plain metric (Precision divided by n), so with equal weights each
metric is its plain twin to the digit. Where few places carry all the weight a value can pass 1: look at the
effective sample size in the notes.

Gilotte et al., "Offline A/B testing for recommender systems" (WSDM 2018); Swaminathan and Joachims, "The
self-normalized estimator for counterfactual learning" (NIPS 2015).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from torch import Tensor

from bridgeval.engine.blocks import Blocks, Hits, NewHits, RelevantCount, ShownGains
from bridgeval.engine.summary import NEVER_NEGATIVE, SHARE, UNBOUNDED, Bounds
from bridgeval.errors import BadParameterError
from bridgeval.metrics.blocks.gains import Gain, IdealDCG, apply_gain, discounts, is_never_negative
from bridgeval.metrics.blocks.hits import DistinctRelevantCount
from bridgeval.metrics.blocks.policy_weights import NcisMetric, RewardSums, WeightedMetric


@dataclass(frozen=True)
class NCISPrecision(NcisMetric):
    """The weighted share of the first n places that hold a relevant item: `r_j = h_j`.

    Twin: Precision(divide_by="shown").

    >>> import bridgeval
    >>> lists, truth, before = {1: {"a": 0.8, "b": 0.3}}, {1: ["a"]}, {1: {"a": 0.2, "b": 0.3}}
    >>> dict(bridgeval.evaluate(lists, truth, "NCISPrecision@2", prev_scores=before))  # 4 / (4 + 1)
    {'NCISPrecision@2': 0.8}
    """

    name = "NCISPrecision"
    bounds = SHARE

    def rewards(self, blocks: Blocks) -> Tensor:
        return blocks[NewHits(self.ranking, self.relevance)].double()


@dataclass(frozen=True)
class NCISRecall(NcisMetric):
    """Recall with weighted places: `r_j = n h_j / P`. Twin: Recall.

    >>> import bridgeval
    >>> lists, truth, before = {1: {"a": 0.8, "b": 0.3}}, {1: ["a", "c"]}, {1: {"a": 0.2, "b": 0.3}}
    >>> dict(bridgeval.evaluate(lists, truth, "NCISRecall@2", prev_scores=before))  # 4 * 2/2 / (4 + 1)
    {'NCISRecall@2': 0.8}
    """

    name = "NCISRecall"
    bounds = NEVER_NEGATIVE

    def rewards(self, blocks: Blocks) -> Tensor:
        relevant = blocks[DistinctRelevantCount(self.relevance)].clamp(min=1)
        return blocks[NewHits(self.ranking, self.relevance)] * (self.places(blocks) / relevant)[:, None]


@dataclass(frozen=True)
class NCISHitRate(NcisMetric):
    """Whether the list has a hit, weighted as the first hit is: `r_j = n` at that place, else 0. Twin:
    HitRate.

    >>> import bridgeval
    >>> lists, truth, before = {1: {"a": 0.8, "b": 0.3}}, {1: ["b"]}, {1: {"a": 0.2, "b": 0.3}}
    >>> dict(bridgeval.evaluate(lists, truth, "NCISHitRate@2", prev_scores=before))  # 1 * 2 / (4 + 1)
    {'NCISHitRate@2': 0.4}
    """

    name = "NCISHitRate"
    bounds = NEVER_NEGATIVE

    def rewards(self, blocks: Blocks) -> Tensor:
        return _at_first_hit(self, blocks) * self.places(blocks)[:, None]


@dataclass(frozen=True)
class NCISMRR(NcisMetric):
    """Reciprocal rank, weighted as the first hit is: `r_j = n / j` at that place, else 0. Twin: MRR.

    >>> import bridgeval
    >>> lists, truth, before = {1: {"a": 0.8, "b": 0.3}}, {1: ["b"]}, {1: {"a": 0.2, "b": 0.3}}
    >>> dict(bridgeval.evaluate(lists, truth, "NCISMRR@2", prev_scores=before))  # 1 * 2/2 / (4 + 1)
    {'NCISMRR@2': 0.2}
    """

    name = "NCISMRR"
    bounds = NEVER_NEGATIVE

    def rewards(self, blocks: Blocks) -> Tensor:
        first = _at_first_hit(self, blocks)
        return first * (self.places(blocks)[:, None] / blocks.ranks[: first.shape[1]])


@dataclass(frozen=True)
class NCISMAP(NcisMetric):
    """Average precision with weighted places: `r_j = n h_j (h_1 + ... + h_j) / j / min(k, P)`. Twin: MAP.

    >>> import bridgeval
    >>> lists, truth, before = {1: {"a": 0.8, "b": 0.3}}, {1: ["b"]}, {1: {"a": 0.2, "b": 0.3}}
    >>> dict(bridgeval.evaluate(lists, truth, "NCISMAP@2", prev_scores=before))  # 1 * 2 * 1/2 / (4 + 1)
    {'NCISMAP@2': 0.2}
    """

    name = "NCISMAP"
    bounds = NEVER_NEGATIVE

    def rewards(self, blocks: Blocks) -> Tensor:
        hits = blocks[Hits(self.ranking, self.relevance)]
        precision = hits.cumsum(1) * hits / blocks.ranks[: hits.shape[1]]
        reachable = blocks[RelevantCount(self.relevance)].clamp(min=1, max=self.k)
        return precision * (self.places(blocks) / reachable)[:, None]


@dataclass(frozen=True)
class NCISnDCG(NcisMetric):
    """nDCG with weighted places: `r_j = n g_j / log2(j + 1) / IDCG`, IDCG of the k highest gains. Twin: nDCG.

    Attributes:
        gain: as nDCG's.

    >>> import bridgeval
    >>> lists, truth, before = {1: {"a": 0.8, "b": 0.3}}, {1: ["a"]}, {1: {"a": 0.2, "b": 0.3}}
    >>> dict(bridgeval.evaluate(lists, truth, "NCISnDCG@2", prev_scores=before))  # 4 * 2 / (4 + 1)
    {'NCISnDCG@2': 1.6}
    """

    name = "NCISnDCG"

    gain: Gain = field(default="exponential", kw_only=True)

    @property
    def bounds(self) -> Bounds:
        return NEVER_NEGATIVE if is_never_negative(self.gain, self.relevance) else UNBOUNDED

    def rewards(self, blocks: Blocks) -> Tensor:
        hits = blocks[Hits(self.ranking, self.relevance)]
        gains = apply_gain(blocks, self.gain, blocks[ShownGains(self.ranking, self.relevance)]) * hits
        found = gains * discounts("log2", hits.shape[1], blocks.device)
        ideal = blocks[IdealDCG(self.gain, "log2", self.relevance)].up_to(self.k)
        return found * (self.places(blocks) / ideal)[:, None]


def _at_first_hit(metric: WeightedMetric, blocks: Blocks) -> Tensor:
    """`[B, D]` bool: the place of each user's first hit."""
    hits = blocks[Hits(metric.ranking, metric.relevance)]
    return hits & (hits.cumsum(1) == 1)


@dataclass(frozen=True)
class SNIPS(WeightedMetric):
    """Self-normalized inverse propensity: `sum(w_j h_j) / sum(w_j)` over the first n places of all users
    together.

    Scores are the probabilities of showing a pair under either policy, or become so by the activation
    (Swaminathan and Joachims 2015). With equal weights it is the share of all shown pairs that are relevant.

    Attributes:
        cap: the highest weight; None has no cap.

    >>> import bridgeval
    >>> lists, truth, before = {1: {"a": 0.8, "b": 0.3}}, {1: ["a"]}, {1: {"a": 0.2, "b": 0.3}}
    >>> dict(bridgeval.evaluate(lists, truth, ["SNIPS@2", "SNIPS(cap=1.0)@2"], prev_scores=before))
    {'SNIPS@2': 0.8, 'SNIPS(cap=1.0)@2': 0.5}
    """

    name = "SNIPS"

    average: Literal["users", "pairs"] = field(default="pairs", kw_only=True)
    cap: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cap is not None and not (math.isfinite(self.cap) and self.cap > 0):
            raise BadParameterError(
                f"{self.name} needs a cap above 0", f"{self.cap}", "leave it out for weights without a cap"
            )

    @property
    def bounds(self) -> Bounds:
        return SHARE

    @property
    def weight_bounds(self) -> Bounds:
        return 0.0, math.inf if self.cap is None else self.cap

    def rewards(self, blocks: Blocks) -> Tensor:
        return blocks[NewHits(self.ranking, self.relevance)].double()


@dataclass(frozen=True)
class IPS(SNIPS):
    """Inverse propensity: `sum(w_j h_j) / k`, averaged over users. With weights of 1 it is Precision.

    Unbiased where the previous policy gives every pair a chance, and of high variance; pairs left out count 0
    (Horvitz and Thompson 1952).

    >>> import bridgeval
    >>> lists, truth, before = {1: {"a": 0.8, "b": 0.3}}, {1: ["a"]}, {1: {"a": 0.2, "b": 0.3}}
    >>> dict(bridgeval.evaluate(lists, truth, ["IPS@2", "IPS(cap=3.0)@2"], prev_scores=before))
    {'IPS@2': 2.0, 'IPS(cap=3.0)@2': 1.5}
    """

    name = "IPS"

    average: Literal["users"] = field(default="users", kw_only=True)

    @property
    def bounds(self) -> Bounds:
        return self.weight_bounds

    def values(self, blocks: Blocks) -> Tensor:
        rewarded, _ = blocks[RewardSums(self)]
        return rewarded / self.k
