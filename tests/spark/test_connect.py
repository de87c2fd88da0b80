"""Spark Connect: what a classic session gives, from a session of Connect. `make cluster`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import bridgeval
from tests.conftest import ROOT, spark_environment
from tests.spark.connect import METRICS
from tests.spark.worlds import world

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore::bridgeval.errors.BridgevalWarning")]


def test_a_session_of_connect_gives_the_local_numbers(tmp_path: Path) -> None:
    """In a process of its own, which can have no classic session."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.connect", str(tmp_path)],
        cwd=ROOT,
        env=os.environ | spark_environment(),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-6000:]
    found = json.loads(done.stdout.splitlines()[-1])
    given = {role: world()[role] for role in ("recommendations", "relevance", "history")}
    expected = bridgeval.evaluate(**given, metrics=METRICS, per_user=True)
    assert found["report"] == pytest.approx(dict(expected), rel=1e-12)
    assert found["merged"] == found["report"]
    assert dict(found["users"]) == pytest.approx(expected.collected["nDCG@5"].to_dict(), rel=1e-12)
    systems = {"a": given["recommendations"], "b": world(seed=6)["recommendations"]}
    options = {"resamples": 200, "bootstrap": "poisson"}
    row = bridgeval.compare(systems, given["relevance"], "nDCG@5", **options).difference("nDCG@5")
    wanted = [row.difference, row.low, row.high, row.p_t, row.p_permutation, row.p_wilcoxon]
    assert found["compared"] == pytest.approx(wanted, rel=1e-12)
    assert found["job"] == [found["report"]["nDCG@5"]] * 2
    assert found["rows"] == 1, "a run that is run again replaces its rows"
    assert "NaN score" in found["refused"]
    inputs = json.loads((tmp_path / "report.json").read_text())["manifest"]["inputs"]
    expected.save(tmp_path / "local.json", relevance=given["relevance"])
    local = json.loads((tmp_path / "local.json").read_text())["manifest"]["inputs"]
    assert inputs["relevance"]["content"] == local["relevance"]["content"]
