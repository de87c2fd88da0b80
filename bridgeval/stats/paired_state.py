"""Paired users as a state: all that a comparison tells, from sums over users that merge.

So systems can be compared where their users are, on executors or in parts, and no user's value travels. Everything is
as in `bridgeval.stats.differences`, but for three things. Resamples are Poisson: a hash of the id deals users to
groups, and each group is drawn (`bridgeval.stats.hashed_draws`). The permutation test has a random sign for each group,
and never tries all patterns. Wilcoxon's test ranks magnitudes that are rounded to 13 binary digits
(`bridgeval.stats.signed_ranks`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from bridgeval.engine.metric import Metric
from bridgeval.engine.plan import Plan, States
from bridgeval.engine.state import UserTable
from bridgeval.stats import tests as st
from bridgeval.stats.column_spread import ColumnSpread
from bridgeval.stats.differences import Settings
from bridgeval.stats.hashed_draws import group_sums
from bridgeval.stats.item_slice_metric import ByItems
from bridgeval.stats.paired_values import Counts, Pairs, Panel, flatten_systems
from bridgeval.stats.signed_ranks import SignedCounts
from bridgeval.stats.slice_analysis import ItemSlices, count_relevant, find_members, find_shared_slices
from bridgeval.tables.slice_labels import Labels

Floats = npt.NDArray[np.float64]
# (kind, label) of a slice.
SliceKey = tuple[str, str]


@dataclass(frozen=True)
class GroupedSums:
    """Means of k systems and differences of p pairs in m metrics, and the sums of groups of users, to draw from.

    Attributes:
        values: `[k * m]`, of users with a value from every system.
        change: `[p * m]`.
        groups: `[G, (k + 1) * m]`: of each group the sums of the values, then the number of users, of each metric.
    """

    values: ColumnSpread
    change: ColumnSpread
    groups: Floats

    def merge(self, other: GroupedSums) -> GroupedSums:
        return GroupedSums(self.values.merge(other.values), self.change.merge(other.change), self.groups + other.groups)


@dataclass(frozen=True)
class SliceSums:
    """The sums of one slice.

    Attributes:
        adds: `[p, m]`: sum of the differences, each times the share of the user that is in the slice.
        share: `[m]`: sum of these shares.
    """

    sums: GroupedSums
    adds: Floats
    share: Floats

    def merge(self, other: SliceSums) -> SliceSums:
        return SliceSums(self.sums.merge(other.sums), self.adds + other.adds, self.share + other.share)


@dataclass(frozen=True)
class PairedState:
    """The sums of a comparison of k systems in p pairs and m metrics.

    Attributes:
        sums: over the users with a value from every system.
        own: `[k * m]`: every system's values, whoever else has one.
        signs: `[2, p, m]`: users with a higher, and with a lower value.
        magnitudes: p * m: of the differences, for Wilcoxon's test.
        changes: `[G, p * m]`: sums of the differences of each group of users, for the permutation test.
        ranks: `[k, m]`: sums of the systems' ranks, 1 for the lowest value, for Friedman's test.
        tied: `[m]`: sum of t (t^2 - 1) over t systems that a user has the same value of.
        absent: `[2, k, m]`, see `Panel.absent`.
        slices: (kind, label) -> the sums of a slice.
    """

    sums: GroupedSums
    own: ColumnSpread
    signs: Counts
    magnitudes: tuple[SignedCounts, ...]
    changes: Floats
    ranks: Floats
    tied: Floats
    absent: Counts
    slices: Mapping[SliceKey, SliceSums] = field(default_factory=dict)

    def merge(self, other: PairedState) -> PairedState:
        slices = dict(self.slices)
        for key, sums in other.slices.items():
            slices[key] = slices[key].merge(sums) if key in slices else sums
        return PairedState(
            self.sums.merge(other.sums),
            self.own.merge(other.own),
            self.signs + other.signs,
            tuple(one.merge(two) for one, two in zip(self.magnitudes, other.magnitudes, strict=True)),
            self.changes + other.changes,
            self.ranks + other.ranks,
            self.tied + other.tied,
            self.absent + other.absent,
            slices,
        )


@dataclass(frozen=True)
class PairedUsers:
    """The question asked of paired users: a `bridgeval.engine.source.Pairing`.

    Attributes:
        systems: their names.
        metrics: name -> the metric that has every user's value; None if the values are at hand.
        pairs: (baseline, system).
        how: the settings.
        labels: the kinds of slices.
    """

    systems: tuple[str, ...]
    metrics: Mapping[str, Metric | None]
    pairs: Pairs
    how: Settings
    labels: tuple[Labels, ...] = ()

    def start(self) -> PairedState:
        nobody = {name: UserTable(None, np.zeros(0)) for name in self.metrics}
        return self.add_up(Panel.of(dict.fromkeys(self.systems, nobody)), {})

    def update(self, plan: Plan, states: Mapping[str, States]) -> PairedState:
        """The sums of a part of the users, from the states of every system for them."""
        tables, items = {}, {}
        for system, own in states.items():
            by_metric: dict[Metric, Any] = dict(zip(plan.metrics, own, strict=True))
            names = {name: metric for name, metric in self.metrics.items() if metric is not None}
            tables[system] = {name: by_metric[metric].table() for name, metric in names.items()}
            slicing = [metric for metric in plan.metrics if isinstance(metric, ByItems)]
            items[system] = [one for metric in slicing for one in metric.slices(by_metric[metric], names)]
        return self.add_up(Panel.of(tables), items)

    def add_up(self, panel: Panel, items: ItemSlices) -> PairedState:
        """The sums of a panel of users, and of their slices of items."""
        complete = panel.complete
        change = self._subtract(panel)
        flat = flatten_systems(change)
        ranks, tied = _rank(panel.values, complete)
        present = flatten_systems(~np.isnan(panel.values))
        return PairedState(
            self._add_groups(panel, change),
            ColumnSpread.of(flatten_systems(panel.values), present),
            np.stack([(change > 0).sum(axis=1), (change < 0).sum(axis=1)]),
            tuple(SignedCounts.of(column) for column in flat.T),
            group_sums(flat, panel.users, self.how.seed),
            ranks,
            tied,
            np.stack(panel.absent),
            dict(self._slice(panel, items)),
        )

    def _subtract(self, panel: Panel) -> Floats:
        """`[p, n, m]`: differences; 0 for users that do not have both values and all others."""
        values = np.where(panel.complete, panel.values, 0.0)
        pairs = [st.subtract(values[new], values[old]) for old, new in panel.places(self.pairs)]
        return np.stack(pairs) if pairs else np.zeros((0, *panel.values.shape[1:]))

    def _add_groups(self, panel: Panel, change: Floats) -> GroupedSums:
        complete = panel.complete
        values = flatten_systems(np.where(complete, panel.values, 0.0))
        return GroupedSums(
            ColumnSpread.of(values, np.tile(complete, len(panel.systems))),
            ColumnSpread.of(flatten_systems(change), np.tile(complete, len(self.pairs))),
            group_sums(np.hstack([values, complete]), panel.users, self.how.seed),
        )

    def _slice(self, panel: Panel, items: ItemSlices) -> Iterator[tuple[SliceKey, SliceSums]]:
        for kind, label, users in find_members(self.labels, panel.users):
            yield (kind, label), self._slice_sums(panel, panel.take_users(users), np.ones(len(panel.users)))
        for kind in [one.kind for one in self.labels if one.side == "item"]:
            slices = find_shared_slices(panel, items, kind)
            relevant = {label: count_relevant(panel.users, own) for label, own in slices.items()}
            wanted = np.maximum(sum(relevant.values(), np.zeros(len(panel.users))), 1)
            for label, own in slices.items():
                part = Panel.of({system: {m: own[system].values[m] for m in panel.metrics} for system in panel.systems})
                yield (kind, label), self._slice_sums(panel, part, relevant[label] / wanted)

    def _slice_sums(self, panel: Panel, part: Panel, weights: Floats) -> SliceSums:
        """The sums of a slice; `weights` `[U]` are the shares of the panel's users that are in it."""
        here, change = part.users.positions_in(panel.users), self._subtract(part)
        counted = part.complete & panel.complete[here] & (here >= 0)[:, None]
        share = np.where(counted, weights[here][:, None], 0.0)
        return SliceSums(self._add_groups(part, change), (share * change).sum(axis=1), share.sum(axis=0))


def _rank(values: Floats, complete: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """`[k, m]`, `[m]`: sums of ranks of k > 2 systems, and of t (t^2 - 1) over values that t systems share."""
    systems, _, metrics = values.shape
    if systems < 3:
        return np.zeros((systems, metrics)), np.zeros(metrics)
    lower = (values[:, None] > values).sum(axis=1)
    same = (values[:, None] == values).sum(axis=1)
    ranks = np.where(complete, lower + (same + 1) / 2, 0.0)
    return ranks.sum(axis=1), np.where(complete, same**2 - 1.0, 0.0).sum(axis=(0, 1))
