"""SparkSource: one shuffle by user, one pass over the rows for all metrics, states to the driver."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type

from bridgeval.engine.inputs import Inputs
from bridgeval.engine.needs import Needs, answered_needs, baseline_column
from bridgeval.engine.plan import Execution, Plan, States, merge_all
from bridgeval.engine.state import Collected
from bridgeval.io.files import open_table
from bridgeval.spark.faults import begun_again, check_executors, in_own_words, mapped, telling
from bridgeval.spark.history_context import with_history
from bridgeval.spark.job_progress import watched
from bridgeval.spark.partitioning import ADAPTIVE_CACHE, by_user, settings
from bridgeval.spark.per_user import KeptState, KeptValues
from bridgeval.spark.role_frames import Tagged, tagged, tagged_users, united
from bridgeval.spark.task import Task, kind_of
from bridgeval.tables.context import Context
from bridgeval.tables.rows import Rows, is_frame, is_spark_frame, read_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# States of this many partitions are merged at a time; more partitions than that are merged on executors first.
FAN_IN = 64


@dataclass(frozen=True)
class SparkSource:
    """Rows in Spark, of which only states come to the driver.

    Attributes:
        session: where the job runs.
        frames: argument -> its rows, in Spark.
        tables: argument -> what is small enough to be sent to every executor, in whatever form it was given.
    """

    session: SparkSession
    frames: Mapping[str, Tagged]
    tables: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""

    @staticmethod
    def of(
        recommendations: Any,
        relevance: Any,
        *,
        columns: Mapping[str, str] | None = None,
        catalogue: Any = None,
        users: Any = None,
        **given: Any,
    ) -> SparkSource:
        """Reads schemas, and the rows of what is not in Spark; nothing runs in Spark yet."""
        session = (recommendations if is_spark_frame(recommendations) else relevance).sparkSession
        positions = None if is_spark_frame(catalogue) else catalogue
        rows = {"recommendations": recommendations, "relevance": relevance}
        rows |= _baselines(given.pop("baseline", None))
        rows |= {role: given.pop(role, None) for role in ("history", "prev_scores")}
        frames = {
            role: replace(tagged(value, kind_of(role), columns, session, positions), role=role)
            for role, value in rows.items()
            if value is not None
        }
        if users is not None:
            frames["users"] = tagged_users(users, columns, session)
        tables = {"catalogue": catalogue, **given}
        return SparkSource(session, frames, {name: value for name, value in tables.items() if value is not None})

    @property
    def offers(self) -> frozenset[str]:
        offers = answered_needs([*self.frames, *self.tables])
        offers |= {baseline_column(role.partition(" ")[2]) for role in self.frames if role.startswith("baseline ")}
        offers.add("all users")
        return frozenset(offers | {"score"} if "score" in self.frames["recommendations"].parts else offers)

    def run(self, plan: Plan, how: Execution) -> States:
        """One job for all metrics, after one over the history where a metric needs its items or their popularity."""
        check_executors(self.session, plan)
        needed = self._needed(plan)
        rows = united(needed)
        kept = tuple(at for at, state in enumerate(plan.start()) if isinstance(state, Collected))
        with watched(self.session, how.rows), in_own_words():
            task = Task(
                plan,
                self._context(plan.needs),
                {frame.role: frame.parts for frame in needed},
                to_arrow_type(rows.schema["user"].dataType),
                self._item_scores(plan.needs),
                kept,
                how.device.type,
                how.batch_size,
            )
            if not kept:
                return begun_again(lambda: merge_all(plan, _collected(by_user(rows, partial(_merged_results, task)))))
            states, values = begun_again(lambda: self._kept(task, rows))
        return tuple(values.get(at, state) for at, state in enumerate(states))

    def _kept(self, task: Task, rows: DataFrame) -> tuple[States, dict[int, KeptState]]:
        """The states, and what stands for those whose values stay in Spark."""
        with settings(self.session, ADAPTIVE_CACHE):
            cached = by_user(rows, lambda placed, _: _results(task, placed).persist())
        values = KeptValues(cached)
        states = merge_all(task.plan, _collected(cached.where("states is not null").select("part", "states")))
        return states, values.states(task.kept)

    def _needed(self, plan: Plan) -> list[Tagged]:
        """The frames that the plan reads user by user."""
        needs = plan.needs
        by_item = "prev_scores" in self.frames and self.frames["prev_scores"].kind("user") is None
        known = "all users" in needs.users
        had = needs.reads("seen") or "history lists" in needs.lists or "users of the history" in needs.users
        read = {f"baseline {name}": True for name, _ in needs.baselines} | {
            "recommendations": True,
            "relevance": True,
            "history": had or (known and "users" not in self.frames),
            "baseline": needs.reads("baseline_rank") or "users of the baseline" in needs.users,
            "prev_scores": needs.reads("prev_score") and not by_item,
            "users": known or "users given" in needs.users,
        }
        return [frame for role, frame in self.frames.items() if read.get(role)]

    def _item_scores(self, needs: Needs) -> Rows | None:
        """Previous scores by item alone."""
        scores = self.frames.get("prev_scores")
        if scores is None or scores.kind("user") is not None or not needs.reads("prev_score"):
            return None
        return read_rows(scores.frame.toArrow(), "prev_scores")

    def _context(self, needs: Needs) -> Context:
        context = Inputs.of({}, {}, **{name: _local(value) for name, value in self.tables.items()}).context
        if "all users" in needs.users and "users" in self.frames:
            given = self.frames["users"].frame.select("user").distinct().count()
            context = replace(context, given_users=given)
        history = self.frames.get("history")
        return context if history is None else with_history(context, history.frame, needs)


def _baselines(baseline: Any) -> dict[str, Any]:
    """Role -> a single baseline, or each of those that a mapping names."""
    if isinstance(baseline, Mapping) and any(is_frame(one) or is_spark_frame(one) for one in baseline.values()):
        return {f"baseline {name}": one for name, one in baseline.items()}
    return {"baseline": baseline}


def _results(task: Task, placed: DataFrame) -> DataFrame:
    """A row of states for each partition, and rows of per-user values where the task keeps some."""

    def fold(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        return telling(task.run(batches, context.partitionId() if context else 0))

    user = placed.schema["user"].dataType.simpleString()
    values = f", metric int, user {user}, value double" if task.kept else ""
    return mapped(placed, fold, f"part int, states binary{values}")


def _merged_results(task: Task, placed: DataFrame, partitions: int) -> DataFrame:
    """Results of which neighbours are merged on executors, where there are too many for the driver."""
    parts = _results(task, placed)
    if partitions <= FAN_IN:
        return parts
    plan = task.plan

    def merge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return telling(_merged_groups(batches, plan))

    group = F.floor(F.col("part") / FAN_IN).cast("int")
    neighbours = parts.select(group.alias("part"), F.col("part").alias("place"), "states")
    gathered = neighbours.repartition(-(-partitions // FAN_IN), "part").sortWithinPartitions("part", "place")
    return mapped(gathered, merge, "part int, states binary")


def _merged_groups(batches: Iterable[pa.RecordBatch], plan: Plan) -> Iterator[pa.RecordBatch]:
    from pyspark import cloudpickle

    merged: dict[int, States] = {}
    for batch in batches:
        for part, states in zip(batch.column("part").to_pylist(), batch.column("states").to_pylist(), strict=True):
            merged[part] = plan.merge(merged.get(part, plan.start()), pickle.loads(states))
    for part, states in merged.items():
        yield pa.record_batch(
            {"part": pa.array([part], pa.int32()), "states": pa.array([cloudpickle.dumps(states)], pa.binary())}
        )


def _collected(parts: DataFrame) -> list[States]:
    """The states of all partitions in the order of the partitions, so that a job run again gives the same digits."""
    return [pickle.loads(states) for states in parts.toArrow().sort_by("part")["states"].to_pylist()]


def _local(value: Any) -> Any:
    """A small table in this process, wherever it came from."""
    return value.toArrow() if is_spark_frame(value) else open_table(value)
