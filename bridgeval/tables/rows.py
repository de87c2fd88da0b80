"""Rows: (user, item) pairs with numbers, in the order they came, read from frames and mappings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bridgeval.errors import (
    BadValueError,
    InputError,
    MissingColumnError,
    NoLoaderError,
    UnorderedListsWarning,
    warn_caller,
)
from bridgeval.io.columns import (
    ITEM,
    USER,
    Chosen,
    Role,
    begin_sentence,
    find_columns,
    find_named,
    holds_numbers,
    is_list,
)
from bridgeval.io.frames import Columns, Frame, explode_hint, find_frame, open_frame
from bridgeval.io.list_columns import combine_chunks, explode_lists
from bridgeval.io.listings import NAMES
from bridgeval.parallel import run_all
from bridgeval.tables.encoding import encode_ids
from bridgeval.tables.ids import Ids

Floats = npt.NDArray[np.float64] | npt.NDArray[np.float32]


@dataclass(frozen=True)
class Rows:
    """Pairs of one table.

    Attributes:
        users: `[n]`, or None for a table by item alone (previous scores may be).
        items: `[n]`.
        columns: named numbers `[n]`: `score`, `gain`, `rank`.
        ranked: whether the order of a user's rows is the ranking (lists without scores).
        empty: users with an empty list in a mapping; None if there are none.
    """

    users: Ids | None
    items: Ids
    columns: Mapping[str, Floats] = field(default_factory=dict)
    ranked: bool = False
    empty: Ids | None = None

    def __len__(self) -> int:
        return len(self.items.values)

    @property
    def owners(self) -> Ids:
        """The users; an error for a table by item alone."""
        if self.users is None:
            raise MissingColumnError("these rows have no user", hint="give a column with the user id")
        return self.users

    @property
    def named(self) -> Ids:
        """The users, each once, sorted: those of the rows and those with an empty list."""
        return encode_ids([self.owners] if self.empty is None else [self.owners, self.empty])[0]


def read_rows(value: Any, role: Role, columns: Chosen | None = None) -> Rows:
    """Reads the rows of a frame or a mapping.

    Args:
        value: anything with `__arrow_c_stream__`, or a mapping by user; previous scores may be a mapping by item.
        role: decides which columns are looked for.
        columns: part -> column name, if the alias table is not enough.

    >>> read_rows({"ann": [("tea", 0.9), ("rum", 0.4)], "bob": []}, "recommendations").columns["score"].tolist()
    [0.9, 0.4]
    """
    opened = open_rows(value, role, columns)
    if isinstance(opened, Rows):
        return opened
    return opened.read() if isinstance(opened, UnreadRows) else _read_mapping_rows(opened, role)


def read_table_rows(table: pa.Table, role: Role, columns: Chosen | None = None) -> Rows:
    """Reads the rows of an Arrow table; other columns are ignored."""
    frame = open_frame(table)
    return UnreadRows(frame, role, find_parts(frame, role, columns)).read()


@dataclass(frozen=True)
class UnreadRows:
    """A frame in its role, of which nothing but the names of its columns was read.

    Attributes:
        parts: part -> its column.
    """

    frame: Frame
    role: Role
    parts: Mapping[str, str]

    def read(self) -> Rows:
        found = self.frame.read(list(self.parts.values()))
        columns = {part: found[name] for part, name in self.parts.items()}
        lists = [part for part, column in columns.items() if is_list(column.type)]
        if not lists:
            return _read_columns(self.role, self.parts, columns)
        if set(lists) != columns.keys() - {"user"}:
            raise BadValueError(
                f"{begin_sentence(self.role)} lists in the cells of a column",
                ", ".join(f"{self.parts[part]!r} of type {column.type}" for part, column in columns.items()),
                f"{explode_hint([self.parts[part] for part in lists])}, or give lists in all columns but the user's",
            )
        exploded, empty = explode_lists(columns, "user", f"the {self.role}")
        rows = _read_columns(self.role, self.parts, exploded)
        return replace(rows, empty=Ids.of(empty, f"user ids in the {self.role}") if len(empty) else None)


def open_rows(value: Any, role: Role, columns: Chosen | None = None) -> UnreadRows | Rows | Mapping[Any, Any]:
    """Finds the columns of a frame, so that this need not be done again; returns a mapping and Rows as they are."""
    if isinstance(value, UnreadRows | Rows | Mapping):
        return value
    frame = find_frame(value)
    if frame is None:
        raise NoLoaderError(
            f"the {role} cannot be read",
            f"an object of type {type(value).__name__}",
            "give a data frame (pandas, polars, Arrow), a mapping by user, or the path of a Parquet or CSV file",
        )
    return UnreadRows(frame, role, find_parts(frame, role, columns))


def _read_columns(role: Role, parts: Mapping[str, str], columns: Mapping[str, pa.Array]) -> Rows:
    """Rows of the column of each part; `parts` has their names."""
    numbers = {
        part: read_numbers(column, f"column {parts[part]!r} of the {role}")
        for part, column in columns.items()
        if part not in ("user", "item")
    }
    *owners, items = run_all(
        [partial(Ids.of, columns[part], f"{part} ids in the {role}") for part in ("user", "item") if part in columns],
        len(columns["item"]),
    )
    ranked = role in ("recommendations", "baseline") and not {"score", "rank"} & set(numbers)
    return Rows(owners[0] if owners else None, items, numbers, ranked)


def read_numbers(column: pa.ChunkedArray | pa.Array, what: str) -> Floats:
    """A column as float32 if it is that, else float64; refuses nulls, NaN and what is not a number."""
    kind = column.type
    if pa.types.is_null(kind) and not len(column):
        return np.zeros(0)
    whole = pa.types.is_boolean(kind) or pa.types.is_integer(kind)
    if pa.types.is_decimal(kind):
        column = pc.cast(column, pa.float64(), safe=False)
    elif not whole and not pa.types.is_floating(kind):
        raise BadValueError(f"the {what} must hold numbers", f"type {kind}", "convert the column to numbers")
    if column.null_count:
        raise BadValueError(
            f"the {what} has {column.null_count} missing value(s) (null or NaN)",
            f"first at row {find_first_null(column)}, counted from 0",
            "drop or fill these rows; use -inf for an item that must not be shown",
        )
    numbers = column.to_numpy() if isinstance(column, pa.ChunkedArray) else column.to_numpy(False)
    if numbers.dtype in (np.float32, np.float64):
        return numbers
    return numbers.astype(np.float64 if whole else np.float32)


def find_first_null(column: pa.ChunkedArray | pa.Array) -> int:
    """The first row without a value."""
    return int(pc.index(pc.is_null(column), True).as_py())


def find_parts(frame: Columns, role: Role, columns: Chosen | None) -> dict[str, str]:
    """The column of each part of a frame."""
    return find_columns(role, frame.names, columns, partial(_has_numbers_at, frame, columns or {}))


def _has_numbers_at(frame: Columns, columns: Chosen, place: int) -> bool:
    """Whether a column holds numbers, by its type; lists of numbers count beside lists of items."""
    kind = frame.type_at(place)
    if not is_list(kind):
        return holds_numbers(kind)
    items = [columns["item"]] if columns.get("item") in frame.names else find_named(frame.names, ITEM)
    listed = any(is_list(frame.type_at(frame.names.index(name))) for name in items if name is not None)
    return listed and holds_numbers(kind.value_type)


def has_scores(value: Any, columns: Chosen | None = None) -> bool:
    """Whether recommendations have scores, without reading them; True if unknown.

    >>> has_scores({1: ["a", "b"]}), has_scores({1: [("a", 0.5)]})
    (False, True)
    """
    opened = open_rows(value, "recommendations", columns)
    if not isinstance(opened, Mapping):
        return "score" in (opened.parts if isinstance(opened, UnreadRows) else opened.columns)
    first = next((entry for entry in opened.values() if isinstance(entry, Collection) and len(entry)), ())
    if isinstance(first, Mapping) or getattr(first, "ndim", 1) == 2:
        return True
    return isinstance(next(iter(first), None), tuple | list)


def tabulate(value: Any, role: Role, columns: Chosen | None = None) -> pa.Table:
    """A table of the rows of a frame or a mapping, users in order.

    >>> tabulate({"bob": ["tea"], "ann": []}, "relevance").to_pydict()
    {'user_id': ['ann', 'bob'], 'item_id': [[], ['tea']]}
    """
    if isinstance(value, Mapping):
        table = _tabulate_mapping(read_rows(value, role))
        user = table.column_names[0]
    else:
        frame = open_frame(value)
        parts = find_parts(frame, role, columns)
        found = frame.read(list(parts.values()))
        table = pa.table({name: combine_chunks(found[name]) for name in parts.values()})
        user = parts["user"]
    return table.take(pc.sort_indices(table[user]))


def _tabulate_mapping(rows: Rows) -> pa.Table:
    """A table with a row for each user and lists in its cells; rows of a user must be together."""
    _, (codes,) = encode_ids([rows.owners])
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    users = [rows.owners.take(starts)] if rows.empty is None else [rows.owners.take(starts), rows.empty]
    offsets = pa.array(np.concatenate([starts, np.full(len(rows.empty or ()) + 1, len(rows))]).astype(np.int64))
    columns = (rows.items.to_arrow(), *(pa.array(column) for column in rows.columns.values()))
    lists = [pa.LargeListArray.from_arrays(offsets, column) for column in columns]
    return pa.table(dict(zip(NAMES, [pa.concat_arrays([one.to_arrow() for one in users]), *lists], strict=False)))


def _read_mapping_rows(value: Mapping[Any, Any], role: Role) -> Rows:
    _refuse_columns(value, role)
    if role == "prev_scores" and value and all(isinstance(score, int | float) for score in value.values()):
        items, numbers = _split_pairs(list(value.items()), role)
        return Rows(None, items, {"score": numbers})
    lists = [_as_list(entry, user, role) for user, entry in value.items()]
    lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    flat = list(chain.from_iterable(lists))
    keys = _ids_of_keys(value, role)
    users = keys.take(np.repeat(np.arange(len(lists)), lengths))
    empty = None if lengths.all() else keys.take(np.flatnonzero(lengths == 0))
    shown = role in ("recommendations", "baseline")
    number = "score" if shown or role == "prev_scores" else "gain"
    if flat and isinstance(flat[0], tuple):
        items, numbers = _split_pairs(flat, role)
        return Rows(users, items, {number: numbers}, empty=empty)
    items = Ids.of(flat, f"item ids in the {role}") if flat else Ids(np.zeros(0, dtype=np.int64))
    sets = sum(isinstance(entry, set | frozenset) for entry in value.values()) if shown else 0
    if sets:
        warn_caller(
            f"{begin_sentence(role)} sets for {sets:,} of {len(value):,} users, and sets have no order: "
            "the ranking is arbitrary; give lists, best first, or {item: score}",
            UnorderedListsWarning,
        )
    if role == "prev_scores" and flat:
        raise InputError(
            "the prev_scores have no scores",
            f"items alone, such as {flat[0]!r}",
            "give {user: {item: score}}, {item: score}, or a frame with a column 'score'",
        )
    return Rows(users, items, {"score": np.zeros(0)} if role == "prev_scores" else {}, shown, empty)


def _refuse_columns(value: Mapping[Any, Any], role: Role) -> None:
    """Raises for a mapping by column, whose columns would be taken for users."""
    if len(value) > 5 or not all(isinstance(key, str) for key in value):
        return
    if find_named(value, USER) and find_named(value, ITEM):
        raise InputError(
            f"{begin_sentence(role)} columns by name, where users by id are expected",
            f"keys {', '.join(map(repr, value))}",
            "make a data frame of it, e.g. pandas.DataFrame(columns)",
        )


def _ids_of_keys(value: Mapping[Any, Any], role: Role) -> Ids:
    return Ids.of(list(value), f"user ids in the {role}") if value else Ids(np.zeros(0, dtype=np.int64))


def _split_pairs(pairs: Sequence[Any], role: Role) -> tuple[Ids, Floats]:
    try:
        items, numbers = zip(*pairs, strict=True)
        values = np.asarray(numbers, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InputError(
            f"{begin_sentence(role, ('mixes', 'mix'))} (item, number) pairs with something else",
            f"{pairs[0]!r} and others",
            "give every user a list of (item, number) pairs, a list of items, or a mapping item -> number",
        ) from error
    if np.isnan(values).any():
        raise BadValueError(
            f"{begin_sentence(role, ('holds', 'hold'))} {int(np.isnan(values).sum())} NaN value(s)",
            f"first for item {items[int(np.isnan(values).argmax())]!r}",
            "drop these items; use -inf for an item that must not be shown",
        )
    return Ids.of(items, f"item ids in the {role}"), values


def _as_list(entry: Any, user: Any, role: Role) -> list[Any]:
    if isinstance(entry, Mapping):
        return list(entry.items())
    if hasattr(entry, "detach"):
        entry = entry.detach().cpu().numpy()
    if isinstance(entry, np.ndarray):
        if entry.ndim == 2 and entry.shape[1] == 2:
            items = entry[:, 0]
            return list(zip(_exact_items(items, user, role), entry[:, 1].tolist(), strict=True))
        entry = entry.tolist()
    if isinstance(entry, str | bytes) or not isinstance(entry, Iterable):
        raise InputError(
            f"the {role} of user {user!r} is not a list",
            f"{entry!r}",
            "give a list of items, a list of (item, number) pairs or a mapping item -> number",
        )
    values = list(entry)
    return [tuple(v) if isinstance(v, list) else v for v in values] if values else values


def _exact_items(items: npt.NDArray[Any], user: Any, role: Role) -> list[Any]:
    if items.dtype.kind != "f":
        return items.tolist()
    exact = items.astype(np.int64)
    if not np.array_equal(exact, items):
        raise BadValueError(
            f"the item ids of user {user!r} in the {role} are not all whole numbers",
            f"{items[exact != items][:3].tolist()}",
            "give item ids as integers or strings",
        )
    return exact.tolist()
