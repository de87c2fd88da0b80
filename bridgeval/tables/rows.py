"""Rows: (user, item) pairs with numbers, in the order they came, read from frames and mappings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
from bridgeval.io.columns import ITEM, USER, Chosen, Role, begin_sentence, find_columns, find_named, holds_numbers
from bridgeval.parallel import run_all
from bridgeval.tables.encoding import encode_ids
from bridgeval.tables.ids import Ids, refuse_large

# Rows of a pandas column that tell its type.
SAMPLE = 100

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


def is_frame(value: object) -> bool:
    """Whether it speaks the Arrow PyCapsule protocol, as the frames of pandas, polars, pyarrow and duckdb do.

    Frames of Spark have it too, but would collect every row to this process.
    """
    one_column = type(value).__name__ in ("Series", "ChunkedArray")
    return hasattr(value, "__arrow_c_stream__") and not one_column and not is_spark_frame(value)


def is_spark_frame(value: object) -> bool:
    """Whether it is a Spark frame, classic or connect; does not import pyspark.

    >>> is_spark_frame({"ann": ["tea"]})
    False
    """
    kind = type(value)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")


def read_rows(value: Any, role: Role, columns: Chosen | None = None) -> Rows:
    """Reads the rows of a frame or a mapping.

    Args:
        value: anything with `__arrow_c_stream__`, or a mapping by user; previous scores may be a mapping by item.
        role: decides which columns are looked for.
        columns: part -> column name, if the alias table is not enough.

    >>> read_rows({"ann": [("tea", 0.9), ("rum", 0.4)], "bob": []}, "recommendations").columns["score"].tolist()
    [0.9, 0.4]
    """
    if isinstance(value, Rows):
        return value
    if is_frame(value):
        return _read_frame_rows(value, role, columns)
    if isinstance(value, Mapping):
        return _read_mapping_rows(value, role)
    raise NoLoaderError(
        f"the {role} cannot be read",
        f"an object of type {type(value).__name__}",
        "a lazy frame is not read: give frame.collect()"
        if hasattr(value, "collect") and hasattr(value, "lazy")
        else "give a data frame (pandas, polars, Arrow), a mapping by user, or the path of a Parquet or CSV file",
    )


def read_table_rows(table: pa.Table, role: Role, columns: Chosen | None = None) -> Rows:
    """Reads the rows of an Arrow table; other columns are ignored."""
    return _read_columns(role, find_columns(role, table.column_names, columns, partial(_has_numbers_at, table)), table)


def _read_columns(role: Role, parts: Mapping[str, str], table: pa.Table | Mapping[str, pa.Array]) -> Rows:
    """Rows of columns by name; `parts` is part -> name."""
    lists = [name for name in parts.values() if _is_list(table[name].type)]
    if lists:
        raise BadValueError(
            f"{begin_sentence(role)} lists in the cells of a column",
            ", ".join(f"{name!r} of type {table[name].type}" for name in lists),
            _explode_hint(lists),
        )
    numbers = {
        part: read_numbers(table[name], f"column {name!r} of the {role}")
        for part, name in parts.items()
        if part not in ("user", "item")
    }
    *owners, items = run_all(
        [
            partial(Ids.of, table[parts[part]], f"{part} ids in the {role}")
            for part in ("user", "item")
            if part in parts
        ],
        len(table[parts["item"]]),
    )
    ranked = role in ("recommendations", "baseline") and not {"score", "rank"} & set(numbers)
    return Rows(owners[0] if owners else None, items, numbers, ranked)


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _explode_hint(names: Sequence[str]) -> str:
    """How pandas and polars make rows of lists."""
    return f"give every item a row of its own: frame.explode({(names[0] if len(names) == 1 else names)!r})"


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


def _read_frame_rows(frame: Any, role: Role, columns: Chosen | None) -> Rows:
    names = column_names(frame)
    if names is None:
        return read_table_rows(to_table(frame), role, columns)
    parts = _find_parts(frame, names, role, columns)
    if hasattr(type(frame), "iloc"):
        return _read_columns(role, parts, {name: _read_series(frame[name]) for name in parts.values()})
    if hasattr(frame, "get_column"):
        frame = frame.select(list(parts.values()))
    return _read_columns(role, parts, to_table(frame))


def _find_parts(frame: Any, names: Sequence[str], role: Role, columns: Chosen | None) -> dict[str, str]:
    """Part -> column; the error about a pandas frame with ids in its index says how to make columns of it."""
    try:
        return find_columns(role, names, columns, partial(_has_numbers_at, frame))
    except MissingColumnError as error:
        labels = [name for name in getattr(getattr(frame, "index", None), "names", ()) if isinstance(name, str)]
        index = find_named(labels, (*USER, *ITEM))
        if not index:
            raise
        found = f"{error.found}, and {', '.join(map(repr, index))} in the index"
        raise MissingColumnError(error.wrong, found, "make columns of the index: frame.reset_index()") from None


def column_names(frame: Any) -> list[str] | None:
    """The names of columns without a conversion; None if that is not possible."""
    # Asked by type: a pandas frame searches its columns for every attribute that it does not have.
    if hasattr(type(frame), "iloc"):
        names = frame.columns.tolist()
    else:
        names = getattr(frame, "column_names", None) or getattr(frame, "columns", None)
        if names is None and hasattr(frame, "schema"):
            names = getattr(frame.schema, "names", None)
    return None if names is None or [name for name in names if not isinstance(name, str)] else list(names)


def _has_numbers_at(frame: Any, place: int) -> bool:
    """Whether a column holds numbers, by its type; objects of pandas have the type of their first rows."""
    if hasattr(type(frame), "iloc"):
        try:
            return holds_numbers(_read_series(frame.iloc[:SAMPLE, place]).type)
        except BadValueError:
            return False
    if hasattr(type(frame), "limit"):  # polars and duckdb
        frame = frame.limit(0)
    schema = getattr(frame, "schema", None)
    return holds_numbers((schema if isinstance(schema, pa.Schema) else to_table(frame).schema).types[place])


def to_table(frame: Any) -> pa.Table:
    """Converts any frame to an Arrow table."""
    if isinstance(frame, pa.Table):
        return frame
    if hasattr(type(frame), "iloc"):
        return pa.table({str(name): _read_series(frame[name]) for name in frame.columns})
    return pa.table(frame)


def _read_series(series: Any) -> pa.Array:
    """A column of pandas. Plain numbers share their memory, NaN included; other types are converted."""
    plain = isinstance(series.dtype, np.dtype) and series.dtype.kind in "iuf"
    if plain:
        return pa.array(series.to_numpy())
    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        refuse_large(series, f"integers of the column {series.name!r}")
        kinds = sorted({type(value).__name__ for value in series})
        nested = {"list", "tuple", "set", "frozenset", "ndarray"} & set(kinds)
        raise BadValueError(
            f"the column {series.name!r} must hold integers, strings or numbers, all of one type",
            f"values of type {', '.join(kinds)}",
            _explode_hint([series.name]) if nested else f"convert it, e.g. frame[{series.name!r}].astype(str)",
        ) from error


def has_scores(value: Any, columns: Chosen | None = None) -> bool:
    """Whether recommendations have scores, without reading them; True if unknown.

    >>> has_scores({1: ["a", "b"]}), has_scores({1: [("a", 0.5)]})
    (False, True)
    """
    if isinstance(value, Rows):
        return "score" in value.columns
    if isinstance(value, Mapping):
        first = next((entry for entry in value.values() if isinstance(entry, Collection) and len(entry)), ())
        if isinstance(first, Mapping) or getattr(first, "ndim", 1) == 2:
            return True
        return isinstance(next(iter(first), None), tuple | list)
    names = column_names(value)
    return names is None or "score" in _find_parts(value, names, "recommendations", columns)


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
