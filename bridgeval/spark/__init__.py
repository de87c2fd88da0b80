"""Inside a Spark job: the plan that runs locally, folded on the executors. Nothing here imports pyspark before it must.

frames     each argument as a Spark frame (user, item, numbers), tagged and united
task       what an executor does: Arrow batches -> whole users -> Slates -> states
source     SparkSource: one shuffle by user, one pass, states to the driver
context    popularity and catalogue of a history, counted on the executors
per_user   per-user values that stay in Spark
watching   tasks done and to do while a job runs
faults     an executor's error said on the driver in its own words
job        the evaluation as a job: paths in, a table out
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from bridgeval.engine.source import TypedLoader
from bridgeval.hookspecs import Loader, hookimpl
from bridgeval.tables.rows import is_spark_frame

if TYPE_CHECKING:
    from bridgeval.engine.source import Source


class SparkLoader(TypedLoader):
    """Recommendations or relevance in a Spark frame; the other in anything the local loaders read."""

    name = "spark"
    reads = ((is_spark_frame, object), (object, is_spark_frame))

    def load(self, recommendations: Any, relevance: Any, /, **extras: Any) -> Source:
        from bridgeval.spark.spark_source import SparkSource

        return SparkSource.of(recommendations, relevance, **extras)


@hookimpl
def bridgeval_loaders() -> Iterable[Loader]:
    return [SparkLoader()]
