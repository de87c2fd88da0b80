"""ScoreBatch: the scores of B users for all N items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bridgeval.batch.batch import MASKED, add_pairs, look_up
from bridgeval.batch.kernels import count_masked
from bridgeval.batch.transfer import Cargo, Pending, to_tensor
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
        host_places: `places` on the host.
    """

    codes: Tensor
    places: Tensor
    vocabulary: Ids
    host_places: npt.NDArray[np.int64]

    @staticmethod
    def of(codes: npt.NDArray[np.int32], vocabulary: Ids, device: torch.device) -> ItemColumns:
        places = np.full(len(vocabulary) + 1, -1)
        places[codes] = np.arange(len(codes))
        return ItemColumns(to_tensor(codes, device), to_tensor(places, device), vocabulary, places)


@dataclass(frozen=True, eq=False)
class ScoreBatch:
    """Scores `[B, N]`, one column for each item, every cell valid. See `Shown` for the other attributes.

    Attributes:
        scores: `[B, N]`; -inf where the item is masked, by the model or because the user has seen it.
        columns: the item of each column.
        hidden: `[B]` on the host: the items of each user that are masked because the user has seen them.
        checks: what is raised for bad scores, as soon as it is known on the host.
    """

    ranked: ClassVar[bool] = False
    order: ClassVar[ListOrder] = "score"
    complete: ClassVar[bool] = True
    repeated: ClassVar[int] = 0
    uniform: ClassVar[bool] = True

    scores: Tensor
    columns: ItemColumns
    hidden: npt.NDArray[np.int64]
    masked: Tensor
    cargo: Cargo
    pairs: Mapping[str, PairColumn] = field(default_factory=dict)
    checks: tuple[Pending, ...] = ()
    _tops: dict[int, tuple[Tensor, Tensor]] = field(default_factory=dict, init=False, repr=False)

    @staticmethod
    def of(
        scores: Tensor,
        columns: ItemColumns,
        history: PairColumn | None,
        pairs: Mapping[str, PairColumn],
        cargo: Cargo,
        checks: tuple[Pending, ...] = (),
    ) -> ScoreBatch:
        """Masks what the users have in the history, in a copy of the scores."""
        for column in pairs.values():
            add_pairs(cargo, column)
        if history is None:
            hidden = np.zeros(len(scores), dtype=np.int64)
            return ScoreBatch(scores, columns, hidden, count_masked(scores, hidden, scores), cargo, pairs, checks)
        places = columns.host_places[history.items]
        rows, at = history.owners[places >= 0], places[places >= 0]
        hidden = np.bincount(rows, minlength=len(scores))
        cargo.add(rows, at)
        given, lowest = scores, torch.full((), MASKED, dtype=scores.dtype, device=scores.device)
        scores = scores.index_put((cargo.take(rows), cargo.take(at)), lowest)
        return ScoreBatch(scores, columns, hidden, count_masked(scores, hidden, given), cargo, pairs, checks)

    @property
    def width(self) -> int:
        return self.scores.shape[1]

    @property
    def pad(self) -> int:
        return len(self.columns.places) - 1

    @property
    def vocabulary(self) -> Ids:
        return self.columns.vocabulary

    @cached_property
    def lengths(self) -> Tensor:
        return self.cargo.take(self.host_lengths)

    @cached_property
    def host_lengths(self) -> npt.NDArray[np.int64]:
        return self.width - self.hidden

    @property
    def masked_count(self) -> Tensor:
        return self.masked.sum()

    @property
    def seen_count(self) -> int:
        return int(self.hidden.sum())

    @property
    def items(self) -> Tensor:
        return self.columns.codes.expand(len(self.scores), -1)

    @property
    def valid(self) -> Tensor:
        return torch.ones((1, 1), dtype=torch.bool, device=self.scores.device).expand(self.scores.shape)

    def has(self, name: str) -> bool:
        return name == "score" or name in self.pairs

    def column(self, name: str) -> Tensor:
        return self.scores if name == "score" else look_up(self.pairs[name], self.items, self.cargo)

    def count_held(self, items: Tensor) -> Tensor:
        return (self.columns.places[items.long()] >= 0).sum()

    def top(self, depth: int) -> tuple[Tensor, Tensor]:
        """`[B, depth]` each: the highest scores and their columns, ties in any order.

        Kept: this is most of the work, and rankings that differ only in their ties share it.
        """
        if depth not in self._tops:
            self._tops[depth] = torch.topk(self.scores, depth, dim=1)
        return self._tops[depth]
