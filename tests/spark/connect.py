"""Run by a test: everything that a session of Spark Connect is asked. Prints what it gives."""

from __future__ import annotations

import json
import sys
import warnings

from pyspark.sql import SparkSession

import bridgeval
import bridgeval.spark
from tests.spark.worlds import world

METRICS = ["nDCG@5", "ARP@5", 'Recall(over="median")@5']


def main(folder: str) -> None:
    warnings.simplefilter("ignore")
    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    try:
        assert type(spark).__module__.startswith("pyspark.sql.connect")
        spark.conf.set("spark.sql.shuffle.partitions", 3)
        given = {role: spark.createDataFrame(world()[role]) for role in ("recommendations", "relevance", "history")}
        report = bridgeval.evaluate(**given, metrics=METRICS, per_user=True, state=f"{folder}/a.state", progress=True)
        users = {row.user: row.value for row in report.per_user("nDCG@5").collect()}
        other = spark.createDataFrame(world(seed=6)["recommendations"])
        truth = given["relevance"]
        compared = bridgeval.compare({"a": given["recommendations"], "b": other}, truth, "nDCG@5", resamples=200)
        given["recommendations"].write.parquet(f"{folder}/recs")
        truth.write.parquet(f"{folder}/truth")
        paths = {"recs": f"{folder}/recs", "truth": f"{folder}/truth", "out": f"{folder}/out", "run_id": "monday"}
        job = [bridgeval.spark.run(**paths, metrics=["nDCG@5"], session=spark)["nDCG@5"] for _ in range(2)]
        try:
            bridgeval.evaluate(given["recommendations"].selectExpr("user", "item", "double('nan') as score"), truth)
            refused = ""
        except bridgeval.errors.BadValueError as error:
            refused = str(error)
        report.save(f"{folder}/report.json", relevance=truth)
        row = compared.difference("nDCG@5")
        print(
            json.dumps(
                {
                    "report": dict(report),
                    "users": list(users.items()),
                    "merged": dict(bridgeval.merge([f"{folder}/a.state"])),
                    "compared": [row.difference, row.low, row.high, row.p_t, row.p_permutation, row.p_wilcoxon],
                    "job": job,
                    "rows": spark.read.parquet(f"{folder}/out").count(),
                    "refused": refused,
                }
            )
        )
    finally:
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
