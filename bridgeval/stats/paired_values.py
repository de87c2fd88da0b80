"""Paired values: the per-user values of several systems, aligned by user; and the files they are saved in."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pa_parquet

from bridgeval.engine.state import Floats, UserTable
from bridgeval.errors import BadValueError, InputError, MisalignedError
from bridgeval.io.columns import USER, find_named
from bridgeval.io.files import read_or_explain
from bridgeval.io.outputs import written_beside
from bridgeval.tables.encoding import encode_ids
from bridgeval.tables.ids import Ids

# (baseline, system)
Pairs = Sequence[tuple[str, str]]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Panel:
    """Values of k systems for U users in m metrics.

    Attributes:
        users: `[U]` ids of every user that any system has a value for.
        values: `[k, U, m]`; NaN where undefined or absent.
        present: `[k, U, m]` bool: which users each system has an entry for, even an undefined one.
    """

    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    users: Ids
    values: Floats
    present: npt.NDArray[np.bool_]

    @staticmethod
    def of(systems: Mapping[str, Mapping[str, UserTable]]) -> Panel:
        """Aligns the metrics that all systems have. Several systems are paired, so that values must be finite."""
        first = next(iter(systems.values()))
        metrics = tuple(name for name in first if all(name in tables for tables in systems.values()))
        tables = [[own[name] for name in metrics] for own in systems.values()]
        columns = [table.users for row in tables for table in row if table.users is not None]
        users, codes = encode_ids(columns, "user ids of the systems") if columns else (Ids(np.zeros(0, np.int64)), [])
        shape = (len(tables), len(users), len(metrics))
        values, present = np.full(shape, np.nan), np.zeros(shape, dtype=bool)
        code = iter(codes)
        for system, row in enumerate(tables):
            for metric, table in enumerate(row):
                if table.users is not None:
                    where = next(code)
                    if (np.diff(where) == 0).any():
                        raise MisalignedError(
                            f"users have several values of {metrics[metric]}, so they cannot be paired or sliced",
                            "a report that was merged with users='events'",
                            "compare reports in which each user comes once",
                        )
                    if len(tables) > 1 and (endless := int(np.isinf(table.values).sum())):
                        raise BadValueError(
                            f"{metrics[metric]} cannot be compared by user: infinite values have no difference",
                            f"{endless} users of {tuple(systems)[system]!r} with an infinite value",
                            "leave this metric out of the comparison",
                        )
                    values[system, where, metric] = table.values
                    present[system, where, metric] = True
        return Panel(tuple(systems), metrics, users, values, present)

    def places(self, pairs: Pairs) -> list[tuple[int, int]]:
        """The systems of pairs as rows of `values`."""
        return [(self.systems.index(old), self.systems.index(new)) for old, new in pairs]

    def take_users(self, users: npt.NDArray[np.int64]) -> Panel:
        """The panel of some of the users."""
        return replace(self, users=self.users.take(users), values=self.values[:, users], present=self.present[:, users])

    def select(self, users: npt.NDArray[np.bool_], columns: npt.NDArray[np.int64]) -> Floats:
        """`[k, n, m]`: the values of some users in some metrics."""
        return self.values[np.ix_(np.arange(len(self.systems)), np.flatnonzero(users), columns)]

    @property
    def complete(self) -> npt.NDArray[np.bool_]:
        """`[U, m]`: users with a value from every system."""
        return np.asarray(~np.isnan(self.values).any(axis=0))

    def groups(self) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]]:
        """Groups metrics that have a value for the same users: their columns, and which users `[U]`."""
        complete = self.complete
        found: dict[bytes, list[int]] = {}
        for column in range(len(self.metrics)):
            found.setdefault(np.packbits(complete[:, column]).tobytes(), []).append(column)
        return [(np.array(columns), complete[:, columns[0]]) for columns in found.values()]

    @property
    def absent(self) -> tuple[Counts, Counts]:
        """`[k, m]` each: users of the others that a system has no entry for, and entries without a value."""
        undefined = np.isnan(self.values) & self.present
        missing = self.present.any(axis=0) & ~self.present
        return missing.sum(axis=1), (undefined & self.present.all(axis=0)).sum(axis=1)

    def notes(self) -> list[str]:
        """Sentences that say which users are excluded from the pairs, and why."""
        return explain_absent(self.systems, self.metrics, *self.absent)


def explain_absent(systems: Sequence[str], metrics: Sequence[str], missing: Counts, lost: Counts) -> list[str]:
    """Sentences about users that are excluded from the pairs, see `Panel.absent`."""
    counts: dict[str, list[str]] = {}
    for column, metric in enumerate(metrics):
        for at, system in enumerate(systems):
            if absent := int(missing[at, column]):
                counts.setdefault(f"{system} has no entry for {absent:,} user(s) of the others", []).append(metric)
            if undefined := int(lost[at, column]):
                counts.setdefault(f"{system} has an undefined value for {undefined:,} user(s)", []).append(metric)
    return [f"{what} ({_join(metrics)}); they are excluded from all systems." for what, metrics in counts.items()]


def flatten_systems(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`[k, n, m]` as `[n, k * m]`: a row for each user."""
    systems, users, metrics = values.shape
    return np.ascontiguousarray(values.transpose(1, 0, 2)).reshape(users, systems * metrics)


def _join(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:3])} and {len(names) - 3} more"


def is_user_values(path: Any) -> bool:
    """Whether a path is a Parquet file of per-user values, or a folder of them that Spark wrote."""
    if not isinstance(path, str | os.PathLike):
        return False
    file = _find_part(path) if os.path.isdir(path) else os.fspath(path)
    if file is None or not os.path.isfile(file):
        return False
    with open(file, "rb") as opened:
        if opened.read(4) != b"PAR1":
            return False
    names = read_or_explain(file, lambda: pa_parquet.read_schema(file)).names
    return {"metric", "value"} <= set(names) and len(find_named(names, USER)) == 1


def _find_part(folder: str | os.PathLike[str]) -> str | None:
    """A file of a table that Spark wrote, perhaps partitioned by run; None if the folder is no such table."""
    for inside, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if "=" in name]
        parts = [name for name in files if name.startswith("part-")]
        if parts:
            return os.path.join(inside, parts[0])
    return None


def _name_partitions(path: str | os.PathLike[str]) -> Any:
    """The columns that the folders of a table name, as text: a run called 007 is not number 7."""
    part = _find_part(path) if os.path.isdir(path) else None
    folders = [] if part is None else os.path.relpath(part, path).split(os.sep)[:-1]
    fields = [pa.field(folder.partition("=")[0], pa.string()) for folder in folders]
    if not fields:
        return None
    import pyarrow.dataset as pa_dataset

    return pa_dataset.partitioning(pa.schema(fields), flavor="hive")


def read_user_values(path: str | os.PathLike[str]) -> dict[str, dict[str, UserTable]]:
    """Reads system -> metric -> values from a file, or a folder that Spark wrote: (system,) metric, user, value.

    The column of users may have any name that is known for users, as `Report.per_user` gives the caller's. In a table
    of several runs, a run is a system.
    """
    name = os.fspath(path)
    table = read_or_explain(name, lambda: pa_parquet.read_table(path, partitioning=_name_partitions(path)))
    users = find_named(table.column_names, USER)
    if len(users) != 1 or not {"metric", "value"} <= set(table.column_names):
        raise _no_values(name, f"columns {', '.join(map(repr, table.column_names))}")
    (user,) = users
    system = next((name for name in ("system", "run") if name in table.column_names), None)
    table = table.select([name for name in (system, "metric", user, "value") if name is not None])
    table = table.rename_columns({user: "user", **({} if system is None else {system: "system"})})
    if system is None:
        table = table.append_column("system", pa.array([""] * len(table)))
    texts = [pa.field(one, pa.string()) for one in ("system", "metric")]
    wanted = pa.schema([*texts, table.schema.field("user"), pa.field("value", pa.float64())])
    table = read_or_explain(name, lambda: table.select(wanted.names).cast(wanted))
    nameless = next((one for one in ("system", "metric") if table[one].null_count), None)
    if nameless or not len(table):
        raise _no_values(name, f"rows without a {nameless}" if nameless else "no rows")
    found: dict[str, dict[str, UserTable]] = {}
    for system in pc.unique(table["system"]).to_pylist():
        own = table.filter(pc.equal(table["system"], system))
        found[system] = {
            metric: _read_table(own.filter(pc.equal(own["metric"], metric)), metric, path)
            for metric in pc.unique(own["metric"]).to_pylist()
        }
    return found


def _no_values(path: str, found: str) -> InputError:
    hint = "give a file that `evaluate --per-user` or report.save wrote"
    return InputError(f"{path!r} holds no per-user values", found, hint)


def write_user_values(systems: Mapping[str, Mapping[str, UserTable]], path: str | os.PathLike[str]) -> None:
    """Writes a file that `read_user_values` reads."""
    parts = [
        pa.table(
            {
                "system": pa.array([system] * len(table)),
                "metric": pa.array([metric] * len(table)),
                "user": table.users.to_arrow(),
                "value": table.values,
            }
        )
        for system, tables in systems.items()
        for metric, table in tables.items()
        if table.users is not None
    ]
    if not parts:
        raise InputError("there are no per-user values to write", hint="evaluate with per_user=True")
    with written_beside(path) as beside:
        pa_parquet.write_table(pa.concat_tables(parts), beside)


def _read_table(rows: pa.Table, metric: str, path: str | os.PathLike[str]) -> UserTable:
    users = Ids.of(rows["user"], "user ids")
    vocabulary, (codes,) = encode_ids([users])
    if len(vocabulary) != len(users):
        raise MisalignedError(
            f"{len(users) - len(vocabulary)} user(s) have several values of {metric}",
            f"{os.fspath(path)!r}",
            "give every user one value of a metric",
        )
    values = np.empty(len(users))
    values[codes] = pc.fill_null(rows["value"], np.nan).to_numpy()
    return UserTable(vocabulary, values)
