"""What Spark forks Python workers from in these tests: it has loaded torch, so that no worker must load it again."""

from pyspark.daemon import manager

import bridgeval.spark.task  # noqa: F401

if __name__ == "__main__":
    manager()
