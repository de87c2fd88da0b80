"""Blocks: named tensors derived from a batch, made once and shared by all metrics.

A block is a frozen dataclass with a method `make`. Two metrics that ask for equal blocks get the same tensor. A
plugin may define its own; nothing has to be registered. B users, D = depth of the ranked lists (the largest
cutoff asked for), R relevant, V items of the vocabulary.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import torch
from torch import Tensor

from bridgeval.batch import rank_counts
from bridgeval.batch.batch import Batch, look_up
from bridgeval.batch.kernels import find_repeats, match_rows
from bridgeval.batch.rank_counts import CandidateCounts
from bridgeval.batch.ranking import (
    LATE_TIES,
    MatchIndex,
    RankedLists,
    Ranking,
    Relevance,
    RelevantLists,
    Ties,
    leave_gaps,
    match,
    order_ties,
    rank,
    select_relevant,
    skip_items,
)
from bridgeval.batch.score_batch import ScoreBatch
from bridgeval.batch.transfer import Pending, PendingMoments, to_tensor
from bridgeval.engine.lookup import Lookup
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import Moments, State
from bridgeval.errors import NeedError
from bridgeval.tables.context import Context

T = TypeVar("T")
_MISSING: Any = object()
# The cutoff beyond the end of every list: of metrics that are asked for without one.
WHOLE = sys.maxsize
# The policies without a threshold, made and checked once and not for every batch.
EVERY_ROW = {
    one.duplicates: one
    for one in (Relevance(None, "best"), Relevance(None, "first"), Relevance(None, "all"), Relevance(None, "each"))
}
Users = Literal[
    "relevant",
    "shown",
    "both",
    "any",
    "truth",
    "history",
    "baseline",
    "given",
    "known",
    "listed",
    "judged",
    "answered",
    "measured",
]


class Block(Generic[T]):
    """A recipe for a tensor, or for a few that belong together. Subclasses are frozen dataclasses."""

    def make(self, blocks: Blocks) -> T:
        raise NotImplementedError(f"{type(self).__name__} must define make(blocks)")


class Blocks:
    """The blocks of one batch, each made when it is first asked for.

    Attributes:
        batch: the users at hand.
        device: where their tensors are.
        lookup: the context, by item and by user.
        depth: how deep ranked lists are read; None for all.
        needs: of all metrics that ask.
        cutoffs: the cutoffs that metrics declare in `needs()`, ascending.
        checks: of data on a device, which raise once their flags are on the host.
    """

    def __init__(self, batch: Batch, lookup: Lookup, depth: int | None = None, needs: Needs | None = None) -> None:
        self.batch = batch
        self.device = batch.device
        self.lookup = lookup
        self.depth = depth
        self.needs = needs or Needs()
        self.cutoffs = tuple(sorted(self.needs.cutoffs))
        self.checks: list[Pending] = list(batch.shown.checks) if isinstance(batch.shown, ScoreBatch) else []
        self._made: dict[Block[Any], Any] = {}

    def __getitem__(self, block: Block[T]) -> T:
        made: T = self._made.get(block, _MISSING)
        if made is _MISSING:
            made = self._made[block] = block.make(self)
        return made

    def __len__(self) -> int:
        return self.batch.stop - self.batch.start

    def finish(self, make: Callable[..., State], *tensors: Tensor) -> State:
        """What `make` makes of the tensors as arrays of the host; on a device a promise of it, which the plan fulfills
        for all metrics of a batch at once.
        """
        if self.device.type != "cpu":
            return Pending(make, tensors)
        return make(*map(Tensor.numpy, tensors))

    def measure(self, counted: Tensor, values: Tensor) -> State:
        """The moments of the values `[n]` that count; on a device those of all metrics are taken together."""
        if self.device.type != "cpu":
            pending: Any = PendingMoments(values, counted)
            return pending
        return Moments.of(values.numpy()[counted.numpy()])

    def check(self, wrong: Tensor, complain: Callable[[], None]) -> None:
        """Calls `complain`, which raises, if the flag is true; on a device not before the results of the batch come
        back, so that the host does not wait for each check.
        """
        if wrong.is_cpu:
            if bool(wrong):
                complain()
        else:
            self.checks.append(Pending(lambda flag: complain() if flag else None, (wrong,)))

    @property
    def cutoff(self) -> int:
        """The largest cutoff."""
        return max(self.cutoffs, default=0)

    @property
    def reads_whole_lists(self) -> bool:
        """Whether the largest cutoff is beyond the end of every list."""
        return self.depth is None or self.depth >= self.batch.shown.width

    def count_places(self) -> int:
        """More places than a list, a cutoff or a row that stays at its rank has: a power of two, so that tables by
        place can be kept from batch to batch.
        """
        cutoff = max([k for k in self.cutoffs if k != WHOLE], default=0)
        return 1 << (self.batch.shown.width + max(self.batch.relevant.width, cutoff)).bit_length()

    @property
    def context(self) -> Context:
        return self.lookup.context

    @property
    def ends(self) -> Tensor:
        """`[cutoffs]` int64: the cutoffs, uploaded once for all batches."""
        make = lambda: to_tensor(np.array(self.cutoffs, dtype=np.int64), self.device)  # noqa: E731
        return self.lookup.once(("cutoffs", self.cutoffs), make)

    @cached_property
    def ranks(self) -> Tensor:
        """`[K]` float64: 1, 2, 3, ..."""
        width = self.batch.shown.width
        return torch.arange(1, width + 1, dtype=torch.float64, device=self.device)


@dataclass(frozen=True)
class Ranked(Block[RankedLists]):
    """The items that each user was shown, best first: `[B, D]`.

    Attributes:
        whole: however deep, whatever the cutoffs: `[B, K]`. For score matrices that is a sort of all items.
    """

    ranking: Ranking = Ranking()
    whole: bool = False

    def make(self, blocks: Blocks) -> RankedLists:
        shown, depth = blocks.batch.shown, blocks.depth
        late = self.ranking.ties in LATE_TIES or self.ranking.unjudged == "skip"
        if not self.whole and (late or not isinstance(shown, ScoreBatch) or blocks.reads_whole_lists):
            # Lists are sorted as a whole anyway, and whoever asks for whole rankings shares them.
            return blocks[Ranked(self.ranking, whole=True)].first(depth)
        ranked = rank(shown, self.ranking, None if self.whole else depth)
        if late:
            ranked = self._settle(blocks, ranked)
        if self.ranking.gaps == "keep" and shown.has("rank"):
            # No metric asks for a certain place beyond its cutoff and the number of relevant items.
            return leave_gaps(ranked, shown.column("rank"), max(blocks.cutoff, blocks.batch.relevant.width))
        return ranked

    def _settle(self, blocks: Blocks, ranked: RankedLists) -> RankedLists:
        """What the truth, or chance, decides."""
        ranking, shown = self.ranking, blocks.batch.shown
        if ranking.ties in LATE_TIES and ranking.order != "given":
            ranked = order_ties(ranked, shown, blocks[TiePrecedence(ranking.ties, ranking.seed)])
        return skip_items(ranked, blocks[JudgedGains()] > -torch.inf) if ranking.unjudged == "skip" else ranked


@dataclass(frozen=True)
class JudgedGains(Block[Tensor]):
    """The gain that the truth gives each cell of the batch, relevant or not; -inf without a row: `[B, K]` float64."""

    def make(self, blocks: Blocks) -> Tensor:
        shown, judged = blocks.batch.shown, blocks[Relevant(EVERY_ROW["best"])]
        rows, cells, columns = match_rows(shown.items.contiguous(), judged.items, shown.pad)
        gains = torch.full(shown.items.shape, -torch.inf, dtype=torch.float64, device=blocks.device)
        return gains.index_put_((rows, cells), judged.gains[rows, columns].double())


def mix_bits(numbers: Tensor) -> Tensor:
    """Other numbers, int64, in which every bit depends on all bits.

    Two numbers that are joined by exclusive or alone keep their neighbors: of three items the odd one out would come
    first or last for every user, and never second. The steps are like those that finish MurmurHash3 (Appleby 2016).

    >>> import torch
    >>> len(set(mix_bits(torch.arange(1000)).tolist()))
    1000
    """
    for factor in (-49064778989728563, -4265267296055464877):
        numbers = numbers ^ (numbers >> 33)
        numbers = numbers * factor
    return numbers ^ (numbers >> 33)


@dataclass(frozen=True)
class TiePrecedence(Block[Tensor]):
    """Which of two equal scores stands first: `[B, K]` int64, the higher one.

    Under "optimistic" and "pessimistic" an item without a row in the truth is worth 0, and equal gains keep the order
    they came in. Under "random" ids decide, not places, so that batches and partitions change nothing.
    """

    ties: Ties
    seed: int = 0

    def make(self, blocks: Blocks) -> Tensor:
        shown, batch = blocks.batch.shown, blocks.batch
        if self.ties == "random":
            users = to_tensor(batch.slates.users.slice(batch.start, batch.stop).hash(self.seed), blocks.device)
            items = to_tensor(batch.slates.items.hash(self.seed), blocks.device)
            return mix_bits(items[shown.items.clamp(max=len(items) - 1)] ^ users[:, None])
        gains = blocks[JudgedGains()].masked_fill(blocks[JudgedGains()] == -torch.inf, 0)
        first = torch.argsort(gains, dim=1, descending=self.ties == "optimistic", stable=True)
        places = torch.arange(gains.shape[1], 0, -1, device=blocks.device).expand(gains.shape)
        return torch.empty_like(first).scatter_(1, first, places)


@dataclass(frozen=True)
class ShownColumn(Block[Tensor]):
    """A pair column in ranked order: `[B, D]`. Cells that are not valid hold anything."""

    name: str
    ranking: Ranking = Ranking()

    def make(self, blocks: Blocks) -> Tensor:
        shown, ranked = blocks.batch.shown, blocks[Ranked(self.ranking)]
        if not shown.has(self.name):
            raise NeedError(f"the shown pairs have no column {self.name!r}", hint=f"give {self.name}")
        pairs = shown.pairs.get(self.name)
        return ranked.gather(shown.column(self.name)) if pairs is None else look_up(pairs, ranked.items, shown.cargo)


@dataclass(frozen=True)
class GainRange(Block[tuple[Any, Any]]):
    """The lowest and the highest gain of the truth, infinite if it has no row; read on the host, and of its dtype."""

    def make(self, blocks: Blocks) -> tuple[Any, Any]:
        gains = blocks.batch.relevant.lists.columns["gain"]
        return gains.min(initial=math.inf), gains.max(initial=-math.inf)


@dataclass(frozen=True)
class EffectiveRelevance(Block[Relevance]):
    """The plainest policy that keeps the same rows of this batch: metrics of different policies then share blocks."""

    relevance: Relevance

    def make(self, blocks: Blocks) -> Relevance:
        lowest, _ = blocks[GainRange()]
        above, at_least = self.relevance.above, self.relevance.at_least
        keeps_all = (above is None or lowest > above) and (at_least is None or lowest >= at_least)
        return EVERY_ROW[self.relevance.duplicates] if keeps_all else self.relevance


@dataclass(frozen=True)
class Relevant(Block[RelevantLists]):
    """The items that proved relevant to each user, sorted by item: `[B, R]`."""

    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> RelevantLists:
        same = Relevant(blocks[EffectiveRelevance(self.relevance)])
        return blocks[same] if same != self else select_relevant(blocks.batch.relevant, self.relevance)


@dataclass(frozen=True)
class RelevantCount(Block[Tensor]):
    """The number of relevant rows of each user: `[B]` int64."""

    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Tensor:
        return blocks[Relevant(self.relevance)].counts


@dataclass(frozen=True)
class ShownCount(Block[Tensor]):
    """The number of items that each user was shown, within the depth: `[B]` int64."""

    ranking: Ranking = Ranking()

    def make(self, blocks: Blocks) -> Tensor:
        return blocks[Ranked(self.ranking)].counts


@dataclass(frozen=True)
class CandidateCount(Block[Tensor]):
    """The number of items in each user's whole ranking: `[B]` int64."""

    ranking: Ranking = Ranking()

    def make(self, blocks: Blocks) -> Tensor:
        shown = blocks.batch.shown
        if isinstance(shown, ScoreBatch):
            return rank_counts.count_candidates(shown, self.ranking)
        return blocks[Ranked(self.ranking, whole=True)].counts


@dataclass(frozen=True)
class UserGroups(Block[Tensor]):
    """The group of each user, 0 for none: `[B]` int64."""

    def make(self, blocks: Blocks) -> Tensor:
        batch = blocks.batch
        return blocks.lookup.users("groups")[batch.start : batch.stop]


@dataclass(frozen=True)
class ItemColumn(Block[Tensor]):
    """The value of each shown item in a table of `context=`: `[B, D]`; see `Needs.items`.

    float64, NaN where there is none and where there is no item. Of a table of labels int64 codes, 0 for none.
    """

    table: str
    ranking: Ranking = Ranking()

    def make(self, blocks: Blocks) -> Tensor:
        return by_item(blocks.lookup.items(self.table), blocks[Ranked(self.ranking)].items)


@dataclass(frozen=True)
class UserColumn(Block[Tensor]):
    """The value of each user in a table of `context=`: `[B]`; see `Needs.by_user`. Types are those of `ItemColumn`."""

    table: str

    def make(self, blocks: Blocks) -> Tensor:
        batch = blocks.batch
        return blocks.lookup.users(self.table)[batch.start : batch.stop]


@dataclass(frozen=True)
class HitIndex(Block[MatchIndex]):
    """Row, place and column of the relevant list of every hit, by row, then by place: `[n]` int64 each.

    Attributes:
        whole: in the whole ranking, whatever the cutoffs.
    """

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()
    whole: bool = False

    def make(self, blocks: Blocks) -> MatchIndex:
        relevance = blocks[EffectiveRelevance(self.relevance)]
        same = HitIndex(self.ranking, relevance, self.whole or blocks.reads_whole_lists)
        if same != self:
            return blocks[same]
        ranked, relevant = blocks[Ranked(self.ranking, self.whole)], blocks[Relevant(relevance)]
        hits = match(ranked, relevant, each=relevance.duplicates == "each")
        if self.ranking.score_above is None or not blocks.batch.shown.has("score"):
            return hits
        scores = ranked.gather(blocks.batch.shown.column("score"))[hits.rows, hits.places]
        high = scores > self.ranking.score_above
        return MatchIndex(*(column[high] for column in hits))


@dataclass(frozen=True)
class Matches(Block[Tensor]):
    """The column of the relevant list that holds each shown item, -1 for none: `[B, D]` int64."""

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Tensor:
        rows, places, columns = blocks[HitIndex(self.ranking, self.relevance)]
        shape = blocks[Ranked(self.ranking)].items.shape
        return torch.full(shape, -1, device=blocks.device).index_put_((rows, places), columns)


@dataclass(frozen=True)
class Hits(Block[Tensor]):
    """Whether each shown item is relevant: `[B, D]` bool."""

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Tensor:
        rows, places, _ = blocks[HitIndex(self.ranking, self.relevance)]
        hits = torch.zeros(blocks[Ranked(self.ranking)].items.shape, dtype=torch.bool, device=blocks.device)
        hits[rows, places] = True
        return hits


@dataclass(frozen=True)
class NewHits(Block[Tensor]):
    """Hits, of a repeated item only the first: `[B, D]` bool. Differs from Hits if duplicates are kept."""

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Tensor:
        hits = blocks[Hits(self.ranking, self.relevance)]
        shown = blocks[Ranked(self.ranking)]
        return hits & ~find_repeats(shown.items, shown.pad) if shown.repeated else hits


@dataclass(frozen=True)
class ShownGains(Block[Tensor]):
    """The gain of each shown item, 0 where it is not relevant: `[B, D]` float64."""

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Tensor:
        rows, places, columns = blocks[HitIndex(self.ranking, self.relevance)]
        gains = torch.zeros(blocks[Ranked(self.ranking)].items.shape, dtype=torch.float64, device=blocks.device)
        gains[rows, places] = blocks[Relevant(self.relevance)].gains[rows, columns].double()
        return gains


@dataclass(frozen=True)
class PickedScores(Block[tuple[Tensor, Tensor]]):
    """Of a score matrix: the scores of the relevant items, and which of them are candidates: `[B, R]` each."""

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> tuple[Tensor, Tensor]:
        relevance = blocks[EffectiveRelevance(self.relevance)]
        if relevance != self.relevance:
            return blocks[PickedScores(self.ranking, relevance)]
        shown: Any = blocks.batch.shown
        return rank_counts.pick_scores(shown, self.ranking, blocks[Relevant(relevance)])


@dataclass(frozen=True)
class RelevantScores(Block[tuple[Tensor, Tensor, Tensor]]):
    """Row, column of the relevant list and score of every relevant item that was scored: `[n]` each.

    On a device all cells of the relevant lists may be among them, with the score NaN where an item has none: to leave
    them out takes a wait.
    """

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> tuple[Tensor, Tensor, Tensor]:
        shown = blocks.batch.shown
        if isinstance(shown, ScoreBatch):
            scores, known = blocks[PickedScores(self.ranking, self.relevance)]
            if known.is_cpu:
                rows, columns = torch.nonzero(known, as_tuple=True)
                return rows, columns, scores[rows, columns]
            cells = torch.arange(known.numel(), device=known.device)
            width = max(known.shape[1], 1)
            return cells // width, cells % width, scores.masked_fill(~known, torch.nan).view(-1)
        ranked = blocks[Ranked(self.ranking, whole=True)]
        rows, places, columns = blocks[HitIndex(self.ranking, self.relevance, whole=True)]
        return rows, columns, ranked.gather(shown.column("score"))[rows, places]


@dataclass(frozen=True)
class RankCounts(Block[CandidateCounts]):
    """The number of candidates, however deep, above each relevant item: `[B, R]`.

    Attributes:
        decided: whether the ranking decides ties; else they are counted apart.
    """

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()
    decided: bool = False

    def make(self, blocks: Blocks) -> CandidateCounts:
        shown, relevant = blocks.batch.shown, blocks[Relevant(self.relevance)]
        if isinstance(shown, ScoreBatch):
            picked = blocks[PickedScores(self.ranking, self.relevance)]
            return rank_counts.count_in_scores(shown, self.ranking, relevant, picked, decided=self.decided)
        ranked = blocks[Ranked(self.ranking, whole=True)]
        by_score = shown.has("score") and not shown.ranked and self.ranking.order == "score" and not self.decided
        scores = ranked.gather(shown.column("score")) if by_score else None
        return rank_counts.count_in_lists(ranked, scores, relevant)


@dataclass(frozen=True)
class Counted(Block[Tensor]):
    """The users who count: `[B]` bool.

    `users` is "relevant" (at least one relevant item), "shown" (at least one item shown), "both", "any" (every user
    that either side names), "truth" (at least one row of relevance, whatever its gain), "history", "baseline" (users
    these name), "given" (users the caller lists), "known" (all there are: the given, else those of the history),
    "listed" or "judged" (users whom the recommendations, or the relevance, name, even with an empty list), "answered"
    (a row of relevance, and listed), "measured" (listed, but neither shown anything nor judged does not count).
    """

    users: Users = "relevant"
    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Tensor:
        batch = blocks.batch
        match self.users:
            case "relevant":
                return blocks[RelevantCount(self.relevance)] > 0
            case "shown":
                return blocks[ShownCount(self.ranking)] > 0
            case "both":
                return (blocks[RelevantCount(self.relevance)] > 0) & (blocks[ShownCount(self.ranking)] > 0)
            case "truth":
                return batch.relevant.lengths > 0
            case "any":
                return (batch.shown.lengths > 0) | (batch.relevant.lengths > 0)
            case "listed" | "judged":
                has_rows = (batch.shown if self.users == "listed" else batch.relevant).lengths > 0
                empty = f"in_{self.users}"
                return has_rows | batch.user_column(empty) if batch.has_user_column(empty) else has_rows
            case "answered":
                return blocks[Counted("listed")] & (batch.relevant.lengths > 0)
            case "measured":
                return blocks[Counted("listed")] & ((batch.shown.lengths > 0) | blocks[Counted("judged")])
            case _:
                return batch.user_column(f"in_{self.users}")


@dataclass(frozen=True)
class LeftOut(Block[Tensor]):
    """The users who do not count: `[B]` bool."""

    counted: Counted

    def make(self, blocks: Blocks) -> Tensor:
        return ~blocks[self.counted]


def by_item(table: Tensor, items: Tensor) -> Tensor:
    """Values of `[V + 1]` or `[V + 1, F]` by item code, laid out as the codes are."""
    return table.index_select(0, items.reshape(-1)).view(*items.shape, *table.shape[1:])
