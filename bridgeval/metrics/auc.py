"""Area under the ROC curve: how often does a relevant item stand above one that is not?

All three need the whole ranking of the candidates, that is of the catalogue without what the user has in the
history. A list that stops earlier cannot give them: that is an error, not a guess.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from torch import Tensor

from bridgeval.batch.ranking import Ranking, Relevance
from bridgeval.engine.blocks import (
    Block,
    Blocks,
    Counted,
    Matches,
    Relevant,
    RelevantCount,
    RelevantStandings,
    by_item,
)
from bridgeval.engine.metric import TopKMetric, UserMetric
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import State, Sums
from bridgeval.engine.summary import Result
from bridgeval.errors import NeedError

CANDIDATES = Needs(context=frozenset({"catalogue"}), optional=frozenset({"seen"}))
Tied = Literal["half", "order"]
Negatives = Literal["ranked", "catalogue"]


@dataclass(frozen=True)
class RankedPairs:
    """How many of the irrelevant candidates each relevant item is ranked above.

    Attributes:
        found: `[B, R]` bool: whether the item is among the candidates.
        share: `[B, R]` float64; for a found item, the share of irrelevant candidates below it; NaN for users whose
            candidates are all relevant.
    """

    found: Tensor
    share: Tensor


@dataclass(frozen=True)
class PairShares(Block[RankedPairs]):
    """Needs lists that cover all candidates; says so when they do not. The other fields are parameters of AUC."""

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()
    tied: Tied = "half"
    negatives: Negatives = "ranked"

    def make(self, blocks: Blocks) -> RankedPairs:
        standings = blocks[RelevantStandings(self.ranking, self.relevance, decided=self.tied == "order")]
        above = standings.above + standings.tied.double() / 2
        if self.negatives == "catalogue":
            _check_found(blocks, standings.found, self.relevance)
            return RankedPairs(standings.found, 1 - above / self._estimated(blocks))
        if not blocks.batch.shown.complete:
            _check_whole(blocks, standings.candidates, self.relevance)
        negatives = (standings.candidates - standings.found.sum(1))[:, None]
        return RankedPairs(standings.found, torch.where(negatives > 0, 1 - above / negatives, torch.nan))

    def _estimated(self, blocks: Blocks) -> Tensor:
        """`[B, 1]`: the catalogue without masked and relevant items, plus one."""
        rest = len(blocks.lookup.catalogue) + 1 - blocks[RelevantCount(self.relevance)] - blocks.batch.shown.masked
        return rest[:, None].double()


def _check_found(blocks: Blocks, found: Tensor, relevance: Relevance) -> None:
    relevant = blocks[Relevant(relevance)]
    candidates = relevant.valid & by_item(blocks.lookup.in_catalogue, relevant.items)
    lost = candidates.sum(1) - found.sum(1)
    if bool((lost > 0).any()):
        raise NeedError(
            "AUC, GAUC and LAUC need lists that hold every relevant item",
            f"{int((lost > 0).sum())} user(s) of a batch without some of theirs",
            "give whole rankings, masked items with a score of -inf, or a score matrix",
        )


def _check_whole(blocks: Blocks, length: Tensor, relevance: Relevance) -> None:
    catalogue = blocks.context.catalogue
    if catalogue is None:
        raise NeedError(
            "AUC, GAUC and LAUC need to know all candidates",
            hint="give {argument} with all item ids, or the history",
            argument="catalogue",
        )
    candidates = torch.full_like(length, len(catalogue))
    if "history_count" in blocks.batch.slates.user_columns:
        candidates = candidates - blocks.batch.user_column("history_count")
    short = (length < candidates) & blocks[Counted("relevant", relevance=relevance)]
    if bool(short.any()):
        row = int(torch.nonzero(short)[0])
        user = blocks.batch.slates.users.slice(blocks.batch.start + row, blocks.batch.start + row + 1).tolist()[0]
        raise NeedError(
            "AUC, GAUC and LAUC need each user's ranking of all candidates (the catalogue without the history)",
            f"{int(short.sum())} user(s) of a batch with shorter lists, e.g. user {user!r} with "
            f"{int(length[row])} of {int(candidates[row])}",
            "give whole rankings or a score matrix; for top-k lists use nDCG, MAP or Recall",
        )


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

    def needs(self) -> Needs:
        return replace(super().needs(), depth=0) | CANDIDATES

    def values(self, blocks: Blocks) -> Tensor:
        pairs = blocks[PairShares(self.ranking, self.relevance, self.tied, self.negatives)]
        total = torch.where(pairs.found, pairs.share, 0.0).sum(1)
        return total / blocks[RelevantCount(self.relevance)].clamp(min=1)

    def start(self) -> State:
        return Sums() if self.over == "mean" else super().start()

    def update(self, blocks: Blocks) -> State:
        if self.over != "mean":
            return super().update(blocks)
        defined = self.counted(blocks)
        if self.negatives == "ranked":
            defined = defined & ~self.values(blocks).isnan()
        relevant = blocks[RelevantCount(self.relevance)][defined]
        total = (self.values(blocks)[defined] * relevant).sum()
        return Sums({"total": float(total), "relevant": int(relevant.sum()), "users": int(defined.sum())})

    def compute(self, state: Any) -> Result:
        if self.over != "mean":
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

    def start(self) -> State:
        return super().start() if self.weight == "relevant" else UserMetric.start(self)

    def update(self, blocks: Blocks) -> State:
        return super().update(blocks) if self.weight == "relevant" else UserMetric.update(self, blocks)

    def compute(self, state: Any) -> Result:
        return super().compute(state) if self.weight == "relevant" else UserMetric.compute(self, state)


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

    def needs(self) -> Needs:
        return super().needs() | CANDIDATES

    def values(self, blocks: Blocks) -> Tensor:
        pairs = blocks[PairShares(self.ranking, self.relevance, self.tied, self.negatives)]
        at = blocks[Matches(self.ranking, self.relevance)][:, : self.k]
        # A last column of zeros stands for the places without a hit.
        share = torch.nn.functional.pad(pairs.share, (0, 1))
        total = share.gather(1, at.masked_fill(at < 0, share.shape[1] - 1)).sum(1)
        return total / blocks[RelevantCount(self.relevance)].clamp(min=1, max=self.k)
