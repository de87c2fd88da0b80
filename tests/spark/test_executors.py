"""Errors on an executor are raised on the driver as they would be in one process."""

from __future__ import annotations

import importlib
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

import bridgeval
from bridgeval import Blocks, ListMetric, Slate, UserMetric
from bridgeval.errors import BadValueError, MetricFailedError, MissingDependencyError
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
    with pytest.raises(BadValueError, match="missing"):
        bridgeval.evaluate(frame.selectExpr("user", "nullif(item, 'b') as item", "0.5 as score"), TRUTH)


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
