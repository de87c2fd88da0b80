"""List columns: tables with one row for each user and lists in its cells, and how they become long."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from bridgeval.errors import BadValueError
from bridgeval.io.columns import ITEM, find_named, is_list


def explode_lists(
    columns: Mapping[str, pa.Array | pa.ChunkedArray], by: str, what: str
) -> tuple[dict[str, pa.Array], pa.Array]:
    """One row for each entry of the lists, which must have one length in each row.

    Args:
        columns: name -> column.
        by: the column of those whose lists are empty.
        what: the name of the table in error messages.

    Returns:
        The long columns, and the cells of `by` that have empty lists; none if there is no such column.

    >>> long, empty = explode_lists({"user": pa.array([1, 2]), "item": pa.array([["a", "b"], []])}, "user", "the table")
    >>> long["user"].to_pylist(), long["item"].to_pylist(), empty.to_pylist()
    ([1, 1], ['a', 'b'], [2])
    """
    whole = {name: combine_chunks(column) for name, column in columns.items()}
    lists = {name: column for name, column in whole.items() if is_list(column.type)}
    for name, column in lists.items():
        if column.null_count:
            raise BadValueError(
                f"{what}: the column {name!r} has {column.null_count} missing list(s) (null)",
                f"first at row {pc.index(pc.is_null(column), True).as_py()}, counted from 0",
                "drop these rows, or give them empty lists",
            )
    lengths = {name: pc.list_value_length(column) for name, column in lists.items()}
    first, *others = lists
    for name in others:
        differ = pc.not_equal(lengths[first], lengths[name])
        if pc.any(differ).as_py():
            row = pc.index(differ, True).as_py()
            raise BadValueError(
                f"{what}: the lists in {first!r} and {name!r} differ in length",
                f"{lengths[first][row]} and {lengths[name][row]} entries at row {row}, counted from 0",
                "give every item its number",
            )
    parents = pc.list_parent_indices(lists[first])
    long = {name: pc.list_flatten(column) if name in lists else column.take(parents) for name, column in whole.items()}
    empty = whole[by].filter(pc.equal(lengths[first], 0)) if by in whole else pa.nulls(0)
    return long, empty


def find_nested(schema: pa.Schema) -> str | None:
    """The column whose cells are lists of structs with an item each; None if there is none, or a column of items.

    LensKit saves item lists this way (`items`), and sentence-transformers its predictions (`results`).
    """
    if find_named(schema.names, ITEM):
        return None
    nested = [
        field.name
        for field in schema
        if is_list(field.type) and pa.types.is_struct(kind := field.type.value_type) and find_named(_fields(kind), ITEM)
    ]
    return nested[0] if len(nested) == 1 else None


def _fields(kind: pa.StructType) -> list[str]:
    return [kind.field(place).name for place in range(kind.num_fields)]


def unnest_lists(table: pa.Table) -> pa.Table:
    """Lists of structs as one column of lists for each field; any other table is returned as it is.

    The text of a query beside its id is left out, so that it is not taken for the id.

    >>> hits = [{"corpus_id": "d1", "score": 0.9}, {"corpus_id": "d2", "score": 0.4}]
    >>> unnest_lists(pa.table({"query_id": ["q1"], "query": ["a question"], "results": [hits]})).to_pydict()
    {'query_id': ['q1'], 'corpus_id': [['d1', 'd2']], 'score': [[0.9, 0.4]]}
    """
    name = find_nested(table.schema)
    if name is None:
        return table
    column = combine_chunks(table[name])
    lists = pa.LargeListArray if pa.types.is_large_list(column.type) else pa.ListArray
    absent = column.is_null() if column.null_count else None
    fields = {
        field: lists.from_arrays(column.offsets, pc.struct_field(column.values, field), mask=absent)
        for field in _fields(column.type.value_type)
    }
    beside = [other for other in table.column_names if other != name and other not in fields]
    if "query_id" in beside and "query" in beside:
        beside.remove("query")
    return pa.table({**{other: table[other] for other in beside}, **fields})


def combine_chunks(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column in one piece, of a type whose rows Arrow can select; it cannot select rows of string views."""
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
