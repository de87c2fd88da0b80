"""Roster: the users of an evaluation and the context that its metrics read, so that merging can compare them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bridgeval.engine.blocks import Blocks
from bridgeval.engine.metric import Metric
from bridgeval.engine.needs import Needs
from bridgeval.engine.state_codec import fingerprint
from bridgeval.engine.summary import Result
from bridgeval.tables.context import Context
from bridgeval.tables.encoding import encode_ids
from bridgeval.tables.ids import Ids


@dataclass(frozen=True)
class Attendance:
    """The state of the Roster.

    Attributes:
        users: the ids, a column for each batch; none if they were not kept.
        count: the number of users.
        context: need -> a hash of the data that answers it.
    """

    users: tuple[Ids, ...] = ()
    count: int = 0
    context: Mapping[str, str] = field(default_factory=dict)

    def merge(self, other: Attendance) -> Attendance:
        return Attendance(self.users + other.users, self.count + other.count, {**self.context, **other.context})

    @property
    def known(self) -> bool:
        """Whether the ids of all users are there."""
        return sum(map(len, self.users)) == self.count

    def to_plain(self) -> tuple[Any, ...]:
        """The ids in one sorted column, in which equal ones are neighbors; it compresses to a byte or two for each."""
        if not self.users:
            return None, self.count, dict(self.context)
        vocabulary, codes = encode_ids(self.users, "user ids")
        return vocabulary.take(np.sort(np.concatenate(codes))), self.count, dict(self.context)

    @staticmethod
    def from_plain(plain: tuple[Any, ...]) -> Attendance:
        users, count, context = plain
        return Attendance(() if users is None else (users,), int(count), dict(context))


@dataclass(frozen=True)
class Roster(Metric):
    """Every user that the lists or the relevance name, and hashes of the context.

    Attributes:
        reads: the needs of the other metrics that a context answers.
        with_users: whether ids are kept. In Spark they would have to come to the driver.
    """

    name = "Roster"
    reads: frozenset[str] = frozenset()
    with_users: bool = True

    def needs(self) -> Needs:
        return Needs()

    def start(self) -> Attendance:
        return Attendance()

    def update(self, blocks: Blocks) -> Attendance:
        batch, lookup = blocks.batch, blocks.lookup
        users = (batch.slates.users.slice(batch.start, batch.stop),) if self.with_users else ()
        context = lookup.once("roster", lambda: hash_context(lookup.context, self.reads))
        return Attendance(users, len(blocks), context)

    def compute(self, state: Any) -> Result:
        return Result(None)


def hash_context(context: Context, reads: frozenset[str]) -> dict[str, str]:
    """Need -> a hash of what answers it. Tables by user may hold other users in each evaluation, but not other labels.

    >>> list(hash_context(Context(catalogue=Ids.of([1, 2])), frozenset({"catalogue", "score"})))
    ['catalogue']
    """
    found: dict[str, Any] = {}
    for need in sorted(reads):
        side, _, name = need.partition(" ")
        if need == "catalogue":
            found[need] = context.catalogue
        elif side == "item" and name in context.items:
            table = context.items[name]
            found[need] = [table.ids, table.values.astype(np.float64), table.labels]
            if name == "popularity":
                # It is a share of the users: of those of the history, or of all there are if a metric says so.
                found[need] += [context.history_users, context.history_pairs]
                found[need] += [context.given_users] if "all users" in reads else []
        elif side == "user" and name in context.users:
            found[need] = context.users[name].labels
    return {need: fingerprint(value) for need, value in found.items()}
