"""SparkSystems: several systems in one shuffle by user; their users are paired on the executors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa

from bridgeval.engine.plan import Execution, Plan, States, merge_states
from bridgeval.engine.source import Pairing
from bridgeval.engine.state import State
from bridgeval.spark.executors import restore_errors, retry_lost_job
from bridgeval.spark.job_progress import show_tasks
from bridgeval.spark.spark_source import SparkSource, fold_partitions
from bridgeval.spark.task import ROWS_AT_ONCE, Task, is_shown, join_whole_users, state_row


@dataclass(frozen=True)
class SparkSystems:
    """The rows of several systems in Spark: a `bridgeval.engine.source.JointSource`.

    Attributes:
        source: its frames have a role `recommendations NAME` for each system.
    """

    source: SparkSource

    @property
    def offers(self) -> frozenset[str]:
        return self.source.offers

    def run_together(
        self, plan: Plan, inner: Plan, pairing: Pairing, how: Execution
    ) -> tuple[dict[str, States], State]:
        """Runs one job for all systems, after one over the history if a metric needs it."""
        whole = Plan.of([*plan.metrics, *inner.metrics])
        with show_tasks(self.source.session, how.rows), restore_errors():
            task, placed = self.source.prepare(whole, how)
            roles = tuple(filter(is_shown, task.parts))
            states = retry_lost_job(lambda: fold_partitions(JointTask(task, roles, len(plan.metrics), pairing), placed))
        size = len(plan.metrics)
        names = [role.partition(" ")[2] for role in roles]
        return {name: states[at * size : (at + 1) * size] for at, name in enumerate(names)}, states[-1]


@dataclass(frozen=True)
class JointTask:
    """The work of an executor for several systems.

    Its states are those of the first metrics of the plan for each system in turn, and that of the pairing.

    Attributes:
        task: reads a chunk of users, and folds the plan over it.
        roles: of the systems.
        size: how many metrics of the plan have states that travel; those of the others only the pairing sees.
        pairing: what is asked of all systems together.
    """

    task: Task
    roles: tuple[str, ...]
    size: int
    pairing: Pairing

    def start(self) -> States:
        own = self.task.plan.start()[: self.size]
        return (*(own * len(self.roles)), self.pairing.start())

    def run(self, batches: Iterable[pa.RecordBatch], part: int) -> Iterator[pa.RecordBatch]:
        """Folds all systems over a partition; yields one row with the states, or none if there is no user."""
        how = self.task.execution
        chunks = join_whole_users(batches, ROWS_AT_ONCE)
        found = (self._fold_chunk(self.task.read_roles(chunk), how) for chunk in chunks)
        states = next(found, None)
        if states is not None:
            yield state_row(part, reduce(merge_states, found, states))

    def _fold_chunk(self, given: dict[str, Any], how: Execution) -> States:
        shared = {role: rows for role, rows in given.items() if role not in self.roles}
        by_system = {
            role.partition(" ")[2]: self.task.fold(shared | {"recommendations": given[role]}, how)
            for role in self.roles
        }
        paired = self.pairing.update(self.task.plan, by_system)
        return (*(state for states in by_system.values() for state in states[: self.size]), paired)
