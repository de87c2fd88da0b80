"""Spark gives the numbers that this process gives, wherever the rows lie."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest

import bridgeval
from bridgeval.engine.needs import Needs
from bridgeval.errors import InputError, MisalignedError, MissingColumnError, NeedError, RisingScoresWarning
from bridgeval.loading import choose_loader
from bridgeval.plugins import installed
from bridgeval.report import Report
from bridgeval.spark import spark_source as source
from bridgeval.spark.history_context import add_history
from bridgeval.tables.context import Context
from bridgeval.testing import check_loader
from tests.laws.test_loaders import frames
from tests.spark.worlds import installed_metrics, whole_world, world

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::bridgeval.errors.DuplicateRowsWarning")]

ROWS = ("recommendations", "relevance", "history", "baseline", "prev_scores")


def in_spark(spark: Any, arguments: dict[str, Any], roles: tuple[str, ...] = ROWS) -> dict[str, Any]:
    return arguments | {role: spark.createDataFrame(arguments[role]) for role in roles if role in arguments}


def assert_same(found: Report, expected: Report) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert math.isclose(found[name], value, rel_tol=1e-12, abs_tol=1e-12) or math.isnan(value), name
        assert math.isnan(found[name]) == math.isnan(value), name
    # None: Spark does not count what would need another job or shuffle. The order of a list comes to Spark as ranks.
    counted = {name: count for name, count in vars(found.population).items() if count is not None and name != "lists"}
    assert counted == {name: getattr(expected.population, name) for name in counted}
    for name, result in expected.results.items():
        assert (found.results[name].users, found.results[name].undefined) == (result.users, result.undefined), name


@pytest.fixture(scope="module")
def asked() -> tuple[list[Any], list[Any]]:
    """Every installed metric: those that can be asked of lists, and those that need whole rankings."""
    arguments, lists, whole = world(), [], []
    for metric in installed_metrics():
        try:
            bridgeval.evaluate(**arguments, metrics=metric)
            lists.append(metric)
        except NeedError:
            whole.append(metric)
    return lists, whole


@pytest.fixture(scope="module")
def evaluated(request: pytest.FixtureRequest, asked: Any) -> list[tuple[dict[str, Any], list[Any], Report]]:
    strings = request.param == "strings"
    worlds = zip((world(strings), whole_world(strings)), asked, strict=True)
    return [(given, metrics, bridgeval.evaluate(**given, metrics=metrics)) for given, metrics in worlds]


@pytest.mark.parametrize(
    ("evaluated", "partitions"),
    [("integers", 1), ("integers", 20), ("strings", 2), ("strings", 7)],
    indirect=["evaluated"],
)
def test_every_installed_metric_equals_its_local_value(spark: Any, evaluated: Any, partitions: int) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", partitions)
    try:
        for arguments, metrics, expected in evaluated:
            found = bridgeval.evaluate(**in_spark(spark, arguments), metrics=metrics)
            assert_same(found, expected)
            assert found.loader == "spark"
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", 4)


@pytest.mark.parametrize("ids", ["integer", "string"])
def test_the_loader_keeps_the_laws(spark: Any, ids: Any) -> None:
    data = bridgeval.testing.world(ids)
    shown, relevant, extras = frames(data, lambda columns: spark.createDataFrame(pa.table(columns)))
    extras["baseline"] = data.extras["baseline"]
    check_loader(installed().loaders["spark"], shown, relevant, world=data, **extras)
    assert choose_loader(installed(), shown, relevant).name == "spark"


def test_states_of_many_partitions_are_merged_on_executors(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = {name: world()[name] for name in ("recommendations", "relevance")}
    expected = bridgeval.evaluate(**arguments, metrics=["nDCG@5", "Recall@5"])
    received: list[int] = []
    collect = source._collect
    monkeypatch.setattr(source, "FAN_IN", 2)
    monkeypatch.setattr(source, "_collect", lambda task, parts: received.append(parts.count()) or collect(task, parts))
    for per_user in (False, True):
        found = bridgeval.evaluate(**in_spark(spark, arguments), metrics=["nDCG@5", "Recall@5"], per_user=per_user)
        assert_same(found, expected)
    assert received == [2, 2], "4 partitions, two at a time, with per-user values too"


def test_one_side_may_be_local(spark: Any) -> None:
    arguments = {name: world()[name] for name in ("recommendations", "relevance")}
    expected = bridgeval.evaluate(**arguments)
    for role in arguments:
        assert_same(bridgeval.evaluate(**in_spark(spark, arguments, (role,))), expected)
    ranked = {1: ["a", "b"], 2: ["b"]}
    truth = {1: {"b": 2}, 3: {"a": 1}}
    rows = pa.table({"user": [1, 3], "item": ["b", "a"], "gain": [2, 1]})
    assert_same(bridgeval.evaluate(ranked, spark.createDataFrame(rows)), bridgeval.evaluate(ranked, truth))
    shown = pa.table({"user": [1, 1, 2], "item": ["a", "b", "b"], "rank": [1, 2, 1]})
    assert_same(bridgeval.evaluate(spark.createDataFrame(shown), truth), bridgeval.evaluate(ranked, truth))


def test_small_tables_may_be_spark_frames(spark: Any) -> None:
    arguments = world()
    items = pa.table({"item": arguments["catalogue"]})
    users = pa.table({"user": arguments["users"]})
    metrics = ["nDCG@5", 'Recall(users="given")@5']
    expected = bridgeval.evaluate(**arguments, metrics=metrics)
    given = arguments | {"catalogue": spark.createDataFrame(items), "users": spark.createDataFrame(users)}
    assert_same(bridgeval.evaluate(**in_spark(spark, given), metrics=metrics), expected)


def test_previous_scores_by_item_reach_every_executor(spark: Any) -> None:
    arguments = {name: world()[name] for name in ("recommendations", "relevance")}
    items = arguments["recommendations"]["item"].unique().to_pylist()
    arguments["prev_scores"] = pa.table({"item": items, "score": [0.1 + item / 100 for item in items]})
    expected = bridgeval.evaluate(**arguments, metrics=["NCISPrecision@5", "IPS@5"])
    assert_same(bridgeval.evaluate(**in_spark(spark, arguments), metrics=["NCISPrecision@5", "IPS@5"]), expected)


def test_frames_that_are_partitioned_or_bucketed_by_user_give_the_same(spark: Any) -> None:
    arguments = {name: world()[name] for name in ("recommendations", "relevance")}
    expected = bridgeval.evaluate(**arguments)
    rows = in_spark(spark, arguments)
    apart = {role: frame.repartition(n, "user") for n, (role, frame) in enumerate(rows.items(), start=2)}
    assert_same(bridgeval.evaluate(**apart), expected)
    for role, frame in rows.items():
        frame.write.bucketBy(3, "user").mode("overwrite").saveAsTable(f"bucketed_{role}")
    assert_same(bridgeval.evaluate(**{role: spark.table(f"bucketed_{role}") for role in rows}), expected)


@pytest.mark.parametrize("role", ["recommendations", "relevance", "history"])
def test_arrays_beside_the_item_belong_to_the_row(spark: Any, role: str) -> None:
    """Half of them empty or null: no row is dropped, none is repeated."""
    arguments = {name: world()[name] for name in ("recommendations", "relevance", "history")}
    metrics = ["nDCG@10", "ARP@5"]
    expected = bridgeval.evaluate(**arguments, metrics=metrics)
    frames = in_spark(spark, arguments)
    reasons = "case when item % 2 = 0 then array(struct('b' as reason, 0.5 as w), struct('c' as reason, 0.1 as w)) "
    frames[role] = frames[role].selectExpr(
        "*", f"{reasons} when item % 3 = 0 then array() end as explanations", "array('x') as tags"
    )
    assert_same(bridgeval.evaluate(**frames, metrics=metrics), expected)
    renamed = frames | {role: frames[role].withColumnRenamed("item", "product")}
    assert_same(bridgeval.evaluate(**renamed, metrics=metrics, columns={"item": "product"}), expected)


def test_a_chosen_column_that_no_frame_has_is_refused(spark: Any) -> None:
    arguments = in_spark(spark, {name: world()[name] for name in ("recommendations", "relevance")})
    with pytest.raises(MissingColumnError, match=r"no table has the column 'scoer', which was chosen for the score"):
        bridgeval.evaluate(**arguments, columns={"score": "scoer"})
    lists = spark.createDataFrame([(1, [("a", 0.5)])], "user int, recs array<struct<item: string, p: double>>")
    assert bridgeval.evaluate(lists, {1: ["a"]}, "MRR@1", columns={"score": "p"})["MRR@1"] == 1.0


def test_a_stream_given_directly_is_refused_with_the_recipe(spark: Any, tmp_path: Any) -> None:
    stream = spark.readStream.schema("user int, item int, score double").parquet(str(tmp_path))
    with pytest.raises(InputError, match=r"are a stream, which never ends.*foreachBatch.*docs/states\.md"):
        bridgeval.evaluate(stream, {1: [2]})


def test_evaluations_in_parallel_leave_the_settings_of_the_session_alone(spark: Any) -> None:
    arguments = in_spark(spark, {name: world()[name] for name in ("recommendations", "relevance")})
    for role, frame in arguments.items():
        frame.write.bucketBy(3, "user").mode("overwrite").saveAsTable(f"parallel_{role}")
    tables = {role: spark.table(f"parallel_{role}") for role in arguments}
    before = {row.key: row.value for row in spark.sql("SET").collect()}
    with ThreadPoolExecutor(3) as pool:
        reports = list(pool.map(lambda _: bridgeval.evaluate(**tables), range(3)))
    assert reports[0] == reports[1] == reports[2]
    assert {row.key: row.value for row in spark.sql("SET").collect()} == before


def test_settings_of_the_session_are_left_alone(spark: Any) -> None:
    arguments = in_spark(spark, {name: world()[name] for name in ("recommendations", "relevance")})
    before = {row.key: row.value for row in spark.sql("SET").collect()}
    bridgeval.evaluate(**arguments, per_user=True)
    assert {row.key: row.value for row in spark.sql("SET").collect()} == before


def test_arrays_of_structs_items_and_scores_are_long_frames_in_other_words(spark: Any) -> None:
    truth = {1: ["c"], 2: ["a", "b"]}
    expected = bridgeval.evaluate({1: {"a": 0.1, "b": 0.3, "c": 0.2}, 2: {"a": 0.9, "b": 0.5, "c": 0.7}}, truth)
    structs = "user int, recs array<struct<item: string, rating: float>>"
    rows = [(1, [("a", 0.1), ("b", 0.3), ("c", 0.2)]), (2, [("a", 0.9), ("b", 0.5), ("c", 0.7)])]
    assert_same(bridgeval.evaluate(spark.createDataFrame(rows, structs), truth), expected)
    ranked = spark.createDataFrame([(1, ["b", "c", "a"]), (2, ["a", "c", "b"])], "user int, items array<string>")
    assert_same(bridgeval.evaluate(ranked, truth), expected)
    scores = [(1, [0.1, 0.3, 0.2]), (2, [0.9, 0.5, 0.7])]
    matrix = spark.createDataFrame(scores, "user int, scores array<double>")
    assert dict(bridgeval.evaluate(matrix, truth, catalogue=["a", "b", "c"])) == pytest.approx(dict(expected))
    both = spark.createDataFrame(
        [(user, ["a", "b", "c"], numbers) for user, numbers in scores], "user int, item array<string>, s array<double>"
    )
    assert_same(bridgeval.evaluate(both, truth), expected)
    places = bridgeval.evaluate(matrix, {1: [2], 2: [0, 1]})
    assert dict(places) == pytest.approx(dict(expected))


def test_ml_vectors_are_arrays_of_scores(spark: Any) -> None:
    from pyspark.ml.linalg import Vectors

    rows = [(1, Vectors.dense([0.1, 0.3])), (2, Vectors.sparse(2, {1: 0.5}))]
    frame = spark.createDataFrame(rows, ["user", "scores"])
    assert bridgeval.evaluate(frame, {1: [0], 2: [1]}, "MRR@2")["MRR@2"] == 0.75


def test_a_user_with_a_million_rows_and_empty_partitions_are_nothing_special(spark: Any) -> None:
    million = spark.range(1_000_000).selectExpr("7 as user", "id as item", "-double(id) as score")
    few = spark.createDataFrame([(8, 3, 0.5), (9, 1, 0.1)], "user int, item long, score double")
    report = bridgeval.evaluate(million.union(few), {7: [0, 2], 8: [4], 9: [1]}, "MRR@5", per_user=True)
    assert {row.user: row.value for row in report.per_user("MRR@5").collect()} == {7: 1.0, 8: 0.0, 9: 1.0}
    assert report.population.users == 3


def test_a_history_that_no_metric_asks_for_is_not_read() -> None:
    unread: Any = object()
    assert add_history(Context(), unread, Needs(pairs=frozenset({"seen"}))) == Context()
    with pytest.raises(AttributeError):
        add_history(Context(), unread, Needs(context=frozenset({"catalogue"})))


def test_bad_input_is_refused_before_anything_runs(spark: Any) -> None:
    shown = spark.createDataFrame([("a", 1, 0.5)], "user string, item int, score double")
    with pytest.raises(MisalignedError, match="user ids are integers on one side and strings on the other"):
        bridgeval.evaluate(shown, {1: [1]})
    with pytest.raises(InputError, match="neither a score nor a rank"):
        bridgeval.evaluate(shown.drop("score"), {"a": [1]})
    with pytest.raises(MissingColumnError, match="no column for the item"):
        bridgeval.evaluate(shown.drop("item"), {"a": [1]})
    with pytest.raises(InputError, match="must be integers or strings"):
        bridgeval.evaluate(shown.selectExpr("double(1) as user", "item", "score"), {1: [1]})


@pytest.mark.filterwarnings("ignore::bridgeval.errors.ConstantScoresWarning")
def test_ties_as_given_follow_the_frame(spark: Any) -> None:
    shown = pa.table({"user": [1] * 6, "item": [5, 1, 4, 2, 6, 3], "score": [0.5] * 6})
    truth = {1: [4]}
    found = bridgeval.evaluate(spark.createDataFrame(shown), truth, 'MRR(ties="given")@6')
    assert list(found.values()) == pytest.approx([1 / 3])


def test_seen_items_are_masked_on_executors_as_here(spark: Any) -> None:
    given = {name: value for name, value in world().items() if name in ("recommendations", "relevance", "history")}
    asked = {"metrics": ["Recall@5", "nDCG@5"], "mask_seen": True}
    expected = bridgeval.evaluate(**given, **asked)
    assert expected.population.seen > 0
    assert_same(bridgeval.evaluate(**in_spark(spark, given), **asked), expected)


def test_executors_alarm_as_this_process_does(spark: Any) -> None:
    rising = pa.table({"user": [1] * 12, "item": list(range(12)), "score": [float(place) for place in range(12)]})
    truth = pa.table({"user": [1], "item": [3]})
    with pytest.warns(RisingScoresWarning, match="scores rise along nearly every list"):
        bridgeval.evaluate(spark.createDataFrame(rising), spark.createDataFrame(truth), "Recall@5")


@pytest.mark.filterwarnings("ignore::bridgeval.errors.ConstantScoresWarning")
def test_ties_by_text_and_ranks_with_gaps_hold_inside_spark(spark: Any) -> None:
    truth = spark.createDataFrame(pa.table({"user": [1, 2], "item": [9, 1], "gain": [1, 1]}))
    tied = pa.table({"user": [1, 1, 2], "item": [10, 9, 1], "score": [0.5] * 3})
    # as text 9 is above 10
    assert list(bridgeval.evaluate(spark.createDataFrame(tied), truth, "trec_eval:P@1").values()) == [1.0]
    ranked = pa.table({"user": [1, 1, 2], "item": [10, 9, 1], "rank": [1, 3, 2]})
    found = bridgeval.evaluate(spark.createDataFrame(ranked), truth, "rectools:MRR@3")
    assert list(found.values()) == pytest.approx([(1 / 3 + 1 / 2) / 2])
    # lists of this process come without ranks: each starts at 1
    found = bridgeval.evaluate({1: [10, 9], 2: [1]}, truth, "rectools:MRR@3")
    assert list(found.values()) == pytest.approx([(1 / 2 + 1) / 2])
