"""Task: the work of an executor on its partition: Arrow batches -> whole users -> Slates -> states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import torch

from bridgeval.engine.inputs import Inputs
from bridgeval.engine.plan import Execution, Plan, States, fold
from bridgeval.engine.state import Collected, UserTable
from bridgeval.errors import BadValueError
from bridgeval.io.columns import Role
from bridgeval.tables.context import Context
from bridgeval.tables.encoding import encode_ids
from bridgeval.tables.ids import Ids
from bridgeval.tables.rows import Rows, read_table_rows

# Rows of whole users that are turned into Slates at once. This bounds an executor's memory, unless one user alone has
# more rows.
ROWS_AT_ONCE = 1 << 18

# The column `row` holds in its upper bits which of the frames it is from, and in the lower ones its place there.
TAG_BITS = 56


@dataclass(frozen=True)
class Task:
    """All that an executor must know; sent to it once.

    Attributes:
        parts: role -> part (`score`, `gain`, `rank`) -> Arrow type of the numbers as they came; in the order of the
            frames. Baselines by name have the role `baseline NAME`.
        user_type: Arrow type of the user ids.
        item_scores: previous scores by item alone, which every executor needs whole.
        kept: places in the plan of the metrics whose per-user values stay in Spark as rows.
        token: tells evaluations whose values stay in Spark apart. Spark takes equal plans over equal paths for one
            and the same, and would answer from the cache of the first though the files are others by now.
        device, batch_size: as for a local run; an executor without that device takes its CPU.
        mask_seen: whether recommended items that the user has in the history are dropped.
    """

    plan: Plan
    context: Context
    parts: Mapping[str, Mapping[str, pa.DataType]]
    user_type: pa.DataType
    item_scores: Rows | None = None
    kept: tuple[int, ...] = ()
    token: str = ""
    device: str = "cpu"
    batch_size: int | None = None
    mask_seen: bool = False

    def start(self) -> States:
        """The states of no rows; of metrics whose values stay in Spark, users are counted only."""
        return tuple(UserCount() if at in self.kept else state for at, state in enumerate(self.plan.start()))

    def run(self, batches: Iterable[pa.RecordBatch], part: int) -> Iterator[pa.RecordBatch]:
        """Folds the plan over a partition: rows of per-user values on the way, one row with the states at the end.

        Args:
            batches: columns user, item, value, rank, row; sorted by user.
            part: the number of the partition.
        """
        how = self.execution
        neutral = self.start()
        states = neutral
        for chunk in join_whole_users(batches, ROWS_AT_ONCE):
            found = self.fold(self.read_roles(chunk), how)
            if self.kept:
                tables = {at: cast(Collected, found[at]).table() for at in self.kept}
                yield self._user_rows(list(tables.values()))
                found = tuple(UserCount.of(tables[at]) if at in tables else one for at, one in enumerate(found))
            states = self.plan.merge(states, found)
        if states is not neutral:
            nothing = {"user": self.user_type, "values": pa.list_(pa.float64())} if self.kept else {}
            yield state_row(part, states, nothing)

    @property
    def execution(self) -> Execution:
        return Execution(_pick_device(self.device), self.batch_size)

    def fold(self, given: Mapping[str, Any], how: Execution) -> States:
        """The states of whole users, from the rows of each role."""
        named = {role.partition(" ")[2]: rows for role, rows in given.items() if role.startswith("baseline ")}
        others = {role: rows for role, rows in given.items() if " " not in role}
        others = {"prev_scores": self.item_scores} | others
        inputs = Inputs(**others, baselines=named, mask_seen=self.mask_seen)
        return fold(self.plan, inputs.slates(self.plan.needs), self.context, how)

    def read_roles(self, chunk: pa.Table) -> dict[str, Rows | Ids]:
        """Role -> its rows in a chunk of whole users."""
        row, owner = chunk["row"].to_numpy(), np.cumsum(_first_rows(chunk["user"]), dtype=np.int64)
        tags = row >> TAG_BITS
        given = {}
        for tag, role in enumerate(self.parts):
            where = np.flatnonzero(tags == tag)
            if not _is_in_order(row[where], owner[where]):
                where = where[np.lexsort((row[where], owner[where]))]
            given[role] = self._read_role(chunk.take(pa.array(where)), role)
        return given

    def _read_role(self, table: pa.Table, role: str) -> Rows | Ids:
        if role == "users":
            return encode_ids([Ids.of(table["user"], "user ids in users")])[0]
        columns = {"user": table["user"], "item": table["item"]}
        for part, kind in self.parts[role].items():
            columns[part] = table["rank" if part == "rank" else "value"].cast(kind)
        rows = pa.table(columns)
        _refuse_missing(rows, role)
        return read_table_rows(rows, base_role(role))

    def _user_rows(self, tables: Sequence[UserTable]) -> pa.RecordBatch:
        """A row for each user: the values of all metrics, null where the user does not count."""
        known = [table.users for table in tables if table.users is not None]
        users, codes = encode_ids(known) if known else (None, [])
        size, width = 0 if users is None else len(users), len(tables)
        values, absent = np.zeros((size, width)), np.ones((size, width), dtype=bool)
        code = iter(codes)
        for column, table in enumerate(tables):
            if table.users is not None:
                where = next(code)
                values[where, column], absent[where, column] = table.values, False
        flat = pa.array(values.ravel(), mask=absent.ravel())
        columns = {
            "part": pa.nulls(size, pa.int32()),
            "states": pa.nulls(size, pa.binary()),
            "user": pa.nulls(0, self.user_type) if users is None else users.to_arrow().cast(self.user_type),
            "values": pa.ListArray.from_arrays(pa.array(np.arange(size + 1) * width, pa.int32()), flat),
        }
        return pa.RecordBatch.from_pydict(columns)


@dataclass(frozen=True)
class UserCount:
    """How many users have a value of a metric, and how many count but have none."""

    defined: int = 0
    undefined: int = 0

    @staticmethod
    def of(table: UserTable) -> UserCount:
        return UserCount(table.defined, table.undefined)

    def merge(self, other: UserCount) -> UserCount:
        return UserCount(self.defined + other.defined, self.undefined + other.undefined)


def state_row(part: int, states: States, nothing: Mapping[str, pa.DataType] | None = None) -> pa.RecordBatch:
    """The states of a partition as a row, with further columns of these types in which it has nothing."""
    from pyspark import cloudpickle

    row = {"part": pa.array([part], pa.int32()), "states": pa.array([cloudpickle.dumps(states)], pa.binary())}
    return pa.RecordBatch.from_pydict(row | {name: pa.nulls(1, kind) for name, kind in (nothing or {}).items()})


def base_role(role: str) -> Role:
    """The kind of rows in a frame of this role.

    >>> base_role("history"), base_role("baseline ALS")
    ('history', 'baseline')
    """
    return cast(Role, role.partition(" ")[0])


def is_shown(role: str) -> bool:
    """Whether a role is that of recommendations to evaluate, of one system or of one of several."""
    return base_role(role) == "recommendations"


def _refuse_missing(table: pa.Table, role: str) -> None:
    """Raises if a cell is missing. Rows have no numbers in Spark, so their ids say where."""
    for name in table.column_names:
        missing = table.filter(pc.is_null(table[name]))
        if len(missing):
            first = missing.slice(0, 3).select(["user", "item"]).to_pylist()
            what = f"{name} ids in" if name in ("user", "item") else f"values of the {name} in"
            raise BadValueError(
                f"{len(missing):,} or more {what} the {role} are missing (null)",
                "; ".join(f"user {row['user']!r} item {row['item']!r}" for row in first),
                "drop these rows with dropna, or fill them; use -inf for an item that must not be shown",
            )


def join_whole_users(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.Table]:
    """Joins batches that are sorted by user into tables of at least `size` rows that never split a user.

    Where a table ends depends on the rows alone, not on how they came in batches, so a task that is run again gives
    the same digits.

    >>> batches = [pa.record_batch({"user": users}) for users in ([1, 1, 2], [2, 3, 3, 3, 4])]
    >>> [table["user"].to_pylist() for table in join_whole_users(batches, 3)]
    [[1, 1, 2, 2], [3, 3, 3], [4]]
    """
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        rest = batch
        while rest.num_rows:
            users = rest.column("user")
            first = np.flatnonzero(_first_rows(users))
            if held and users[0] == held[-1].column("user")[-1]:
                first = first[1:]
            ends = first[first + rows >= size]
            if not len(ends):
                held.append(rest)
                rows += rest.num_rows
                break
            stop = int(ends[0])
            yield pa.Table.from_batches([*held, rest.slice(0, stop)]).combine_chunks()
            held, rows, rest = [], 0, rest.slice(stop)
    if held:
        yield pa.Table.from_batches(held).combine_chunks()


def _first_rows(users: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """`[n]`: where another user begins than in the row before."""
    first = np.ones(len(users), dtype=bool)
    if len(users) > 1:
        differs = pc.not_equal(users.slice(1), users.slice(0, len(users) - 1))
        first[1:] = pc.fill_null(differs, True).to_numpy(zero_copy_only=False)
    return first


def _is_in_order(row: npt.NDArray[np.int64], owner: npt.NDArray[np.int64]) -> bool:
    """Whether each user's rows stand in the order of their frame."""
    return bool(((row[1:] > row[:-1]) | (owner[1:] != owner[:-1])).all())


def _pick_device(device: str) -> torch.device:
    return torch.device(device if torch.cuda.is_available() else "cpu")
