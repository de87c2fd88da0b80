"""Item slices: metrics against the relevant items of one label at a time, in the same pass as everything else.

For each label the relevance is filtered to the items that have it; the lists stay as they are, and are ranked once for
all labels. The users of a slice are those with at least one relevant item in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from torch import Tensor

from bridgeval.batch.batch import ListBatch
from bridgeval.engine.blocks import Blocks, RelevantCount
from bridgeval.engine.metric import Metric, UserMetric
from bridgeval.engine.needs import Needs
from bridgeval.engine.plan import Plan, States
from bridgeval.engine.state import Joint, UserTable
from bridgeval.engine.summary import Result
from bridgeval.tables.slice_labels import Labels


@dataclass(frozen=True)
class RelevantItems(UserMetric):
    """The number of relevant items of each user."""

    name = "RelevantItems"

    def needs(self) -> Needs:
        return replace(super().needs(), depth=0)

    def values(self, blocks: Blocks) -> Tensor:
        return blocks[RelevantCount(self.relevance)].double()


COUNT = RelevantItems(over="per_user")


@dataclass(frozen=True)
class ItemSlice:
    """The per-user values of one slice of items.

    Attributes:
        relevant: user -> how many relevant items of the slice; these are the users of the slice.
        values: metric -> per-user values against these items.
    """

    kind: str
    label: str
    relevant: UserTable
    values: Mapping[str, UserTable]


@dataclass(frozen=True)
class ByItems(Metric):
    """The per-user values of metrics in every slice of items.

    Attributes:
        metrics: that collect per-user values.
        content: a hash of the labels, by which two of these are equal.
        labels: of items.
    """

    name = "ByItems"
    metrics: tuple[Metric, ...]
    content: str
    labels: tuple[Labels, ...] = field(compare=False, repr=False)

    @staticmethod
    def of(metrics: Sequence[Metric], labels: Sequence[Labels]) -> ByItems:
        return ByItems(tuple(metrics), _hash_labels(labels), tuple(labels))

    @property
    def plan(self) -> Plan:
        return Plan.of([COUNT, *self.metrics])

    @property
    def keys(self) -> list[tuple[Labels, int, str]]:
        """Kind, code and label of every slice."""
        return [(kind, code, label) for kind in self.labels for code, label in kind.codes]

    def needs(self) -> Needs:
        return self.plan.needs

    def start(self) -> Joint:
        return Joint(tuple(Joint(self.plan.start()) for _ in self.keys))

    def update(self, blocks: Blocks) -> Joint:
        plan = self.plan
        return Joint(tuple(Joint(self._update_slice(plan, blocks, kind, code)) for kind, code, _ in self.keys))

    def _update_slice(self, plan: Plan, blocks: Blocks, kind: Labels, code: int) -> States:
        batch, lookup = blocks.batch, blocks.lookup
        codes = lookup.once((kind.kind, "codes"), lambda: kind.table.aligned(batch.slates.items))
        everything = batch.slates.relevant
        relevant = lookup.once((kind.kind, code), lambda: everything.filter(codes[everything.items] == code))
        if relevant.offsets[batch.start] == relevant.offsets[batch.stop]:
            return plan.start()
        mine = ListBatch(relevant.part(batch.start, batch.stop), len(batch.slates.items), batch.cargo)
        part = replace(batch, slates=replace(batch.slates, relevant=relevant), relevant=mine)
        return plan.update(Blocks(part, lookup, blocks.depth, blocks.needs))

    def compute(self, state: Any) -> Result:
        return Result(None)

    def slices(self, state: Any, names: Mapping[str, Metric]) -> tuple[ItemSlice, ...]:
        """The slices that have a user; `names` are those that the metrics go by."""
        found = []
        for (kind, _, label), states in zip(self.keys, state.parts, strict=True):
            tables = {metric: result.per_user for metric, result in self.plan.compute(states.parts).items()}
            relevant = tables[COUNT]
            if relevant is not None and len(relevant):
                values = {name: _select_users(tables[metric], relevant) for name, metric in names.items()}
                found.append(ItemSlice(kind.kind, label, relevant, values))
        return tuple(found)


def _select_users(table: UserTable | None, some: UserTable) -> UserTable:
    if table is None or table.users is None or some.users is None:
        return UserTable(None, np.zeros(0))
    here = np.flatnonzero(table.users.positions_in(some.users) >= 0)
    return UserTable(table.users.take(here), table.values[here])


def _hash_labels(labels: Sequence[Labels]) -> str:
    whole = hashlib.sha256()
    for one in labels:
        whole.update(repr((one.kind, one.table.labels, one.table.ids.tolist())).encode())
        whole.update(np.ascontiguousarray(one.table.values).tobytes())
    return whole.hexdigest()
