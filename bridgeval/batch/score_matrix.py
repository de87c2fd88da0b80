"""Matrix: the scores of B users for all N items, with the interface that lists have.

No row is sorted as a whole and nothing larger than `[B, N]` is made: the best places come from `torch.topk`, and
only rows in which scores tie are put in order again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bridgeval.batch.rank_counts import Standings, counts_beside, rows_count
from bridgeval.batch.ranking import RankedLists, Ranking, RelevantLists, Ties, meetings, ranked_by_squashed
from bridgeval.batch.shown_lists import true_places
from bridgeval.batch.sorting import Matches
from bridgeval.tables.pair_column import PairColumn

if TYPE_CHECKING:
    from bridgeval.batch.batch import Rectangle

MASKED = float("-inf")


@dataclass(frozen=True)
class Columns:
    """Which item each column of a matrix is.

    Attributes:
        codes: `[N]` int32: the item of each column.
        places: `[V + 1]` int64: the column of each item; -1 for items without one, and for "no item".
    """

    codes: Tensor
    places: Tensor

    @staticmethod
    def of(codes: npt.NDArray[np.int32], vocabulary: int, device: torch.device) -> Columns:
        places = torch.full((vocabulary + 1,), -1)
        places[torch.from_numpy(codes).long()] = torch.arange(len(codes))
        return Columns(torch.from_numpy(codes).to(device), places.to(device))

    def precedence(self, ties: Ties) -> Tensor:
        """`[N]` int32 from 1 up: of columns that tie, the one with the higher number stands first."""
        if ties == "item_descending":
            return self.codes + 1
        if ties == "item_ascending":
            return len(self.places) - self.codes
        return torch.arange(len(self.codes), 0, -1, dtype=torch.int32, device=self.codes.device)


def places_of(items: npt.NDArray[Any], columns: Columns) -> tuple[Tensor, Tensor]:
    """The column of each item, and whether it has one."""
    where = columns.places[torch.from_numpy(items).to(columns.places.device)]
    return where, where >= 0


class Matrix:
    """Scores `[B, N]`, every cell valid. A cell at -inf is masked: by the model, or because the user has seen the item.
    The two are counted apart.

    Attributes:
        lengths: `[B]` items that the user has not seen.
    """

    ranked = False
    uniform = True
    complete = True

    def __init__(
        self,
        scores: Tensor,
        columns: Columns,
        masked_in: Callable[[Tensor], int],
        seen: PairColumn | None = None,
        beside: Mapping[str, PairColumn] | None = None,
    ) -> None:
        """Takes scores that others may hold too; masking works on a copy.

        Args:
            scores: `[B, N]` floating.
            columns: which item each column is.
            masked_in: how many of the scores are -inf; raises where one is NaN or +inf.
            seen: the pairs of these users to mask; None masks nothing.
            beside: further pair columns of these users, looked up when asked for.
        """
        self.device = scores.device
        self.width = scores.shape[1]
        self.pad = len(columns.places) - 1
        self.repeated = 0
        self._given = scores
        self._columns = columns
        self._masked_in = masked_in
        self._history = seen
        self._beside = beside or {}
        self._tops: dict[int, tuple[Tensor, Tensor]] = {}

    def __len__(self) -> int:
        return len(self._given)

    @cached_property
    def _seen_cells(self) -> tuple[Tensor, Tensor]:
        """Rows and columns of what was seen."""
        if self._history is None:
            nowhere = torch.zeros(0, dtype=torch.int64, device=self.device)
            return nowhere, nowhere
        where, there = places_of(self._history.items, self._columns)
        return torch.from_numpy(self._history.owners).to(self.device)[there], where[there]

    @cached_property
    def _seen(self) -> Tensor:
        """`[B]`: how many items of each user are masked because they were seen."""
        return torch.bincount(self._seen_cells[0], minlength=len(self))

    @cached_property
    def _masked_by_model(self) -> int:
        """How many cells the model masked, those apart that were seen too."""
        masked = self._masked_in(self._given)
        return masked - int((self._given[self._seen_cells] == MASKED).sum()) if masked else 0

    @cached_property
    def _scores(self) -> Tensor:
        """`[B, N]`, -inf where seen: a copy, made by whoever works on the batch and not before."""
        return _masked_copy(self._given, *self._seen_cells) if len(self._seen_cells[0]) else self._given

    @property
    def lengths(self) -> Tensor:
        return self.width - self._seen

    @property
    def items(self) -> Tensor:
        return self._columns.codes.expand(len(self), -1)

    @property
    def valid(self) -> Tensor:
        return torch.ones((1, 1), dtype=torch.bool, device=self.device).expand(len(self), self.width)

    @property
    def masked(self) -> Tensor:
        """`[B]`: cells at -inf."""
        return self.width - self._unmasked

    def candidates(self, policy: Ranking) -> Tensor:
        """`[B]`: the cells that a ranking has."""
        return torch.full_like(self._seen, self.width) if policy.masked == "keep" else self._unmasked

    def has(self, name: str) -> bool:
        return name == "score" or name in self._beside

    def column(self, name: str) -> Tensor:
        """`[B, N]`."""
        return self._scores if name == "score" else self._beside[name].cells(self.items)

    def ranked_column(self, name: str, ranked: RankedLists, policy: Ranking) -> Tensor:
        """`[B, D]`: looked up for the items that are ranked and no others."""
        return ranked.of(self._scores) if name == "score" else self._beside[name].cells(ranked.items)

    def marked_places(self, name: str, ranked: RankedLists, policy: Ranking) -> tuple[Tensor, Tensor]:
        """`[n]` int64 each: row and place of every ranked item beside which a column of bools says so."""
        return true_places(self.ranked_column(name, ranked, policy) & ranked.valid)

    def counts(self) -> dict[str, int]:
        """Rows, masked rows and rows that were seen; an item has one column, so none is repeated."""
        return {
            "shown rows": int(self.lengths.sum()),
            "repeated shown rows": 0,
            "masked rows": self._masked_by_model,
            "seen rows": int(self._seen.sum()),
        }

    def ranked_by(self, policy: Ranking, depth: int | None) -> RankedLists:
        """The best `depth` columns of each row (None: all). The columns give no order of their own: scores decide."""
        if policy.order in ("sigmoid", "softmax"):
            return ranked_by_squashed(self, policy).first(depth)
        limits = [limit for limit in (depth, policy.cut, self.width) if limit is not None]
        index = self._best(policy, min(limits))
        if policy.masked == "keep" or not self._any_masked:
            valid = torch.ones_like(index, dtype=torch.bool)
        else:
            valid = self._scores.gather(1, index) != MASKED
        return RankedLists(self._columns.codes[index].masked_fill_(~valid, self.pad), valid, index, self.pad)

    def look_for(self, relevant: Rectangle) -> None:
        """Of a matrix only the items asked for are read."""

    def meetings(self, policy: Ranking, relevant: RelevantLists, depth: int | None) -> Matches:
        """`[n]` int64 each: row, place and column of `relevant` of every relevant item in the first `depth` places."""
        return meetings(self.ranked_by(policy, depth), relevant)

    def predictions(self, policy: Ranking, relevant: RelevantLists) -> Matches:
        """`[n]` each: the row, the score and the column of `relevant` of every relevant item that was scored."""
        scores, known = self._of(policy, relevant)
        rows, at = torch.nonzero(known, as_tuple=True)
        return rows, scores[rows, at], at

    def standings(self, policy: Ranking, relevant: RelevantLists, *, decided: bool = False) -> Standings:
        """For each relevant item, how many irrelevant candidates stand above it and how many tie."""
        scores, known = self._of(policy, relevant)
        order = others = None
        if decided:
            precedence = self._columns.precedence(policy.ties)
            own = precedence[self._columns.places[relevant.items.long()].clamp(min=0)]
            order, others = (precedence, own), (own, own)
        above, equal = counts_beside(self._scores, scores, known, order)
        relevant_above, relevant_equal = counts_beside(scores.masked_fill(~known, torch.nan), scores, known, others)
        return Standings(known, above - relevant_above, equal - relevant_equal, self.candidates(policy))

    def _of(self, policy: Ranking, relevant: RelevantLists) -> tuple[Tensor, Tensor]:
        """`[B, R]` each: the scores of the relevant items, and which of them are candidates."""
        where = self._columns.places[relevant.items.long()]
        known = relevant.distinct & (where >= 0)
        if not self.width:
            return torch.zeros(where.shape, device=self.device), known
        scores = self._scores.gather(1, where.clamp(min=0))
        return scores, known if policy.masked == "keep" else known & (scores != MASKED)

    @property
    def _any_masked(self) -> bool:
        return self._masked_by_model > 0 or bool(self._seen.any())

    @cached_property
    def _unmasked(self) -> Tensor:
        """`[B]`: the candidates of each user."""
        return rows_count(np.not_equal, self._scores, MASKED) if self._masked_by_model else self.lengths

    def _best(self, policy: Ranking, depth: int) -> Tensor:
        """`[B, depth]`: columns by score descending, then by the policy's order among equals, exactly."""
        values, index = self._top(min(depth + 1, self.width))
        tied = values[:, 1:] == values[:, :-1]
        if policy.masked == "drop":
            tied &= values[:, 1:] != MASKED
        index = index[:, :depth]
        rows = torch.nonzero(tied.any(1)).flatten()
        if len(rows):
            index = index.clone()
            precedence = self._columns.precedence(policy.ties)
            if depth < self.width:
                across = rows[tied[rows, depth - 1]]
                index[across] = self._cut(across, values[across, depth - 1, None], precedence, depth)
            index[rows] = self._ordered(rows, index[rows], precedence)
        return index

    def _top(self, depth: int) -> tuple[Tensor, Tensor]:
        if depth not in self._tops:
            self._tops[depth] = torch.topk(self._scores, depth, dim=1)
        return self._tops[depth]

    def _cut(self, rows: Tensor, bar: Tensor, precedence: Tensor, depth: int) -> Tensor:
        """The best `depth` columns of rows where several columns score `bar` and not all of them fit."""
        scores = self._scores[rows]
        order = torch.where(scores == bar, precedence, 0)
        order += (scores > bar) * (precedence + precedence.max())
        return torch.topk(order, depth, dim=1, sorted=False).indices

    def _ordered(self, rows: Tensor, index: Tensor, precedence: Tensor) -> Tensor:
        """Chosen columns put in order."""
        index = index.gather(1, torch.argsort(precedence[index], dim=1, descending=True))
        scores = self._scores[rows[:, None], index]
        return index.gather(1, torch.argsort(scores, dim=1, descending=True, stable=True))


def _masked_copy(scores: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """A copy with some cells at -inf. On the CPU numpy copies in half of torch's time."""
    if scores.device.type == "cpu":
        cells = scores.numpy().copy()
        cells[rows.numpy(), columns.numpy()] = MASKED
        return torch.from_numpy(cells)
    return scores.index_put((rows, columns), torch.tensor(MASKED, dtype=scores.dtype, device=scores.device))
