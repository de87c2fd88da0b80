"""Slices of users and of items: means, differences, and the contribution of each slice to the whole difference.

A slice of users contributes its share of the users times its own difference.

For slices of items, n(u, s) of the n(u) relevant items of user u are in slice s; d(u, s) is the difference of two
systems for that user against these items alone, d(u) against all of them. Slice s contributes

    c(s) = sum over u of n(u, s) / n(u) * d(u, s) / U

The rest, sum of d(u) / U minus the sum of all c(s), is a row of its own: it comes from the items together, and is 0 for
metrics that are means over a user's relevant items, such as recall. So the rows always add up to the whole difference,
for every metric.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bridgeval.engine.metric import Metric
from bridgeval.engine.state import Floats
from bridgeval.errors import InputError
from bridgeval.stats import tests as st
from bridgeval.stats.differences import Settings, estimate, higher_is_better
from bridgeval.stats.item_slice_metric import ItemSlice
from bridgeval.stats.paired_values import Pairs, Panel
from bridgeval.stats.slice_results import TOGETHER, SliceChange, SliceMean, Slices
from bridgeval.tables.ids import Ids
from bridgeval.tables.slice_labels import Labels, Side

# Slices of at least this many users get intervals from moments: resamples of all slices of 100,000 users take a minute.
MANY_USERS = 1_000

# System -> its slices of items.
ItemSlices = Mapping[str, Sequence[ItemSlice]]


def slice_values(
    labels: Sequence[Labels],
    panel: Panel,
    item_slices: ItemSlices,
    pairs: Pairs,
    known: Mapping[str, Metric],
    how: Settings,
) -> Slices:
    """Means, and differences of pairs of systems, in every slice of users and of items.

    Args:
        labels: the kinds of slices.
        panel: the values against all relevant items.
        item_slices: the values against the items of each slice, which only an evaluation with by= can give.
        pairs: (baseline, system).
        known: name -> metric.
        how: intervals and seed.
    """
    check_item_slices(labels, panel, item_slices)
    slicing = _Slicing(panel, pairs, known, how)
    rows: list[SliceMean | SliceChange] = []
    for kind, label, users in find_members(labels, panel.users):
        rows += slicing.rows(panel.take_users(users), np.ones(len(panel.users)), kind, label, "user")
    for kind in [one.kind for one in labels if one.side == "item"]:
        rows += slicing.item_rows(kind, find_shared_slices(panel, item_slices, kind))
    means = tuple(row for row in rows if isinstance(row, SliceMean))
    changes = tuple(row for row in rows if isinstance(row, SliceChange))
    return Slices(means, changes, tuple(name for name in known if name not in panel.metrics))


def find_members(labels: Sequence[Labels], users: Ids) -> Iterator[tuple[str, str, npt.NDArray[np.int64]]]:
    """(kind, slice, positions of its users) of slices of users, in the order of the labels; users without come last."""
    for kind in labels:
        if kind.side == "user":
            codes = kind.table.aligned(users)
            for code, label in kind.codes:
                where = np.flatnonzero(codes == code)
                if len(where):
                    yield kind.kind, label, where


def check_item_slices(labels: Sequence[Labels], panel: Panel, systems: ItemSlices) -> None:
    """Raises if a kind of slices of items is asked for, and a system has none of it."""
    for kind in [one.kind for one in labels if one.side == "item"]:
        for system in panel.systems:
            if not any(one.kind == kind for one in systems.get(system, ())):
                who = f"system {system!r}" if system else "the report"
                raise InputError(
                    f"{who} cannot be sliced by items: this needs the lists, and per-user values do not have them",
                    f"no slices by {kind}",
                    "evaluate with {argument}, or give recommendations",
                    argument="by",
                )


def find_shared_slices(panel: Panel, systems: ItemSlices, kind: str) -> dict[str, dict[str, ItemSlice]]:
    """Label -> system -> slice, of labels that all systems have."""
    found: dict[str, dict[str, ItemSlice]] = {}
    for system in panel.systems:
        for one in systems.get(system, ()):
            if one.kind == kind:
                found.setdefault(one.label, {})[system] = one
    return {label: own for label, own in found.items() if len(own) == len(panel.systems)}


@dataclass(frozen=True)
class _Slicing:
    """The arguments that all slices share."""

    panel: Panel
    pairs: Pairs
    known: Mapping[str, Metric]
    how: Settings

    def rows(
        self, part: Panel, weights: Floats, kind: str, label: str, side: Side
    ) -> Iterator[SliceMean | SliceChange]:
        """The rows of one slice.

        Args:
            part: the values of the slice.
            weights: `[U]`: the share of each user that is in the slice; of items, that of the user's relevant ones.
            kind, label, side: of the slice.
        """
        panel = self.panel
        where = part.users.positions_in(panel.users)
        counted, totals = panel.complete, panel.complete.sum(axis=0)
        for columns, users in part.groups():
            count = int(users.sum())
            if not count:
                continue
            found = estimate(part.select(users, columns), part.places(self.pairs), self.how, MANY_USERS)
            here = where[users]
            for at, column in enumerate(columns.tolist()):
                name, total = panel.metrics[column], max(int(totals[column]), 1)
                share = np.where((here >= 0) & counted[here, column], weights[here], 0.0)
                better = higher_is_better(name, self.known)
                for place, system in enumerate(panel.systems):
                    value, low, high = found.means[:, place, at].tolist()
                    yield SliceMean(kind, label, name, system, count, count / total, value, low, high, better, side)
                for place, (old, new) in enumerate(self.pairs):
                    value, low, high = found.moved[:, place, at].tolist()
                    adds, of_all = float(share @ found.change[place, :, at]) / total, float(share.sum()) / total
                    yield SliceChange(kind, label, name, new, old, count, of_all, value, low, high, adds, side)

    def item_rows(self, kind: str, slices: Mapping[str, Mapping[str, ItemSlice]]) -> Iterator[SliceMean | SliceChange]:
        """The rows of all slices of items of one kind (label -> system -> slice)."""
        panel = self.panel
        relevant = {label: count_relevant(panel.users, own) for label, own in slices.items()}
        wanted = sum(relevant.values(), np.zeros(len(panel.users)))
        added: dict[tuple[str, str, str], float] = {}
        for label, own in slices.items():
            part = Panel.of({system: {m: own[system].values[m] for m in panel.metrics} for system in panel.systems})
            for row in self.rows(part, relevant[label] / np.maximum(wanted, 1), kind, label, "item"):
                if isinstance(row, SliceChange):
                    key = (row.metric, row.system, row.baseline)
                    added[key] = added.get(key, 0.0) + row.contribution
                yield row
        yield from self._items_together(kind, added)

    def _items_together(self, kind: str, added: Mapping[tuple[str, str, str], float]) -> Iterator[SliceChange]:
        """The part of the difference that belongs to no single slice: a row for each metric and pair."""
        panel = self.panel
        for columns, users in panel.groups():
            values = panel.select(users, columns)
            for (old, new), (first, second) in zip(self.pairs, panel.places(self.pairs), strict=True):
                for at, column in enumerate(columns.tolist()):
                    name = panel.metrics[column]
                    if (name, new, old) in added:
                        whole = float(st.subtract(values[second, :, at], values[first, :, at]).mean())
                        rest = whole - added[name, new, old]
                        nan, count = math.nan, int(users.sum())
                        yield SliceChange(kind, TOGETHER, name, new, old, count, 0.0, nan, nan, nan, rest, "item")


def count_relevant(users: Ids, own: Mapping[str, ItemSlice]) -> Floats:
    """`[U]`: how many relevant items of the slice each user has; the truth is the same for all systems."""
    table = next(iter(own.values())).relevant
    counts = np.zeros(len(users))
    if table.users is not None:
        where = table.users.positions_in(users)
        counts[where[where >= 0]] = table.values[where >= 0]
    return counts
