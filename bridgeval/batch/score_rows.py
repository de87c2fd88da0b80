"""Rows of scores, laid out for a batch when it asks: dense, sparse, or for candidates of each user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bridgeval.batch.batch import Rectangle
from bridgeval.batch.candidates import Candidates
from bridgeval.batch.rank_counts import rows_count
from bridgeval.batch.score_matrix import MASKED, Columns, Matrix
from bridgeval.batch.shown_lists import Shown
from bridgeval.batch.tensors import tensor_of
from bridgeval.errors import BadValueError, MisalignedError
from bridgeval.tables.ids import Codes, Ids
from bridgeval.tables.pair_column import PairColumn, Positions
from bridgeval.tables.slates import Lists

if TYPE_CHECKING:
    from bridgeval.batch.scores import Scores


@dataclass(frozen=True)
class Beside:
    """What the rows of scores are laid against.

    Attributes:
        users: `[U]` sorted.
        items: `[V]` the vocabulary.
        rows: `[U]` the row of `values` that belongs to each user.
        seen: pairs to mask; None masks nothing.
        columns: pair columns that metrics read.
    """

    users: Ids
    items: Ids
    rows: Positions
    seen: PairColumn | None
    columns: Mapping[str, PairColumn]

    def of_users(self, start: int, stop: int) -> tuple[PairColumn | None, dict[str, PairColumn]]:
        """The pairs to mask and the pair columns of users `start` to `stop`."""
        seen = None if self.seen is None else self.seen.part(start, stop)
        return seen, {name: column.part(start, stop) for name, column in self.columns.items()}


@dataclass(frozen=True)
class ScoredRows:
    """Rows of scores by user, read when a batch asks for them; what kinds of them share."""

    scores: Scores
    beside: Beside

    def _users(self, start: int, stop: int) -> Any:
        """The ids of a batch as a function is given them: an int64 array, or a list of strings."""
        ids = self.beside.users.slice(start, stop)
        return ids.to_numpy() if ids.is_integer else ids.tolist()

    def _read(self, start: int, stop: int) -> Any:
        """The rows of `values`; neighbours are read as a slice, without a copy."""
        rows = self.beside.rows[start:stop]
        if rows[-1] - rows[0] == len(rows) - 1 and bool((np.diff(rows) == 1).all()):
            return self.scores.values[rows[0] : rows[-1] + 1]
        at = torch.from_numpy(rows).to(self.scores.values.device) if hasattr(self.scores.values, "detach") else rows
        return self.scores.values[at]

    def _floating(self, values: Any, start: int, stop: int, width: int) -> Tensor:
        """Scores `[B, width]` as a floating tensor."""
        tensor = values.detach() if hasattr(values, "detach") else tensor_of(np.ascontiguousarray(values))
        if tuple(tensor.shape) != (stop - start, width):
            raise MisalignedError(
                "the scores of a batch have the wrong shape",
                f"{list(tensor.shape)} for {stop - start} users and {width} items",
                "give a row for each user and a column for each item",
            )
        if tensor.dtype in (torch.float32, torch.float64):
            return tensor
        return tensor.float() if tensor.is_floating_point() else tensor.double()

    def _masked(self, scores: Tensor, start: int, owners: Positions | None = None) -> int:
        """How many scores are -inf; raises for NaN and +inf. Looks twice only where the extremes are not finite.

        Args:
            scores: `[B, N]`, or `[1, n]` with the users of its cells in `owners`.
            start: the first user of the batch.
            owners: `[n]`.
        """
        if not scores.numel():
            return 0
        low, high = (float(extreme) for extreme in torch.aminmax(scores))
        if np.isnan(high) or high == float("inf"):
            bad = scores.isnan() | (scores == float("inf"))
            row, column = (int(place) for place in torch.nonzero(bad)[0])
            at = start + (row if owners is None else int(owners[column]))
            raise BadValueError(
                f"{int(bad.sum())} score(s) of a batch are NaN or +inf",
                f"first for user {self.beside.users.slice(at, at + 1).tolist()[0]!r}",
                "give finite scores, and -inf for items that must not be shown",
            )
        return int(rows_count(np.equal, scores, MASKED).sum()) if low == MASKED else 0

    def _rectangle(
        self, owners: Positions, items: Codes, scores: npt.NDArray[Any], users: tuple[int, int], pad: int, device: Any
    ) -> Rectangle:
        """Listed pairs of a batch, in the order of their users, as a rectangle."""
        start, stop = users
        columns: dict[str, npt.NDArray[Any]] = {"score": scores}
        seen, beside = self.beside.of_users(start, stop)
        if seen is not None:
            hidden = seen.look_up(owners, items)
            columns |= {"hidden": hidden, "score": np.where(hidden, scores.dtype.type(MASKED), scores)}
        offsets = np.zeros(stop - start + 1, dtype=np.int64)
        np.cumsum(np.bincount(owners, minlength=stop - start), out=offsets[1:])
        lists = Lists(offsets, items, columns, beside=beside)
        return Rectangle(lists, 0, stop - start, pad, device, complete=self._complete)

    @property
    def _complete(self) -> bool:
        return True


@dataclass(frozen=True)
class DenseRows(ScoredRows):
    """Every item has a column, the same for all users.

    Attributes:
        codes: `[N]` the item of each column.
    """

    codes: Codes

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        return np.full(len(self.beside.rows), len(self.codes))

    def laid_out(self, start: int, stop: int, pad: int, device: torch.device) -> Shown:
        values = self.scores.values(self._users(start, stop)) if self.scores.is_function else self._read(start, stop)
        scores = self._floating(values, start, stop, len(self.codes)).to(device)
        columns = Columns.of(self.codes, pad, device)
        masked_in = partial(self._masked, start=start)
        return Matrix(scores, columns, masked_in, *self.beside.of_users(start, stop))


@dataclass(frozen=True)
class SparseRows(DenseRows):
    """Stored cells are scores; what is not stored was not scored."""

    @cached_property
    def _stored(self) -> Any:
        stored = self.scores.values.tocsr()
        if not stored.has_canonical_format:
            stored = stored.copy()
            stored.sum_duplicates()
        return stored

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        return np.diff(self._stored.indptr)[self.beside.rows].astype(np.int64)

    @property
    def _complete(self) -> bool:
        return False

    def laid_out(self, start: int, stop: int, pad: int, device: torch.device) -> Shown:
        cells = self._stored[self.beside.rows[start:stop]]
        scores = cells.data if cells.data.dtype in (np.float32, np.float64) else cells.data.astype(np.float64)
        owners = np.repeat(np.arange(stop - start), np.diff(cells.indptr))
        self._masked(torch.from_numpy(scores)[None], start, owners)
        return self._rectangle(owners, self.codes[cells.indices], scores, (start, stop), pad, device)


@dataclass(frozen=True)
class CandidateRows(ScoredRows):
    """Each user has candidates of his own.

    Attributes:
        candidates: their items.
        codes: `[N]` the item of each column of `values`; None where the columns are the candidates themselves.
    """

    candidates: Candidates
    codes: Codes | None = None

    @cached_property
    def _row_of(self) -> Positions:
        """`[U]`: the user's row among the candidates; -1 for users without."""
        users, row_of = self.candidates.rows
        at = self.beside.users.positions_in(users)
        return np.where(at >= 0, row_of[at], -1)

    @cached_property
    def _codes_of_candidates(self) -> Codes:
        """`[V']`: the code of each item of the candidates' vocabulary."""
        return self.candidates.vocabulary.positions_in(self.beside.items).astype(np.int32)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        return np.where(self._row_of >= 0, self.candidates.lengths[self._row_of], 0)

    def laid_out(self, start: int, stop: int, pad: int, device: torch.device) -> Rectangle:
        lengths = self.lengths[start:stop]
        owners = np.repeat(np.arange(stop - start), lengths)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        listed = self.candidates.items[self.candidates.offsets[self._row_of[start:stop][owners]] + within]
        items = self._codes_of_candidates[listed]
        values = self._values(start, stop, lengths, listed, owners, within)
        cells = within if self.codes is None else self._column_of[items]
        known = cells >= 0
        owners, items, cells = owners[known], items[known], cells[known]
        scores = values[torch.from_numpy(owners).to(values.device), torch.from_numpy(cells).to(values.device)]
        self._masked(scores[None], start, owners)
        return self._rectangle(owners, items, scores.cpu().numpy(), (start, stop), pad, device)

    @cached_property
    def _column_of(self) -> Positions:
        """`[V]`: the column of each item; -1 for items without."""
        column_of = np.full(len(self.beside.items), -1, dtype=np.int64)
        if self.codes is not None:
            column_of[self.codes] = np.arange(len(self.codes))
        return column_of

    def _values(
        self,
        start: int,
        stop: int,
        lengths: npt.NDArray[np.int64],
        listed: Codes,
        owners: Positions,
        within: Positions,
    ) -> Tensor:
        if not self.scores.is_function:
            values = self._read(start, stop)
        elif self.codes is not None:
            values = self.scores.values(self._users(start, stop))
        else:
            # Padding repeats an item of the row, so that a model can look every cell up; its score is not read.
            grid = np.zeros((stop - start, int(lengths.max(initial=0))), dtype=np.int64)
            grid[:] = listed[np.minimum(np.cumsum(lengths) - lengths, max(len(listed) - 1, 0))][:, None]
            grid[owners, within] = listed
            ids = self.candidates.vocabulary.to_numpy()[grid]
            values = self.scores.values(self._users(start, stop), ids)
        width = len(self.codes) if self.codes is not None else self._width(values, int(lengths.max(initial=0)))
        return self._floating(values, start, stop, width)

    def _width(self, values: Any, longest: int) -> int:
        """Candidates may be fewer than columns, never more."""
        return max(longest, values.shape[1] if len(values.shape) == 2 else 0)
