"""Progress of a running job."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

import bridgeval
from bridgeval import ListMetric, Slate
from bridgeval.spark import job_progress

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class Slow(ListMetric):
    """1 for everyone, after a while."""

    name = "Slow"

    def value(self, slate: Slate) -> float:
        time.sleep(0.3)
        return 1.0


def test_tasks_are_shown_while_they_run(
    spark: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(job_progress, "SECONDS", 0.05)
    shown = spark.createDataFrame([(user, user, 0.5) for user in range(8)], "user int, item int, score double")
    bridgeval.evaluate(shown, {user: [user] for user in range(8)}, Slow(), progress=True)
    said = capsys.readouterr().err
    assert "of 4 tasks" in said
    assert said.endswith("\r\x1b[K"), "nothing is left of it"
    bridgeval.evaluate(shown, {0: [0]}, progress=False)
    assert not capsys.readouterr().err
    assert "bridgeval-progress" not in [thread.name for thread in threading.enumerate()]


def test_a_session_that_does_not_know_its_tasks_is_left_alone() -> None:
    with job_progress.show_tasks(SimpleNamespace(), lambda *told: pytest.fail(f"{told}")):
        assert "bridgeval-progress" not in [thread.name for thread in threading.enumerate()]
