"""Encoding: columns of ids as dense codes into one sorted vocabulary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bridgeval.parallel import ROWS_FOR_THREADS, run_all
from bridgeval.tables.ids import TABLE_ENTRIES, Codes, Ids, check_same_kind, find_span, is_coded, table_fits
from bridgeval.tables.short_strings import Coded, encode_text

# Rows that are looked at before a whole column is.
PEEK = 1000
# A column comes in runs where there are at most this many for a row.
RUNS_PER_ROW = 0.5
# Rows that are looked at together while all ids there could be may still turn up.
BLOCK = 1 << 18


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

    @staticmethod
    def of(column: Ids) -> Runs:
        """The column by runs, where it comes so; only the first rows are looked at to tell.

        >>> Runs.of(Ids.of(["b", "b", "b", "a"])).heads.tolist()
        ['b', 'a']
        """
        if len(_run_starts(column.slice(0, PEEK).values)) > RUNS_PER_ROW * min(len(column), PEEK):
            return Runs(column, None, len(column))
        if column.is_integer or is_coded(column.given):
            starts = _run_starts(column.values)
            return Runs(column.take(starts), starts, len(column))
        heads, starts = _runs_of_text(column.pieces)
        return Runs(Ids(heads), starts, len(column))

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """How many rows each run has."""
        return np.ones(self.length, dtype=np.int64) if self.starts is None else np.diff(self.starts, append=self.length)

    def spread(self, codes: Codes) -> Codes:
        """Codes of the heads as codes of the rows."""
        return codes if self.starts is None else np.repeat(codes, self.lengths)


def encode_ids(columns: Sequence[Ids], what: str = "ids") -> tuple[Ids, list[Codes]]:
    """One sorted vocabulary for all columns, and each column's codes in it.

    Codes are ordered as the ids are (integers by value, strings by code point), so that "item id descending"
    is "code descending".

    >>> vocabulary, codes = encode_ids([Ids.of([30, 10]), Ids.of([20])])
    >>> vocabulary.tolist(), [c.tolist() for c in codes]
    ([10, 20, 30], [[2, 0], [1]])
    """
    runs = [Runs.of(column) for column in columns]
    vocabulary, codes = encode_heads(runs, what)
    return vocabulary, [run.spread(code) for run, code in zip(runs, codes, strict=True)]


def encode_heads(runs: Sequence[Runs], what: str = "ids") -> tuple[Ids, list[Codes]]:
    """One sorted vocabulary for all columns, and the codes of the heads of each."""
    columns = [run.heads for run in runs]
    filled = [c for c in columns if len(c)]
    for other in filled[1:]:
        check_same_kind(filled[0], other, what)
    if not filled:
        return columns[0], [np.zeros(0, dtype=np.int32) for _ in columns]
    if _same_and_sorted(columns):
        return columns[0], [np.arange(len(columns[0]), dtype=np.int32) for _ in columns]
    if filled[0].is_integer:
        return _encode_integers([c.values if len(c) else np.zeros(0, dtype=np.int64) for c in columns])
    return _encode_strings(columns)


def _same_and_sorted(columns: Sequence[Ids]) -> bool:
    """Whether all have the same ids in ascending order, as tables that were sorted by user do."""
    first, *others = columns
    if any(len(c) != len(first) or not (c.is_integer or pa.types.is_large_string(c.given.type)) for c in columns):
        return False
    # A few rows tell of most columns that they are not.
    if not _ascends(first.slice(0, PEEK)) or not _ascends(first):
        return False
    return all(other.to_arrow().equals(first.to_arrow()) for other in others)


def _ascends(column: Ids) -> bool:
    rows = column.to_arrow()
    return bool(pc.all(pc.less(rows[:-1], rows[1:])).as_py())


def sort_unique(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Sorted, without repeats. `np.unique` hashes before it sorts and takes ten times as long.

    >>> sort_unique(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(keys)
    first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def _encode_integers(columns: Sequence[npt.NDArray[np.int64]]) -> tuple[Ids, list[Codes]]:
    filled = [c for c in columns if len(c)]
    low, high = find_span(filled)
    if table_fits(low, high, sum(map(len, filled))):
        start = 0 if 0 <= low < TABLE_ENTRIES else low
        shifted = [c if start == 0 else c - start for c in columns]
        gap = low - start
        present = _present(shifted, gap, high - start)
        if bool(present[gap:].all()):
            return Ids(np.arange(low, high + 1)), shifted if gap == 0 else [(c - gap).astype(np.int32) for c in shifted]
        code_of = np.cumsum(present, dtype=np.int32)
        code_of -= 1
        return Ids(np.flatnonzero(present) + start), [code_of.take(c) for c in shifted]
    vocabulary = sort_unique(np.concatenate(filled))
    return Ids(vocabulary), [np.searchsorted(vocabulary, c).astype(np.int32) for c in columns]


def _present(columns: Iterable[npt.NDArray[np.int64]], low: int, high: int) -> npt.NDArray[np.bool_]:
    """`[high + 1]`: which values occur; a few blocks of rows tell where all from `low` to `high` do."""
    present = np.zeros(high + 1, dtype=bool)
    for column in columns:
        for block in range(0, len(column), BLOCK):
            present[column[block : block + BLOCK]] = True
            if bool(present[low:].all()):
                return present
    return present


def _encode_strings(columns: Sequence[Ids]) -> tuple[Ids, list[Codes]]:
    coded = [_coded(column) if len(column) else [] for column in columns]
    distinct = pc.unique(pa.concat_arrays([part.strings for parts in coded for part in parts]))
    vocabulary = distinct.take(pc.sort_indices(distinct))
    return Ids(vocabulary), [_codes_in(vocabulary, parts) for parts in coded]


def _coded(column: Ids) -> list[Coded]:
    """The column in one or two parts."""
    if is_coded(column.given):
        return [Coded.of(column.values)]
    half = len(column) // 2
    parts = [column.slice(0, half), column.slice(half, len(column))] if len(column) > ROWS_FOR_THREADS else [column]
    return run_all([partial(encode_text, part.pieces) for part in parts], len(column))


def _codes_in(vocabulary: pa.LargeStringArray, parts: Sequence[Coded]) -> Codes:
    codes = np.empty(sum(len(part.codes) for part in parts), dtype=np.int32)
    end = 0
    for part in parts:
        start, end = end, end + len(part.codes)
        code_of = pc.index_in(part.strings, value_set=vocabulary).to_numpy(zero_copy_only=False)
        code_of.astype(np.int32).take(part.codes, out=codes[start:end], mode="clip")
    return codes


def _run_starts(values: Any) -> npt.NDArray[np.int64]:
    if isinstance(values, np.ndarray):
        changes = np.flatnonzero(values[1:] != values[:-1])
    elif is_coded(values):
        return _run_starts(values.indices.to_numpy(zero_copy_only=False))
    else:
        changes = _true_positions(pc.not_equal(values[1:], values[:-1]))
    changes += 1
    return np.concatenate([np.zeros(min(len(values), 1), dtype=np.int64), changes])


def _runs_of_text(pieces: Sequence[pa.LargeStringArray]) -> tuple[pa.LargeStringArray, npt.NDArray[np.int64]]:
    """The string of each run, and where it begins; one that goes on in the next piece is one."""
    heads, starts, rows, last = [], [np.zeros(0, dtype=np.int64)], 0, None
    for piece in pieces:
        where = _run_starts(piece)
        if len(piece) and last == piece[0]:
            where = where[1:]
        heads.append(piece.take(pa.array(where)))
        starts.append(where + rows)
        rows, last = rows + len(piece), piece[-1] if len(piece) else last
    return pa.concat_arrays(heads), np.concatenate(starts)


def _true_positions(flags: pa.BooleanArray) -> npt.NDArray[np.int64]:
    """Where flags without nulls are true."""
    bits = np.frombuffer(flags.buffers()[1], dtype=np.uint8)
    unpacked = np.unpackbits(bits, count=flags.offset + len(flags), bitorder="little")
    return np.flatnonzero(unpacked[flags.offset :].view(bool))
