"""Slices of items: means, differences, and what each slice adds to the difference of all.

n(u, s) of the n(u) relevant items of user u are in slice s; d(u, s) is the difference of two systems for that user
against these items alone, d(u) against all of them. Slice s adds

    c(s) = sum over u of n(u, s) / n(u) * d(u, s) / U

and what is left, sum of d(u) / U minus the sum of all c(s), is a row of its own: it comes of the items together, and is
0 for metrics that are means over a user's relevant items, as recall is. So the rows add up to the whole difference,
exactly, whatever the metric.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from bridgeval.engine.metric import Metric
from bridgeval.engine.state import Floats
from bridgeval.stats import tests as st
from bridgeval.stats.comparison import Settings
from bridgeval.stats.item_slice_metric import ItemSlice
from bridgeval.stats.paired import estimates, higher_is_better
from bridgeval.stats.paired_values import Pairs, Panel
from bridgeval.stats.slice_results import TOGETHER, SliceChange, SliceMean, Slices

# System -> its slices.
ItemSlices = Mapping[str, Sequence[ItemSlice]]


def item_slices_of(
    panel: Panel, systems: ItemSlices, pairs: Pairs, known: Mapping[str, Metric], how: Settings
) -> Slices:
    """Means, and differences of pairs of systems, in every slice of items that all systems have.

    Args:
        panel: the values against all relevant items.
        systems: the values against those of each slice.
        pairs: (baseline, system).
        known: name -> metric.
        how: intervals and seed.
    """
    means: list[SliceMean] = []
    changes: list[SliceChange] = []
    for kind in dict.fromkeys(one.kind for own in systems.values() for one in own):
        slices = _shared(systems, kind)
        relevant = {label: _relevant(panel, own) for label, own in slices.items()}
        wanted = sum(relevant.values(), np.zeros(len(panel.users)))
        added: dict[tuple[str, str, str], float] = {}
        for label, own in slices.items():
            weights = relevant[label] / np.maximum(wanted, 1)
            for row in _rows(panel, own, weights, pairs, known, how):
                if isinstance(row, SliceMean):
                    means.append(row)
                    continue
                changes.append(row)
                key = (row.metric, row.system, row.baseline)
                added[key] = added.get(key, 0.0) + row.contribution
        changes += _together(panel, kind, added, pairs)
    return Slices(tuple(means), tuple(changes))


def _shared(systems: ItemSlices, kind: str) -> dict[str, dict[str, ItemSlice]]:
    """Label -> system -> slice, of labels that all systems have."""
    found: dict[str, dict[str, ItemSlice]] = {}
    for system, own in systems.items():
        for one in own:
            if one.kind == kind:
                found.setdefault(one.label, {})[system] = one
    return {label: own for label, own in found.items() if len(own) == len(systems)}


def _relevant(panel: Panel, own: Mapping[str, ItemSlice]) -> Floats:
    """`[U]`: how many relevant items of the slice each user of the panel has; the truth is the same for all systems."""
    table = next(iter(own.values())).relevant
    counts = np.zeros(len(panel.users))
    if table.users is not None:
        where = table.users.positions_in(panel.users)
        counts[where[where >= 0]] = table.values[where >= 0]
    return counts


def _rows(
    panel: Panel,
    own: Mapping[str, ItemSlice],
    weights: Floats,
    pairs: Pairs,
    known: Mapping[str, Metric],
    how: Settings,
) -> Iterator[SliceMean | SliceChange]:
    """The rows of one slice; `weights` `[U]` are the shares of each user's relevant items that are in it."""
    kind, label = next((one.kind, one.label) for one in own.values())
    part = Panel.of({system: {m: own[system].values[m] for m in panel.metrics} for system in panel.systems})
    where = part.users.positions_in(panel.users)
    counted, totals = panel.complete, panel.complete.sum(axis=0)
    for columns, users in part.groups():
        count = int(users.sum())
        if not count:
            continue
        found = estimates(part.selected(users, columns), part.places(pairs), how)
        here = where[users]
        for at, column in enumerate(columns.tolist()):
            name, total = panel.metrics[column], max(int(totals[column]), 1)
            share = np.where((here >= 0) & counted[here, column], weights[here], 0.0)
            better = higher_is_better(name, known)
            for place, system in enumerate(panel.systems):
                value, low, high = found.means[:, place, at].tolist()
                yield SliceMean(kind, label, name, system, count, count / total, value, low, high, better, "item")
            for place, (old, new) in enumerate(pairs):
                value, low, high = found.moved[:, place, at].tolist()
                adds, of_all = float(share @ found.change[place, :, at]) / total, float(share.sum()) / total
                yield SliceChange(kind, label, name, new, old, count, of_all, value, low, high, adds, "item")


def _together(
    panel: Panel, kind: str, added: Mapping[tuple[str, str, str], float], pairs: Pairs
) -> Iterator[SliceChange]:
    """What belongs to no single slice: a row for each metric and pair."""
    for columns, users in panel.groups():
        values = panel.selected(users, columns)
        for (old, new), (first, second) in zip(pairs, panel.places(pairs), strict=True):
            for at, column in enumerate(columns.tolist()):
                name = panel.metrics[column]
                if (name, new, old) in added:
                    whole = float(st.differences(values[second, :, at], values[first, :, at]).mean())
                    rest = whole - added[name, new, old]
                    nan, count = math.nan, int(users.sum())
                    yield SliceChange(kind, TOGETHER, name, new, old, count, 0.0, nan, nan, nan, rest, "item")
