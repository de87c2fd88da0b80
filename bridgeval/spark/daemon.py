"""The process that Spark forks Python workers from, with the imports of an evaluation done once for all of them.

Used where `spark.python.daemon.module` is `bridgeval.spark.daemon`.
"""

from pyspark.daemon import manager

import bridgeval.spark.task  # noqa: F401

if __name__ == "__main__":
    manager()
