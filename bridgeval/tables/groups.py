"""Reads tables by item or by user: groups, features, ids."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bridgeval.errors import BadValueError, InputError, MissingColumnError
from bridgeval.io.columns import ITEM, USER, find_named
from bridgeval.io.frames import is_frame, to_table
from bridgeval.tables.context import Table
from bridgeval.tables.encoding import encode_ids
from bridgeval.tables.ids import Ids


def read_groups(value: Any, side: str, argument: str = "") -> Table:
    """Reads a label for each id: a mapping id -> label, or a frame with the id and one more column.

    Args:
        value: the labels.
        side: whose they are, "item" or "user".
        argument: its name in error messages.

    Codes run from 1 in the order of the labels; 0 is for ids without a label, or with a missing one.

    >>> read_groups({"a": "rock", "b": "jazz"}, "item").labels
    ('jazz', 'rock')
    """
    if isinstance(value, Table):
        return value
    argument = argument or f"{side}_groups"
    ids, given = _two_columns(value, side, argument)
    labels, label_codes = encode_labels(given)
    vocabulary, (codes,) = encode_ids([ids])
    if len(vocabulary) != len(ids):
        raise BadValueError(
            f"{len(ids) - len(vocabulary)} id(s) have more than one label in {argument}",
            hint=f"give every {side} one group; several belong in item_features",
        )
    values = np.zeros(len(vocabulary), dtype=np.int64)
    values[codes] = label_codes + 1
    return Table(vocabulary, values, labels)


def read_features(value: Any) -> Table:
    """Reads several labels for each item: a mapping item -> labels, or a long frame (item, feature[, value]).

    Values are `[n, F]` float64: 1 (or the value given) where the item has the feature.
    """
    if isinstance(value, Table):
        return value
    if isinstance(value, Mapping):
        pairs = [(item, label) for item, labels in value.items() for label in _labels(labels) if label is not None]
        ids = Ids.of([item for item, _ in pairs], "item ids in item_features")
        given: Any = [label for _, label in pairs]
        weights = np.ones(len(pairs))
    else:
        ids, others = drop_unlabeled(*split_id(read_frame(value, "item_features"), "item", "item_features"))
        given = others[0]
        weights = others[1].to_numpy().astype(np.float64) if others.num_columns > 1 else np.ones(len(ids))
    labels, columns = encode_labels(given)
    vocabulary, (codes,) = encode_ids([ids])
    values = np.zeros((len(vocabulary), len(labels)))
    values[codes, columns] = weights
    return Table(vocabulary, values, labels)


def read_ids(value: Any, what: str) -> Ids:
    """Sorted ids without repeats, of a sequence or of a frame's id column."""
    if isinstance(value, Ids):
        ids = value
    elif is_frame(value) and hasattr(value, "columns"):
        ids, _ = split_id(to_table(value), "user" if "user" in what else "item", what)
    elif not isinstance(value, Iterable) or isinstance(value, str | bytes):
        # Text is a sequence too, of letters, which nobody means.
        found = f"{value!r}" if isinstance(value, str | bytes) else f"an object of type {type(value).__name__}"
        raise InputError(f"{what} cannot be read", found, "give a sequence of ids, a frame, or a file that exists")
    else:
        ids = Ids.of(value if isinstance(value, np.ndarray) else list(value), f"ids in {what}")
    if not len(ids):
        raise InputError(f"there are no ids in {what}", hint="give some, or leave it out")
    return encode_ids([ids])[0]


def _labels(labels: Any) -> Iterable[Any]:
    return [labels] if isinstance(labels, str) or not isinstance(labels, Iterable) else labels


def encode_labels(given: list[Any] | pa.ChunkedArray) -> tuple[tuple[Any, ...], npt.NDArray[np.int64]]:
    """Distinct labels, sorted within their types, and the position of each given label among them."""
    if isinstance(given, list):
        try:
            different = list(dict.fromkeys(given))
        except TypeError as error:
            odd = next(label for label in given if not isinstance(label, Hashable))
            raise BadValueError(
                "a label must be text, a number or a truth value",
                f"a {type(odd).__name__}, {odd!r:.80}",
                "give one label; several labels of an item belong in item_features",
            ) from error
        place_of = {label: place for place, label in enumerate(different)}
        places = np.array([place_of[label] for label in given], dtype=np.int64)
    else:
        if pa.types.is_dictionary(given.type):
            given = given.cast(given.type.value_type)
        coded = given.combine_chunks().dictionary_encode()
        different = coded.dictionary.to_pylist() + [None] * bool(coded.null_count)
        places = coded.indices.fill_null(len(coded.dictionary)).to_numpy(zero_copy_only=False)
    order = sorted(range(len(different)), key=lambda place: (str(type(different[place])), different[place]))
    code_of = np.empty(len(order), dtype=np.int64)
    code_of[order] = np.arange(len(order))
    return tuple(different[place] for place in order), code_of[places]


def _two_columns(value: Any, side: str, argument: str) -> tuple[Ids, Any]:
    if isinstance(value, Mapping):
        labeled = {one: label for one, label in value.items() if label is not None}
        return Ids.of(list(labeled), f"{side} ids in {argument}"), list(labeled.values())
    table = read_frame(value, argument)
    ids, others = split_id(table, side, argument)
    if others.num_columns != 1:
        raise MissingColumnError(
            f"{argument} must have the {side} id and one column with its group",
            f"columns {table.column_names}",
            "select the two columns",
        )
    ids, others = drop_unlabeled(ids, others)
    return ids, others[0]


def _to_takeable(kind: pa.DataType) -> pa.DataType:
    """A type whose rows Arrow can select. It cannot select rows of string views, which polars has."""
    return pa.large_string() if pa.types.is_string_view(kind) else kind


def drop_unlabeled(ids: Ids, others: pa.Table) -> tuple[Ids, pa.Table]:
    """Drops rows that have no label in the first column."""
    labeled = pc.invert(pc.is_null(others[0], nan_is_null=True))
    if pc.all(labeled).as_py():
        return ids, others
    return ids.take(np.flatnonzero(labeled.to_numpy())), others.filter(labeled)


def read_frame(value: Any, argument: str) -> pa.Table:
    """The Arrow table of a frame."""
    if not is_frame(value):
        raise InputError(
            f"{argument} cannot be read",
            f"an object of type {type(value).__name__}",
            "give a mapping or a frame",
        )
    return to_table(value)


def split_id(table: pa.Table, side: str, argument: str) -> tuple[Ids, pa.Table]:
    """The ids and the other columns, without rows that have no id."""
    aliases = USER if side == "user" else ITEM
    found = find_named(table.column_names, aliases)
    if len(found) != 1:
        raise MissingColumnError(
            f"{argument} must have one column with the {side} id",
            f"columns {table.column_names}",
            f"rename it to {aliases[0]!r}",
        )
    table = table.cast(pa.schema([(field.name, _to_takeable(field.type)) for field in table.schema]))
    if table[found[0]].null_count:
        table = table.filter(pc.is_valid(table[found[0]]))
    return Ids.of(table[found[0]], f"{side} ids in {argument}"), table.drop_columns(found)
