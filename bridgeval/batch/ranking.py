"""Ranking: which items a user's list shows, best first. One place for ties, duplicates and masked items.

Relevance: which of a user's rows count as relevant. Both are policies, so that a native metric and a toolkit's
can be asked for in one call and each gets its own lists from the same batch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from bridgeval.batch.score_order import sorted_index
from bridgeval.batch.sorting import numbers, shared_cells, sorted_with_columns
from bridgeval.batch.tensors import count_true, gathered
from bridgeval.choices import check_choices

if TYPE_CHECKING:
    from bridgeval.batch.batch import Rectangle
    from bridgeval.batch.shown_lists import Shown

Order = Literal["score", "given", "sigmoid", "softmax"]
Ties = Literal["item_descending", "item_ascending", "given"]
Duplicates = Literal["best", "all"]
Masked = Literal["drop", "keep"]

# Rows that are looked at before all of them.
FEW_ROWS = 256


@dataclass(frozen=True)
class Ranking:
    """How a list is ranked.

    Attributes:
        order: by "score" descending, or as "given". Lists that come ranked always keep their order. With "sigmoid"
            and "softmax" rows are kept by score, then ordered by what these make of it in float64, where large
            scores become equal.
        ties: what decides between equal scores.
        duplicates: of a repeated item the "best" place counts, or "all" of them do.
        masked: items scored -inf are dropped, or kept at the end.
        cut: rows kept before duplicates are removed; None keeps all.
    """

    order: Order = "score"
    ties: Ties = "item_descending"
    duplicates: Duplicates = "best"
    masked: Masked = "drop"
    cut: int | None = None

    def __post_init__(self) -> None:
        check_choices(self, "Ranking")


@dataclass(frozen=True)
class RankedLists:
    """Lists best first, valid cells before the others.

    Attributes:
        items: `[B, D]` codes, V where not valid.
        valid: `[B, D]`.
        index: `[B, D]` column of the rectangle each cell came from, for `gathered`; None when nothing was moved.
        pad: V.
        repeated: whether a list may show an item twice.
        lengths: `[B]` valid cells of each row, however deep; None where they have not been counted.
    """

    items: Tensor
    valid: Tensor
    index: Tensor | None
    pad: int
    repeated: bool = False
    lengths: Tensor | None = None

    @property
    def counts(self) -> Tensor:
        """`[B]` int64: how many items are shown."""
        return count_true(self.valid) if self.lengths is None else self.lengths.clamp(max=self.items.shape[1])

    def first(self, depth: int | None) -> RankedLists:
        """The same lists cut to `depth` columns (None: all)."""
        if depth is None or depth >= self.items.shape[1]:
            return self
        index = None if self.index is None else self.index[:, :depth]
        return replace(self, items=self.items[:, :depth], valid=self.valid[:, :depth], index=index)

    def of(self, cells: Tensor) -> Tensor:
        """Cells `[B, K]` of the rectangle in ranked order `[B, D]`."""
        if self.index is None:
            return cells[:, : self.items.shape[1]]
        return gathered(cells, self.index)


def ranked(shown: Rectangle, policy: Ranking) -> RankedLists:
    """Ranks a rectangle by a policy."""
    index: Tensor | None = None
    valid = shown.valid
    scores = shown.column("score") if shown.has("score") else None
    if scores is not None and policy.order != "given" and not shown.ranked:
        if policy.order != "score":
            return ranked_by_squashed(shown, policy)
        index = _order(scores, shown, policy.ties)
    items = shown.items if index is None else gathered(shown.items, index)
    shown.meet(items, index)
    keep = _kept(shown, scores, policy, index, items, valid)
    lengths = shown.lengths if keep is None else None
    if keep is not None:
        front = torch.argsort(~keep, dim=1, stable=True)
        valid = keep.gather(1, front)
        index = front if index is None else index.gather(1, front)
        items = gathered(shown.items, index).masked_fill(~valid, shown.pad)
    return RankedLists(items, valid, index, shown.pad, policy.duplicates == "all" and shown.repeated > 0, lengths)


def ranked_by_squashed(shown: Shown, policy: Ranking) -> RankedLists:
    """Rows kept by score, ordered by what a sigmoid or softmax of these rows makes of it, then without repeats."""
    rows = shown.ranked_by(replace(policy, order="score", duplicates="all"), None)
    squashed = _squashed(rows.of(shown.column("score")).double(), rows.valid, policy.order)
    index = sorted_index(squashed, rows.items, rows.valid, policy.ties)
    items, valid = gathered(rows.items, index), gathered(rows.valid, index)
    if policy.duplicates == "best" and shown.repeated:
        repeated = repeats(items, shown.pad)
        front = torch.argsort(~valid | repeated, dim=1, stable=True)
        valid = (valid & ~repeated).gather(1, front)
        index, items = index.gather(1, front), items.gather(1, front).masked_fill(~valid, shown.pad)
    index = index if rows.index is None else gathered(rows.index, index)
    return RankedLists(items, valid, index, shown.pad, policy.duplicates == "all" and shown.repeated > 0)


def _kept(
    shown: Rectangle,
    scores: Tensor | None,
    policy: Ranking,
    index: Tensor | None,
    items: Tensor,
    valid: Tensor,
) -> Tensor | None:
    """`[B, K]`: which cells stay, in ranked order; None when all valid ones do."""
    keep: Tensor | None = None
    if scores is not None and policy.masked == "drop" and shown.any_masked:
        unmasked = scores != float("-inf")
        keep = valid & (unmasked if index is None else gathered(unmasked, index))
    if policy.cut is not None and policy.cut < shown.width:
        base = valid if keep is None else keep
        keep = base & (base.cumsum(1) <= policy.cut)
    if policy.duplicates == "best" and shown.repeated:
        base = valid if keep is None else keep
        keep = base & ~repeats(items.masked_fill(~base, shown.pad), shown.pad)
    return keep


def _order(scores: Tensor, shown: Rectangle, ties: Ties) -> Tensor | None:
    """The index that sorts each row by score; None when every row is in order already."""
    if shown.width < 2:
        return None
    if _in_order(scores, shown, ties):
        return None
    return sorted_index(scores, shown.items, None if shown.uniform else shown.valid, ties)


def _in_order(scores: Tensor, shown: Rectangle, ties: Ties) -> bool:
    """Whether every row is ranked as it stands; the first few tell of most that are not."""
    few = [FEW_ROWS] if len(shown) > FEW_ROWS else []
    return all(_rows_in_order(scores[:rows], shown, rows, ties) for rows in (*few, len(shown)))


def _rows_in_order(scores: Tensor, shown: Rectangle, rows: int, ties: Ties) -> bool:
    """Whether the first rows are. They are looked at as one long one: that is half the work."""
    cells, items = numbers(scores).reshape(-1), numbers(shown.items[:rows]).reshape(-1)
    follows = cells[1:] < cells[:-1]
    follows[shown.width - 1 :: shown.width] = True
    if not shown.uniform:
        follows |= numbers(~shown.valid[:rows]).reshape(-1)[1:]
    if bool(follows.all()):
        return True
    equal = cells[1:] == cells[:-1]
    if ties != "given":
        upper, lower = items[:-1], items[1:]
        equal &= lower <= upper if ties == "item_descending" else lower >= upper
    return bool((follows | equal).all())


def _squashed(scores: Tensor, valid: Tensor, order: Order) -> Tensor:
    """What the order is taken from; of a softmax that overflows only "infinite" and "finite" are left."""
    if order == "sigmoid":
        return 1 / (1 + torch.exp(-scores))
    lowest = scores.masked_fill(~valid, torch.inf).amin(1, keepdim=True) if scores.shape[1] else scores
    powers = torch.exp(scores - lowest).masked_fill(~valid, 0)
    infinite = powers.isinf()
    return torch.where(infinite.any(1, keepdim=True), infinite.double(), powers)


def repeats(items: Tensor, pad: int) -> Tensor:
    """`[B, K]`: cells whose item stands further left in its row too.

    >>> repeats(torch.tensor([[5, 2, 5, 9, 9]], dtype=torch.int32), pad=9)
    tensor([[False, False,  True, False, False]])
    """
    in_order, where = sorted_with_columns(items, int(items.max()) if items.numel() else 0)
    again = torch.zeros_like(in_order, dtype=torch.bool)
    again[:, 1:] = (in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] != pad)
    return torch.zeros_like(again).scatter_(1, where, again)


@dataclass(frozen=True)
class Relevance:
    """Which rows of the truth count as relevant.

    Attributes:
        above: a row is relevant when its gain is above this; None takes every row.
        duplicates: of a repeated item the highest gain counts once ("best"), the first one ("first"), or every
            row is counted among the relevant ("all").
    """

    above: float | None = 0.0
    duplicates: Literal["best", "first", "all"] = "best"

    def __post_init__(self) -> None:
        check_choices(self, "Relevance")


@dataclass(frozen=True)
class RelevantLists:
    """Relevant items in ascending order of their codes, ready to be searched.

    Attributes:
        items: `[B, R]` codes, V where not valid (so that rows stay sorted).
        gains: `[B, R]`.
        valid: `[B, R]`; under duplicates="all" repeated items are valid each time.
        index: `[B, R]` column of the rectangle each cell came from.
        lengths: `[B]` valid cells of each row; None where they have not been counted.
    """

    items: Tensor
    gains: Tensor
    valid: Tensor
    index: Tensor
    lengths: Tensor | None = None

    @property
    def counts(self) -> Tensor:
        """`[B]` int64: how many rows are relevant."""
        return count_true(self.valid) if self.lengths is None else self.lengths

    @property
    def distinct(self) -> Tensor:
        """`[B, R]`: valid cells, of a repeated item only the first."""
        once = self.valid.clone()
        once[:, 1:] &= self.items[:, 1:] != self.items[:, :-1]
        return once


def meetings(shown: RankedLists, relevant: RelevantLists) -> tuple[Tensor, Tensor, Tensor]:
    """`[n]` int64 each: row, column of `shown` and column of `relevant` of every shown item that is relevant.

    By row, then by place.
    """
    if not shown.repeated or not relevant.items.shape[1]:
        return shared_cells(shown.items, relevant.items, shown.pad)
    at = torch.searchsorted(relevant.items, shown.items.contiguous())
    at.clamp_(max=relevant.items.shape[1] - 1)
    hit = (relevant.items.gather(1, at) == shown.items) & shown.valid
    rows, columns = torch.nonzero(hit, as_tuple=True)
    return rows, columns, at[rows, columns]


def relevant_lists(relevant: Rectangle, policy: Relevance) -> RelevantLists:
    """Keeps the relevant rows and sorts them by item."""
    gains, valid, items = relevant.column("gain"), relevant.valid, relevant.items
    enough = None if policy.above is None else gains > policy.above
    if enough is None or bool(enough.all()) or bool((enough | ~valid).all()):
        in_order, index = relevant.by_item
        if policy.duplicates == "all" or not relevant.repeated:
            return RelevantLists(in_order, gains.gather(1, index), valid, index, relevant.lengths)
    else:
        items = items.masked_fill(~(valid & enough), relevant.pad)
    best_first: Tensor | None = None
    if policy.duplicates == "best" and relevant.repeated:
        best_first = torch.argsort(gains, dim=1, descending=True, stable=True)
        items = items.gather(1, best_first)
    items, index = sorted_with_columns(items, relevant.pad)
    if best_first is not None:
        index = best_first.gather(1, index)
    valid = items != relevant.pad
    if policy.duplicates != "all" and relevant.repeated:
        again = torch.zeros_like(valid)
        again[:, 1:] = (items[:, 1:] == items[:, :-1]) & valid[:, 1:]
        items, resorted = torch.sort(items.masked_fill(again, relevant.pad), dim=1, stable=True)
        index, valid = index.gather(1, resorted), items != relevant.pad
    return RelevantLists(items, gains.gather(1, index).masked_fill(~valid, 0), valid, index)
