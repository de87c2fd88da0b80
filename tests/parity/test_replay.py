"""The same numbers as RePlay's OfflineMetrics, on fresh random data of every kind of frame, by `make parity`."""

from __future__ import annotations

import json
import random
import subprocess
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from bridgeval.toolkits import replay
from bridgeval.toolkits.replay.loader import SPARK
from tests.parity import replay_runner
from tests.parity.test_frames import environments

RUNNER = Path(replay_runner.__file__)
QUALITY = ["HitRate", "Precision", "MAP", "Recall", "RocAuc", "MRR", "NDCG"]
BEYOND = ["Novelty", "Surprisal", "Unexpectedness", "Coverage"]
MODES = ["Mean", "Median", "ConfidenceInterval", "PerUser"]


def world(seed: int, odd: bool, strings: bool) -> dict[str, Any]:
    """Ragged lists; users on some sides only; odd ones have ties, and repeated rows."""
    draw = random.Random(seed)

    def rows(first: int, last: int, length: int) -> list[list[Any]]:
        made = []
        for user in range(first, last):
            shown = draw.choices(range(40), k=length) if odd else draw.sample(range(40), length)
            for item in shown[: draw.randint(1, length)]:
                score = draw.choice([0.1, 0.2, 0.3]) if odd else draw.random()
                made.append([f"u{user}", f"i{item}", score] if strings else [user, item, score])
        draw.shuffle(made)
        return made

    recs = rows(3, 60, 12)
    labeled = [[*row, int(str(row[1]).lstrip("i")) % 5] for row in recs]
    return {
        "recs": recs if odd else labeled,
        "truth": rows(0, 55, 6),
        "train": rows(2, 58, 9),
        "base": rows(5, 62, 12),
        "empty": ["u1", "u2", "u57", "u70"] if strings else [1, 2, 57, 70],
        "ks": [1, 3, 10, 20],
        "alpha": 0.9,
    }


def theirs(request: dict[str, Any]) -> dict[str, Any]:
    python = environments().python_of("replay")
    if python is None:
        pytest.skip("the environment of RePlay is not there: run `make parity`, which makes it")
    done = subprocess.run(
        [str(python), "-P", str(RUNNER)], input=json.dumps(request), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    (answer,) = (line for line in done.stdout.splitlines() if line.startswith("ANSWER "))
    return json.loads(answer.removeprefix("ANSWER "))


def ours(request: dict[str, Any]) -> dict[str, Any]:
    offline = replay.OfflineMetrics(list(replay_runner.metrics(request, replay)))
    own = replay_runner.own(replay)(request["ks"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", replay.MetricDuplicatesWarning)
        if request["kind"] != "spark":
            recs, truth, train, base = replay_runner.data(request)
            return offline(recs, truth, train, base) | own(recs, truth)
        recs, truth, train, base = replay_runner.data(request | {"kind": "pandas"})
        found = offline.evaluate(SPARK, recs, truth, train, {"base_recommendations": base})
        return found | own(recs, truth)


# Spark starts anew for each world, so that it gets two of them.
CASES = [
    (kind, strings, odd) for kind in ("pandas", "polars", "dict") for strings in (False, True) for odd in (False, True)
]
CASES += [("spark", False, False), ("spark", True, True)]


@pytest.mark.parity
@pytest.mark.parametrize(("kind", "strings", "odd"), CASES)
def test_offline_metrics_agree(kind: str, strings: bool, odd: bool) -> None:
    request = world(len(kind) + 10 * strings + 100 * odd, odd, strings) | {"kind": kind, "modes": MODES}
    request["metrics"] = [*QUALITY, *BEYOND]
    if not odd and kind != "dict":
        request["metrics"].append("CategoricalDiversity")
    if kind == "spark":
        # Spark cannot take the median of categories, and cuts ties for Coverage as it likes; every value is a job.
        request |= {"modes": ["Mean", "ConfidenceInterval"], "ks": [3, 10]}
        request["metrics"] = ["MAP", "NDCG", "Recall", "Novelty", "Surprisal", "Unexpectedness"]
    expected, found = theirs(request), ours(request)
    assert list(found) == list(expected)
    for key, value in expected.items():
        tolerance = 3e-7 if kind == "spark" and "ConfidenceInterval" in key else 1e-9
        value = dict(map(tuple, value)) if isinstance(value, list) else value
        assert found[key] == pytest.approx(value, abs=tolerance, nan_ok=True), key


def test_the_runner_builds_the_frames_it_is_asked_for() -> None:
    request = world(1, False, False)
    assert isinstance(replay_runner.data(request | {"kind": "pandas"})[0], pd.DataFrame)
    assert isinstance(replay_runner.data(request | {"kind": "polars"})[0], pl.DataFrame)
