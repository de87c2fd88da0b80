"""`bridgeval spark`: the numbers of one machine, paths by place or by name."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from bridgeval.cli.spark import spark
from bridgeval.errors import UnknownMetricError
from tests.cli.conftest import Run


@pytest.mark.spark
def test_spark_prints_the_same_numbers(run: Run, folder: Path) -> None:
    pytest.importorskip("bridgeval.spark.job", reason="needs pyspark")
    for name in ("recs", "truth"):
        pd.read_csv(folder / f"{name}.csv").to_parquet(folder / f"{name}.parquet")
    done = run("spark", "recs.parquet", "truth.parquet", "-m", "Recall@2", "-m", "MRR@2", SPARK_LOCAL_IP="127.0.0.1")
    assert done.returncode == 0, done.stderr
    assert re.search(r"Recall@2\s+0\.7500", done.stdout)
    assert re.search(r"MRR@2\s+0\.5000", done.stdout)


@pytest.mark.parametrize("paths", [["r", "t"], ["--recs", "r", "--truth", "t"], ["--truth", "t", "r"]], ids=" ".join)
def test_spark_takes_its_paths_by_place_or_by_name(paths: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    job = pytest.importorskip("bridgeval.spark.job", reason="needs pyspark")
    given: dict[str, object] = {}
    monkeypatch.setattr(job, "run", given.update)
    monkeypatch.setattr(job, "open_session", contextlib.nullcontext)
    monkeypatch.setenv("PYSPARK_PYTHON", "python")
    done = CliRunner().invoke(spark, [*paths, "--metrics", "nDCG@5", "-m", "MRR@2", "--out", "o", "--run-id", "monday"])
    assert done.exit_code == 0, done.output
    expected = {"recs": "r", "truth": "t", "metrics": ("nDCG@5", "MRR@2"), "out": "o", "run_id": "monday"}
    assert {name: given[name] for name in expected} == expected


def test_spark_has_metrics_if_none_is_named_and_knows_names_before_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    job = pytest.importorskip("bridgeval.spark.job", reason="needs pyspark")
    given: dict[str, object] = {}
    monkeypatch.setattr(job, "run", given.update)
    monkeypatch.setattr(job, "open_session", contextlib.nullcontext)
    monkeypatch.setenv("PYSPARK_PYTHON", "python")
    assert CliRunner().invoke(spark, ["r", "t"]).exit_code == 0
    assert "metrics" not in given, "the job's own"
    monkeypatch.setattr(job, "open_session", lambda: pytest.fail("a session was opened"))
    for option in (["-m", "nDGC@5"], ["--baseline", "u", "--max-drop", "nDGC@5=1%"]):
        error = CliRunner().invoke(spark, ["r", "t", *option]).exception
        assert isinstance(error, UnknownMetricError)


@pytest.mark.parametrize("paths", [["r"], ["--recs", "r"], ["r", "t", "more"]], ids=" ".join)
def test_spark_asks_for_two_tables(paths: list[str]) -> None:
    done = CliRunner().invoke(spark, paths)
    assert done.exit_code == 2
    assert "Two tables are needed" in done.output
