"""ScoreBatch: the scores of B users for all N items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bridgeval.batch.batch import MASKED, look_up
from bridgeval.batch.kernels import count_true
from bridgeval.tables.ids import Ids
from bridgeval.tables.pair_column import PairColumn
from bridgeval.tables.slates import ListOrder


@dataclass(frozen=True)
class ItemColumns:
    """The item of each column of a score matrix.

    Attributes:
        codes: `[N]` int32: the item of each column.
        places: `[V + 1]` int64: the column of each item; -1 for items without one, and for "no item".
        vocabulary: `[V]` the ids that codes stand for.
    """

    codes: Tensor
    places: Tensor
    vocabulary: Ids

    @staticmethod
    def of(codes: npt.NDArray[np.int32], vocabulary: Ids, device: torch.device) -> ItemColumns:
        places = torch.full((len(vocabulary) + 1,), -1)
        places[torch.from_numpy(codes).long()] = torch.arange(len(codes))
        return ItemColumns(torch.from_numpy(codes).to(device), places.to(device), vocabulary)


@dataclass(frozen=True, eq=False)
class ScoreBatch:
    """Scores `[B, N]`, one column for each item, every cell valid. See `Shown` for the other attributes.

    Attributes:
        scores: `[B, N]`; -inf where the item is masked, by the model or because the user has seen it.
        columns: the item of each column.
    """

    ranked: ClassVar[bool] = False
    order: ClassVar[ListOrder] = "score"
    complete: ClassVar[bool] = True
    repeated: ClassVar[int] = 0

    scores: Tensor
    columns: ItemColumns
    seen: Tensor
    masked: Tensor
    pairs: Mapping[str, PairColumn] = field(default_factory=dict)
    _tops: dict[int, tuple[Tensor, Tensor]] = field(default_factory=dict, init=False, repr=False)

    @staticmethod
    def of(
        scores: Tensor, columns: ItemColumns, history: PairColumn | None, pairs: Mapping[str, PairColumn]
    ) -> ScoreBatch:
        """Masks what the users have in the history, in a copy of the scores."""
        any_masked = bool(scores.numel()) and float(scores.amin()) == MASKED
        seen = torch.zeros(len(scores), dtype=torch.int64, device=scores.device)
        if history is not None:
            at = columns.places[torch.from_numpy(history.items).to(scores.device)]
            rows = torch.from_numpy(history.owners).to(scores.device)[at >= 0]
            seen = torch.bincount(rows, minlength=len(scores))
            scores = scores.index_put((rows, at[at >= 0]), scores.new_tensor(MASKED))
        masked = count_true(scores == MASKED) if any_masked else seen
        return ScoreBatch(scores, columns, seen, masked, pairs)

    @property
    def width(self) -> int:
        return self.scores.shape[1]

    @property
    def pad(self) -> int:
        return len(self.columns.places) - 1

    @property
    def vocabulary(self) -> Ids:
        return self.columns.vocabulary

    @property
    def lengths(self) -> Tensor:
        return self.width - self.seen

    @property
    def items(self) -> Tensor:
        return self.columns.codes.expand(len(self.scores), -1)

    @property
    def valid(self) -> Tensor:
        return torch.ones((1, 1), dtype=torch.bool, device=self.scores.device).expand(self.scores.shape)

    def has(self, name: str) -> bool:
        return name == "score" or name in self.pairs

    def column(self, name: str) -> Tensor:
        return self.scores if name == "score" else look_up(self.pairs[name], self.items)

    def count_held(self, items: Tensor) -> Tensor:
        return (self.columns.places[items.long()] >= 0).sum()

    def top(self, depth: int) -> tuple[Tensor, Tensor]:
        """`[B, depth]` each: the highest scores and their columns, ties in any order.

        Kept: this is most of the work, and rankings that differ only in their ties share it.
        """
        if depth not in self._tops:
            self._tops[depth] = torch.topk(self.scores, depth, dim=1)
        return self._tops[depth]
