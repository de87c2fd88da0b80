"""Per-user values that stay in Spark: rows (user, values) beside the states, read again only when asked for."""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping
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
    """The values of all metrics of one evaluation. Spark's cache is released with the last that needs it.

    Attributes:
        rows: columns user, values: an array with the value of each metric, null where the user does not count.
    """

    def __init__(self, cached: DataFrame) -> None:
        self.rows = cached.where("user is not null").select("user", "values")
        weakref.finalize(self, _release, cached).atexit = False

    def lend(self, frame: DataFrame) -> DataFrame:
        """A frame of these values, which stay in the cache as long as the frame lives."""
        weakref.finalize(frame, _return, self).atexit = False
        return frame


@dataclass(frozen=True)
class SparkUserTable:
    """The values of one metric; what `UserTable` is for rows in this process.

    Attributes:
        place: of the metric in the array of values.
        defined: users with a value.
        undefined: users that count but have none.
    """

    kept: KeptValues
    place: int
    defined: int
    undefined: int

    def __len__(self) -> int:
        return self.defined + self.undefined

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as a table of this process, with all values collected: no session can be pickled."""
        return UserTable, (self.users, self.values)

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
        named = [
            F.struct(F.lit(name).alias("metric"), F.lit(k).cast("int").alias("k"), table.column.alias("value"))
            for (name, k), table in in_spark.items()
        ]
        frame = kept.rows.select("user", F.inline(F.array(*named))).where("value is not null")
        for (name, k), table in tables.items():
            if isinstance(table, UserTable) and table.users is not None:
                local = pa.table({"user": table.users.to_arrow(), "value": pa.array(table.values)})
                labels = F.lit(name).alias("metric"), F.lit(k).cast("int").alias("k")
                frame = frame.union(frame.sparkSession.createDataFrame(local).select("user", *labels, "value"))
        return kept.lend(frame)

    @staticmethod
    def side_by_side(tables: Mapping[tuple[str, int | None], SparkUserTable | UserTable]) -> DataFrame:
        """A Spark frame with a row for each user and a column for each metric, null where the user does not count."""
        in_spark = {name: table for (name, _), table in tables.items() if isinstance(table, SparkUserTable)}
        kept = next(iter(in_spark.values())).kept
        frame = kept.rows.select("user", *(table.column.alias(name) for name, table in in_spark.items()))
        frame = frame.dropna("all", subset=[f"`{name}`" for name in in_spark])
        for (name, _), table in tables.items():
            if isinstance(table, UserTable) and table.users is not None:
                local = pa.table({"user": table.users.to_arrow(), name: pa.array(table.values)})
                frame = frame.join(frame.sparkSession.createDataFrame(local), "user", "full")
        return kept.lend(frame.select("user", *(F.col(f"`{name}`") for name, _ in tables)))

    @property
    def column(self) -> Column:
        """The metric's value in the rows of all; null where the user does not count."""
        return F.get("values", F.lit(self.place))

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
        return self.kept.rows.select("user", self.column.alias("value")).where("value is not null")


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


def _return(kept: KeptValues) -> None:
    """Lets go of values that were lent; they are released if nobody else has them."""


def _release(cached: DataFrame) -> None:
    """Unpersists the frame; a stopped session has done so itself, and raises."""
    with suppress(Exception):
        cached.unpersist()
