"""Tables by item or by user, from the forms people have them in: popularity, groups, features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bridgeval.data.columns import ITEM, USER
from bridgeval.data.context import Table
from bridgeval.data.encoding import distinct, encode
from bridgeval.data.ids import Ids
from bridgeval.data.rows import Rows, as_table, is_frame
from bridgeval.errors import BadValueError, InputError, MissingColumnError


def popularity_of(history: Rows) -> tuple[Table, int, int]:
    """How many users of the history have each item; then how many users it names and distinct pairs it has."""
    users, (user_codes, *_) = encode([history.owners] if history.empty is None else [history.owners, history.empty])
    items, (item_codes,) = encode([history.items])
    pairs = distinct(user_codes.astype(np.int64) * max(len(items), 1) + item_codes)
    counts = np.bincount(pairs % max(len(items), 1), minlength=len(items))
    return Table(items, counts.astype(np.float64)), len(users), len(pairs)


def groups_of(value: Any, side: str) -> Table:
    """A label for each id: a mapping id -> label, or a frame with the id and one more column.

    Codes run from 1 in the order of the labels; 0 is for ids without a label.

    >>> groups_of({"a": "rock", "b": "jazz"}, "item").labels
    ('jazz', 'rock')
    """
    if isinstance(value, Table):
        return value
    ids, labels = _two_columns(value, side, f"{side}_groups")
    distinct = sorted(set(labels), key=lambda label: (str(type(label)), label))
    code_of = {label: code for code, label in enumerate(distinct, start=1)}
    vocabulary, (codes,) = encode([ids])
    if len(vocabulary) != len(ids):
        raise BadValueError(
            f"{len(ids) - len(vocabulary)} id(s) have more than one label in {side}_groups",
            hint=f"give every {side} one group; several belong in item_features",
        )
    values = np.zeros(len(vocabulary), dtype=np.int64)
    values[codes] = [code_of[label] for label in labels]
    return Table(vocabulary, values, tuple(distinct))


def features_of(value: Any) -> Table:
    """Several labels for each item: a mapping item -> labels, or a long frame (item, feature[, value]).

    Values are `[n, F]` float64: 1 (or the value given) where the item has the feature.
    """
    if isinstance(value, Table):
        return value
    if isinstance(value, Mapping):
        pairs = [(item, label) for item, labels in value.items() for label in _labels(labels)]
        ids = Ids.of([item for item, _ in pairs], "item id in item_features")
        labels: list[Any] = [label for _, label in pairs]
        weights = np.ones(len(pairs))
    else:
        table = _frame(value, "item_features")
        ids, others = _split_id(table, "item", "item_features")
        labels = table[others[0]].to_pylist()
        weights = table[others[1]].to_numpy().astype(np.float64) if len(others) > 1 else np.ones(len(labels))
    distinct = sorted(set(labels), key=lambda label: (str(type(label)), label))
    column_of = {label: column for column, label in enumerate(distinct)}
    vocabulary, (codes,) = encode([ids])
    values = np.zeros((len(vocabulary), len(distinct)))
    values[codes, [column_of[label] for label in labels]] = weights
    return Table(vocabulary, values, tuple(distinct))


def ids_of(value: Any, what: str) -> Ids:
    """Sorted ids without repeats, of a sequence or of a frame's id column."""
    if isinstance(value, Ids):
        ids = value
    elif is_frame(value) and hasattr(value, "columns"):
        ids, _ = _split_id(as_table(value), "user" if "user" in what else "item", what)
    else:
        ids = Ids.of(value if isinstance(value, np.ndarray) else list(value), f"id in {what}")
    return encode([ids])[0]


def _labels(labels: Any) -> Iterable[Any]:
    return [labels] if isinstance(labels, str) or not isinstance(labels, Iterable) else labels


def _two_columns(value: Any, side: str, argument: str) -> tuple[Ids, list[Any]]:
    if isinstance(value, Mapping):
        return Ids.of(list(value), f"{side} id in {argument}"), list(value.values())
    table = _frame(value, argument)
    ids, others = _split_id(table, side, argument)
    if len(others) != 1:
        raise MissingColumnError(
            f"{argument} must have the {side} id and one column with its group",
            f"columns {table.column_names}",
            "select the two columns",
        )
    return ids, table[others[0]].to_pylist()


def _frame(value: Any, argument: str) -> pa.Table:
    if not is_frame(value):
        raise InputError(
            f"{argument} cannot be read",
            f"an object of type {type(value).__name__}",
            "give a mapping or a frame",
        )
    return as_table(value)


def _split_id(table: pa.Table, side: str, argument: str) -> tuple[Ids, list[str]]:
    aliases = USER if side == "user" else ITEM
    found = [name for name in table.column_names if name.lower() in aliases]
    if len(found) != 1:
        raise MissingColumnError(
            f"{argument} must have one column with the {side} id",
            f"columns {table.column_names}",
            f"rename it to {aliases[0]!r}",
        )
    column = table[found[0]]
    if column.null_count:
        table, column = table.filter(pc.is_valid(column)), column.drop_null()
    return Ids.of(column, f"{side} id in {argument}"), [n for n in table.column_names if n != found[0]]
