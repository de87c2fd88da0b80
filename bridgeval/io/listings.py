"""Lists of items without column names: a Series, arrays of items and scores, a sparse matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from bridgeval.errors import InputError

# A "relevance" is a score in recommendations and a gain in the relevance.
NAMES = ("user_id", "item_id", "relevance")


def is_series(value: Any) -> bool:
    """Whether it is a pandas Series of lists by user, or of numbers by (user, item)."""
    if type(value).__name__ != "Series" or not hasattr(type(value), "iloc"):
        return False
    return value.index.nlevels == 2 or bool(len(value) and isinstance(value.iloc[0], list | tuple | np.ndarray))


def name_series(series: Any) -> Any:
    """A frame of pandas with the index and the values of a Series; levels of the index keep their names."""
    levels = [name or known for name, known in zip(series.index.names, NAMES, strict=False)]
    return series.rename(NAMES[len(levels)]).rename_axis(levels).to_frame()


def is_arrays(value: Any) -> bool:
    """Whether it is (items, scores), both `[U, K]`, or (users, items, scores) with users `[U]`."""
    if not isinstance(value, tuple) or len(value) not in (2, 3):
        return False
    return [getattr(one, "ndim", 0) for one in value] in ([2, 2], [1, 2, 2])


def tabulate_arrays(value: Any) -> pa.Table:
    """A row for each place of each user; items below 0 fill places that are empty.

    Items are integers and scores are not, so (scores, items) is told apart: `torch.topk` and RecBole give that order.

    >>> items, scores = np.array([[7, 3], [5, -1]]), np.array([[0.9, 0.4], [0.8, 0.0]])
    >>> tabulate_arrays((items, scores)).to_pydict()
    {'user_id': [0, 0, 1], 'item_id': [7, 3, 5], 'relevance': [0.9, 0.4, 0.8]}
    >>> tabulate_arrays((scores, items)) == tabulate_arrays((items, scores))
    True
    """
    arrays = [np.asarray(one.detach().cpu() if hasattr(one, "detach") else one) for one in value]
    items, scores = arrays[-2:]
    if items.dtype.kind == "f" and scores.dtype.kind in "iu":
        items, scores = scores, items
    users = arrays[0] if len(arrays) == 3 else np.arange(len(items))
    if items.shape != scores.shape or len(users) != len(items):
        raise InputError(
            "the arrays of items and of scores must have equal shapes, with a row for each user",
            "shapes " + " and ".join(str(array.shape) for array in arrays),
            "give (items, scores), both [users, places], or (users, items, scores)",
        )
    filled = items >= 0 if items.dtype.kind in "if" else np.ones(items.shape, dtype=bool)
    columns = (np.repeat(users, filled.sum(axis=1)), items[filled], scores[filled])
    return pa.table(dict(zip(NAMES, columns, strict=True)))


def is_sparse(value: object) -> bool:
    """Whether it is a sparse matrix of scipy, with a row for each user and a column for each item."""
    return hasattr(type(value), "tocoo") and hasattr(type(value), "tocsr")


def tabulate_matrix(value: Any) -> pa.Table:
    """A row for each stored cell; the ids are the numbers of its row and column."""
    cells = value.tocsr().tocoo()  # the first of them adds up cells that are stored twice
    columns = (cells.row.astype(np.int64), cells.col.astype(np.int64), cells.data)
    return pa.table(dict(zip(NAMES, columns, strict=True)))
