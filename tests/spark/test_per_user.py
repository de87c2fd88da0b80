"""Per-user values stay in Spark until somebody asks for them."""

from __future__ import annotations

import gc
import pickle
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

import bridgeval
from bridgeval import ListMetric, Slate
from bridgeval.slices import of_items
from tests.spark.test_spark_source import assert_same, in_spark
from tests.spark.worlds import world

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::bridgeval.errors.DuplicateRowsWarning")]

METRICS = ["nDCG@5", "replay:MAP@3" if "replay" in bridgeval.plugins.installed().conventions else "ranx:map@3"]


@dataclass(frozen=True)
class CountsItsCalls(ListMetric):
    """1 for everyone; leaves a file in a folder at each call."""

    name = "CountsItsCalls"
    folder: str = ""

    def value(self, slate: Slate) -> float:
        (Path(self.folder) / uuid.uuid4().hex).touch()
        return 1.0


@pytest.fixture(scope="module", params=[False, True], ids=["integers", "strings"])
def given(request: pytest.FixtureRequest) -> dict[str, Any]:
    arguments = world(request.param)
    return {name: arguments[name] for name in ("recommendations", "relevance")}


def test_per_user_values_are_a_spark_frame_with_the_local_values(spark: Any, given: dict[str, Any]) -> None:
    report = bridgeval.evaluate(**in_spark(spark, given), metrics=METRICS, per_user=True)
    expected = bridgeval.evaluate(**given, metrics=METRICS, per_user=True)
    assert_same(report, expected)
    frame = report.per_user()
    assert type(frame).__module__.startswith("pyspark.sql")
    assert frame.columns == ["user", "metric", "k", "value"]
    found = {(row.user, row.metric, row.k): row.value for row in frame.collect()}
    rows = expected.per_user().to_pylist()
    wanted = {(row["user"], row["metric"], row["k"]): row["value"] for row in rows}
    assert found.keys() == wanted.keys()
    assert all(abs(found[key] - wanted[key]) < 1e-12 for key in wanted)
    wide = report.per_user(wide=True)
    assert wide.columns == ["user", *METRICS]
    cells = {(row["user"], name): row[name] for row in wide.collect() for name in METRICS if row[name] is not None}
    assert cells == pytest.approx({(user, name): value for (user, name, _), value in wanted.items()}, rel=1e-12)
    one = report.per_user("nDCG@5")
    assert one.count() == len(expected.per_user("nDCG@5"))
    assert report.collected["nDCG@5"].to_dict() == pytest.approx(expected.collected["nDCG@5"].to_dict())


def test_medians_and_intervals_need_no_rows_on_the_driver(
    spark: Any, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from bridgeval.spark.per_user import SparkUserTable

    metrics = ['nDCG(over="median")@5', 'Recall(over="lower_median")@5', 'MAP(over="half_width")@5', "MRR@5"]
    monkeypatch.setattr(SparkUserTable, "_collected", property(lambda self: pytest.fail("collected")))
    found = bridgeval.evaluate(**in_spark(spark, given), metrics=metrics)
    expected = bridgeval.evaluate(**given, metrics=metrics)
    assert_same(found, expected)
    assert found.results["MRR@5"].interval() == pytest.approx(expected.results["MRR@5"].interval(), rel=1e-12)


def test_files_that_were_replaced_are_read_again(spark: Any, tmp_path: Path) -> None:
    """Spark takes equal plans over equal paths for one: the first report's cache must not answer for the second."""
    shown = {"user": [1, 1, 2, 2], "item": [7, 8, 7, 8]}
    truth = pa.table({"user": [1, 2], "item": [7, 8]})
    reports = []
    # User 1 finds the item at place 1 and user 2 at place 2; tomorrow both at place 1.
    for scores in ([0.9, 0.1, 0.9, 0.1], [0.9, 0.1, 0.1, 0.9]):
        pa_parquet.write_table(pa.table({**shown, "score": scores}), tmp_path / "recs.parquet")
        frame = spark.read.parquet(str(tmp_path / "recs.parquet"))
        reports.append(bridgeval.evaluate(frame, truth, "MRR@2", per_user=True))
    assert [report["MRR@2"] for report in reports] == [0.75, 1.0]
    assert [sorted(row.value for row in report.per_user().collect()) for report in reports] == [[0.5, 1.0], [1.0, 1.0]]


def test_values_of_a_report_that_is_gone_are_not_computed_again(spark: Any, tmp_path: Path) -> None:
    shown = spark.createDataFrame([(1, "a", 0.5), (2, "b", 0.4)], "user int, item string, score double")
    counts = CountsItsCalls(folder=str(tmp_path))
    frame = bridgeval.evaluate(shown, {1: ["a"], 2: ["b"]}, [counts, "MRR@2"], per_user=True).per_user()
    gc.collect()
    called = len(list(tmp_path.iterdir()))
    assert called == 2
    assert frame.count() == 4
    assert len(list(tmp_path.iterdir())) == called


def test_a_report_with_values_in_spark_can_be_pickled(spark: Any, given: dict[str, Any]) -> None:
    report = bridgeval.evaluate(**in_spark(spark, given), metrics="nDCG@5", per_user=True)
    loaded = pickle.loads(pickle.dumps(report))
    assert dict(loaded) == dict(report)
    expected = bridgeval.evaluate(**given, metrics="nDCG@5", per_user=True)
    assert loaded.collected["nDCG@5"].to_dict() == pytest.approx(expected.collected["nDCG@5"].to_dict(), rel=1e-12)


def test_spark_lets_go_of_the_values_with_the_report(spark: Any, given: dict[str, Any]) -> None:
    cached = spark.sparkContext._jsc.getPersistentRDDs
    gc.collect()
    before = cached().size()
    report = bridgeval.evaluate(**in_spark(spark, given), metrics="nDCG@5", per_user=True)
    assert cached().size() > before
    del report
    gc.collect()
    assert cached().size() <= before


def test_slices_of_users_and_of_items_are_those_of_a_local_run(spark: Any, given: dict[str, Any]) -> None:
    users, items = (sorted(set(given["relevance"][name].to_pylist())) for name in ("user", "item"))
    by = [
        {user: "even" if place % 2 == 0 else "odd" for place, user in enumerate(users)},
        of_items({item: ("rock", "jazz")[place % 2] for place, item in enumerate(items[3:])}, "genre"),
    ]
    here = bridgeval.evaluate(**in_spark(spark, given), metrics=METRICS, by=by).slices
    local = bridgeval.evaluate(**given, metrics=METRICS, by=by).slices
    assert {row.side for row in local.means} == {"user", "item"}
    assert [(row.kind, row.slice, row.metric, row.users) for row in here.means] == [
        (row.kind, row.slice, row.metric, row.users) for row in local.means
    ]
    assert [row.value for row in here.means] == pytest.approx([row.value for row in local.means], abs=1e-12)
