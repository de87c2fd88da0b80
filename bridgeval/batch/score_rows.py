"""Rows of scores that are laid out batch by batch: dense, sparse, or for candidates of each user."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bridgeval.batch.batch import MASKED, ListBatch, Shown
from bridgeval.batch.candidates import Candidates
from bridgeval.batch.score_batch import ItemColumns, ScoreBatch
from bridgeval.batch.scores import Scores, check_real
from bridgeval.batch.transfer import Cargo, Pending, send, to_tensor
from bridgeval.errors import BadValueError, MisalignedError
from bridgeval.tables.ids import Codes, Ids
from bridgeval.tables.pair_column import PairColumn, Positions
from bridgeval.tables.slates import Lists


@dataclass(frozen=True)
class ScoreRows:
    """Rows of scores by user, read when a batch asks for them.

    Attributes:
        scores: the matrix, or the function, that they are read from.
        users: `[U]` sorted.
        items: `[V]` the vocabulary.
        rows: `[U]` the row of `scores.values` that belongs to each user.
        seen: pairs to mask; None masks nothing.
        pairs: pair columns that metrics read.
    """

    scores: Scores
    users: Ids
    items: Ids
    rows: Positions
    seen: PairColumn | None
    pairs: Mapping[str, PairColumn]

    def _ask(self, start: int, stop: int, *items: Any) -> Any:
        """Calls the model for a batch, with the ids of its users: an int64 array, or a list of strings.

        In the thread of the caller, one batch at a time. Takes a copy, because a model may write the next batch into
        the same memory while this one is processed in another thread.
        """
        ids = self.users.slice(start, stop)
        with torch.no_grad():
            values = self.scores.values(ids.to_numpy() if ids.is_integer else ids.tolist(), *items)
        values = values.detach().clone() if isinstance(values, Tensor) else np.array(values)
        check_real(values)
        return values

    def _read(self, start: int, stop: int) -> Any:
        """Rows of the matrix; adjacent ones as a slice, without a copy."""
        rows = self.rows[start:stop]
        if rows[-1] - rows[0] == len(rows) - 1 and bool((np.diff(rows) == 1).all()):
            return self.scores.values[rows[0] : rows[-1] + 1]
        at = torch.from_numpy(rows).to(self.scores.values.device) if hasattr(self.scores.values, "detach") else rows
        return self.scores.values[at]

    def _convert(self, values: Any, start: int, stop: int, width: int) -> Tensor:
        """Scores `[B, width]` as a floating tensor."""
        tensor = values.detach() if hasattr(values, "detach") else to_tensor(np.ascontiguousarray(values))
        if tuple(tensor.shape) != (stop - start, width):
            raise MisalignedError(
                "the scores of a batch have the wrong shape",
                f"{list(tensor.shape)} for {stop - start} users and {width} items",
                "give a row for each user and a column for each item",
            )
        if tensor.dtype in (torch.float32, torch.float64):
            return tensor
        return tensor.float() if tensor.is_floating_point() else tensor.double()

    def _check(self, scores: Tensor, start: int, owners: Positions | None = None) -> tuple[Pending, ...]:
        """Raises for NaN and +inf; those on a device are not waited for, but told of with the results of the batch.

        Args:
            scores: `[B, N]`, or `[1, n]` with the users of its cells in `owners`.
            start: the first user of the batch.
            owners: `[n]`.
        """
        if not scores.numel():
            return ()

        def complain(highest: npt.NDArray[Any]) -> None:
            # The maximum tells: it is NaN if any score is.
            if not float(highest) < math.inf:
                self._refuse(scores, start, owners)

        if not scores.is_cpu:
            return (Pending(complain, (scores.amax(),)),)
        complain(scores.amax().numpy())
        return ()

    def _refuse(self, scores: Tensor, start: int, owners: Positions | None) -> None:
        bad = scores.isnan() | (scores == float("inf"))
        row, column = (int(place) for place in torch.nonzero(bad)[0])
        at = start + (row if owners is None else int(owners[column]))
        raise BadValueError(
            f"{int(bad.sum())} score(s) of a batch are NaN or +inf",
            f"first for user {self.users.slice(at, at + 1).tolist()[0]!r}",
            "give finite scores, and -inf for items that must not be shown",
        )

    def _history(self, start: int, stop: int) -> PairColumn | None:
        return None if self.seen is None else self.seen.part(start, stop)

    def _pairs(self, start: int, stop: int) -> dict[str, PairColumn]:
        return {name: column.part(start, stop) for name, column in self.pairs.items()}

    def _lay_out_lists(
        self, owners: Positions, items: Codes, scores: npt.NDArray[Any], users: tuple[int, int], pad: int, cargo: Cargo
    ) -> ListBatch:
        """Listed pairs of a batch, in the order of their users, as lists."""
        start, stop = users
        columns: dict[str, npt.NDArray[Any]] = {"score": scores}
        seen = self._history(start, stop)
        if seen is not None:
            hidden = seen.look_up(owners, items)
            columns |= {"hidden": hidden, "score": np.where(hidden, scores.dtype.type(MASKED), scores)}
        offsets = np.zeros(stop - start + 1, dtype=np.int64)
        np.cumsum(np.bincount(owners, minlength=stop - start), out=offsets[1:])
        lists = Lists(offsets, items, columns, beside=self._pairs(start, stop))
        return ListBatch(lists, pad, cargo, not self.scores.is_sparse, self.items)


@dataclass(frozen=True)
class DenseRows(ScoreRows):
    """Every item has a column, the same for all users.

    Attributes:
        codes: `[N]` the item of each column.
    """

    codes: Codes

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        return np.full(len(self.rows), len(self.codes))

    def lay_out(self, start: int, stop: int, pad: int, cargo: Cargo) -> Shown:
        values = self._ask(start, stop) if self.scores.is_function else self._read(start, stop)
        scores = send(self._convert(values, start, stop, len(self.codes)), cargo.device)
        checks = self._check(scores, start)
        if cargo.device not in self._columns:
            self._columns[cargo.device] = ItemColumns.of(self.codes, self.items, cargo.device)
        history, pairs = self._history(start, stop), self._pairs(start, stop)
        return ScoreBatch.of(scores, self._columns[cargo.device], history, pairs, cargo, checks)

    @cached_property
    def _columns(self) -> dict[torch.device, ItemColumns]:
        """Made once for all batches."""
        return {}


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
        return np.diff(self._stored.indptr)[self.rows].astype(np.int64)

    def lay_out(self, start: int, stop: int, pad: int, cargo: Cargo) -> Shown:
        cells = self._stored[self.rows[start:stop]]
        scores = cells.data if cells.data.dtype in (np.float32, np.float64) else cells.data.astype(np.float64)
        owners = np.repeat(np.arange(stop - start), np.diff(cells.indptr))
        self._check(torch.from_numpy(scores)[None], start, owners)
        return self._lay_out_lists(owners, self.codes[cells.indices], scores, (start, stop), pad, cargo)


@dataclass(frozen=True)
class CandidateRows(ScoreRows):
    """Each user has candidates of his own.

    Attributes:
        candidates: their items.
        codes: `[N]` the item of each column of `values`; None if the columns are the candidates themselves.
    """

    candidates: Candidates
    codes: Codes | None = None

    @cached_property
    def _row_of(self) -> Positions:
        """`[U]`: the user's row among the candidates; -1 for users without."""
        users, row_of = self.candidates.rows
        at = self.users.positions_in(users)
        return np.where(at >= 0, row_of[at], -1)

    @cached_property
    def _codes_of_candidates(self) -> Codes:
        """`[V']`: the code of each item of the candidates' vocabulary."""
        return self.candidates.vocabulary.positions_in(self.items).astype(np.int32)

    @cached_property
    def _column_of(self) -> Positions:
        """`[V]`: the column of each item; -1 for items without."""
        column_of = np.full(len(self.items), -1, dtype=np.int64)
        if self.codes is not None:
            column_of[self.codes] = np.arange(len(self.codes))
        return column_of

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        return np.where(self._row_of >= 0, self.candidates.lengths[self._row_of], 0)

    def lay_out(self, start: int, stop: int, pad: int, cargo: Cargo) -> ListBatch:
        lengths = self.lengths[start:stop]
        owners = np.repeat(np.arange(stop - start), lengths)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        listed = self.candidates.items[self.candidates.offsets[self._row_of[start:stop][owners]] + within]
        items = self._codes_of_candidates[listed]
        if self.codes is None:
            values, cells = self._values_of_candidates(start, stop, lengths, listed, owners, within), within
        else:
            given = self._ask(start, stop) if self.scores.is_function else self._read(start, stop)
            values, cells = self._convert(given, start, stop, len(self.codes)), self._column_of[items]
        known = cells >= 0
        owners, items, cells = owners[known], items[known], cells[known]
        scores = values[torch.from_numpy(owners).to(values.device), torch.from_numpy(cells).to(values.device)].cpu()
        self._check(scores[None], start, owners)
        return self._lay_out_lists(owners, items, scores.numpy(), (start, stop), pad, cargo)

    def _values_of_candidates(
        self,
        start: int,
        stop: int,
        lengths: npt.NDArray[np.int64],
        listed: Codes,
        owners: Positions,
        within: Positions,
    ) -> Tensor:
        """`[B, C]`: scores whose columns are the candidates themselves."""
        longest = int(lengths.max(initial=0))
        if self.scores.is_function:
            # Padding repeats an item of the row, so that a model can look every cell up; its score is not read.
            grid = np.zeros((stop - start, longest), dtype=np.int64)
            grid[:] = listed[np.minimum(np.cumsum(lengths) - lengths, max(len(listed) - 1, 0))][:, None]
            grid[owners, within] = listed
            values = self._ask(start, stop, self.candidates.vocabulary.to_numpy()[grid])
        else:
            values = self._read(start, stop)
        # There may be more columns than candidates, never fewer.
        width = max(longest, values.shape[1] if len(values.shape) == 2 else 0)
        return self._convert(values, start, stop, width)
