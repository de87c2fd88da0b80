"""Paired changes: how far a system moved from one evaluation to the next, on the users of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bridgeval.engine.state import UserTable
from bridgeval.stats import tests as st
from bridgeval.stats.paired_values import Panel


@dataclass(frozen=True)
class PairedChange:
    """The change of one metric.

    Attributes:
        change: the mean difference over the users of both.
        p: of the paired t test; NaN if every user moved by the same amount.
        users: with a value in both.
    """

    change: float
    p: float
    users: int


def measure_changes(before: Mapping[str, UserTable], now: Mapping[str, UserTable]) -> dict[str, PairedChange]:
    """Metric -> its change, of the metrics that both have, of at least two users and without infinite values.

    >>> import numpy as np
    >>> from bridgeval.tables.ids import Ids
    >>> users = Ids(np.arange(4))
    >>> old, new = UserTable(users, np.array([0, 0.5, 1, 1])), UserTable(users, np.array([0.5, 0.5, 1, 1]))
    >>> found = measure_changes({"MRR": old}, {"MRR": new})["MRR"]
    >>> found.change, round(found.p, 4), found.users
    (0.125, 0.391, 4)
    """
    endless = {name for own in (before, now) for name, table in own.items() if np.isinf(table.values).any()}
    before, now = ({name: own[name] for name in own if name not in endless} for own in (before, now))
    panel = Panel.of({"before": before, "now": now})
    found: dict[str, PairedChange] = {}
    for columns, users in panel.groups():
        if users.sum() < 2:
            continue
        old, new = panel.select(users, columns)
        change = st.subtract(new, old)
        found |= {
            panel.metrics[column]: PairedChange(float(mean), float(p), int(users.sum()))
            for column, mean, p in zip(columns.tolist(), change.mean(axis=0), st.t_test(change)[1], strict=True)
        }
    return found
