"""Metrics written for toolkits, by their guides, fold on executors as they do in one process."""

from __future__ import annotations

from typing import Any

import pytest

import bridgeval
from bridgeval.toolkits import librec, warprec
from tests.spark.test_spark_source import assert_same, in_spark
from tests.spark.worlds import world
from tests.toolkits.librec.test_bases import NdcgMetric, RmseMetric
from tests.toolkits.warprec.test_bases import AbsoluteError, BlockPrecision, GuidePrecision

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::bridgeval.errors.DuplicateRowsWarning")]

METRICS = [
    "Precision@5",
    warprec.metric(GuidePrecision, k=5),
    warprec.metric(BlockPrecision, k=5),
    warprec.metric(AbsoluteError),
    librec.custom(RmseMetric),
    librec.custom(NdcgMetric, {"list_size": "5"}),
]


@pytest.mark.parametrize("strings", [False, True], ids=["integers", "strings"])
def test_classes_of_toolkits_give_the_local_numbers(spark: Any, strings: bool) -> None:
    given = {role: world(strings)[role] for role in ("recommendations", "relevance")}
    expected = bridgeval.evaluate(**given, metrics=METRICS, per_user=True)
    found = bridgeval.evaluate(**in_spark(spark, given), metrics=METRICS, per_user=True)
    assert_same(found, expected)
    assert found["GuidePrecision@5"] == pytest.approx(found["Precision@5"], rel=1e-7)
    frame = found.per_user()
    assert frame.columns == ["user", "metric", "k", "value"]
    # A user without a number is null in an Arrow table and NaN in Spark's.
    rows = expected.per_user().to_pandas().itertuples(index=False)
    wanted = {(row.user, row.metric): row.value for row in rows}
    assert {(row.user, row.metric): row.value for row in frame.collect()} == pytest.approx(
        wanted, rel=1e-12, nan_ok=True
    )
