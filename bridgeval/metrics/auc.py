"""Area under the ROC curve: how often does a relevant item stand above one that is not?

All three need the whole ranking of the candidates, that is of the catalogue without what the user has in the
history. A list that stops earlier cannot give them: that is an error, not a guess.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from torch import Tensor

from bridgeval.data.needs import Needs
from bridgeval.data.ranking import Ranking, Relevance
from bridgeval.engine.blocks import Block, Blocks, Counted, Matches, RelevantCount, RelevantStandings
from bridgeval.engine.metric import TopKMetric, UserMetric
from bridgeval.engine.state import State, Sums
from bridgeval.engine.summary import Result
from bridgeval.errors import NeedError

CANDIDATES = Needs(context=frozenset({"catalogue"}), optional=frozenset({"seen"}))


@dataclass(frozen=True)
class RankedPairs:
    """How many of the irrelevant candidates each relevant item is ranked above.

    Attributes:
        found: `[B, R]` bool: whether the item is among the candidates.
        share: `[B, R]` float64; for a found item, the share of irrelevant candidates below it, ties counted half; NaN
            for users whose candidates are all relevant.
    """

    found: Tensor
    share: Tensor


@dataclass(frozen=True)
class PairShares(Block[RankedPairs]):
    """Needs lists that cover all candidates; says so when they do not."""

    metric_name: str
    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> RankedPairs:
        standings = blocks[RelevantStandings(self.ranking, self.relevance)]
        if not blocks.batch.shown.complete:
            _check_whole(self.metric_name, blocks, standings.candidates, self.relevance)
        negatives = (standings.candidates - standings.found.sum(1))[:, None]
        above = standings.above + standings.tied.double() / 2
        return RankedPairs(standings.found, torch.where(negatives > 0, 1 - above / negatives, torch.nan))


def _check_whole(name: str, blocks: Blocks, length: Tensor, relevance: Relevance) -> None:
    catalogue = blocks.context.catalogue
    if catalogue is None:
        raise NeedError(
            f"{name} needs to know all candidates",
            hint="give catalogue=, a sequence of all item ids, or history=",
        )
    candidates = torch.full_like(length, len(catalogue))
    if "history_count" in blocks.batch.slates.user_columns:
        candidates = candidates - blocks.batch.user_column("history_count")
    short = (length < candidates) & blocks[Counted("relevant", relevance=relevance)]
    if bool(short.any()):
        row = int(torch.nonzero(short)[0])
        user = blocks.batch.slates.users.slice(blocks.batch.start + row, blocks.batch.start + row + 1).tolist()[0]
        raise NeedError(
            f"{name} needs each user's ranking of all candidates (the catalogue without the history)",
            f"{int(short.sum())} user(s) of a batch with shorter lists, e.g. user {user!r} with "
            f"{int(length[row])} of {int(candidates[row])}",
            "give whole rankings or a score matrix; for top-k lists use nDCG, MAP or Recall",
        )


@dataclass(frozen=True)
class AUC(UserMetric):
    """The share of a user's irrelevant candidates that stand below a relevant item, averaged over all relevant items
    of all users (a micro average); ties count half.

    Undefined for users whose candidates are all relevant: their items do not enter.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b", "c"]}, {1: ["b"]}, "AUC", catalogue=["a", "b", "c"])["AUC"]
    0.5
    """

    name = "AUC"
    family = "accuracy"

    def needs(self) -> Needs:
        return replace(super().needs(), depth=0) | CANDIDATES

    def values(self, blocks: Blocks) -> Tensor:
        pairs = blocks[PairShares(self.name, self.ranking, self.relevance)]
        total = torch.where(pairs.found, pairs.share, 0.0).sum(1)
        return total / blocks[RelevantCount(self.relevance)].clamp(min=1)

    def start(self) -> State:
        return Sums() if self.over == "mean" else super().start()

    def update(self, blocks: Blocks) -> State:
        if self.over != "mean":
            return super().update(blocks)
        defined = self.counted(blocks) & ~self.values(blocks).isnan()
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

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b", "c"]}, {1: ["b"]}, "LAUC@1,2", catalogue=["a", "b", "c"]).values
    {'LAUC@1': 0.0, 'LAUC@2': 0.5}
    """

    name = "LAUC"
    family = "accuracy"

    def needs(self) -> Needs:
        return super().needs() | CANDIDATES

    def values(self, blocks: Blocks) -> Tensor:
        pairs = blocks[PairShares("LAUC", self.ranking, self.relevance)]
        at = blocks[Matches(self.ranking, self.relevance)][:, : self.k]
        # A last column of zeros stands for the places without a hit.
        share = torch.nn.functional.pad(pairs.share, (0, 1))
        total = share.gather(1, at.masked_fill(at < 0, share.shape[1] - 1)).sum(1)
        return total / blocks[RelevantCount(self.relevance)].clamp(min=1, max=self.k)
