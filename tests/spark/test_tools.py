"""Beside `evaluate` and `compare`: provenance, check, explain, identify, inspect and slices of frames in Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import bridgeval
from bridgeval.errors import InputError
from tests.spark.test_spark_source import in_spark
from tests.spark.worlds import world

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::bridgeval.errors.DuplicateRowsWarning")]


@pytest.fixture(scope="module", params=[False, True], ids=["integers", "strings"])
def given(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {name: world(request.param)[name] for name in ("recommendations", "relevance")}


def describe(report: bridgeval.Report, folder: Path, **inputs: Any) -> dict[str, Any]:
    report.save(folder / "report.json", **inputs)
    return json.loads((folder / "report.json").read_text())["manifest"]["inputs"]


def test_a_saved_report_has_hashes_of_the_rows_in_spark(spark: Any, given: dict[str, Any], tmp_path: Path) -> None:
    report = bridgeval.evaluate(**given, metrics="nDCG@5")
    frames = in_spark(spark, given)
    found = describe(report, tmp_path, **frames)
    local = describe(report, tmp_path, **given)
    assert found["relevance"]["content"] == local["relevance"]["content"], "the hash of the same rows here"
    assert found["relevance"]["rows"] == given["relevance"].num_rows
    apart = {role: frame.repartition(7) for role, frame in frames.items()}
    assert describe(report, tmp_path, **apart) == found, "in any order, however they are partitioned"
    changed = {role: frame.limit(frame.count() - 1) for role, frame in frames.items()}
    other = describe(report, tmp_path, **changed)
    assert all(other[role]["content"] != found[role]["content"] for role in frames)
    scored = frames["recommendations"].selectExpr("user", "item", "score / 2 as score")
    half = describe(report, tmp_path, recommendations=scored)
    assert half["recommendations"]["content"] != found["recommendations"]["content"]
    lists = spark.createDataFrame([(1, ["b", "c"])], "user int, items array<string>")
    assert describe(report, tmp_path, recommendations=lists)["recommendations"] == {"kind": "DataFrame"}, (
        "no false hash"
    )


def test_a_check_in_spark_refuses_another_truth(spark: Any, given: dict[str, Any], tmp_path: Path) -> None:
    frames = in_spark(spark, given)
    report = bridgeval.evaluate(**frames, metrics="nDCG@5", per_user=True)
    bridgeval.save_baseline(report, tmp_path / "old.json", relevance=frames["relevance"])
    gate = bridgeval.check(*frames.values(), tmp_path / "old.json", "nDCG@5=1%")
    assert gate.holds
    assert gate.notes == (), "the truth was compared"
    assert bridgeval.check(*given.values(), tmp_path / "old.json", "nDCG@5=1%").holds, "and here"
    # The same users, another gain.
    gains = frames["relevance"].selectExpr("user", "item", "case when gain = 3 then 4 else gain end as gain")
    with pytest.raises(InputError, match="made with another truth"):
        bridgeval.check(frames["recommendations"], gains, tmp_path / "old.json", "nDCG@5=1%")


def test_slices_may_be_frames_of_spark(spark: Any, given: dict[str, Any]) -> None:
    users, items = (pc.unique(given["relevance"][name]) for name in ("user", "item"))
    by_user = pa.table({"user_id": users, "age": [("young", "old")[at % 2] for at in range(len(users))]})
    by_item = pa.table({"item_id": items, "genre": [("rock", "jazz")[at % 2] for at in range(len(items))]})
    local = bridgeval.evaluate(**given, metrics="nDCG@5", by=[by_user, by_item]).slices
    labels = [spark.createDataFrame(by_user), spark.createDataFrame(by_item)]
    found = bridgeval.evaluate(**in_spark(spark, given), metrics="nDCG@5", by=labels).slices
    assert [(row.kind, row.slice, row.users) for row in found.means] == [
        (row.kind, row.slice, row.users) for row in local.means
    ]
    assert [row.value for row in found.means] == pytest.approx([row.value for row in local.means], rel=1e-12)


def test_explain_and_identify_answer_in_spark_as_here(spark: Any, given: dict[str, Any]) -> None:
    frames = in_spark(spark, given)
    here = bridgeval.explain(*given.values(), "nDCG@5", "irspack:ndcg@5")
    there = bridgeval.explain(*frames.values(), "nDCG@5", "irspack:ndcg@5")
    assert there.values == pytest.approx(here.values, rel=1e-12)
    assert [step.parameter for step in there.steps] == [step.parameter for step in here.steps]
    value = round(here.values[0], 6)
    assert bridgeval.identify(*frames.values(), value, "ndcg@5").names == (
        bridgeval.identify(*given.values(), value, "ndcg@5").names
    )


def test_an_inspection_in_spark_says_what_to_do_instead(spark: Any, given: dict[str, Any]) -> None:
    found = bridgeval.inspect(*in_spark(spark, given).values())
    assert "not in this process, so they were not inspected: take the rows of some users" in str(found)
    assert found.value is None
