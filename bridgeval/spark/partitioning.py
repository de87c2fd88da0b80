"""Rows grouped by user: shuffled once, or not at all where they lie by user already."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# A plan that is to keep the partitions it starts with: adaptive execution would merge those of each input apart, and
# Spark reads buckets as plain files where no join or aggregation asks for them.
STATIC = {"spark.sql.adaptive.enabled": "false", "spark.sql.sources.bucketing.autoBucketedScan.enabled": "false"}

# Lets adaptive execution merge small partitions of what is cached, as it does elsewhere.
ADAPTIVE_CACHE = {"spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true"}


def by_user(rows: DataFrame, job: Callable[[DataFrame, int], DataFrame]) -> DataFrame:
    """What `job` makes of the rows when each partition holds whole users, sorted by user.

    Args:
        rows: with a column `user`.
        job: takes the sorted rows and the number of their partitions, and gives the frame that will be run.
    """
    session = rows.sparkSession
    if hasattr(rows, "_jdf") and _partitions_by_user(rows._jdf.queryExecution().sparkPlan()):
        with settings(session, STATIC):
            placed = rows.sortWithinPartitions("user")
            partitions = _partitions_by_user(placed._jdf.queryExecution().executedPlan())
            if partitions:
                result = job(placed, partitions)
                # Plans are made when first asked for; later the settings are gone.
                result._jdf.queryExecution().executedPlan()
                return result
    partitions = int(session.conf.get("spark.sql.shuffle.partitions") or 200)
    return job(rows.repartition("user").sortWithinPartitions("user"), partitions)


def _partitions_by_user(plan: Any) -> int:
    """How many partitions the plan's rows lie in by user; 0 where a user may be in several."""
    layout = plan.outputPartitioning()
    kind = layout.getClass().getSimpleName().rstrip("$")
    if kind == "SinglePartition":
        return 1
    if kind != "HashPartitioning" or layout.expressions().size() != 1:
        return 0
    by_user = layout.expressions().head().semanticEquals(plan.output().head())
    return int(layout.numPartitions()) if by_user else 0


@contextmanager
def settings(session: SparkSession, chosen: dict[str, str]) -> Iterator[None]:
    """Spark's settings while plans are made."""
    before = {name: session.conf.get(name) for name in chosen}
    try:
        for name, value in chosen.items():
            session.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            session.conf.set(name, str(value))
