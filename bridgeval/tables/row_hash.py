"""A hash of rows that does not depend on their order, nor on the kind of table they were read from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bridgeval.errors import MissingColumnError
from bridgeval.io.columns import Chosen, Role
from bridgeval.tables.encoding import encode_ids
from bridgeval.tables.ids import Ids
from bridgeval.tables.rows import Rows, read_rows

Hashes = npt.NDArray[np.uint64]

# Odd, so that a hash times one of them is another hash: a user's and an item's must not be exchangeable.
USER, ITEM, GAIN, EMPTY = (
    np.uint64(factor) for factor in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 1)
)


@dataclass(frozen=True)
class RowHash:
    """The hash of some rows, which merges.

    Every row has a 64-bit hash; their sum and their exclusive or, which no order changes, make the hash of all.

    Attributes:
        kinds: whether users and items are integers or strings.
        rows: how many.
        total: sum of the hashes, modulo 2^64.
        mixed: their exclusive or.
    """

    kinds: str
    rows: int
    total: int
    mixed: int

    @staticmethod
    def of(rows: Rows) -> RowHash:
        """The number beside a pair is its gain, score or rank; without one it is 1."""
        import pandas as pd

        found = (rows.columns[part] for part in ("gain", "score", "rank") if part in rows.columns)
        numbers = next(found, np.ones(len(rows))).astype(np.float64)
        mixed = USER * _hash_ids(rows.owners) + ITEM * _hash_ids(rows.items) + GAIN * pd.util.hash_array(numbers)
        parts = [pd.util.hash_array(mixed)]
        if rows.empty is not None:
            parts.append(pd.util.hash_array(_hash_ids(rows.empty)))
        hashes = np.concatenate(parts)
        kinds = f"{rows.owners.kind} {rows.items.kind}"
        return RowHash(kinds, len(rows), int(hashes.sum()), int(np.bitwise_xor.reduce(hashes)))

    def merge(self, other: RowHash) -> RowHash:
        total = (self.total + other.total) % 2**64
        return RowHash(self.kinds, self.rows + other.rows, total, self.mixed ^ other.mixed)

    @property
    def hexdigest(self) -> str:
        told = f"{self.kinds} {self.rows} {self.total} {self.mixed}"
        return hashlib.sha256(told.encode()).hexdigest()


def hash_rows(rows: Rows) -> str:
    """The same for the same (user, item, gain) rows in any order; repeated rows count. Without gains each is 1.

    >>> first, second = ({1: ["a", "b"], 2: ["a"]}, {2: {"a": 1.0}, 1: {"b": 1.0, "a": 1.0}})
    >>> hash_rows(read_rows(first, "relevance")) == hash_rows(read_rows(second, "relevance"))
    True
    """
    return RowHash.of(rows).hexdigest


def hash_spark_frame(frame: Any, role: Role, columns: Chosen | None = None) -> RowHash | None:
    """The hash of a Spark frame, added up on the executors; None for lists in arrays, whose order may matter."""
    try:
        nobody = read_rows(frame.limit(0).toArrow(), role, columns)
    except MissingColumnError:
        return None
    if nobody.ranked and role == "recommendations":
        return None

    def add_up(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        hashes = (RowHash.of(read_rows(pa.Table.from_batches([batch]), role, columns)) for batch in batches)
        found = reduce(RowHash.merge, hashes, RowHash.of(nobody))
        # Spark has no integers without a sign.
        yield pa.record_batch({"rows": [found.rows], "total": [str(found.total)], "mixed": [str(found.mixed)]})

    parts = frame.mapInArrow(add_up, "rows long, total string, mixed string").toArrow().to_pylist()
    start = RowHash.of(nobody)
    found = (RowHash(start.kinds, part["rows"], int(part["total"]), int(part["mixed"])) for part in parts)
    return reduce(RowHash.merge, found, start)


def _hash_ids(ids: Ids) -> Hashes:
    """`[n]`: a hash of each id; of text, every different one is hashed once."""
    import pandas as pd

    if ids.is_integer:
        return pd.util.hash_array(ids.to_numpy())
    vocabulary, (codes,) = encode_ids([ids])
    return pd.util.hash_array(vocabulary.to_numpy())[codes]
