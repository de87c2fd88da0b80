"""Ranking: the only place that ranks, for lists, score matrices, baselines and the variations of `inspect`.

`rank` puts what users were shown in order, `select_relevant` keeps what counts as relevant, `match` finds the one in
the other. All are pure functions of a batch and a policy, so that metrics of different policies share one batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from bridgeval.batch.batch import MASKED, ListBatch, Shown
from bridgeval.batch.kernels import (
    count_true,
    find_repeats,
    match_rows,
    order_by_score,
    order_unsorted,
    sort_with_index,
)
from bridgeval.batch.score_batch import ScoreBatch
from bridgeval.batch.transfer import Cargo, to_tensor
from bridgeval.choices import check_choices
from bridgeval.errors import NeedError
from bridgeval.tables.ids import Ids
from bridgeval.tables.slates import Lists

Order = Literal["score", "given", "sigmoid", "softmax"]
Ties = Literal[
    "item_descending",
    "item_ascending",
    "text_descending",
    "text_ascending",
    "given",
    "random",
    "optimistic",
    "pessimistic",
    "average",
    "first",
    "middle",
    "last",
]
Unjudged = Literal["keep", "skip"]
# Rules that need more than the items: the truth, or a user. `order_ties` applies them to lists that are ranked already.
LATE_TIES: tuple[Ties, ...] = ("random", "optimistic", "pessimistic")
# Rules under which equal scores have no order among themselves.
SHARED_TIES: tuple[Ties, ...] = ("average", "first", "middle", "last")
Duplicates = Literal["best", "all"]
Masked = Literal["drop", "keep"]
Gaps = Literal["close", "keep"]

# Cells that are ranked at once outside of a batch.
CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Ranking:
    """The policy by which a list is ranked.

    Attributes:
        order: by "score" descending, or as "given". Lists that come ranked always keep their order. With "sigmoid"
            and "softmax" rows are kept by score, then ordered by what these make of it in float64, where large
            scores become equal.
        ties: what decides between equal scores. An order, see `TIES`: by the item, as "given", "random", or by the gain
            that the truth gives, highest first ("optimistic") or lowest first ("pessimistic"). Or no order: equal
            scores share the "first", the "middle" (rounded down) or the "last" of their places; or the metric is its
            mean over all orders ("average"). `bridgeval.metrics.blocks.hits` has these.
        duplicates: of a repeated item the "best" place counts, or "all" of them do.
        masked: items scored -inf are dropped, or kept at the end.
        cut: rows kept before duplicates are removed; None keeps all.
        gaps: where the column `rank` leaves places out, later rows move up ("close"), or stay at their rank ("keep").
        unjudged: items without a row in the truth are kept, or skipped ("skip"): a condensed list (Sakai 2007).
        seed: of ties="random".
        score_above: an item that scores no more than this has its place, but is no hit; None has no such bar.
    """

    order: Order = "score"
    ties: Ties = "item_descending"
    duplicates: Duplicates = "best"
    masked: Masked = "drop"
    cut: int | None = None
    gaps: Gaps = "close"
    unjudged: Unjudged = "keep"
    seed: int = 0
    score_above: float | None = None

    def __post_init__(self) -> None:
        check_choices(self, "Ranking")


def _sigmoid(scores: Tensor, valid: Tensor) -> Tensor:
    return 1 / (1 + torch.exp(-scores))


def _softmax(scores: Tensor, valid: Tensor) -> Tensor:
    """Proportional to the softmax; where it overflows, only "infinite" and "finite" are left."""
    lowest = scores.masked_fill(~valid, torch.inf).amin(1, keepdim=True) if scores.shape[1] else scores
    powers = torch.exp(scores - lowest).masked_fill(~valid, 0)
    infinite = powers.isinf()
    return torch.where(infinite.any(1, keepdim=True), infinite.double(), powers)


def _rank_texts(items: Tensor, shown: Shown) -> Tensor:
    if shown.vocabulary is None:
        raise NeedError("the ids of these lists are not known, so that their text cannot decide", hint="give Slates")
    ranks = to_tensor(shown.vocabulary.text_ranks, items.device)
    return ranks[items.clamp(max=len(ranks) - 1)]


def _keep_order(items: Tensor) -> Tensor:
    return torch.arange(items.shape[1] - 1, -1, -1, device=items.device).expand(items.shape)


# Tie rule -> the precedence of items `[B, K]`, integers from 0 to V: of equal scores the higher one stands first.
TIES: dict[Ties, Callable[[Tensor, Shown], Tensor]] = {
    "item_descending": lambda items, shown: items,
    "item_ascending": lambda items, shown: shown.pad - items,
    "text_descending": _rank_texts,
    "text_ascending": lambda items, shown: shown.pad - _rank_texts(items, shown),
    **dict.fromkeys(("given", *LATE_TIES, *SHARED_TIES), lambda items, shown: _keep_order(items)),
}

# Orders by a function of the scores `[B, K]` float64 and of the cells that are kept.
TRANSFORMS: dict[Order, Callable[[Tensor, Tensor], Tensor]] = {"sigmoid": _sigmoid, "softmax": _softmax}


@dataclass(frozen=True)
class RankedLists:
    """Lists best first, valid cells before the others, unless ranks leave places out (`leave_gaps`).

    Attributes:
        items: `[B, D]` codes, `pad` where not valid.
        valid: `[B, D]`.
        index: `[B, D]` int64: the column of the batch that each cell came from; None if none was moved.
        pad: V.
        repeated: whether a list may show an item twice.
    """

    items: Tensor
    valid: Tensor
    index: Tensor | None
    pad: int
    repeated: bool = False

    @property
    def counts(self) -> Tensor:
        """`[B]` int64: how many items are shown."""
        return count_true(self.valid)

    def first(self, depth: int | None) -> RankedLists:
        """The same lists cut to `depth` columns (None: all)."""
        if depth is None or depth >= self.items.shape[1]:
            return self
        index = None if self.index is None else self.index[:, :depth]
        return replace(self, items=self.items[:, :depth], valid=self.valid[:, :depth], index=index)

    def gather(self, cells: Tensor) -> Tensor:
        """`[B, D]`: cells `[B, K]` of the batch in ranked order."""
        return cells[:, : self.items.shape[1]] if self.index is None else cells.gather(1, self.index)


def rank(shown: Shown, ranking: Ranking, depth: int | None = None) -> RankedLists:
    """Ranks what B users were shown, best first, cut to `depth` columns (None: all)."""
    if ranking.order in TRANSFORMS and shown.has("score") and not shown.ranked:
        return _rank_transformed(shown, ranking).first(depth)
    if isinstance(shown, ScoreBatch):
        return _rank_scores(shown, ranking, depth)
    order = _order(shown, ranking)
    items = shown.items if order is None else shown.items.gather(1, order)
    ranked = RankedLists(items, shown.valid, order, shown.pad, shown.repeated > 0)
    if ranking.masked == "drop" and (not isinstance(shown, ListBatch) or shown.any_masked):
        ranked = _keep(ranked, ranked.gather(shown.column("score")) != MASKED)
    if ranking.cut is not None and ranking.cut < items.shape[1]:
        ranked = _keep(ranked, torch.arange(items.shape[1], device=items.device) < ranking.cut)
    return _drop_repeats(ranked) if ranking.duplicates == "best" else ranked.first(None)


def _rank_transformed(shown: Shown, ranking: Ranking) -> RankedLists:
    """Keeps rows by score, then orders them by a function of it, then drops repeats."""
    kept = rank(shown, replace(ranking, order="score", duplicates="all"))
    scores = TRANSFORMS[ranking.order](kept.gather(shown.column("score")).double(), kept.valid)
    order = order_by_score(scores, TIES[ranking.ties](kept.items, shown), kept.valid)
    ranked = _move(kept, order)
    return _drop_repeats(ranked) if ranking.duplicates == "best" else ranked


def _order(shown: Shown, ranking: Ranking) -> Tensor | None:
    """The index that sorts each row by score; None if every row is in order, or has to stay as it is."""
    if shown.ranked or ranking.order == "given" or not shown.has("score") or shown.width < 2:
        return None
    scores, precedence = shown.column("score"), TIES[ranking.ties](shown.items, shown)
    every = isinstance(shown, ListBatch) and shown.uniform
    return order_unsorted(scores, precedence, None if every else shown.valid)


def _move(ranked: RankedLists, order: Tensor) -> RankedLists:
    """The same cells in another order."""
    index = order if ranked.index is None else ranked.index.gather(1, order)
    return replace(ranked, items=ranked.items.gather(1, order), valid=ranked.valid.gather(1, order), index=index)


def _keep(ranked: RankedLists, wanted: Tensor) -> RankedLists:
    """Some of the cells; the rest of each row moves up."""
    valid = ranked.valid & wanted
    moved = _move(replace(ranked, valid=valid), torch.argsort(~valid, dim=1, stable=True))
    return replace(moved, items=moved.items.masked_fill(~moved.valid, ranked.pad))


def _drop_repeats(ranked: RankedLists) -> RankedLists:
    if not ranked.repeated:
        return ranked
    return replace(_keep(ranked, ~find_repeats(ranked.items, ranked.pad)), repeated=False)


def _rank_scores(shown: ScoreBatch, ranking: Ranking, depth: int | None) -> RankedLists:
    """The best columns of each row. Columns have no order of their own, so scores decide under "given" too.

    No row is sorted as a whole: `torch.topk` finds the best, and only rows with ties are put in order again.
    """
    depth = min(limit for limit in (depth, ranking.cut, shown.width) if limit is not None)
    values, index = shown.top(min(depth + 1, shown.width))
    valid = values != MASKED if ranking.masked == "drop" else torch.ones_like(index, dtype=torch.bool)
    tied = (values[:, 1:] == values[:, :-1]) & valid[:, 1:]
    values, index, valid = values[:, :depth], index[:, :depth], valid[:, :depth]
    rows = torch.nonzero(tied.any(1)).flatten()
    if len(rows):
        precedence, best = TIES[ranking.ties](shown.columns.codes[None], shown)[0], index[rows]
        if depth < shown.width:
            # To find the rows with a tie at the last place takes one more wait: a GPU cuts all that have any tie.
            across = tied[rows, depth - 1] if rows.is_cpu else slice(None)
            cut = rows[across]
            best[across] = _cut_ties(shown.scores[cut], values[cut, -1:], precedence, depth, shown.pad)
        order = order_by_score(shown.scores[rows[:, None], best], precedence[best])
        index = index.clone()
        index[rows] = best.gather(1, order)
    items = shown.columns.codes[index].masked_fill_(~valid, shown.pad)
    return RankedLists(items, valid, index, shown.pad)


def _cut_ties(scores: Tensor, bar: Tensor, precedence: Tensor, depth: int, largest: int) -> Tensor:
    """The best `depth` columns of rows in which several columns score `bar` and not all of them fit.

    Args:
        precedence: `[N]` integers from 0 to `largest`.
    """
    order = torch.add(precedence, scores > bar, alpha=largest + 1).masked_fill_(scores < bar, -1)
    return torch.topk(order, depth, dim=1, sorted=False).indices


def order_ties(ranked: RankedLists, shown: Shown, precedence: Tensor) -> RankedLists:
    """The same lists with equal scores in another order; lists that are not ranked by score have none.

    Args:
        precedence: `[B, K]` integers, in the order of the batch: of equal scores the higher one stands first.
    """
    if shown.ranked or not shown.has("score"):
        return ranked
    scores = ranked.gather(shown.column("score"))
    return _move(ranked, order_by_score(scores, ranked.gather(precedence), ranked.valid))


def skip_items(ranked: RankedLists, kept: Tensor) -> RankedLists:
    """The lists without some items; the rest move up.

    Args:
        kept: `[B, K]` bool, in the order of the batch.
    """
    return _keep(ranked, ranked.gather(kept))


def leave_gaps(ranked: RankedLists, ranks: Tensor, limit: int) -> RankedLists:
    """The same lists with every row at its rank, and cells without an item at ranks that no row has.

    Args:
        ranks: `[B, K]` the ranks of the batch, from 1, ascending in each row.
        limit: rows that are ranked below it follow without gaps: the rectangle stays small, however large a rank is.
    """
    ranks = ranked.gather(ranks).long()
    columns = torch.arange(ranks.shape[1], device=ranks.device).expand(ranks.shape)
    within = ranked.valid & (ranks <= limit)
    places = torch.where(within, ranks - 1, limit - count_true(within)[:, None] + columns)
    # Cells that are not valid all go to one more column, which is then cut off.
    width = int((places * ranked.valid).max()) + 1 if places.numel() else 0
    places = places.masked_fill(~ranked.valid, width)
    shape = (len(places), width + 1)
    items = ranked.items.new_full(shape, ranked.pad).scatter_(1, places, ranked.items)
    index = places.new_zeros(shape).scatter_(1, places, columns if ranked.index is None else ranked.index)
    return RankedLists(items, items != ranked.pad, index, ranked.pad, ranked.repeated).first(width)


def rank_lists(lists: Lists, ranking: Ranking, pad: int, vocabulary: Ids | None = None) -> Lists:
    """The same lists with their rows best first, without those that the ranking drops.

    Args:
        pad: V, one past the vocabulary.
        vocabulary: `[V]`, for rankings that read ids.
    """
    step = max(CELLS_AT_ONCE // max(int(lists.lengths.max(initial=0)), 1), 1)
    counts, kept = [np.zeros(1, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for start in range(0, len(lists.lengths), step):
        part = ListBatch(lists.part(start, start + step), pad, Cargo(torch.device("cpu")), vocabulary=vocabulary)
        ranked = rank(part, ranking)
        rows = torch.from_numpy(lists.offsets[start : start + len(ranked.items)])[:, None]
        rows = rows + torch.arange(part.width, device="cpu") if part.width else rows.expand(-1, 0)
        kept.append(ranked.gather(rows)[ranked.valid].numpy())
        counts.append(ranked.counts.numpy())
    order = np.concatenate(kept)
    columns = {name: column[order] for name, column in lists.columns.items()}
    return Lists(np.cumsum(np.concatenate(counts)), lists.items[order], columns, order="given")


@dataclass(frozen=True)
class Relevance:
    """Which rows of the truth count as relevant.

    Attributes:
        above: a row is relevant when its gain is above this; None takes every row.
        at_least: a row is relevant when its gain is at least this; None takes every row that `above` takes.
        duplicates: of a repeated item the highest gain counts once ("best"), the first one ("first"), or every
            row is counted among the relevant ("all"), and is a hit too where the item is found ("each").
    """

    above: float | None = 0.0
    duplicates: Literal["best", "first", "all", "each"] = "best"
    at_least: float | None = None

    def __post_init__(self) -> None:
        check_choices(self, "Relevance")


@dataclass(frozen=True)
class RelevantLists:
    """Relevant items in ascending order of their codes, ready to be searched.

    Attributes:
        items: `[B, R]` codes, V where not valid (so that rows stay sorted).
        gains: `[B, R]`, 0 where not valid.
        valid: `[B, R]`; under duplicates="all" and "each" repeated items are valid each time.
        index: `[B, R]` int64: the column of the batch that each cell came from.
        repeated: whether an item may be there several times.
    """

    items: Tensor
    gains: Tensor
    valid: Tensor
    index: Tensor
    repeated: bool = True

    @property
    def counts(self) -> Tensor:
        """`[B]` int64: how many rows are relevant."""
        return count_true(self.valid)

    @property
    def distinct(self) -> Tensor:
        """`[B, R]` bool: valid cells, of a repeated item only the first."""
        if not self.repeated:
            return self.valid
        once = self.valid.clone()
        once[:, 1:] &= self.items[:, 1:] != self.items[:, :-1]
        return once


def select_relevant(truth: ListBatch, relevance: Relevance) -> RelevantLists:
    """Keeps the relevant rows and sorts them by item."""
    gains, items, pad = truth.column("gain"), truth.items, truth.pad
    once = relevance.duplicates in ("best", "first") and truth.repeated
    if relevance.above is not None:
        items = items.masked_fill(~(gains > relevance.above), pad)
    if relevance.at_least is not None:
        items = items.masked_fill(~(gains >= relevance.at_least), pad)
    index: Tensor | None = None
    if once and relevance.duplicates == "best":
        index = torch.argsort(gains, dim=1, descending=True, stable=True)
        items = items.gather(1, index)
    items, order = sort_with_index(items, pad)
    index = order if index is None else index.gather(1, order)
    if once:
        items, order = sort_with_index(items.masked_fill(find_repeats(items, pad), pad), pad)
        index = index.gather(1, order)
    valid, gains = items != pad, gains.gather(1, index)
    if once or relevance.above is not None or relevance.at_least is not None:
        gains = gains.masked_fill(~valid, 0)
    return RelevantLists(items, gains, valid, index, truth.repeated > 0 and not once)


class MatchIndex(NamedTuple):
    """Every hit, by row, then by place: `[n]` int64 each.

    Attributes:
        rows: the row of the batch.
        places: the column of the ranked list, counted from 0.
        columns: the column of the relevant list; of a repeated item the first, unless each is a hit.
    """

    rows: Tensor
    places: Tensor
    columns: Tensor


def match(ranked: RankedLists, relevant: RelevantLists, *, each: bool = False) -> MatchIndex:
    """Finds the relevant items in ranked lists.

    Args:
        each: whether every row of a repeated relevant item is a hit, all at one place.
    """
    rows, places, columns = match_rows(ranked.items, relevant.items, ranked.pad)
    if each:
        # Rows are sorted by item, so that the rows of an item follow the first of them.
        ends = torch.searchsorted(relevant.items, relevant.items, right=True)
        counts = ends[rows, columns] - columns
        first = counts.cumsum(0) - counts
        again = torch.arange(int(counts.sum()), device=rows.device) - first.repeat_interleave(counts)
        rows, places = rows.repeat_interleave(counts), places.repeat_interleave(counts)
        columns = columns.repeat_interleave(counts) + again
    return MatchIndex(rows, places, columns)
