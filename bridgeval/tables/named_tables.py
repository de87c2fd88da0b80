"""Named tables: values by item or by user under a name that the caller chooses, for metrics that ask for it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from bridgeval.errors import BadParameterError, BadValueError, InputError, MissingColumnError
from bridgeval.io.columns import ITEM, USER, find_named
from bridgeval.io.files import is_path, open_table, read_schema
from bridgeval.io.frames import column_names, is_frame, is_spark_frame
from bridgeval.tables.context import Table
from bridgeval.tables.encoding import encode_ids
from bridgeval.tables.groups import drop_unlabeled, encode_labels, read_frame, split_id
from bridgeval.tables.ids import Ids

Side = Literal["item", "user"]
ALIASES: Mapping[Side, tuple[str, ...]] = {"item": ITEM, "user": USER}
# Tables that other arguments give.
TAKEN = {"popularity": "history", "groups": "item_groups", "features": "item_features"}


def list_named_tables(context: Any) -> frozenset[str]:
    """The needs that these tables answer, such as "item price"; reads the names of their columns alone.

    >>> sorted(list_named_tables({"price": {"tea": 3.5}}))
    ['item price', 'user price']
    """
    if not isinstance(context, Mapping):
        raise InputError(
            "the context is a mapping of names to tables",
            f"an object of type {type(context).__name__}",
            "give {argument}",
            argument="context",
            value={"price": ...},
        )
    return frozenset(f"{side} {name}" for name, value in context.items() for side in find_sides(name, value))


def read_named_tables(context: Mapping[str, Any]) -> tuple[dict[str, Table], dict[str, Table]]:
    """The tables by item and those by user; one that may be either is among both."""
    items, users = {}, {}
    for name, value in context.items():
        value = open_table(value)
        sides = find_sides(name, value)
        table = read_named_table(name, value, sides[0])
        if "item" in sides:
            items[name] = table
        if "user" in sides:
            users[name] = table
    return items, users


def find_sides(name: str, value: Any) -> tuple[Side, ...]:
    """Whose values a table holds, by its column of ids. A mapping has none: metrics look it up as they need it."""
    if not isinstance(name, str) or not name or name in TAKEN:
        raise BadParameterError(
            f"a table of the context cannot be called {name!r}",
            hint="give {argument}, which has this name" if name in TAKEN else "choose a name",
            argument=TAKEN.get(name, ""),
        )
    if isinstance(value, Table) or (isinstance(value, Mapping) and not is_frame(value)):
        return "item", "user"
    columns = _list_columns(name, value)
    sides: list[Side] = [side for side, aliases in ALIASES.items() if find_named(columns, aliases)]
    if len(sides) != 1:
        raise MissingColumnError(
            f"the context {name!r} must have one column with the item id, or one with the user id",
            f"columns {columns}",
            f"rename it to {ITEM[0]!r} or {USER[0]!r}",
        )
    return tuple(sides)


def _list_columns(name: str, value: Any) -> list[str]:
    if is_path(value):
        return list(read_schema(os.fspath(value)).names)
    if is_spark_frame(value):
        return list(value.columns)
    if is_frame(value):
        return column_names(value)
    raise InputError(
        f"the context {name!r} cannot be read",
        f"an object of type {type(value).__name__}",
        "give a mapping, a frame or a path",
    )


def read_named_table(name: str, value: Any, side: Side) -> Table:
    """Reads a number or a label for each id: a mapping id -> value, or a frame with the id and the column.

    Numbers are float64, NaN for an id without one. Labels are codes from 1 in their order, 0 for an id without one.

    Args:
        name: of the table; also of the column, if the frame has several.
        value: a mapping or a frame.
        side: whose ids they are.

    >>> read_named_table("price", {"tea": 3, "rum": None}, "item").values
    array([3.])
    """
    if isinstance(value, Table):
        return value
    what = f"the context {name!r}"
    ids, column = _read_columns(name, value, side, what)
    vocabulary, (codes,) = encode_ids([ids])
    if len(vocabulary) != len(ids):
        raise BadValueError(
            f"{len(ids) - len(vocabulary)} id(s) come more than once in {what}", hint=f"give every {side} one value"
        )
    kind = column.type
    if (
        pa.types.is_boolean(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
    ):
        values = np.empty(len(ids))
        values[codes] = column.cast(pa.float64()).to_numpy()
        if not np.isfinite(values).all():
            raise BadValueError(f"{what} has infinite values", hint="leave out their rows: they are missing")
        return Table(vocabulary, values, default=np.nan)
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind)):
        raise BadValueError(f"{what} must hold numbers or labels", f"values of type {kind}", "choose another column")
    labels, places = encode_labels(column)
    coded = np.empty(len(ids), dtype=np.int64)
    coded[codes] = places + 1
    return Table(vocabulary, coded, labels)


def _read_columns(name: str, value: Any, side: Side, what: str) -> tuple[Ids, pa.ChunkedArray]:
    """The ids, and the value of each; rows without one are left out."""
    if isinstance(value, Mapping) and not is_frame(value):
        try:
            column = pa.chunked_array([pa.array(list(value.values()), from_pandas=True)])
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise BadValueError(f"{what} must hold numbers, or labels, of one type", str(error)) from error
        ids, others = Ids.of(list(value), f"{side} ids in {what}"), pa.table({name: column})
    else:
        ids, others = split_id(read_frame(value, what), side, what)
        if others.num_columns != 1 and name not in others.column_names:
            raise MissingColumnError(
                f"{what} has {others.num_columns} columns beside the id, and none is called {name!r}",
                f"columns {others.column_names}",
                f"rename one to {name!r}, or select it",
            )
        others = others.select([name] if name in others.column_names else [0])
    ids, others = drop_unlabeled(ids, others)
    if not len(ids):
        raise InputError(f"there are no values in {what}", hint="give some, or leave it out")
    return ids, others[0]
