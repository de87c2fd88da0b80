"""Encoding: columns of ids as codes into one sorted vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bridgeval.parallel import run_all
from bridgeval.tables.ids import TABLE_ENTRIES, Codes, Ids, check_same_kind, table_fits


def encode_ids(columns: Sequence[Ids], what: str = "ids") -> tuple[Ids, list[Codes]]:
    """One sorted vocabulary for all columns, and each column's codes in it.

    Codes are ordered as the ids are (integers by value, strings by code point), so that "item id descending"
    is "code descending".

    >>> vocabulary, codes = encode_ids([Ids.of([30, 10]), Ids.of([20])])
    >>> vocabulary.tolist(), [c.tolist() for c in codes]
    ([10, 20, 30], [[2, 0], [1]])
    """
    filled = [column for column in columns if len(column.values)]
    if not filled:
        return columns[0], [np.zeros(0, dtype=np.int32) for _ in columns]
    first = filled[0]
    for other in filled[1:]:
        if type(other.values) is not type(first.values):  # also strings, of which some are dictionary-encoded
            check_same_kind(first, other, what)
    encode = _encode_integers if isinstance(first.values, np.ndarray) else _encode_strings
    vocabulary, codes = encode([column.values for column in filled])
    if len(filled) < len(columns):
        remaining = iter(codes)
        codes = [next(remaining) if len(column) else np.zeros(0, dtype=np.int32) for column in columns]
    return Ids(vocabulary), codes


def _encode_integers(columns: Sequence[npt.NDArray[np.int64]]) -> tuple[npt.NDArray[np.int64], list[Codes]]:
    low, high = int(min(map(np.min, columns))), int(max(map(np.max, columns)))
    if not table_fits(low, high, sum(map(len, columns))):
        vocabulary = sort_unique(np.concatenate(columns))
        return vocabulary, [np.searchsorted(vocabulary, column).astype(np.int32) for column in columns]
    # Small integers index a table as they are.
    base = 0 if 0 <= low < TABLE_ENTRIES else low
    shifted = columns if base == 0 else [column - base for column in columns]
    present = np.zeros(high - base + 1, dtype=bool)
    for column in shifted:
        present[column] = True
    if present.all():  # The ids are their own codes, and need no copy.
        return np.arange(base, high + 1), list(shifted)
    code_of = np.cumsum(present, dtype=np.int32) - 1
    return np.flatnonzero(present) + base, [code_of.take(column) for column in shifted]


def _encode_strings(columns: Sequence[Any]) -> tuple[pa.LargeStringArray, list[Codes]]:
    # Hashing text takes most of the time of an evaluation with string ids, so both halves of a column run in parallel.
    halves = [column[part] for column in columns for part in (slice(len(column) // 2), slice(len(column) // 2, None))]
    coded = run_all([partial(_to_dictionary, half) for half in halves], sum(map(len, columns)))
    entries = pa.concat_arrays([half.dictionary for half in coded]).dictionary_encode()
    order = pc.sort_indices(entries.dictionary)
    code_of = np.empty(len(order), dtype=np.int32)
    code_of[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
    code_of_entry = code_of.take(entries.indices.to_numpy())
    ends = np.cumsum([len(half.dictionary) for half in coded])
    codes = [
        code_of_entry[end - len(half.dictionary) : end].take(half.indices.to_numpy(zero_copy_only=False))
        for half, end in zip(coded, ends.tolist(), strict=True)
    ]
    vocabulary = entries.dictionary.take(order)
    return vocabulary, [np.concatenate(pair) for pair in zip(codes[::2], codes[1::2], strict=True)]


def _to_dictionary(column: Any) -> pa.DictionaryArray:
    return column if pa.types.is_dictionary(column.type) else column.dictionary_encode()


def sort_unique(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Sorted, without repeats. `np.unique` hashes before it sorts and takes ten times as long.

    >>> sort_unique(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(keys)
    first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]
