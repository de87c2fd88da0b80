"""Inside a Spark job: the plan that runs locally, folded on the executors. pyspark is imported only when it is used.

role_frames      each argument as a Spark frame (user, item, numbers), and all of them as one
array_frames     frames with one row per user as long frames
spark_source     SparkSource: one shuffle by user, one pass, states to the driver
task             the work of an executor: Arrow batches -> whole users -> Slates -> states
joint_source     several systems in one shuffle, their users paired on the executors
history_context  popularity and catalogue of a history, counted on the executors
per_user         per-user values that stay in Spark
executors        checks of the executors, and their errors on the driver
daemon           forks workers that have imported all this, where a job asks for it
job_progress     tasks done and to do while a job runs
job              the evaluation as a job: paths in, a table out
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bridgeval.engine.source import TypedLoader
from bridgeval.hookspecs import Loader, hookimpl
from bridgeval.io.frames import is_spark_frame

if TYPE_CHECKING:
    from bridgeval.engine.source import JointSource, Source
    from bridgeval.spark.job import run as run


class SparkLoader(TypedLoader):
    """Recommendations or relevance in a Spark frame; the other in anything the local loaders read."""

    name = "spark"
    reads = ((is_spark_frame, object), (object, is_spark_frame))

    def load(self, recommendations: Any, relevance: Any, /, **extras: Any) -> Source:
        from bridgeval.spark.spark_source import SparkSource

        return SparkSource.of({"recommendations": recommendations}, relevance, **extras)

    def load_systems(self, systems: Mapping[str, Any], relevance: Any, /, **extras: Any) -> JointSource:
        from bridgeval.spark.joint_source import SparkSystems
        from bridgeval.spark.spark_source import SparkSource

        shown = {f"recommendations {name}": value for name, value in systems.items()}
        return SparkSystems(SparkSource.of(shown, relevance, **extras))


@hookimpl
def bridgeval_loaders() -> Iterable[Loader]:
    return [SparkLoader()]


def __getattr__(name: str) -> Any:
    # `bridgeval.spark.run` needs pyspark, which the loader above must not import.
    if name == "run":
        from bridgeval.spark.job import run

        return run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
