"""Spark frames in RePlay's drop-in classes: Spark's rules, and metrics written with Spark's functions."""

from __future__ import annotations

from typing import Any

import pytest

import bridgeval
from bridgeval.errors import DuplicateRowsWarning, NeedError
from bridgeval.toolkits.replay import (
    MAP,
    NDCG,
    CategoricalDiversity,
    ConfidenceInterval,
    Coverage,
    Median,
    Metric,
    MetricDuplicatesWarning,
    NCISMetric,
    NCISPrecision,
    Novelty,
    OfflineMetrics,
    PerUser,
    Precision,
    RecOnlyMetric,
    Surprisal,
    Unexpectedness,
    experimental,
    get_enriched_recommendations,
)
from bridgeval.toolkits.replay.loader import SPARK
from tests.toolkits.replay.worlds import NEW, OLD, frame, world

pytestmark = pytest.mark.spark

WORLD = world(7)


@pytest.fixture(scope="module")
def on_spark(spark: Any) -> Any:
    """Rows as a Spark frame."""

    def made(rows: list[list[Any]], columns: list[str] = NEW) -> Any:
        return spark.createDataFrame(rows, columns[: len(rows[0])])

    return made


def test_spark_frames_are_evaluated_by_sparks_rules(on_spark: Any) -> None:
    metrics = [
        NDCG([2, 5]),
        NDCG(5, mode=Median()),
        NDCG(5, mode=ConfidenceInterval(0.9)),
        NDCG(5, mode=PerUser()),
        Surprisal(5),
        Novelty(5),
        Coverage(5),
        Unexpectedness(5),
        CategoricalDiversity(3, mode=Median()),
    ]
    rows = [[*row, row[1] % 3] for row in WORLD["recs"]]
    columns = [*NEW, "category_id"]
    others = (WORLD["truth"], WORLD["train"])
    on_pandas = (frame(rows, columns), *map(frame, others))
    expected = OfflineMetrics(metrics).evaluate(SPARK, *on_pandas, {"B": frame(WORLD["base"])})
    found = OfflineMetrics(metrics)(on_spark(rows, columns), *map(on_spark, others), {"B": on_spark(WORLD["base"])})
    assert list(found) == list(expected)
    for key, value in expected.items():
        assert found[key] == pytest.approx(value)


def test_repeated_truth_rows_are_removed(on_spark: Any) -> None:
    recs, truth = on_spark([[1, 5, 0.9], [1, 5, 0.8]]), on_spark([[1, 5, 1.0], [1, 5, 1.0]])
    with pytest.warns(MetricDuplicatesWarning, match="1 repeated"):
        # Both rows are hits and there is one relevant item: (1 + 1) / 1.
        assert MAP(2)(recs, truth) == {"MAP@2": 2.0}


def test_the_older_generation_takes_spark_frames(on_spark: Any) -> None:
    spark_frames = {name: on_spark(rows, OLD) for name, rows in WORLD.items()}
    frames = {name: frame(rows, OLD) for name, rows in WORLD.items()}
    users, spark_users = frame([[2], [5], [77]], OLD), on_spark([[2], [5], [77]], OLD)
    for metric in (experimental.NDCG, experimental.MAP):
        found = metric()(spark_frames["recs"], spark_frames["truth"], [2, 5], spark_users)
        assert found == pytest.approx(metric()(frames["recs"], frames["truth"], [2, 5], users))
    found = experimental.Unexpectedness(spark_frames["base"])(spark_frames["recs"], 3)
    assert found == pytest.approx(experimental.Unexpectedness(frames["base"])(frames["recs"], 3))


class Older(Metric):
    @staticmethod
    def _get_metric_value_by_user(k: int, pred: list[Any], ground_truth: list[Any]) -> float:
        return len(set(pred[:k]) & set(ground_truth)) / k


class Newer(Metric):
    @staticmethod
    def _get_metric_value_by_user(ks: list[int], ground_truth: list[Any], pred: list[Any] | None) -> list[float]:
        return [len(set((pred or [])[:k]) & set(ground_truth)) / k for k in ks]


def test_custom_metrics_run_on_spark_frames(on_spark: Any) -> None:
    recs, truth = on_spark(WORLD["recs"]), on_spark(WORLD["truth"])
    assert list(Newer([2, 5])(recs, truth).values()) == pytest.approx(list(Precision([2, 5])(recs, truth).values()))
    recs, truth = on_spark(WORLD["recs"], OLD), on_spark(WORLD["truth"], OLD)
    assert Older()(recs, truth, [2, 5]) == pytest.approx(experimental.Precision()(recs, truth, [2, 5]))


class Surprise(RecOnlyMetric):
    """Written for RePlay: Spark's functions on Spark frames, whatever is given."""

    def __init__(self, log: Any) -> None:
        from pyspark.sql import functions as sf

        self.counts = log.groupBy("item_idx").agg(sf.countDistinct("user_idx").alias("users"))

    def _get_enriched_recommendations(
        self, recommendations: Any, ground_truth: Any, max_k: int, ground_truth_users: Any = None
    ) -> Any:
        from pyspark.sql import functions as sf

        joined = recommendations.join(self.counts, on="item_idx", how="left").fillna(0, subset=["users"])
        pair = sf.struct((-sf.col("relevance")).alias("below"), "users")
        lists = joined.groupBy("user_idx").agg(sf.sort_array(sf.collect_list(pair)).alias("pairs"))
        return lists.select("user_idx", sf.col("pairs.users").alias("rec_users"))

    @staticmethod
    def _get_metric_value_by_user(k: int, *args: Any) -> float:
        return sum(users == 0 for users in args[0][:k]) / k


@pytest.mark.parametrize("kind", ["pandas", "polars", "spark"])
def test_a_metric_written_with_sparks_functions_runs_on_every_kind_of_frame(kind: str, on_spark: Any) -> None:
    log = on_spark([[9, 5, 1.0], [8, 7, 1.0]], OLD)
    rows = [[1, 5, 0.2], [1, 6, 0.9], [2, 5, 0.1], [2, 6, 0.05]]
    recs = on_spark(rows, OLD) if kind == "spark" else frame(rows, OLD, kind)
    # Nobody has item 6: it stands first for user 1 and second for user 2.
    assert Surprise(log)(recs, [1, 2]) == {1: 0.5, 2: 0.5}


class WeightOfHits(NCISMetric):
    @staticmethod
    def _get_metric_value_by_user(k: int, pred: list[Any], ground_truth: list[Any], weights: list[float]) -> float:
        return sum(weight for item, weight in zip(pred[:k], weights[:k], strict=True) if item in ground_truth)


def test_a_counterfactual_metric_runs_on_spark_frames(on_spark: Any) -> None:
    recs, truth = on_spark([[1, 5, 0.9], [1, 6, 0.3]], OLD), on_spark([[1, 5, 1.0], [1, 6, 1.0]], OLD)
    by_pair = on_spark([[1, 5, 0.3], [1, 6, 0.3]], OLD)
    by_item = on_spark([[5, 0.3], [6, 0.6]], OLD[1:])
    assert WeightOfHits(by_pair)(recs, truth, [1, 2]) == pytest.approx({1: 3.0, 2: 4.0})
    assert WeightOfHits(by_item)(recs, truth, 2) == pytest.approx(3.5)


def test_enriched_recommendations_stay_a_spark_frame(on_spark: Any) -> None:
    recs, truth = on_spark([[1, 5, 0.2], [1, 6, 0.9]], OLD), on_spark([[1, 5, 1.0], [2, 8, 1.0]], OLD)
    lists = get_enriched_recommendations(recs, truth, 2)
    assert lists.columns == ["user_idx", "pred", "ground_truth"]
    assert {row["user_idx"]: row["pred"] for row in lists.collect()} == {1: [6, 5], 2: []}


def test_enriched_recommendations_of_ncis_are_the_spark_frame_that_replay_makes(spark: Any) -> None:
    recs = spark.createDataFrame(
        [(1, 5, 0.9), (1, 7, 0.8), (2, 6, 0.9)], "user_idx int, item_idx int, relevance double"
    )
    truth = spark.createDataFrame([(1, 7), (3, 5)], "user_idx int, item_idx int")
    lists = NCISPrecision(frame([[1, 5, 0.3], [1, 7, 0.8]], OLD))._get_enriched_recommendations(recs, truth, 3)
    assert dict(lists.dtypes) == {
        "user_idx": "int",
        "pred": "array<int>",
        "weight": "array<double>",
        "ground_truth": "array<int>",
    }
    rows = [tuple(row) for row in lists.orderBy("user_idx").collect()]
    assert rows == [(1, [5, 7], [pytest.approx(3.0), 1.0], [7]), (3, [], [], [5])]


def test_the_coverage_of_an_empty_spark_frame_is_0(on_spark: Any) -> None:
    recs = on_spark([[1, 5, 0.9]])
    assert Coverage([1, 2])(recs.limit(0), recs) == {"Coverage@1": 0.0, "Coverage@2": 0.0}


def test_unexpectedness_against_spark_base_recommendations(on_spark: Any) -> None:
    # User 1: of the first two (7, 8) the base shows 8 first: 1 - 1/2. User 2: repeated 5 is in both: 1 - 1/2.
    # User 3 has no base list: 0. User 4 of the base alone does not count.
    recs = [[1, 7, 0.9], [1, 8, 0.4], [1, 9, 0.1], [2, 5, 0.8], [2, 5, 0.7], [3, 8, 0.5]]
    base = [[1, 8, 0.9], [1, 6, 0.5], [1, 7, 0.2], [2, 5, 0.6], [4, 1, 0.3]]
    frames = on_spark(recs), on_spark(base)
    expected = {1: 0.5, 2: 0.5, 3: 0.0}
    with pytest.warns(MetricDuplicatesWarning, match="1 repeated"):
        assert Unexpectedness(2, mode=PerUser())(*frames) == {"Unexpectedness-PerUser@2": expected}
    name = "replay:Unexpectedness@2"
    with pytest.warns(DuplicateRowsWarning, match="1 "):
        report = bridgeval.evaluate(frames[0], on_spark([[1, 7, 1.0]]), name, baseline=frames[1])
    assert report[name] == pytest.approx(1 / 3)
    assert report.results[name].users == 3


def test_several_baselines_by_name_inside_spark(on_spark: Any) -> None:
    recs = on_spark([[1, 7, 0.9], [1, 8, 0.4], [2, 5, 0.8], [2, 6, 0.7]])
    bases = {
        # User 1 is shown 8 by both, user 2 nothing by ALS: 1 - 1/2, and 0 as RePlay has it.
        "ALS": on_spark([[1, 8, 0.9], [1, 6, 0.5]]),
        # User 1 is shown neither, user 2 both, in another order: 1 and 0.
        "top list": frame([[1, 1, 0.9], [2, 6, 0.5], [2, 5, 0.4]], NEW, "pandas"),
        # Nobody asks for this one.
        "other": on_spark([[1, 7, 0.9]]),
    }
    names = {name: f'replay:Unexpectedness(baseline="{name}")@2' for name in ("ALS", "top list")}
    report = bridgeval.evaluate(recs, recs, names.values(), baseline=bases)
    assert dict(report) == pytest.approx({names["ALS"]: 0.25, names["top list"]: 0.5})
    with pytest.raises(NeedError, match=r"needs the baseline 'BPR'; found: only .*baseline of 'ALS'"):
        bridgeval.evaluate(recs, recs, 'Unexpectedness(baseline="BPR")@2', baseline=bases)
