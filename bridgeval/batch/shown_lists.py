"""Shown: what B users were shown, as blocks ask for it, whether lists or scores; and where it lies before that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bridgeval.batch.rank_counts import Standings
from bridgeval.batch.ranking import RankedLists, Ranking, RelevantLists
from bridgeval.batch.sorting import Matches, nonzero, numbers

if TYPE_CHECKING:
    from bridgeval.batch.batch import Rectangle


class Shown(Protocol):
    """What B users were shown, as the blocks read it: lists in a `Rectangle`, or a `Matrix` of scores.

    Attributes:
        items: `[B, K]` int32 codes; cells that are not valid hold V, one past the vocabulary.
        valid: `[B, K]` bool.
        lengths: `[B]` items that each user could be shown.
        width: K.
        pad: V.
        ranked: whether the order of the cells is the ranking.
        complete: whether the cells are all the candidates there are, so that nothing is missing from a ranking.
    """

    def __len__(self) -> int: ...

    @property
    def pad(self) -> int: ...

    @property
    def ranked(self) -> bool: ...

    @property
    def complete(self) -> bool: ...

    @property
    def width(self) -> int: ...

    @property
    def lengths(self) -> Tensor: ...

    @property
    def items(self) -> Tensor: ...

    @property
    def valid(self) -> Tensor: ...

    @property
    def repeated(self) -> int:
        """How many cells hold an item that stands further left in their row too."""
        ...

    @property
    def masked(self) -> Tensor:
        """`[B]` int64: cells that score -inf."""
        ...

    def candidates(self, policy: Ranking) -> Tensor:
        """`[B]` int64: how many items the ranking has, however deep."""
        ...

    def has(self, name: str) -> bool:
        """Whether there is a pair column of this name."""
        ...

    def column(self, name: str) -> Tensor:
        """`[B, K]`; cells that are not valid must not be read without the mask."""
        ...

    def ranked_column(self, name: str, ranked: RankedLists, policy: Ranking) -> Tensor:
        """`[B, D]`: a pair column in the order of lists ranked by a policy; cells that are not valid hold anything."""
        ...

    def marked_places(self, name: str, ranked: RankedLists, policy: Ranking) -> tuple[Tensor, Tensor]:
        """`[n]` int64 each: row and place of every ranked item beside which a column of bools says so.

        Places count from 0. By row, then by place.
        """
        ...

    def counts(self) -> dict[str, int]:
        """Rows, repeated rows, masked rows: what the Census notes."""
        ...

    def look_for(self, relevant: Rectangle) -> None:
        """Says what will be looked for in the lists, that it may be found on the way."""
        ...

    def ranked_by(self, policy: Ranking, depth: int | None) -> RankedLists:
        """The lists best first, cut to `depth` columns (None: all)."""
        ...

    def meetings(self, policy: Ranking, relevant: RelevantLists, depth: int | None) -> Matches:
        """`[n]` int64 each: row, place and column of `relevant` of every relevant item in the first `depth` places.

        Places count from 0. By row, then by place.
        """
        ...

    def predictions(self, policy: Ranking, relevant: RelevantLists) -> Matches:
        """`[n]` each: the row, the score and the column of `relevant` of every relevant item that was scored."""
        ...

    def standings(self, policy: Ranking, relevant: RelevantLists, *, decided: bool = False) -> Standings:
        """For each relevant item, how many irrelevant candidates stand above it and how many tie.

        `decided`: ties are decided by the policy's order, so that none is left.
        """
        ...


def true_places(flags: Tensor) -> tuple[Tensor, Tensor]:
    """`[n]` int64 each: row and column of every cell that holds, of `[B, D]`.

    >>> true_places(torch.tensor([[False, True], [True, False]]))
    (tensor([0, 1]), tensor([1, 0]))
    """
    at = torch.as_tensor(nonzero(numbers(flags.reshape(-1))))
    width = max(flags.shape[1], 1)
    return at // width, at % width


class ShownRows(Protocol):
    """Where the shown side of Slates lies: CSR lists, or scores that are read batch by batch."""

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """`[U]`."""
        ...

    def laid_out(self, start: int, stop: int, pad: int, device: torch.device) -> Shown:
        """Users `start` to `stop`."""
        ...
