"""A hash of rows that does not depend on their order, nor on the kind of table they were read from."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from bridgeval.tables.encoding import encode_ids
from bridgeval.tables.ids import Ids
from bridgeval.tables.rows import Rows

Hashes = npt.NDArray[np.uint64]

# Odd, so that a hash times one of them is another hash: a user's and an item's must not be exchangeable.
USER, ITEM, GAIN, EMPTY = (
    np.uint64(factor) for factor in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 1)
)


def hash_rows(rows: Rows) -> str:
    """The same for the same (user, item, gain) rows in any order; repeated rows count. Without gains each is 1.

    Every row has a 64-bit hash; their sum and their exclusive or, which no order changes, make the hash of all.

    >>> from bridgeval.tables.rows import read_rows
    >>> first, second = ({1: ["a", "b"], 2: ["a"]}, {2: {"a": 1.0}, 1: {"b": 1.0, "a": 1.0}})
    >>> hash_rows(read_rows(first, "relevance")) == hash_rows(read_rows(second, "relevance"))
    True
    """
    import pandas as pd

    gains = rows.columns.get("gain", np.ones(len(rows))).astype(np.float64)
    mixed = USER * _hash_ids(rows.owners) + ITEM * _hash_ids(rows.items) + GAIN * pd.util.hash_array(gains)
    parts = [pd.util.hash_array(mixed)]
    if rows.empty is not None:
        parts.append(pd.util.hash_array(_hash_ids(rows.empty)))
    hashes = np.concatenate(parts)
    kinds = f"{rows.owners.kind} {rows.items.kind}"
    told = f"{kinds} {len(rows)} {int(hashes.sum())} {int(np.bitwise_xor.reduce(hashes))}"
    return hashlib.sha256(told.encode()).hexdigest()


def _hash_ids(ids: Ids) -> Hashes:
    """`[n]`: a hash of each id; of text, every different one is hashed once."""
    import pandas as pd

    if ids.is_integer:
        return pd.util.hash_array(ids.to_numpy())
    vocabulary, (codes,) = encode_ids([ids])
    return pd.util.hash_array(vocabulary.to_numpy())[codes]
