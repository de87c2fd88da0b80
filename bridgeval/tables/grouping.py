"""Grouping: the rows of each user together, in the order they came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bridgeval.tables.encoding import encode_ids
from bridgeval.tables.ids import Codes, Ids

Offsets = npt.NDArray[np.int64]
Column = npt.NDArray[Any]

PEEK = 1000


@dataclass(frozen=True)
class Grouping:
    """Which rows belong to which of U users.

    Attributes:
        offsets: `[U + 1]`; after grouping, user u's rows are `offsets[u]:offsets[u + 1]`.
        owners: `[n]` the user of each row; None where rows come grouped, so that nothing has to be copied.
    """

    offsets: Offsets
    owners: Codes | None = None

    def group(self, items: Codes, columns: Mapping[str, Column]) -> tuple[Codes, dict[str, Column]]:
        """Sorts rows by user; rows of one user keep their order."""
        if self.owners is None:
            return items, dict(columns)
        # Converting a sparse matrix of users by items to rows is a stable counting sort that checks its codes. It takes
        # a tenth of the time of np.argsort. Imported here, because rows that come grouped do not need scipy.
        from scipy import sparse

        shape = (len(self.offsets) - 1, int(items.max(initial=0)) + 1)
        data = columns or {"": np.zeros(len(items), dtype=np.int8)}  # a sparse matrix needs data
        grouped = {}
        for name, column in data.items():
            cells = sparse.coo_array((column, (self.owners, items)), shape=shape)
            cells.has_canonical_format = True  # or repeated pairs would be added up
            grouped[name] = cells.tocsr()
        codes = next(iter(grouped.values())).indices
        return codes, {name: grouped[name].data for name in columns}


def group_codes(owners: Codes, n_users: int) -> Grouping:
    """Groups rows by the code of their user.

    >>> by_user = group_codes(np.array([2, 0, 2], dtype=np.int32), 3)
    >>> items, columns = by_user.group(np.array([5, 6, 7], dtype=np.int32), {"score": np.array([0.1, 0.2, 0.3])})
    >>> by_user.offsets.tolist(), items.tolist(), columns["score"].tolist()
    ([0, 1, 1, 3], [6, 5, 7], [0.2, 0.1, 0.3])
    """
    return Grouping(_add_up(np.bincount(owners, minlength=n_users)), None if _ascends(owners) else owners)


def group_by_user(columns: Sequence[Ids], what: str = "user ids") -> tuple[Ids, list[Grouping]]:
    """One sorted vocabulary of all columns of users, and the grouping of each column.

    >>> users, (one, other) = group_by_user([Ids.of([7, 7, 9]), Ids.of([9, 8])])
    >>> users.tolist(), one, other.owners.tolist()
    ([7, 8, 9], Grouping(offsets=array([0, 2, 2, 3]), owners=None), [2, 1])
    """
    # Most tables come grouped by user: encoding one id of each group takes a sixth of the time.
    starts = [_find_starts(column) for column in columns]
    heads = [one if at is None else one.take(at) for one, at in zip(columns, starts, strict=True)]
    vocabulary, codes = encode_ids(heads, what)
    n_users = len(vocabulary.values)
    return vocabulary, [
        group_codes(code, n_users) if at is None else _group_runs(np.diff(at, append=len(column.values)), code, n_users)
        for column, at, code in zip(columns, starts, codes, strict=True)
    ]


def _group_runs(lengths: npt.NDArray[np.int64], codes: Codes, n_users: int) -> Grouping:
    """Groups rows that come in runs, each of one user."""
    if not (codes[1:] > codes[:-1]).all():
        return group_codes(np.repeat(codes, lengths), n_users)
    length_of = np.zeros(n_users, dtype=np.int64)
    length_of[codes] = lengths
    return Grouping(_add_up(length_of))


def _find_starts(users: Ids) -> npt.NDArray[np.int64] | None:
    """Where each run of equal ids begins; None if the first rows show that equal ids are not next to each other."""
    values = users.values
    if not isinstance(values, np.ndarray) and pa.types.is_dictionary(values.type):
        values = values.indices.to_numpy(zero_copy_only=False)
    for rows in (values[:PEEK], values):
        if isinstance(rows, np.ndarray):
            differs = rows[1:] != rows[:-1]
        else:
            differs = pc.not_equal(rows[1:], rows[:-1]).to_numpy(zero_copy_only=False)
        starts = np.append(0, np.flatnonzero(differs) + 1)
        if 2 * len(starts) > len(rows):
            return None
    return starts


def _add_up(lengths: npt.NDArray[np.int64]) -> Offsets:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def sort_by_code(codes: Codes) -> Codes:
    """A stable order by non-negative codes.

    >>> sort_by_code(np.array([1, 0, 1, 0], dtype=np.int32)).tolist()
    [1, 3, 0, 2]
    """
    rows = np.arange(len(codes), dtype=np.int32)
    return group_codes(codes, int(codes.max(initial=0)) + 1).group(rows, {})[0]


def deduplicate_pairs(
    by_user: Grouping, items: Codes, values: Column | None = None
) -> tuple[Offsets, Codes, Column | None]:
    """Sorts pairs by user, then by item: the offsets of users, the items, and the values of each pair's first row.

    >>> by_user = group_codes(np.array([1, 0, 1, 1], dtype=np.int32), 2)
    >>> [part.tolist() for part in deduplicate_pairs(by_user, np.array([2, 0, 1, 2], dtype=np.int32), np.arange(4))]
    [[0, 1, 3], [0, 1, 2], [1, 2, 0]]
    """
    from scipy import sparse

    items, columns = by_user.group(items, {} if values is None else {"": values})
    offsets, data = by_user.offsets, columns.get("", np.zeros(len(items), dtype=np.int8))
    shape = (len(offsets) - 1, int(items.max(initial=0)) + 1)
    # To columns and back: two stable counting sorts, which leave the items of each user in order.
    pairs = sparse.csr_array((data, items, offsets), shape=shape).tocsc().tocsr()
    first = np.ones(len(items), dtype=bool)
    first[1:] = pairs.indices[1:] != pairs.indices[:-1]
    first[offsets[offsets < len(items)]] = True
    offsets = np.append(0, np.cumsum(first))[offsets]
    return offsets, pairs.indices[first], None if values is None else pairs.data[first]


def _ascends(codes: Codes) -> bool:
    # The first rows decide for most columns that are not in order.
    return bool((codes[1:PEEK] >= codes[:PEEK][:-1]).all() and (codes[1:] >= codes[:-1]).all())
