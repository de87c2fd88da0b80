"""All pairs: which of several systems differ significantly from which, in every metric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from bridgeval.stats import tests as st
from bridgeval.stats.differences import Difference
from bridgeval.stats.paired_values import Panel

# (metric, the two systems) -> the adjusted p; NaN where there is none.
PairTests = dict[tuple[str, frozenset[str]], float]


def compare_all_pairs(panel: Panel) -> PairTests:
    """The paired t test of every two systems in every metric, Holm-adjusted over all of them."""
    found: PairTests = {}
    pairs = list(combinations(panel.systems, 2))
    for columns, users in panel.groups():
        values = panel.select(users, columns)
        for (old, new), (first, second) in zip(pairs, panel.places(pairs), strict=True):
            change = st.subtract(values[second], values[first])
            p = st.t_test(change)[1] if len(change) > 1 else np.full(len(columns), math.nan)
            found |= {
                (panel.metrics[column], frozenset({old, new})): float(one)
                for column, one in zip(columns.tolist(), p, strict=True)
            }
    adjusted = st.holm(np.array(list(found.values()), dtype=np.float64))
    return dict(zip(found, adjusted.tolist(), strict=True))


def collect_pairs(names: Sequence[str], differences: Sequence[Difference]) -> PairTests | None:
    """The tests of a comparison, if it has those of all pairs of systems; else None."""
    found = {(d.metric, frozenset({d.system, d.baseline})): d.adjusted for d in differences}
    pairs = list(map(frozenset, combinations(names, 2)))
    complete = all((d.metric, pair) in found for d in differences for pair in pairs)
    return found if complete and differences else None
