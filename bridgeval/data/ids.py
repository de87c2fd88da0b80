"""Ids of users and items: integers or strings, kept exact, encoded once to dense codes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import torch

from bridgeval.data.tensors import looked_up, tensor_of
from bridgeval.data.threads import ROWS_FOR_THREADS, side_by_side
from bridgeval.errors import BadValueError, MisalignedError

Codes = npt.NDArray[np.int32]

# A lookup table is used for integer ids while it stays this small, or small beside the column.
TABLE_ENTRIES = 1 << 22
TABLE_ENTRIES_PER_ROW = 4
# Rows that are looked at before a whole column is.
PEEK = 1000
# A column comes in runs where there are at most this many for a row.
RUNS_PER_ROW = 0.5
BLOCK = 1 << 18


@dataclass(frozen=True, eq=False)
class Ids:
    """A column of ids.

    Attributes:
        values: `int64` numpy array, or Arrow array of `large_string`, which may be dictionary-coded.

    >>> Ids.of(["b", "a"]).tolist()
    ['b', 'a']
    >>> Ids.of([3, 1]).take(np.array([1, 1])).tolist()
    [1, 1]
    """

    values: Any

    @staticmethod
    def of(column: Any, what: str = "id") -> Ids:
        """Takes an Arrow array, a numpy array or a sequence; refuses nulls, floats, booleans and mixtures.

        Args:
            column: the ids.
            what: how the column is called in messages, e.g. "user id".
        """
        if isinstance(column, Ids):
            return column
        array = _as_arrow(column, what)
        if array.null_count:
            where = np.flatnonzero(pc.is_null(array).to_numpy(zero_copy_only=False))[:3]
            raise BadValueError(
                f"{array.null_count} {what}(s) are missing (null)",
                f"first at rows {', '.join(map(str, where))}",
                "drop these rows or give them an id",
            )
        kind = array.type
        if pa.types.is_dictionary(kind):
            return _of_dictionary(array, what)
        if pa.types.is_integer(kind):
            return Ids(_as_int64(array, what))
        if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
            return Ids(array.cast(pa.large_string()))
        raise BadValueError(
            f"{what}s must be integers or strings",
            f"a column of type {kind}, such as {_examples(array)}",
            _type_hint(kind),
        )

    @staticmethod
    def empty_like(other: Ids) -> Ids:
        return other.take(np.zeros(0, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_integer(self) -> bool:
        return isinstance(self.values, np.ndarray)

    @property
    def kind(self) -> str:
        return "integer" if self.is_integer else "string"

    def take(self, positions: npt.NDArray[Any]) -> Ids:
        if self.is_integer:
            return Ids(self.values[positions])
        return Ids(self.values.take(pa.array(positions)))

    def slice(self, start: int, stop: int) -> Ids:
        return Ids(self.values[start:stop])

    def tolist(self) -> list[Any]:
        """The ids as Python ints or strings, as they came."""
        return self.values.tolist() if self.is_integer else self.to_arrow().to_pylist()

    def to_arrow(self) -> pa.Array:
        """`int64` or `large_string`."""
        if self.is_integer:
            return pa.array(self.values)
        return self.values.dictionary_decode() if _is_coded(self.values) else self.values

    def to_numpy(self) -> npt.NDArray[Any]:
        """`int64`, or an array of Python strings."""
        return self.values if self.is_integer else self.to_arrow().to_numpy(zero_copy_only=False)

    def positions_in(self, vocabulary: Ids) -> npt.NDArray[np.int64]:
        """Where each id stands in a sorted vocabulary without repeats; -1 where it does not.

        >>> Ids.of(["c", "x"]).positions_in(Ids.of(["a", "c"])).tolist()
        [1, -1]
        """
        if not len(vocabulary) or not len(self):
            return np.full(len(self), -1, dtype=np.int64)
        same_kind(vocabulary, self, "ids")
        if self.is_integer:
            return vocabulary._searcher(self.values)
        coded = _is_coded(self.values)
        wanted = self.values.dictionary if coded else self.values
        found = pc.index_in(wanted, value_set=vocabulary.to_arrow()).fill_null(-1)
        positions = found.to_numpy(zero_copy_only=False).astype(np.int64)
        return positions[self.values.indices.to_numpy(zero_copy_only=False)] if coded else positions

    @cached_property
    def _span(self) -> tuple[int, int]:
        return _span_of([self.values])

    def _searcher(self, wanted: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        low, high = self._span
        if high - low < max(TABLE_ENTRIES, TABLE_ENTRIES_PER_ROW * len(self)):
            table = np.full(high - low + 2, -1, dtype=np.int64)
            table[self.values - low] = np.arange(len(self))
            inside = (wanted >= low) & (wanted <= high)
            return table[np.where(inside, wanted - low, -1)]
        at = np.searchsorted(self.values, wanted)
        at[at == len(self)] = 0
        return np.where(self.values[at] == wanted, at, -1)

    def runs(self) -> Runs:
        """The column by runs of equal ids, where it comes so; only the first rows are looked at to tell.

        >>> Ids.of(["b", "b", "b", "a"]).runs().heads.tolist()
        ['b', 'a']
        """
        if len(_run_starts(self.values[:PEEK])) > RUNS_PER_ROW * min(len(self), PEEK):
            return Runs(self, None, len(self))
        starts = _run_starts(self.values)
        return Runs(self.take(starts), starts, len(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Ids, (self.values,))


@dataclass(frozen=True)
class Runs:
    """A column as runs of equal ids.

    Attributes:
        heads: the id of each run.
        starts: where each run begins; None where every row is a run of its own.
        length: rows of the column.
    """

    heads: Ids
    starts: npt.NDArray[np.int64] | None
    length: int

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """How many rows each run has."""
        return np.ones(self.length, dtype=np.int64) if self.starts is None else np.diff(self.starts, append=self.length)

    def spread(self, codes: Codes) -> Codes:
        """Codes of the heads as codes of the rows."""
        return codes if self.starts is None else np.repeat(codes, self.lengths)


def _run_starts(values: Any) -> npt.NDArray[np.int64]:
    if isinstance(values, np.ndarray):
        changes = np.flatnonzero(values[1:] != values[:-1])
    elif _is_coded(values):
        return _run_starts(values.indices.to_numpy(zero_copy_only=False))
    else:
        changes = np.flatnonzero(pc.not_equal(values[1:], values[:-1]).to_numpy(zero_copy_only=False))
    changes += 1
    return np.concatenate([np.zeros(min(len(values), 1), dtype=np.int64), changes])


def same_kind(first: Ids, second: Ids, what: str) -> None:
    """Raises unless both are integers or both are strings; an empty column fits everything."""
    if len(first) and len(second) and first.is_integer != second.is_integer:
        raise MisalignedError(
            f"{what} are {first.kind}s on one side and {second.kind}s on the other, so nothing can match",
            f"{first.slice(0, 3).tolist()} against {second.slice(0, 3).tolist()}",
            "convert one side, e.g. frame['user_id'] = frame['user_id'].astype(str)",
        )


def encode(columns: Sequence[Ids], what: str = "ids") -> tuple[Ids, list[Codes]]:
    """One sorted vocabulary for all columns, and each column's codes in it.

    Codes are ordered as the ids are (integers by value, strings by code point), so that "item id descending"
    is "code descending".

    >>> vocabulary, codes = encode([Ids.of([30, 10]), Ids.of([20])])
    >>> vocabulary.tolist(), [c.tolist() for c in codes]
    ([10, 20, 30], [[2, 0], [1]])
    """
    runs = [column.runs() for column in columns]
    vocabulary, codes = encode_heads(runs, what)
    return vocabulary, [run.spread(code) for run, code in zip(runs, codes, strict=True)]


def encode_heads(runs: Sequence[Runs], what: str = "ids") -> tuple[Ids, list[Codes]]:
    """One sorted vocabulary for all columns, and the codes of the heads of each."""
    columns = [run.heads for run in runs]
    filled = [c for c in columns if len(c)]
    for other in filled[1:]:
        same_kind(filled[0], other, what)
    if not filled:
        return columns[0], [np.zeros(0, dtype=np.int32) for _ in columns]
    if _same_and_sorted(columns):
        return columns[0], [np.arange(len(columns[0]), dtype=np.int32) for _ in columns]
    if filled[0].is_integer:
        return _encode_integers([c.values if len(c) else np.zeros(0, dtype=np.int64) for c in columns])
    return _encode_strings([c.values if len(c) else pa.array([], pa.large_string()) for c in columns])


def _same_and_sorted(columns: Sequence[Ids]) -> bool:
    """Whether all have the same ids in ascending order, as tables that were sorted by user do."""
    if any(len(c) != len(columns[0]) or not (c.is_integer or pa.types.is_large_string(c.values.type)) for c in columns):
        return False
    first, *others = (column.to_arrow() for column in columns)
    # A few rows tell of most columns that they are not.
    in_order = (bool(pc.all(pc.less(rows[:-1], rows[1:])).as_py()) for rows in (first[:PEEK], first))
    return all(in_order) and all(other.equals(first) for other in others)


def distinct(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Sorted, without repeats. `np.unique` hashes before it sorts and takes ten times as long.

    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(keys)
    first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def _encode_integers(columns: Sequence[npt.NDArray[np.int64]]) -> tuple[Ids, list[Codes]]:
    filled = [c for c in columns if len(c)]
    low, high = _span_of(filled)
    if high - low < max(TABLE_ENTRIES, TABLE_ENTRIES_PER_ROW * sum(map(len, filled))):
        start = 0 if 0 <= low < TABLE_ENTRIES else low
        shifted = [c if start == 0 else c - start for c in columns]
        present = _present(shifted, low - start, high - start)
        if bool(present[low - start :].all()):
            return Ids(np.arange(low, high + 1)), [
                (c - (low - start) if low > start else c).astype(np.int32) for c in shifted
            ]
        code_of = np.cumsum(present, dtype=np.int32)
        code_of -= 1
        return Ids(np.flatnonzero(present) + start), [looked_up(code_of, c) for c in shifted]
    vocabulary = distinct(np.concatenate(filled))
    return Ids(vocabulary), [np.searchsorted(vocabulary, c).astype(np.int32) for c in columns]


def _span_of(columns: Iterable[npt.NDArray[np.int64]]) -> tuple[int, int]:
    """The least and the greatest value of columns that are not empty."""
    ends = [torch.aminmax(tensor_of(column)) for column in columns]
    return min(int(end.min) for end in ends), max(int(end.max) for end in ends)


def _present(columns: Iterable[npt.NDArray[np.int64]], low: int, high: int) -> npt.NDArray[np.bool_]:
    """`[high + 1]`: which values occur; a few blocks of rows tell where all from `low` to `high` do."""
    present = np.zeros(high + 1, dtype=bool)
    for column in columns:
        for block in range(0, len(column), BLOCK):
            present[column[block : block + BLOCK]] = True
            if bool(present[low:].all()):
                return present
    return present


def _encode_strings(columns: Sequence[pa.LargeStringArray]) -> tuple[Ids, list[Codes]]:
    coded = [_coded(column) for column in columns]
    distinct = pc.unique(pa.concat_arrays([piece.dictionary for pieces in coded for piece in pieces]))
    vocabulary = distinct.take(pc.sort_indices(distinct))
    return Ids(vocabulary), [np.concatenate([_codes_in(vocabulary, piece) for piece in pieces]) for pieces in coded]


def _coded(column: pa.LargeStringArray) -> list[pa.DictionaryArray]:
    """The column in one or two coded pieces."""
    if _is_coded(column):
        return [column]
    half = len(column) // 2
    pieces = [column[:half], column[half:]] if len(column) > ROWS_FOR_THREADS else [column]
    return side_by_side([piece.dictionary_encode for piece in pieces], len(column))


def _codes_in(vocabulary: pa.LargeStringArray, column: pa.DictionaryArray) -> Codes:
    code_of = pc.index_in(column.dictionary, value_set=vocabulary).to_numpy(zero_copy_only=False)
    return code_of.astype(np.int32)[column.indices.to_numpy(zero_copy_only=False)]


def _is_coded(array: pa.Array) -> bool:
    return pa.types.is_dictionary(array.type)


def _of_dictionary(array: pa.DictionaryArray, what: str) -> Ids:
    """Categories are taken as they are; only their distinct values are looked at."""
    distinct = Ids.of(array.dictionary, what)
    codes = array.indices.to_numpy(zero_copy_only=False)
    if distinct.is_integer:
        return distinct.take(codes)
    return Ids(pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), distinct.values))


def _as_arrow(column: Any, what: str) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks == 1:
            return column.chunk(0)
        if pa.types.is_dictionary(column.type):
            column = column.unify_dictionaries()
        return column.combine_chunks()
    if isinstance(column, pa.Array):
        return column
    if hasattr(column, "numpy") and hasattr(column, "detach"):
        column = column.detach().cpu().numpy()
    try:
        return pa.array(column)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        kinds = sorted({type(value).__name__ for value in column})
        raise BadValueError(
            f"{what}s must all be integers or all be strings",
            f"values of type {', '.join(kinds)}",
            "convert them to one type, e.g. [str(value) for value in ids]",
        ) from error


def _as_int64(array: pa.Array, what: str) -> npt.NDArray[np.int64]:
    if pa.types.is_uint64(array.type):
        largest = pc.max(array).as_py() or 0
        if largest >= 1 << 63:
            raise BadValueError(f"{what}s must fit in 64 bits with a sign", f"{largest}", "convert them to strings")
    values = array.to_numpy(zero_copy_only=False)
    return values if values.dtype == np.int64 else values.astype(np.int64)


def _examples(array: pa.Array) -> str:
    return ", ".join(str(value) for value in array.slice(0, 3).to_pylist())


def _type_hint(kind: pa.DataType) -> str:
    if pa.types.is_floating(kind):
        return "floats are not exact as ids; convert with .astype('int64') or .astype(str)"
    return "convert the column with .astype(str)"
