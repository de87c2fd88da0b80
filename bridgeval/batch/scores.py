"""Scores: a model's numbers for users and items, read a batch at a time. Nothing larger than a batch is held."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from bridgeval.batch.candidates import Candidates
from bridgeval.errors import BadParameterError, BadValueError, InputError, MisalignedError
from bridgeval.io.columns import USER, find_named
from bridgeval.io.frames import is_frame, to_table
from bridgeval.tables.encoding import encode_ids
from bridgeval.tables.ids import Ids
from bridgeval.tables.rows import Rows

# From here on a GPU gains more than it costs to send the scores there: two cores take 0.2 s for them, a copy 0.01 s.
MANY_SCORES = 1 << 24
# A type of real numbers, as numpy ("float64") and torch ("torch.bfloat16") write it.
REAL = re.compile(r"^(?:torch\.)?(?:u?int|b?float|bool)")


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of a model: a number for each user and item.

    Three things are kept apart: an item that the user has in the history is masked (`mask_history`), one that the
    model scored -inf is masked by the model, and one without a score (no column, or not stored in a sparse matrix)
    was not scored. None of them is shown; an item that scored low is, at the end.

    Attributes:
        values: a tensor, numpy array or memmap `[U, N]`; a scipy sparse matrix, whose stored cells are the scores; a
            frame with a row for each user and a column for each item; or a function `users -> [B, N]`, such as a
            model's predict, which is called once for each batch with the ids of its users. With candidates per user,
            `[U, C]` or a function `(users, items) -> [B, C]`. A function is called in the thread of the caller, for one
            batch at a time and under `torch.no_grad()`; it may write every answer into the same memory.
        users: the ids of the rows. None takes the index of a pandas frame, and the users of the relevance for a
            function; otherwise rows are numbered from 0.
        items: the ids of the columns. None takes the names of a frame's columns; otherwise they are numbered from 0. Or
            the candidates of each user, as `Candidates` or as `[U, C]` with None or negative numbers for padding.
        mask_history: whether the items that `history=` has for a user are masked.
        candidates: the only items that may be shown to each user, if `values` has a column for every item.

    >>> import bridgeval
    >>> scores = bridgeval.Scores(np.array([[0.9, 0.1, 0.5], [0.2, 0.3, 0.1]]))
    >>> bridgeval.evaluate(scores, {0: [2], 1: [0]}, "Recall@1", history={0: [0]})["Recall@1"]
    0.5
    """

    values: Any
    users: Any = None
    items: Any = None
    mask_history: bool = True
    candidates: Candidates | None = None

    def __post_init__(self) -> None:
        if is_frame(self.values):
            self._take_frame(self.values)
        if not self.is_function and len(getattr(self.values, "shape", ())) != 2:
            raise InputError(
                "the scores must have two dimensions, users and items",
                f"{type(self.values).__name__} of shape {getattr(self.values, 'shape', 'unknown')}",
                "give an array, tensor or frame [U, N], a scipy sparse matrix, or a function users -> [B, N]",
            )
        check_real(self.values)
        if self.per_user is not None and self.candidates is not None:
            raise BadParameterError(
                "items= and candidates= both name candidates per user",
                hint="with candidates=, give items= the ids of the columns",
            )
        if self.per_user is None and self.is_function and self.items is None:
            raise BadParameterError(
                "the items of a function cannot be counted beforehand",
                hint="say what the columns are, e.g. Scores(model.predict, items=range(5000))",
            )

    @property
    def is_function(self) -> bool:
        return callable(self.values)

    @property
    def is_sparse(self) -> bool:
        return hasattr(self.values, "tocsr")

    @property
    def best_device(self) -> torch.device:
        """Where there is a GPU: the one that they are on, or any if there are many of them or a model answers."""
        where = getattr(self.values, "device", None)
        if isinstance(where, torch.device) and where.type != "cpu":
            return where
        many = not self.is_sparse and (self.is_function or math.prod(self.values.shape) >= MANY_SCORES)
        return torch.device("cuda" if many else "cpu")

    @cached_property
    def per_user(self) -> Candidates | None:
        """The candidates that the columns stand for; None if a column is the same item for all users."""
        if isinstance(self.items, Candidates):
            return self.items
        grid = self.items
        if hasattr(grid, "detach"):
            grid = grid.detach().cpu().numpy()
        nested = isinstance(grid, list | tuple) and len(grid) > 0 and isinstance(grid[0], list | tuple | np.ndarray)
        if not nested and getattr(grid, "ndim", 1) != 2:
            return None
        return Candidates.of_grid(grid, self._row_ids(len(grid)))

    @cached_property
    def columns(self) -> Ids:
        """`[N]` the item of each column, if it is the same for all users."""
        count = None if self.is_function else self.values.shape[1]
        ids = Ids(np.arange(count or 0)) if self.items is None else _ids(self.items, "item ids of the scores")
        if count is not None and count != len(ids):
            raise MisalignedError(
                "the scores must have a column for each item", f"{count} columns and {len(ids)} items", "check items="
            )
        _refuse_repeated(ids, "items")
        return ids

    def _take_frame(self, frame: Any) -> None:
        """Takes the numbers of a frame, and its ids where none are given."""
        indexed = hasattr(type(frame), "iloc")
        if not indexed and self.users is None:
            raise InputError(
                "the scores are in a frame without an index, so nothing says whose rows they are",
                f"an object of type {type(frame).__name__}",
                "name the users: Scores(frame, users=[...])",
            )
        table = frame if indexed else to_table(frame)
        names = table.columns if indexed else np.array(table.column_names)
        owners = find_named([name for name in names if isinstance(name, str)], USER)
        if self.items is None and owners:
            raise InputError(
                "a frame of scores must have a row for each user and a column for each item",
                f"a column {owners[0]!r}",
                f"make it the index, frame.set_index({owners[0]!r}); a frame with user, item and score is evaluated as "
                "it is, without Scores",
            )
        values = table.to_numpy() if indexed else np.column_stack([column.to_numpy() for column in table.columns])
        if values.dtype.kind not in "biuf":
            raise BadValueError(
                "the scores must be numbers", f"type {values.dtype}", "convert with frame.astype(float)"
            )
        # A frozen dataclass is changed here, before anybody has seen it.
        object.__setattr__(self, "values", values)
        if self.users is None:
            object.__setattr__(self, "users", _read_labels(table.index))
        if self.items is None:
            object.__setattr__(self, "items", _read_labels(names))

    def row_users(self, relevance: Rows) -> Ids:
        """`[U]` the user of each row."""
        if self.is_function:
            if self.users is None and self.per_user is not None:
                return self.per_user.users
            return encode_ids([relevance.owners])[0] if self.users is None else self._row_ids(None)
        return self._row_ids(self.values.shape[0])

    def _row_ids(self, count: int | None) -> Ids:
        if self.users is None and isinstance(self.items, Candidates):
            ids = self.items.users
        else:
            ids = Ids(np.arange(count or 0)) if self.users is None else _ids(self.users, "user ids of the scores")
        if count is not None and count != len(ids):
            raise MisalignedError(
                "the scores must have a row for each user", f"{count} rows and {len(ids)} users", "check users="
            )
        _refuse_repeated(ids, "users")
        return ids


def check_real(values: Any) -> None:
    """Raises BadValueError for a matrix whose type is known and no real number."""
    kind = str(getattr(values, "dtype", "float"))
    if not REAL.search(kind):
        raise BadValueError(
            "the scores must be real numbers", f"values of type {kind}", "convert them, e.g. by scores.astype(float)"
        )


def _read_labels(index: Any) -> Any:
    """The labels of rows or columns; None if they are numbered from 0."""
    labels = np.asarray(index)
    return None if np.array_equal(labels, np.arange(len(labels))) else labels


def _ids(values: Any, what: str) -> Ids:
    if not isinstance(values, Iterable):
        found = f"an object of type {type(values).__name__}"
        raise InputError(f"{what} cannot be read", found, "give a list or an array, an id for each row or column")
    return Ids.of(np.asarray(values) if isinstance(values, range) else values, what)


def _refuse_repeated(ids: Ids, what: str) -> None:
    repeated = len(ids) - len(encode_ids([ids])[0])
    if repeated:
        raise InputError(
            f"the {what} of the scores repeat", f"{repeated} repeated id(s)", f"give each of the {what} once"
        )
