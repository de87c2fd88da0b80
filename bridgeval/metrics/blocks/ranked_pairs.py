"""Pairs of a relevant item and an irrelevant candidate: the blocks behind AUC, GAUC and LAUC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from bridgeval.batch.ranking import Ranking, Relevance
from bridgeval.engine.blocks import Block, Blocks, Counted, RankCounts, Relevant, RelevantCount, by_item
from bridgeval.errors import NeedError

Tied = Literal["half", "order"]


Negatives = Literal["ranked", "catalogue"]


@dataclass(frozen=True)
class RankedPairs:
    """The irrelevant candidates that each relevant item is ranked above.

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
        standings = blocks[RankCounts(self.ranking, self.relevance, decided=self.tied == "order")]
        above = standings.above + standings.tied.double() / 2
        if self.negatives == "catalogue":
            _check_found(blocks, standings.found, self.relevance)
            return RankedPairs(standings.found, 1 - above / self._estimated(blocks))
        if not blocks.batch.shown.complete:
            _check_whole(blocks, standings.candidates, self.relevance)
        negatives = (standings.candidates - standings.found.sum(1))[:, None]
        return RankedPairs(standings.found, (1 - above / negatives).masked_fill(negatives <= 0, torch.nan))

    def _estimated(self, blocks: Blocks) -> Tensor:
        """`[B, 1]`: the catalogue without masked and relevant items, plus one."""
        rest = len(blocks.lookup.catalogue) + 1 - blocks[RelevantCount(self.relevance)] - blocks.batch.shown.masked
        return rest[:, None].double()


@dataclass(frozen=True)
class MeanShare(Block[Tensor]):
    """The mean share of each user's relevant items, 0 for those that are not found: `[B]` float64."""

    pairs: PairShares

    def make(self, blocks: Blocks) -> Tensor:
        pairs = blocks[self.pairs]
        total = pairs.share.masked_fill(~pairs.found, 0).sum(1)
        return total / blocks[RelevantCount(self.pairs.relevance)].clamp(min=1)


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
