"""SparkSource: one shuffle by user, one pass over the rows for all metrics, states to the driver."""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol, cast

import pyarrow as pa
from pyspark.sql import functions as F, types as T
from pyspark.sql.pandas.types import to_arrow_type

from bridgeval.engine.inputs import Inputs
from bridgeval.engine.needs import Needs, answered_needs, baseline_column
from bridgeval.engine.plan import Execution, Plan, States, merge_states
from bridgeval.engine.state import Collected
from bridgeval.errors import InputError
from bridgeval.io.columns import Chosen, Role, check_chosen_columns
from bridgeval.io.files import is_path, open_table
from bridgeval.io.frames import column_names, is_frame, is_spark_frame
from bridgeval.spark.executors import check_executors, restore_errors, retry_lost_job, send_errors
from bridgeval.spark.history_context import add_history
from bridgeval.spark.job_progress import show_tasks
from bridgeval.spark.per_user import KeptState, KeptValues, SparkUserTable
from bridgeval.spark.role_frames import TaggedFrame, tag_frame, tag_users, unite_frames
from bridgeval.spark.task import Task, UserCount, base_role, is_shown, state_row
from bridgeval.tables.context import Context
from bridgeval.tables.named_tables import list_named_tables
from bridgeval.tables.rows import Rows, read_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# The driver merges the states of this many partitions; if there are more, executors merge groups of this size first.
FAN_IN = 64


@dataclass(frozen=True)
class SparkSource:
    """Rows in Spark; only states come to the driver.

    Attributes:
        session: where the job runs.
        frames: argument -> its rows, in Spark.
        tables: argument -> a table small enough for every executor, as it was given.
        mask_seen: whether recommended items that the user has in the history are dropped.
    """

    session: SparkSession
    frames: Mapping[str, TaggedFrame]
    tables: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""
    mask_seen: bool = False

    @staticmethod
    def of(
        shown: Mapping[str, Any],
        relevance: Any,
        *,
        mask_seen: bool = False,
        columns: Chosen | None = None,
        catalogue: Any = None,
        users: Any = None,
        **given: Any,
    ) -> SparkSource:
        """Reads the schemas of Spark frames and the rows of other inputs; runs nothing in Spark.

        Args:
            shown: "recommendations" -> these, or `recommendations NAME` -> those of each of several systems.
            relevance, mask_seen, columns, catalogue, users, **given: as in `evaluate`.
        """
        session = next(value for value in (*shown.values(), relevance) if is_spark_frame(value)).sparkSession
        positions = None if is_spark_frame(catalogue) else catalogue
        rows = {**shown, "relevance": relevance}
        rows |= _split_baselines(given.pop("baseline", None))
        rows |= {role: given.pop(role, None) for role in ("history", "prev_scores")}
        _check_given(rows, columns)
        frames = {
            role: replace(tag_frame(value, base_role(role), columns, session, positions), role=role)
            for role, value in rows.items()
            if value is not None
        }
        if users is not None:
            frames["users"] = tag_users(users, columns, session)
        tables = {"catalogue": catalogue, **given}
        given = {name: value for name, value in tables.items() if value is not None}
        return SparkSource(session, frames, given, mask_seen=mask_seen)

    @property
    def offers(self) -> frozenset[str]:
        offers = set(answered_needs(frozenset([*self.frames, *self.tables])))
        offers |= list_named_tables(self.tables.get("context") or {})
        offers |= {baseline_column(role.partition(" ")[2]) for role in self.frames if role.startswith("baseline ")}
        offers.add("all users")
        scored = all("score" in frame.parts for role, frame in self.frames.items() if is_shown(role))
        return frozenset(offers | {"score"} if scored else offers)

    def run(self, plan: Plan, how: Execution) -> States:
        """Runs one job for all metrics, after one over the history if a metric needs its items or their popularity."""
        # A state may collect more than one value of each user, which is no row.
        started = zip(plan.metrics, plan.start(), strict=True)
        kept = tuple(
            at
            for at, (metric, state) in enumerate(started)
            if isinstance(state, Collected) and metric.per_user() is not None
        )
        with show_tasks(self.session, how.rows), restore_errors():
            task, placed = self.prepare(plan, how, kept)
            if kept:
                return retry_lost_job(lambda: _collect_kept(task, placed))
            return retry_lost_job(lambda: fold_partitions(task, placed))

    def prepare(self, plan: Plan, how: Execution, kept: tuple[int, ...] = ()) -> tuple[Task, DataFrame]:
        """The work of the executors, and the rows of all frames, shuffled by user."""
        needed = self._select_frames(plan)
        rows = unite_frames(needed)
        check_executors(self.session, plan)
        task = Task(
            plan,
            self._build_context(plan.needs),
            {frame.role: frame.parts for frame in needed},
            to_arrow_type(rows.schema["user"].dataType),
            self._read_item_scores(plan.needs),
            kept,
            uuid.uuid4().hex if kept else "",
            str(how.device),
            how.batch_size,
            self.mask_seen,
        )
        return task, rows.repartition("user").sortWithinPartitions("user")

    def _select_frames(self, plan: Plan) -> list[TaggedFrame]:
        """The frames that the plan reads user by user."""
        needs = plan.needs
        by_item = "prev_scores" in self.frames and self.frames["prev_scores"].kind("user") is None
        known = "all users" in needs.users
        had = (
            self.mask_seen
            or needs.reads("seen")
            or "history lists" in needs.lists
            or "users of the history" in needs.users
        )
        read = {f"baseline {name}": True for name, _ in needs.baselines} | {
            "relevance": True,
            "history": had or (known and "users" not in self.frames),
            "baseline": needs.reads("baseline_rank") or "users of the baseline" in needs.users,
            "prev_scores": needs.reads("prev_score") and not by_item,
            "users": known or "users given" in needs.users,
        }
        return [frame for role, frame in self.frames.items() if is_shown(role) or read.get(role)]

    def _read_item_scores(self, needs: Needs) -> Rows | None:
        """Previous scores by item alone."""
        scores = self.frames.get("prev_scores")
        if scores is None or scores.kind("user") is not None or not needs.reads("prev_score"):
            return None
        return read_rows(scores.frame.toArrow(), "prev_scores")

    def _build_context(self, needs: Needs) -> Context:
        tables = {name: _collect_table(value) for name, value in self.tables.items()}
        if named := self.tables.get("context"):
            tables["context"] = {name: _collect_table(value) for name, value in named.items()}
        context = Inputs.of({}, {}, **tables).context
        if "all users" in needs.users and "users" in self.frames:
            given = self.frames["users"].frame.select("user").distinct().count()
            context = replace(context, given_users=given)
        history = self.frames.get("history")
        return context if history is None else add_history(context, history.frame, needs)


def _check_given(rows: Mapping[str, Any], columns: Chosen | None) -> None:
    """Raises for frames of a stream, and for a chosen column that no frame has."""
    names: dict[Role, list[str]] = {}
    for role, frame in rows.items():
        if not is_spark_frame(frame):
            if is_frame(frame):
                names[base_role(role)] = column_names(frame) or []
            continue
        if frame.isStreaming:
            raise InputError(
                f"the {role} are a stream, which never ends",
                "a streaming frame",
                "evaluate each batch with writeStream.foreachBatch, and merge the state files: see docs/states.md",
            )
        inner = [field.dataType.elementType for field in frame.schema if isinstance(field.dataType, T.ArrayType)]
        fields = [name for kind in inner if isinstance(kind, T.StructType) for name in kind.names]
        names[base_role(role)] = [*frame.columns, *fields]
    # A file is opened later, when it is known what is needed of it.
    if not any(is_path(value) for value in rows.values()):
        check_chosen_columns(columns, names)


def _split_baselines(baseline: Any) -> dict[str, Any]:
    """Role -> a single baseline, or each of those that a mapping names."""
    if isinstance(baseline, Mapping) and any(is_frame(one) or is_spark_frame(one) for one in baseline.values()):
        return {f"baseline {name}": one for name, one in baseline.items()}
    return {"baseline": baseline}


class Folding(Protocol):
    """The work on one partition, whose states merge place by place."""

    def start(self) -> States: ...

    def run(self, batches: Iterable[pa.RecordBatch], part: int) -> Iterator[pa.RecordBatch]: ...


def fold_partitions(task: Folding, placed: DataFrame) -> States:
    """The merged states of all partitions."""
    return _collect(task, _merge(_fold(task, placed)))


def _fold(task: Folding, placed: DataFrame, values: str = "") -> DataFrame:
    """A row of states for each partition, and rows of per-user values if the task keeps some."""

    def fold(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        return send_errors(task.run(batches, context.partitionId() if context else 0))

    return placed.mapInArrow(fold, f"part int, states binary{values}")


def _merge(parts: DataFrame) -> DataFrame:
    """Merges the states of neighboring partitions on executors if there are too many for the driver."""
    partitions = int(parts.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)
    if partitions <= FAN_IN:
        return parts

    def merge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return send_errors(_merge_groups(batches))

    group = F.floor(F.col("part") / FAN_IN).cast("int")
    neighbors = parts.select(group.alias("part"), F.col("part").alias("place"), "states")
    gathered = neighbors.repartition(-(-partitions // FAN_IN), "part").sortWithinPartitions("part", "place")
    return gathered.mapInArrow(merge, "part int, states binary")


def _merge_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    merged: dict[int, States] = {}
    for batch in batches:
        for part, states in zip(batch.column("part").to_pylist(), batch.column("states").to_pylist(), strict=True):
            found = pickle.loads(states)
            merged[part] = merge_states(merged[part], found) if part in merged else found
    for part, found in merged.items():
        yield state_row(part, found)


def _collect(task: Folding, parts: DataFrame) -> States:
    """The merged states, in the order of the partitions, so that a job that is run again gives the same digits."""
    found = parts.toArrow().sort_by("part")["states"].to_pylist()
    return reduce(merge_states, map(pickle.loads, found), task.start())


def _collect_kept(task: Task, placed: DataFrame) -> States:
    """The same if per-user values stay in Spark: its cache keeps them, and a KeptState stands for each metric's."""
    user = placed.schema["user"].dataType.simpleString()
    found = _fold(task, placed, f", user {user}, values array<double>")
    # Spark coalesces small partitions of a shuffle unless it is the last one of a plan in the cache. So another one
    # follows, of numbers alone: 200 partitions of 500 users take 80 s without it, and 3 s with it.
    cached = found.repartition("user", "part").persist()
    kept = KeptValues(cached)
    states = list(_collect(task, _merge(cached.where("states is not null").select("part", "states"))))
    for place, at in enumerate(task.kept):
        count = cast(UserCount, states[at])
        states[at] = KeptState(SparkUserTable(kept, place, count.defined, count.undefined))
    return tuple(states)


def _collect_table(value: Any) -> Any:
    """Collects a small table to this process."""
    return value.toArrow() if is_spark_frame(value) else open_table(value)
