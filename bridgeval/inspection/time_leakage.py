"""Times: is the truth later than what the model was trained on?"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bridgeval.engine.census import LARGE_SHARE, Alarm
from bridgeval.errors import LeakageWarning
from bridgeval.io.columns import TIME, Chosen, Role, find_columns, find_named
from bridgeval.io.frames import column_names, is_frame, open_frame
from bridgeval.tables.encoding import encode_ids
from bridgeval.tables.ids import Ids


def find_early_truth(relevance: Any, history: Any, columns: Chosen | None = None) -> Alarm | None:
    """Compares the times of two frames; None if one has none, or if the truth is later but for a few rows.

    A row of the truth is early if the same user has a later row in the history. A split by time, of all users or of
    each, leaves none.

    >>> truth = pa.table({"user_id": [1, 2], "item_id": [7, 7], "timestamp": [10, 30]})
    >>> train = pa.table({"user_id": [1, 2], "item_id": [8, 8], "timestamp": [20, 20]})
    >>> find_early_truth(truth, train).what
    '1 of 2 relevant rows (50%), of 1 of 2 users, are earlier than the last training row of their user'
    """
    later, earlier = _read_times(relevance, "relevance", columns), _read_times(history, "history", columns)
    if later is None or earlier is None:
        return None
    everyone, (owners, trained) = encode_ids([later[0], earlier[0]], "user ids")
    last = np.full(len(everyone), -np.inf)
    np.fmax.at(last, trained, earlier[1])
    early = later[1] < last[owners]
    count, rows = int(early.sum()), len(early)
    if count <= LARGE_SHARE * rows:
        return None
    users = f"{len(np.unique(owners[early])):,} of {len(np.unique(owners)):,} users"
    return Alarm(
        "early truth",
        LeakageWarning,
        f"{count:,} of {rows:,} relevant rows ({count / rows:.0%}), of {users}, are earlier than the last training row "
        "of their user",
        "the model knows what came later; split by time, or leave the times out if the split is meant to be random",
        count,
    )


def _read_times(value: Any, role: Role, columns: Chosen | None) -> tuple[Ids, npt.NDArray[np.float64]] | None:
    """The user and the time of each row of a frame; None if it has no column of times."""
    names = column_names(value) if is_frame(value) else None
    times = find_named(names or (), TIME)
    if names is None or len(times) != 1:
        return None
    user = find_columns(role, names, columns)["user"]
    table = open_frame(value).read([user, times[0]])
    kind = table[times[0]].type
    if pa.types.is_temporal(kind):
        column = table[times[0]].cast(pa.int32() if pa.types.is_date32(kind) else pa.int64())
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        column = table[times[0]]
    else:
        return None
    return Ids.of(table[user], f"user ids in the {role}"), column.to_numpy().astype(np.float64)
