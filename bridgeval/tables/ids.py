"""Ids of users and items: integers or strings, kept exact."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bridgeval.errors import BadValueError, MisalignedError
from bridgeval.io.frames import explain_surrogate, refuse_large

# Positions in a vocabulary: int32, or int64 if the ids are their own codes.
Codes = npt.NDArray[np.signedinteger[Any]]

# Integers are looked up in a table of at most so many entries, or so many for each row.
TABLE_ENTRIES = 1 << 22
TABLE_ENTRIES_PER_ROW = 4


@dataclass(frozen=True, eq=False)
class Ids:
    """A column of ids.

    Attributes:
        values: `int64` numpy array, or Arrow array of `large_string`, which may be dictionary-encoded.

    >>> Ids.of(["b", "a"]).tolist()
    ['b', 'a']
    >>> Ids.of([3, 1]).take(np.array([1, 1])).tolist()
    [1, 1]
    """

    values: Any

    @staticmethod
    def of(column: Any, what: str = "ids") -> Ids:
        """Takes an Arrow array, a numpy array or a sequence; refuses nulls, floats, booleans and mixtures.

        Args:
            column: the ids.
            what: the name of the column in error messages, e.g. "user ids".
        """
        if isinstance(column, Ids):
            return column
        array = _to_arrow(column, what)
        if array.null_count:
            where = np.flatnonzero(pc.is_null(array).to_numpy(zero_copy_only=False))[:3]
            raise BadValueError(
                f"{array.null_count:,} of the {what} {'is' if array.null_count == 1 else 'are'} missing (null)",
                f"first at row{'s' * (len(where) > 1)} {', '.join(map(str, where))}, counted from 0",
                "drop these rows or give them an id",
            )
        kind = array.type
        if pa.types.is_null(kind) and not len(array):
            return Ids(np.zeros(0, dtype=np.int64))
        if pa.types.is_dictionary(kind):
            return _read_categories(array, what)
        if pa.types.is_integer(kind):
            return Ids(_to_int64(array, what))
        if _is_text(kind):
            return Ids(array.cast(pa.large_string()))
        raise BadValueError(
            f"{what} must be integers or strings",
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
        """The ids as Python ints or strings, as they were given."""
        return self.values.tolist() if self.is_integer else self.to_arrow().to_pylist()

    def to_arrow(self) -> pa.Array:
        """`int64` or `large_string`."""
        if self.is_integer:
            return pa.array(self.values)
        return self.values.dictionary_decode() if pa.types.is_dictionary(self.values.type) else self.values

    def to_numpy(self) -> npt.NDArray[Any]:
        """`int64`, or an array of Python strings."""
        return self.values if self.is_integer else self.to_arrow().to_numpy(zero_copy_only=False)

    @cached_property
    def text_ranks(self) -> npt.NDArray[np.int64]:
        """`[n]`: the place of each id when all are sorted as text.

        >>> Ids.of([9, 10]).text_ranks.tolist()
        [1, 0]
        """
        order = pc.sort_indices(self.to_arrow().cast(pa.large_string())).to_numpy()
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[order] = np.arange(len(order))
        return ranks

    def hash(self, seed: int = 0) -> npt.NDArray[np.int64]:
        """`[n]`: a number of each id that looks random, the same in every process and vocabulary.

        >>> len(set(Ids.of(["a", "b", "ab"]).hash().tolist())), Ids.of([7]).hash(1)[0] == Ids.of([8, 7]).hash(1)[1]
        (3, np.True_)
        """
        if self.is_integer:
            codes = np.asarray(self.values).astype(np.int64).view(np.uint64)
        else:
            texts = self.to_arrow().cast(pa.large_binary())
            lengths = pc.binary_length(texts).to_numpy(zero_copy_only=False).astype(np.int64)
            letters = np.frombuffer(b"".join(texts.to_pylist()), dtype=np.uint8).astype(np.uint64)
            ends = np.cumsum(lengths)
            place = (np.arange(len(letters)) - np.repeat(ends - lengths, lengths)).astype(np.uint64)
            # A polynomial of the letters, modulo 2 ** 64.
            terms = (letters + 1) * np.power(np.uint64(0x100000001B3), place + 1)
            total = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms)])
            codes = total[ends] - total[ends - lengths]
        # The steps of splitmix64 (Steele, Lea and Flood 2014).
        mixed = codes + np.uint64((seed + 1) * 0x9E3779B97F4A7C15 % (1 << 64))
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return (mixed ^ (mixed >> np.uint64(31))).view(np.int64)

    def equals(self, other: Ids) -> bool:
        """Whether both have the same ids in the same order."""
        if len(self) != len(other) or self.is_integer != other.is_integer:
            return False
        if self.is_integer:
            return np.array_equal(self.values, other.values)
        return bool(self.to_arrow().equals(other.to_arrow()))

    def positions_in(self, vocabulary: Ids, what: str = "ids") -> npt.NDArray[np.int64]:
        """The position of each id in a sorted vocabulary without repeats; -1 if it is not there.

        Args:
            what: the name of both in error messages.

        >>> Ids.of(["c", "x"]).positions_in(Ids.of(["a", "c"])).tolist()
        [1, -1]
        """
        if not len(vocabulary) or not len(self):
            return np.full(len(self), -1, dtype=np.int64)
        check_same_kind(vocabulary, self, what)
        if self.is_integer:
            return np.arange(len(self)) if self.equals(vocabulary) else vocabulary._search(self.values)
        coded = pa.types.is_dictionary(self.values.type)
        wanted = self.values.dictionary if coded else self.values
        found = pc.index_in(wanted, value_set=vocabulary.to_arrow()).fill_null(-1)
        positions = found.to_numpy(zero_copy_only=False).astype(np.int64)
        return positions[self.values.indices.to_numpy(zero_copy_only=False)] if coded else positions

    def _search(self, wanted: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        low, high = int(self.values[0]), int(self.values[-1])
        if table_fits(low, high, len(self)):
            table = np.full(high - low + 2, -1, dtype=np.int64)
            table[self.values - low] = np.arange(len(self))
            inside = (wanted >= low) & (wanted <= high)
            return table[np.where(inside, wanted - low, -1)]
        at = np.searchsorted(self.values, wanted)
        at[at == len(self)] = 0
        return np.where(self.values[at] == wanted, at, -1)


def check_same_kind(first: Ids, second: Ids, what: str) -> None:
    """Raises unless both are integers or both are strings; an empty column fits everything."""
    if first.is_integer != second.is_integer and len(first) and len(second):
        column = "item_id" if what.startswith("item") else "user_id"
        raise MisalignedError(
            f"{what} are {first.kind}s on one side and {second.kind}s on the other, so nothing can match",
            f"{first.slice(0, 3).tolist()} against {second.slice(0, 3).tolist()}",
            f"convert one side: frame[{column!r}].astype(str), or --text-ids on the command line",
        )


def table_fits(low: int, high: int, rows: int) -> bool:
    """Whether a table with an entry for every integer from low to high is small, or small compared with the rows."""
    return high - low < max(TABLE_ENTRIES, TABLE_ENTRIES_PER_ROW * rows)


def _read_categories(array: pa.DictionaryArray, what: str) -> Ids:
    """Keeps the codes of categories; only the distinct values are checked."""
    distinct = Ids.of(array.dictionary, what)
    codes = array.indices.to_numpy(zero_copy_only=False)
    if distinct.is_integer:
        return distinct.take(codes)
    return Ids(pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), distinct.values))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _to_arrow(column: Any, what: str) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks == 1:
            return column.chunk(0)
        if pa.types.is_dictionary(column.type):
            column = column.unify_dictionaries()
        elif _is_text(column.type):
            column = column.cast(pa.large_string())  # more text in one piece than other types can hold
        return column.combine_chunks()
    if isinstance(column, pa.Array):
        return column
    if hasattr(column, "numpy") and hasattr(column, "detach"):
        column = column.detach().cpu().numpy()
    try:
        return pa.array(column)
    except UnicodeEncodeError as error:
        raise explain_surrogate(error, what) from error
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        refuse_large(column, what)
        kinds = sorted({type(value).__name__ for value in column})
        raise BadValueError(
            f"{what} must all be integers or all be strings",
            f"values of type {', '.join(kinds)}",
            "convert them to one type, e.g. [str(value) for value in ids]",
        ) from error


def _to_int64(array: pa.Array, what: str) -> npt.NDArray[np.int64]:
    if pa.types.is_uint64(array.type):
        refuse_large([pc.max(array).as_py() or 0], what)
    values = array.to_numpy(zero_copy_only=False)
    return values if values.dtype == np.int64 else values.astype(np.int64)


def _examples(array: pa.Array) -> str:
    return ", ".join(str(value) for value in array.slice(0, 3).to_pylist())


def _type_hint(kind: pa.DataType) -> str:
    if pa.types.is_nested(kind):
        return 'give each id a row of its own, e.g. frame.explode("items") with the name of the column'
    if pa.types.is_floating(kind):
        return "floats are not exact as ids; convert with .astype('int64') or .astype(str)"
    return "convert the column: .astype(str), or --text-ids on the command line"
