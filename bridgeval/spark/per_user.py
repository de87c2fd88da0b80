"""Per-user values that stay in Spark: rows (metric, user, value) beside the states, read again only when asked for."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F

from bridgeval.engine.state import Collected, Floats, UserTable
from bridgeval.tables.ids import Ids

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


class KeptValues:
    """The values of all metrics of one evaluation. Spark's cache is released with the last table that needs it.

    Attributes:
        rows: columns metric (its place in the plan), user, value.
    """

    def __init__(self, cached: DataFrame) -> None:
        self.rows = cached.where("metric is not null").select("metric", "user", "value")
        weakref.finalize(self, _release, cached).atexit = False

    def states(self, metrics: Iterable[int]) -> dict[int, KeptState]:
        """Metric -> the state that stands for its values in a plan."""
        return {metric: KeptState(SparkUserTable(self, metric)) for metric in metrics}

    @cached_property
    def counts(self) -> dict[int, tuple[int, int]]:
        """Metric -> users with a value, users without."""
        undefined = F.isnan("value")
        found = self.rows.groupBy("metric").agg(F.count_if(~undefined), F.count_if(undefined)).collect()
        return {row[0]: (row[1], row[2]) for row in found}


@dataclass(frozen=True)
class SparkUserTable:
    """The values of one metric; what `UserTable` is for rows in this process."""

    kept: KeptValues
    metric: int

    def __len__(self) -> int:
        return sum(self.kept.counts.get(self.metric, (0, 0)))

    @property
    def defined(self) -> int:
        return self.kept.counts.get(self.metric, (0, 0))[0]

    @property
    def undefined(self) -> int:
        return self.kept.counts.get(self.metric, (0, 0))[1]

    def median(self, lower: bool = False) -> float:
        """Exact, from counts of the distinct values, which are merged on the executors."""
        function = "percentile_disc" if lower else "percentile_cont"
        return self._aggregate(F.expr(f"{function}(0.5) within group (order by value)"))

    def smallest(self) -> float:
        return self._aggregate(F.min("value"))

    def largest(self) -> float:
        return self._aggregate(F.max("value"))

    def _aggregate(self, column: Column) -> float:
        """One number of the defined values; NaN where there are none."""
        found = self._rows.where(~F.isnan("value")).agg(column).collect()[0][0]
        return math.nan if found is None else float(found)

    def frame(self, name: str, k: int | None) -> DataFrame:
        """A Spark frame (user, metric, k, value)."""
        return self.together({(name, k): self})

    @staticmethod
    def together(tables: Mapping[tuple[str, int | None], SparkUserTable | UserTable]) -> DataFrame:
        """A Spark frame (user, metric, k, value) of several metrics of one evaluation, at least one of them in Spark.

        A metric that looks at all rows at once has its values in this process; they join the others.
        """
        in_spark = {name: table for name, table in tables.items() if isinstance(table, SparkUserTable)}
        kept = next(iter(in_spark.values())).kept
        session = kept.rows.sparkSession
        names = [(table.metric, name, k) for (name, k), table in in_spark.items()]
        named = session.createDataFrame(names, "metric int, name string, k int")
        rows = kept.rows.join(F.broadcast(named), "metric")
        frame = rows.select("user", F.col("name").alias("metric"), "k", "value")
        for (name, k), table in tables.items():
            if isinstance(table, UserTable) and table.users is not None:
                local = pa.table({"user": table.users.to_arrow(), "value": pa.array(table.values)})
                labels = F.lit(name).alias("metric"), F.lit(k).cast("int").alias("k")
                frame = frame.union(session.createDataFrame(local).select("user", *labels, "value"))
        return frame

    @cached_property
    def _collected(self) -> tuple[Ids, Floats]:
        rows = self._rows.orderBy("user").toArrow()
        return Ids.of(rows["user"]), rows["value"].to_numpy()

    @property
    def users(self) -> Ids:
        """The users, collected to the driver."""
        return self._collected[0]

    @property
    def values(self) -> Floats:
        """The values in the order of the users, collected to the driver."""
        return self._collected[1]

    def to_dict(self) -> dict[Any, float]:
        return dict(zip(self.users.tolist(), self.values.tolist(), strict=True))

    @property
    def _rows(self) -> DataFrame:
        return self.kept.rows.where(F.col("metric") == self.metric)


@dataclass(frozen=True)
class KeptState:
    """Stands in the states of a plan for values that stay in Spark."""

    values: SparkUserTable

    def table(self) -> SparkUserTable:
        return self.values

    def to_plain(self) -> Collected:
        """The values, collected to the driver: a state file holds them all."""
        return Collected(((self.values.users, self.values.values),))

    def merge(self, other: KeptState) -> KeptState:
        raise NotImplementedError("per-user values in Spark are whole; there is nothing to merge them with")


def _release(cached: DataFrame) -> None:
    """Unpersists the frame; a stopped session has done so itself, and raises."""
    with suppress(Exception):
        cached.unpersist()
