"""Plan: the metrics of one evaluation, moving together over the data in a single pass."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from operator import or_
from typing import Any

import torch

from bridgeval.batch.batch import Batch, batches
from bridgeval.batch.memory import keep_freed_memory
from bridgeval.batch.workers import count_workers, map_ordered
from bridgeval.engine.blocks import Blocks
from bridgeval.engine.lookup import Lookup
from bridgeval.engine.metric import Metric
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import State
from bridgeval.engine.summary import Result
from bridgeval.errors import BridgevalError, MetricFailedError
from bridgeval.tables.context import Context
from bridgeval.tables.slates import Slates

States = tuple[State, ...]


@dataclass(frozen=True)
class Plan:
    """Metrics without repeats."""

    metrics: tuple[Metric, ...]

    @staticmethod
    def of(metrics: Iterable[Metric]) -> Plan:
        return Plan(tuple(dict.fromkeys(metrics)))

    @cached_property
    def needs(self) -> Needs:
        return _needs(self.metrics)

    def check(self, offered: Collection[str]) -> None:
        """Raises NeedError, naming the metric, when one needs what was not given."""
        if self.needs.required <= frozenset(offered):
            return
        for metric in self.metrics:
            metric.needs().check(str(metric), offered)

    def start(self) -> States:
        return tuple(metric.start() for metric in self.metrics)

    def update(self, blocks: Blocks) -> States:
        return tuple(_updated(metric, blocks) for metric in self.metrics)

    def merge(self, first: States, second: States) -> States:
        return tuple(one.merge(other) for one, other in zip(first, second, strict=True))

    def compute(self, states: States) -> dict[Metric, Result]:
        return {metric: metric.compute(state) for metric, state in zip(self.metrics, states, strict=True)}


@lru_cache(maxsize=1024)
def _needs(metrics: tuple[Metric, ...]) -> Needs:
    return reduce(or_, (metric.needs() for metric in metrics), Needs())


def _updated(metric: Metric, blocks: Blocks) -> State:
    try:
        return metric.update(blocks)
    except BridgevalError:
        raise
    except Exception as error:
        users = blocks.batch.slates.users.slice(blocks.batch.start, blocks.batch.stop).tolist()
        whom = (
            f"user {users[0]!r}" if len(users) == 1 else f"a batch of {len(users)} users, {users[0]!r} to {users[-1]!r}"
        )
        raise MetricFailedError(f"{metric} failed for {whom}", f"{type(error).__name__}: {error}") from error


@dataclass(frozen=True)
class Execution:
    """How a plan is run.

    Attributes:
        device: where tensors live.
        batch_size: users in a batch; None picks one that fits a budget of memory.
        progress: called with the number of users done since the last call.
        memory: bytes that may be held at once by sources that can choose.
        rows: called with what is being done to rows, how many are done, and how many there are; then what they are, if
            not rows.
    """

    device: torch.device
    batch_size: int | None = None
    progress: Callable[[int], None] | None = None
    memory: int = 2 * 10**9
    rows: Callable[..., None] | None = None


def fold(
    plan: Plan, chunks: Iterable[Slates], context: Context, how: Execution, states: States | None = None
) -> States:
    """Runs a plan over Slates: the same on one machine and inside a Spark task.

    Args:
        states: of chunks that were folded before; None at the beginning.
    """
    keep_freed_memory()
    depth = plan.needs.depth if plan.needs.depth is None else max(plan.needs.depth, 1)
    workers = count_workers(how.device)
    for slates in chunks:
        lookup = Lookup(context, slates, how.device)

        def answer(batch: Batch, lookup: Lookup = lookup) -> tuple[States, int]:
            return plan.update(Blocks(batch, lookup, depth, plan.needs)), len(batch)

        # Closed whatever happens here, so that no helper waits for more.
        with closing(map_ordered(answer, batches(slates, how.device, how.batch_size, workers), workers)) as answers:
            for partial, users in answers:
                states = partial if states is None else plan.merge(states, partial)
                if how.progress is not None:
                    how.progress(users)
    return plan.start() if states is None else states


def merge_all(plan: Plan, parts: Sequence[Any]) -> States:
    """Merges the states of several partitions, in the order given."""
    return reduce(plan.merge, parts, plan.start())
