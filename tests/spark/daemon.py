"""The process that Spark forks Python workers from in these tests. It has imported torch already, to save time."""

from pyspark.daemon import manager

import bridgeval.spark.task  # noqa: F401

if __name__ == "__main__":
    manager()
