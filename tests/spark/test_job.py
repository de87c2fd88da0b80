"""The evaluation as a job: paths in, a table out, a reason when it fails."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

import bridgeval
from bridgeval.cli import main
from bridgeval.errors import BadParameterError, InputError, UnknownMetricError
from bridgeval.spark import job
from tests.spark.test_spark_source import assert_same
from tests.spark.worlds import world

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::bridgeval.errors.DuplicateRowsWarning")]


@pytest.fixture(scope="module")
def paths(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("job")
    given = world()
    for role in ("recommendations", "relevance"):
        spark.createDataFrame(given[role]).write.parquet(str(folder / role))
    return {"recs": str(folder / "recommendations"), "truth": str(folder / "relevance")}


def test_numbers_are_appended_with_run_and_time(spark: Any, paths: dict[str, str], tmp_path: Path) -> None:
    out, users = str(tmp_path / "numbers"), str(tmp_path / "users")
    first = job.run(**paths, metrics=["nDCG@5,10"], out=out, run_id="monday", per_user_out=users)
    job.run(**paths, metrics=["MRR@5"], out=out, session=spark)
    given = world()
    assert_same(first, bridgeval.evaluate(given["recommendations"], given["relevance"], ["nDCG@5,10"]))
    rows = spark.read.parquet(out).collect()
    assert sorted(row.metric for row in rows) == ["MRR@5", "nDCG@10", "nDCG@5"]
    monday = {row.metric: (row.k, row.value, row.users) for row in rows if row.run == "monday"}
    assert monday["nDCG@5"] == (5, first["nDCG@5"], first.results["nDCG@5"].users)
    assert len({row.run for row in rows}) == len({row.time for row in rows}) == 2
    written = spark.read.parquet(users)
    assert sorted(written.columns) == ["k", "metric", "run", "time", "user", "value"]
    assert written.where("k = 5").agg({"value": "avg"}).first()[0] == pytest.approx(first["nDCG@5"])


def test_a_run_that_is_run_again_replaces_its_rows_and_no_others(
    spark: Any, paths: dict[str, str], tmp_path: Path
) -> None:
    out, users = str(tmp_path / "numbers"), str(tmp_path / "users")
    for name in ("monday", "tuesday", "monday"):
        job.run(**paths, metrics=["nDCG@5"], out=out, per_user_out=users, run_id=name, session=spark)
    assert sorted(row.run for row in spark.read.parquet(out).collect()) == ["monday", "tuesday"]
    assert len(list(Path(out).rglob("*.parquet"))) == 2, "one small file for each run"
    counts = {row.run: row["count"] for row in spark.read.parquet(users).groupBy("run").count().collect()}
    assert counts["monday"] == counts["tuesday"] > 0


def test_numbers_are_not_written_where_per_user_values_could_not_be(
    spark: Any, paths: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(Exception, match="file"):
        job.run(**paths, metrics=["nDCG@5"], out=str(tmp_path / "out"), per_user_out=str(tmp_path / "file" / "users"))
    assert not (tmp_path / "out").exists()


def test_a_misspelled_metric_is_an_error_before_a_session_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "SparkSession", None)
    with pytest.raises(UnknownMetricError, match="nDGC"):
        job.run(recs="r", truth="t", metrics=["nDGC@5"])
    with pytest.raises(UnknownMetricError, match="nDGC"):
        job.run(recs="r", truth="t", baseline="users", max_drop=["nDGC@5=1%"])


def test_the_command_says_why_it_failed_and_leaves_a_running_session_alone(
    spark: Any, paths: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # the command sets its own

    def command(recs: str, metric: str) -> int | str | None:
        with pytest.raises(SystemExit) as left:
            main(["spark", recs, "--truth", paths["truth"], "-m", metric, "--columns", "user=user"])
        return left.value.code

    assert command(paths["recs"], "nDCG@5") == 0
    assert "nDCG@5" in capsys.readouterr().out
    assert command(str(tmp_path / "none"), "nDCG@5") == 3
    assert "none' cannot be read as parquet" in capsys.readouterr().err
    assert command(paths["recs"], "nDGC@5") == 2
    assert "error: there is no metric 'nDGC'" in capsys.readouterr().err
    assert spark.range(3).count() == 3


def test_text_is_read_with_its_header(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "recs.csv").write_text("user,item,score\n1,a,0.5\n1,b,0.4\n")
    (tmp_path / "truth.csv").write_text("user,item\n1,b\n")
    report = job.run(
        recs=str(tmp_path / "recs.csv"), truth=str(tmp_path / "truth.csv"), metrics=["MRR@2"], format="csv"
    )
    assert dict(report) == {"MRR@2": 0.5}
    with pytest.raises(InputError, match=r"cannot be read as nosuch; found: \[DATA_SOURCE_NOT_FOUND\]"):
        job.run(recs=str(tmp_path / "recs.csv"), truth=str(tmp_path / "truth.csv"), metrics=["MRR@2"], format="nosuch")
    with pytest.raises(InputError, match="cannot be read as parquet"):
        job.run(recs=str(tmp_path / "nothing"), truth=str(tmp_path / "truth.csv"))


def test_tables_of_the_catalog_and_queries_are_read_and_written(spark: Any, paths: dict[str, str]) -> None:
    spark.read.parquet(paths["recs"]).write.saveAsTable("job_recs")
    query = f"sql:select * from parquet.`{paths['truth']}`"
    tables = {"recs": "table:job_recs", "truth": query, "out": "table:job_numbers", "metrics": ["nDCG@5"]}
    try:
        reports = [job.run(**tables, mode=mode) for mode in ("append", "run", "overwrite", "append")]
        assert spark.table("job_numbers").count() == 2, "overwritten once, and added to once"
        expected = job.run(**paths, metrics=["nDCG@5"])
        assert all(dict(report) == dict(expected) for report in reports)
        with pytest.raises(InputError, match="the table 'table:job_numbers' exists already"):
            job.run(**tables, mode="error")
    finally:
        for name in ("job_recs", "job_numbers"):
            spark.sql(f"drop table if exists {name}")
    for source in ("table:nowhere.none", "sql:selec 1"):
        with pytest.raises(InputError, match=r"cannot be read; .*check the name of the table or the query"):
            job.run(recs=source, truth=query)


def test_systems_are_compared_in_a_job_with_the_numbers_of_compare(
    spark: Any, paths: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    other = world(seed=6)["recommendations"]
    spark.createDataFrame(other).write.parquet(str(tmp_path / "other"))
    options = ["--out", str(tmp_path / "out"), "--run-id", "monday", "--out-format", "csv", "--mode", "error"]
    named = ["--system", f"old={paths['recs']}", "--system", f"new={tmp_path / 'other'}", "--truth", paths["truth"]]
    with pytest.raises(SystemExit) as left:
        main(["spark", *named, "-m", "nDCG@5", *options, "--partition-by", "metric"])
    assert left.value.code == 0, capsys.readouterr().err
    (row,) = spark.read.csv(str(tmp_path / "out"), header=True, inferSchema=True).collect()
    given = world()
    systems = {"old": given["recommendations"], "new": other}
    expected = bridgeval.compare(systems, given["relevance"], "nDCG@5", bootstrap="poisson").difference("nDCG@5")
    assert (row.run, row.metric, row.system, row.baseline) == ("monday", "nDCG@5", "new", "old")
    assert (row.wins, row.ties, row.losses) == (expected.wins, expected.ties, expected.losses)
    for name in ("value", "baseline_value", "difference", "low", "high", "p", "relative", "d_z"):
        assert row[name] == pytest.approx(getattr(expected, name), rel=1e-12), name
    assert (tmp_path / "out" / "metric=nDCG@5").is_dir()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"mode": "upsert"}, "there is no mode 'upsert'; hint: choose one of run, append, overwrite, error"),
        ({"partition_by": ["day"], "out": "o"}, "the table 'o' cannot be partitioned by day; found: columns run, time"),
        ({"partition_by": ["users"], "out": "o", "per_user_out": "p"}, "the table 'p' cannot be partitioned by users"),
        ({"recs": {"a": "a", "b": "b"}, "per_user_out": "p"}, "a comparison writes no per-user values"),
        ({"out": "sql:select 1"}, "a query cannot be written to"),
        ({"baseline": "users"}, "a check needs a baseline and the largest acceptable drops"),
        ({"max_drop": ["nDCG@5=1%"]}, "a check needs a baseline and the largest acceptable drops"),
        ({"recs": {"a": "a", "b": "b"}, "baseline": "u", "max_drop": ["nDCG@5=1%"]}, "a check takes one system"),
    ],
)
def test_outputs_that_cannot_be_written_are_refused_before_a_session_is_started(
    asked: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "SparkSession", None)
    with pytest.raises(BadParameterError, match=message):
        job.run(**{"recs": "r", "truth": "t", **asked})


def test_a_table_that_exists_is_refused_before_another_is_written(paths: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    users = tmp_path / "users"
    with pytest.raises(InputError, match="out' exists already"):
        job.run(**paths, metrics=["nDCG@5"], out=str(tmp_path / "out"), per_user_out=str(users), mode="error")
    assert not users.exists()


def test_runs_whose_per_user_values_spark_wrote_are_compared_as_systems(
    spark: Any, paths: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spark.createDataFrame(world(seed=6)["recommendations"]).write.parquet(str(tmp_path / "other"))
    users = str(tmp_path / "users")
    for name, recs in (("monday", paths["recs"]), ("007", str(tmp_path / "other"))):
        job.run(recs=recs, truth=paths["truth"], metrics=["nDCG@5"], per_user_out=users, run_id=name)
    given = world()
    systems = {"monday": given["recommendations"], "007": world(seed=6)["recommendations"]}
    expected = bridgeval.compare(systems, given["relevance"], "nDCG@5").difference("nDCG@5")
    found = bridgeval.compare({"monday": users, "007": users}).difference("nDCG@5")
    assert found.difference == pytest.approx(expected.difference, rel=1e-12)
    assert (found.users, found.wins, found.losses) == (expected.users, expected.wins, expected.losses)
    with pytest.raises(SystemExit) as left:
        main(["compare", users, "--format", "csv"])
    assert left.value.code == 0
    assert {"monday", "007"} <= set(capsys.readouterr().out.replace("\n", ",").split(","))


def test_a_job_checks_a_system_against_the_runs_that_held(
    spark: Any, paths: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The latest run is the baseline; a run that fails becomes none, and the command says so with its exit status."""
    users, checks = str(tmp_path / "users"), str(tmp_path / "checks")
    worse = spark.read.parquet(paths["recs"]).selectExpr("user", "if(user % 5 = 0, item, item + 9999) as item", "score")
    worse.write.parquet(str(tmp_path / "worse"))
    job.run(**paths, metrics=["nDCG@5"], per_user_out=users, run_id="007")
    assert len(list(Path(users).rglob("*.parquet"))) == 1, "few values are one file"
    options = ["--baseline", users, "--max-drop", "nDCG@5=1%", "--out", checks, "--per-user-out", users]
    codes = []
    for name, recs, more in (
        ("8", paths["recs"], ["--baseline-run", "007"]),
        ("9", str(tmp_path / "worse"), []),
        ("10", paths["recs"], []),
    ):
        with pytest.raises(SystemExit) as left:
            main(["spark", "--recs", recs, "--truth", paths["truth"], "--run-id", name, *options, *more])
        codes.append(left.value.code)
    assert codes == [0, 1, 0]
    assert "nDCG@5" in capsys.readouterr().out
    assert {folder.name for folder in Path(users).glob("run=*")} == {"run=007", "run=8", "run=10"}
    rows = {row.run: row for row in spark.read.schema(job.CHECKS).parquet(checks).collect()}
    assert {name: row.verdict for name, row in rows.items()} == {"8": "holds", "9": "worse", "10": "holds"}
    assert rows["9"].baseline == rows["8"].value
    given = world()
    expected = bridgeval.evaluate(given["recommendations"], given["relevance"], "nDCG@5")
    assert rows["8"].value == pytest.approx(expected["nDCG@5"], rel=1e-12)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"baseline": "{recs}", "max_drop": ["nDCG@5=1%"]}, "has no column run, time, metric, value"),
        ({"baseline": "{users}", "max_drop": ["MRR@5=1%"]}, "has no values of MRR@5 of another run"),
        ({"baseline": "{users}", "max_drop": ["nDCG@5=1%"], "run_id": "mon"}, "of another run; found: no other run"),
        ({"baseline": "{users}", "max_drop": ["nDCG@5=1%"], "baseline_run": "x"}, "of run 'x'; found: runs 'mon'"),
    ],
)
def test_a_baseline_that_is_none_is_refused(
    spark: Any, paths: dict[str, str], tmp_path: Path, asked: dict[str, Any], message: str
) -> None:
    users = str(tmp_path / "users")
    job.run(**paths, metrics=["nDCG@5"], per_user_out=users, run_id="mon")
    asked = {**asked, "baseline": asked["baseline"].format(recs=paths["recs"], users=users)}
    with pytest.raises(InputError, match=message):
        job.run(**paths, **asked)
