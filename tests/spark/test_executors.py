"""Errors on an executor are raised on the driver as they would be in one process."""

from __future__ import annotations

import importlib
import math
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import Tensor

import bridgeval
from bridgeval import Blocks, ListMetric, Slate, UserMetric
from bridgeval.errors import BadValueError, MetricFailedError, MissingDependencyError, SparkFailedError
from bridgeval.plugin import Result, State, Sums, Tally, TotalMetric
from bridgeval.spark import executors
from bridgeval.spark.executors import ATTEMPTS, retry_lost_job
from bridgeval.toolkits import warprec
from tests.toolkits.warprec.test_bases import GuidePrecision

pytestmark = pytest.mark.spark

TRUTH = {1: ["a"], 2: ["b"]}


@dataclass(frozen=True)
class FailsForTwo(ListMetric):
    """A metric written in Python with a mistake in it."""

    name = "FailsForTwo"

    def value(self, slate: Slate) -> float:
        return 1 / (slate.user - 2)


@dataclass(frozen=True)
class FailsInBlocks(UserMetric):
    """A metric of whole batches with a mistake in it."""

    name = "FailsInBlocks"

    def values(self, blocks: Blocks) -> Tensor:
        raise LookupError("no such block")


@pytest.fixture
def shown(spark: Any) -> Any:
    return spark.createDataFrame([(1, "a", 0.5), (2, "b", 0.4), (2, "c", 0.3)], "user int, item string, score double")


def test_a_failing_metric_is_named_with_its_user_and_its_traceback(shown: Any) -> None:
    with pytest.raises(MetricFailedError) as failure:
        bridgeval.evaluate(shown, TRUTH, [FailsForTwo(), "nDCG@10"])
    assert str(failure.value) == "FailsForTwo failed for user 2; found: ZeroDivisionError: division by zero"
    (note,) = failure.value.__notes__
    assert "return 1 / (slate.user - 2)" in note
    assert failure.value.__cause__ is None
    assert failure.value.__suppress_context__, "Spark's own account of it is left out"


def test_a_failing_batch_is_named_with_the_metric(shown: Any) -> None:
    with pytest.raises(MetricFailedError, match=r"FailsInBlocks failed for .*user.*LookupError: no such block"):
        bridgeval.evaluate(shown, TRUTH, FailsInBlocks())


def test_bad_values_are_refused_as_they_are_locally(spark: Any) -> None:
    rows = [(1, "a", math.nan), (2, "b", 0.4)]
    frame = spark.createDataFrame(rows, "user int, item string, score double")
    with pytest.raises(BadValueError, match=r"1 row\(s\) with a NaN score; found: user 1 item 'a'"):
        bridgeval.evaluate(frame, TRUTH)
    with pytest.raises(BadValueError, match=r"1 or more item ids in the recommendations are missing.*user 2 item None"):
        bridgeval.evaluate(frame.selectExpr("user", "nullif(item, 'b') as item", "0.5 as score"), TRUTH)


@dataclass(frozen=True)
class KillsItsWorker(ListMetric):
    """Ends the Python worker, as the system does when memory runs out."""

    name = "KillsItsWorker"

    def value(self, slate: Slate) -> float:
        os.kill(os.getpid(), signal.SIGKILL)
        return 1.0


@dataclass(frozen=True)
class LargeState(TotalMetric):
    """A state that is larger than the driver of these tests accepts."""

    name = "LargeState"

    def update(self, blocks: Blocks) -> State:
        return Tally(Sums({"numbers": np.random.default_rng(0).random(8_000_000)}))

    def compute(self, state: Any) -> Result:
        return Result(1.0)


def test_failures_of_spark_itself_are_sentences(spark: Any, shown: Any, tmp_path: Path, monkeypatch: Any) -> None:
    with pytest.raises(SparkFailedError, match=r"was killed, most often because its memory.*memoryOverhead") as failure:
        bridgeval.evaluate(shown, TRUTH, KillsItsWorker())
    assert "\tat org.apache.spark" not in str(failure.value), "Spark's account is a note"
    with pytest.raises(SparkFailedError, match=r"larger than the driver accepts.*raise spark.driver.maxResultSize"):
        bridgeval.evaluate(shown, TRUTH, LargeState(k=1))
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/no/such/python")
    with pytest.raises(MissingDependencyError, match=r"no such Python interpreter.*/no/such/python.*PYSPARK_PYTHON"):
        bridgeval.evaluate(shown, TRUTH)
    (tmp_path / "pyarrow").mkdir()
    (tmp_path / "pyarrow" / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'pyarrow'\")")
    (tmp_path / "python").write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path}:$PYTHONPATH exec {sys.executable} "$@"\n')
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(tmp_path / "python"))
    monkeypatch.setattr(executors, "_CHECKED", {})
    with pytest.raises(MissingDependencyError, match=r"executors have no pyarrow.*--archives"):
        bridgeval.evaluate(shown, TRUTH)


def test_an_error_travels_as_plain_text() -> None:
    """Executor logs hold a line that can be read; whatever the message holds, it is restored."""
    error = BadValueError("a {wrong} <value>", 'found "this">', "do\nthat")
    text = str(executors.ExecutorError(error))
    assert '"wrong": "a {wrong} <value>"' in text
    with pytest.raises(BadValueError) as restored, executors.restore_errors():
        raise RuntimeError(f"Job aborted: {text}\n\tat java.base/jdk")
    assert str(restored.value) == str(error)


def test_a_plugin_that_executors_lack_is_an_error_before_the_job_starts(
    shown: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_on_the_driver.py").write_text(
        "from dataclasses import dataclass\n"
        "from bridgeval import ListMetric\n"
        "from bridgeval.toolkits.warprec import UserAverageTopKMetric\n"
        "@dataclass(frozen=True)\n"
        "class Here(ListMetric):\n"
        "    name = 'Here'\n"
        "    def value(self, slate):\n"
        "        return 1.0\n"
        "class Author(UserAverageTopKMetric):\n"
        "    def compute_scores(self, preds, target, top_k_rel, **kwargs):\n"
        "        return top_k_rel.sum(dim=1)\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    only_here = importlib.import_module("only_on_the_driver")
    bridgeval.evaluate(shown, TRUTH, warprec.metric(GuidePrecision, k=2))  # executors can load this one
    for metric in (only_here.Here(), warprec.metric(only_here.Author, k=2)):
        with pytest.raises(
            MissingDependencyError, match=r"only_on_the_driver.* need; .*No module named 'only_on_the_driver'"
        ):
            bridgeval.evaluate(shown, TRUTH, metric)


@pytest.mark.parametrize("failures", range(ATTEMPTS))
def test_a_job_that_spark_cannot_recover_is_run_again(failures: int) -> None:
    left = [RuntimeError("A shuffle map stage with indeterminate output was failed and retried.")] * failures

    def job() -> str:
        if left:
            raise left.pop()
        return "done"

    assert retry_lost_job(job) == "done"


def test_a_job_is_run_again_for_no_other_reason_and_not_forever() -> None:
    for text, runs in (("indeterminate output", ATTEMPTS), ("no space left", 1)):
        begun: list[str] = []

        def job(text: str = text, begun: list[str] = begun) -> None:
            begun.append(text)
            raise RuntimeError(text)

        with pytest.raises(RuntimeError, match=text):
            retry_lost_job(job)
        assert len(begun) == runs
