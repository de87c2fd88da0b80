"""Areas under the ROC curve: how often does a relevant item stand above an irrelevant one?

AUC, GAUC and LAUC need the whole ranking of the candidates, that is of the catalogue without the user's history; a
shorter list is an error, not a guess. RocAuc reads the first k places alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bridgeval.batch.kernels import cumulate
from bridgeval.batch.ranking import Ranking, Relevance
from bridgeval.engine.blocks import (
    WHOLE,
    Block,
    Blocks,
    HitIndex,
    Hits,
    Matches,
    Ranked,
    RelevantCount,
    ShownColumn,
    ShownCount,
    Users,
)
from bridgeval.engine.cumulative import Cumulative
from bridgeval.engine.metric import PrefixMetric, RankingMetric, TopKMetric, UserMetric, check_cutoff
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import Collected, Floats, State, Sums
from bridgeval.engine.summary import SHARE, UNBOUNDED, Bounds, Result
from bridgeval.metrics.blocks.hits import HitCounts, HitPlaces, JudgedPlaces, TieGroups
from bridgeval.metrics.blocks.ranked_pairs import MeanShare, Negatives, PairShares, Tied

CANDIDATES = Needs(context=frozenset({"catalogue"}), optional=frozenset({"seen"}))


def pair_bounds(metric: AUC | LAUC) -> Bounds:
    """The bounds of a mean of shares of irrelevant candidates; those of a catalogue that is estimated have none."""
    return SHARE if metric.negatives == "ranked" and metric.ranking.duplicates == "best" else UNBOUNDED


@dataclass(frozen=True)
class AUC(UserMetric):
    """The share of a user's irrelevant candidates that stand below a relevant item, averaged over all relevant items
    of all users (a micro average); ties count half.

    Undefined for users whose candidates are all relevant: their items do not enter.

    Attributes:
        tied: an irrelevant item of equal score counts "half"; or by the "order" that the ranking gives, as in WarpRec.
        negatives: how many a relevant item can stand above: the irrelevant ones that are "ranked"; or, as in WarpRec,
            what the "catalogue" has without masked and without relevant items, plus one. Then the worst item scores
            above 0, masked relevant items are taken off twice, and sampled candidates count as a whole catalogue.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b", "c"]}, {1: ["b"]}, "AUC", catalogue=["a", "b", "c"])["AUC"]
    0.5
    """

    name = "AUC"
    family = "accuracy"

    tied: Tied = field(default="half", kw_only=True)
    negatives: Negatives = field(default="ranked", kw_only=True)

    @property
    def bounds(self) -> Bounds:
        return pair_bounds(self)

    def needs(self) -> Needs:
        return replace(super().needs(), depth=0) | CANDIDATES

    def values(self, blocks: Blocks) -> Tensor:
        return blocks[MeanShare(PairShares(self.ranking, self.relevance, self.tied, self.negatives))]

    @property
    def pooled(self) -> bool:
        """Whether the mean is over all relevant items, not over users."""
        return self.over == "mean"

    def start(self) -> State:
        return Sums() if self.pooled else super().start()

    def update(self, blocks: Blocks) -> State:
        if not self.pooled:
            return super().update(blocks)
        defined, values = self.counted(blocks), self.values(blocks)
        if self.negatives == "ranked":
            defined = defined & (values == values)
        relevant = blocks[RelevantCount(self.relevance)] * defined
        total = torch.where(defined, values * relevant, 0.0).sum()
        return Sums({"total": total, "relevant": relevant.sum(), "users": defined.sum()})

    def compute(self, state: Any) -> Result:
        if not self.pooled:
            return super().compute(state)
        return Result(state["total"] / state["relevant"] if state["relevant"] else float("nan"), users=state["users"])


@dataclass(frozen=True)
class GAUC(AUC):
    """AUC of each user, averaged over users.

    Attributes:
        weight: "equal" users, or by the number of "relevant" items.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b", "c"]}, {1: ["c"]}, "GAUC", catalogue=["a", "b", "c"])["GAUC"]
    0.0
    """

    name = "GAUC"

    weight: Literal["equal", "relevant"] = field(default="equal", kw_only=True)

    @property
    def pooled(self) -> bool:
        return super().pooled and self.weight == "relevant"


@dataclass(frozen=True)
class LAUC(TopKMetric):
    """AUC limited to the first k places: relevant items beyond them score 0; divided by min(k, P).

    Attributes:
        tied, negatives: as in AUC.

    >>> import bridgeval
    >>> dict(bridgeval.evaluate({1: ["a", "b", "c"]}, {1: ["b"]}, "LAUC@1,2", catalogue=["a", "b", "c"]))
    {'LAUC@1': 0.0, 'LAUC@2': 0.5}
    """

    name = "LAUC"
    family = "accuracy"

    tied: Tied = field(default="half", kw_only=True)
    negatives: Negatives = field(default="ranked", kw_only=True)

    @property
    def bounds(self) -> Bounds:
        return pair_bounds(self)

    def needs(self) -> Needs:
        return super().needs() | CANDIDATES

    def values(self, blocks: Blocks) -> Tensor:
        pairs = blocks[PairShares(self.ranking, self.relevance, self.tied, self.negatives)]
        at = blocks[Matches(self.ranking, self.relevance)][:, : self.k]
        # A last column of zeros stands for the places without a hit.
        share = torch.nn.functional.pad(pairs.share, (0, 1))
        total = share.gather(1, at.masked_fill(at < 0, share.shape[1] - 1)).sum(1)
        return total / blocks[RelevantCount(self.relevance)].clamp(min=1, max=self.k)


@dataclass(frozen=True)
class RocAuc(PrefixMetric):
    """The share of (hit, miss) pairs of the first k places in which the hit stands higher (Hanley and McNeil 1982).

    Undefined for lists of hits only or of misses only: they have no such pair. Without a cutoff it reads the whole
    list, and only the list: relevant items that were not shown do not enter.

    Attributes:
        one_sided: what such lists get: "undefined"; "bounds", 1 for hits only and 0 without a hit; or "zero", "half",
            "one".
        tied: a pair of equal scores counts by the "order" of the ranking; "half"; as "lost"; or every item stands at
            the "last" place of its equals, so that hits of equal scores count against each other too (LightFM);
            then the value may be below 0.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b", "c"]}, {1: ["b"]}, "RocAuc@3")["RocAuc@3"]
    0.5
    """

    name = "RocAuc"
    family = "accuracy"

    one_sided: Literal["undefined", "bounds", "zero", "half", "one"] = field(default="undefined", kw_only=True)
    tied: Literal["order", "half", "lost", "last"] = field(default="order", kw_only=True)

    @property
    def bounds(self) -> Bounds:
        return UNBOUNDED if self.tied == "last" else SHARE

    def values(self, blocks: Blocks) -> Tensor:
        hits = blocks[HitCounts(self.ranking, self.relevance, "each")].up_to(self.k)
        misses = blocks[ShownCount(self.ranking)].clamp(max=self.k) - hits
        inverted = blocks[Inversions(self.ranking, self.relevance)].up_to(self.k)
        if self.tied != "order":
            won, tied, alike = blocks[TiedPairs(self.ranking, self.relevance, self.k)]
            # Of tied pairs the order has decided some: they are taken back.
            inverted = inverted - won + (tied / 2 if self.tied == "half" else tied)
            if self.tied == "last":
                inverted = inverted + alike
        value = 1 - inverted / (hits * misses)
        if self.one_sided == "bounds":
            return torch.where(hits == 0, 0.0, torch.where(misses == 0, 1.0, value))
        filled = {"undefined": torch.nan, "zero": 0.0, "half": 0.5, "one": 1.0}[self.one_sided]
        return value.masked_fill((hits == 0) | (misses == 0), filled)


@dataclass(frozen=True)
class RowAuc(RankingMetric):
    """The share of pairs of a relevant and an irrelevant row, of all users together, that their scores put in order.

    A row is an item of the first k places that the truth judges, relevant or not; equal scores count half (Hanley and
    McNeil 1982). Scores of different users are compared, so that they must mean the same. Without a cutoff all rows of
    the lists enter. Undefined where all rows are relevant, or none is.

    >>> import bridgeval
    >>> shown = {1: {"a": 0.9, "b": 0.2}, 2: {"a": 0.4}}
    >>> bridgeval.evaluate(shown, {1: {"a": 1, "b": 0}, 2: {"a": 0}}, "RowAuc")["RowAuc"]
    1.0
    """

    name = "RowAuc"
    family = "accuracy"
    bounds = SHARE

    k: int = WHOLE
    users: Users = field(default="any", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_cutoff(self.name, self.k)

    def needs(self) -> Needs:
        depth = None if self.k == WHOLE else self.k
        return replace(super().needs(), depth=depth) | Needs(pairs=frozenset({"score"}))

    def start(self) -> State:
        return Collected()

    def update(self, blocks: Blocks) -> State:
        judged = blocks[JudgedPlaces(self.ranking)][:, : self.k] & self.counted(blocks)[:, None]
        relevant = blocks[Hits(self.ranking, self.relevance)][:, : self.k]
        scores = blocks[ShownColumn("score", self.ranking)][:, : self.k].double()
        users = blocks.batch.slates.users.slice(blocks.batch.start, blocks.batch.stop)

        def collect(judged: npt.NDArray[np.bool_], relevant: npt.NDArray[np.bool_], scores: Floats) -> State:
            rows, places = np.nonzero(judged)
            if not len(rows):
                return Collected()
            return Collected(((users.take(rows), np.stack([scores[rows, places], relevant[rows, places]], axis=1)),))

        return blocks.finish(collect, judged, relevant, scores)

    def compute(self, state: Any) -> Result:
        scores, relevant = state.table().values.reshape(-1, 2).T
        _, score = np.unique(scores, return_inverse=True)
        hits = np.bincount(score, weights=relevant)
        misses = np.bincount(score, weights=1 - relevant)
        below = np.cumsum(misses) - misses
        pairs = hits.sum() * misses.sum()
        value = float((hits * (below + misses / 2)).sum() / pairs) if pairs else math.nan
        return Result(value, notes={"rows": len(scores)})


@dataclass(frozen=True)
class TiedPairs(Block[tuple[Tensor, Tensor, Tensor]]):
    """Pairs of equal scores in the first k places: (miss, hit) in this order, (hit, miss) in any, and of two hits.

    `[B]` float64 each.
    """

    ranking: Ranking
    relevance: Relevance
    k: int

    def make(self, blocks: Blocks) -> tuple[Tensor, Tensor, Tensor]:
        ranked = blocks[Ranked(self.ranking, whole=True)]
        hits = torch.zeros(ranked.items.shape, dtype=torch.float64, device=blocks.device)
        rows, places, _ = blocks[HitIndex(self.ranking, self.relevance, whole=True)]
        hits[rows, places] = 1
        hits[:, self.k :] = 0
        misses = ranked.valid.double() - hits
        misses[:, self.k :] = 0
        ties = blocks[TieGroups(self.ranking)]
        # Misses of the same group above each place: those from the top, without those above the group.
        first = torch.arange(hits.shape[1], device=blocks.device) == ties.start
        above_group = ties.sum(torch.where(first, cumulate(misses) - misses, 0.0))
        inside = cumulate(misses) - misses - above_group
        return (hits * inside).sum(1), (hits * ties.sum(misses)).sum(1), (hits * (ties.sum(hits) - 1)).sum(1) / 2


@dataclass(frozen=True)
class Inversions(Block[Cumulative]):
    """The misses above each hit in the first k places, added up: `[B]` float64."""

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Cumulative:
        hits = blocks[HitPlaces(self.ranking, self.relevance)]
        return hits.sum(hits.ranks - hits.ordinals)
