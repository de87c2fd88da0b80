"""Executors in processes of their own, one of which dies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, spark_environment

pytestmark = pytest.mark.cluster


def test_a_killed_executor_changes_no_digit(tmp_path: Path) -> None:
    """Whether it dies at once, or when a part of the result is there already, which Spark itself gives up on."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.spark.cluster", str(tmp_path)],
        cwd=ROOT,
        env=os.environ | spark_environment(),
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    expected, at_once, later, killed = json.loads(done.stdout.splitlines()[-1])
    assert killed == [True, True], "the metric that kills its executor has run on one, both times"
    assert at_once == later, "to the last digit"
    assert at_once == pytest.approx(expected, rel=1e-12)
    assert "Traceback" not in done.stderr, "values that outlive the session are let go in silence"
