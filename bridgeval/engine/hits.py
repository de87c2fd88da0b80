"""Hits as a rectangle of their own: few beside all that is shown, and all that most accuracy metrics look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from bridgeval.data.ranking import MOST_PACKED, Ranking, Relevance, places
from bridgeval.engine.blocks import Block, Blocks, Hits, Matches, NewHits, Ranked, Relevant

Repeated = Literal["once", "each"]


@dataclass(frozen=True)
class HitList:
    """The hits of each user from left to right; H is the most that one user of the batch has.

    Attributes:
        places: `[B, H]` int64: the place (from 1) of each user's j-th hit; one past the depth where there is none.
        matches: `[B, H]` int64: its column in the relevant list; 0 where there is none.
    """

    places: Tensor
    matches: Tensor
    depth: int
    _counts: dict[int, Tensor] = field(default_factory=dict, compare=False, repr=False)

    def count(self, k: int) -> Tensor:
        """`[B]` int64: hits in the first k places."""
        k = min(k, self.depth)
        if k not in self._counts:
            self._counts[k] = (self.places <= k).sum(1)
        return self._counts[k]

    @property
    def within(self) -> Tensor:
        """`[B, H]` bool: where there is a hit."""
        return self.places <= self.depth

    def up_to(self, k: int, cumulative: Tensor) -> Tensor:
        """`[B]`: what `cumulative` `[B, H]` has come to within the first k places; 0 where there is no hit."""
        if not cumulative.shape[1]:
            return cumulative.new_zeros(len(cumulative))
        count = self.count(k)
        reached = cumulative.gather(1, (count - 1).clamp_(min=0)[:, None]).squeeze(1)
        return reached.masked_fill_(count == 0, 0)


@dataclass(frozen=True)
class HitPlaces(Block[HitList]):
    """Where the hits are.

    Attributes:
        new: of a repeated item only the first hit counts.
    """

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()
    new: bool = False

    def make(self, blocks: Blocks) -> HitList:
        shown = blocks[Ranked(self.ranking)]
        repeated = self.ranking.duplicates == "all" and blocks.batch.shown.repeated
        if repeated or shown.items.shape[1] >= MOST_PACKED:
            return self._from_shown(blocks)
        relevant = blocks[Relevant(self.relevance)]
        found, match = places(shown, relevant)
        most = int((found > 0).sum(1).max()) if len(blocks) else 0
        found, match = found[:, :most], match[:, :most]
        depth = shown.items.shape[1]
        return HitList(found.masked_fill(found == 0, depth + 1), match, depth)

    def _from_shown(self, blocks: Blocks) -> HitList:
        """The long way, for lists in which an item may be a hit several times."""
        at = blocks[Matches(self.ranking, self.relevance)]
        hits = blocks[(NewHits if self.new else Hits)(self.ranking, self.relevance)]
        counts = hits.sum(1)
        rows, columns = torch.nonzero(hits, as_tuple=True)
        ordinal = torch.arange(len(rows), device=blocks.device) - (counts.cumsum(0) - counts)[rows]
        most = int(counts.max()) if len(counts) else 0
        found = torch.full((len(blocks), most), hits.shape[1] + 1, dtype=torch.int64, device=blocks.device)
        matches = torch.zeros_like(found)
        found[rows, ordinal] = columns + 1
        matches[rows, ordinal] = at[rows, columns]
        return HitList(found, matches, hits.shape[1])


@dataclass(frozen=True)
class HitCount(Block[Tensor]):
    """Hits in the first k places: `[B]` int64.

    Attributes:
        repeated: whether an item that stands in several places, where duplicates are kept, is found "once" or "each"
            time.
    """

    k: int
    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()
    repeated: Repeated = "once"

    def make(self, blocks: Blocks) -> Tensor:
        new = self.repeated == "once" and self.ranking.duplicates == "all" and blocks.batch.shown.repeated > 0
        return blocks[HitPlaces(self.ranking, self.relevance, new)].count(self.k)
