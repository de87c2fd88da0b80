"""The commands of docs/spark.md as they stand, on a standalone cluster with a packed environment: `make cluster`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

import bridgeval
from tests.conftest import ROOT
from tests.spark.standalone import SPARK_HOME, run_cluster
from tests.spark.worlds import world

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore::bridgeval.errors.BridgevalWarning")]

PAGE = (ROOT / "docs" / "spark.md").read_text(encoding="utf-8")
METRICS = ["nDCG@5", "nDCG@10", "replay:MAP@10"]
# Runs on the driver in place of the page's evaluate.py.
KILLING = """
import json, sys
from pyspark.sql import SparkSession
import bridgeval
from killing import KillsItsExecutorOnce

folder = sys.argv[1]
spark = SparkSession.builder.getOrCreate()
recs, truth = (spark.read.parquet(f"{folder}/{name}") for name in ("recs", "truth"))
kills = KillsItsExecutorOnce(marker=f"{folder}/killed")
report = bridgeval.evaluate(recs, truth, [*%r, kills])
with open(f"{folder}/killed.json", "w") as opened:
    json.dump(dict(report), opened)
spark.stop()
"""


def read_commands(heading: str) -> str:
    """The shell commands of the page under a bold heading."""
    (found,) = re.findall(rf"^\*\*{re.escape(heading)}\*\*.*?^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return found


def run(commands: str, folder: Path, **settings: str) -> str:
    """Runs commands as they stand, with this Spark's spark-submit and without the checkout on any path."""
    path = os.pathsep.join([str(SPARK_HOME / "bin"), os.environ["PATH"]])
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK", "VIRTUAL"))}
    own = {"PATH": path, "SPARK_HOME": str(SPARK_HOME), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        ["bash", "-e", "-c", commands], cwd=folder, env=clean | own | settings, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page's evaluate.py and env.tar.gz, made by its commands of the wheel of this checkout."""
    folder = tmp_path_factory.mktemp("packed")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT, check=True)
    (wheel,) = folder.glob("*.whl")
    commands = read_commands("Pack the environment")
    assert "pip install bridgeval " in commands
    commands = commands.replace("pip install bridgeval ", f"pip install '{wheel}' ")
    # Its torch is the CPU build where one is offered.
    run(commands, folder, PIP_CONSTRAINT=str(ROOT / "constraints.txt"))
    packages = (folder / "env" / "lib").glob("python*/site-packages/*")
    assert not {"pyspark", "nvidia", "triton"} & {path.name for path in packages}, "no Spark, no CUDA"
    (script,) = re.findall(r"`evaluate.py`.*?^```py\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (folder / "evaluate.py").write_text(script)
    return folder


@pytest.fixture(scope="module")
def given() -> dict[str, Any]:
    return {role: world()[role] for role in ("recommendations", "relevance")}


@pytest.fixture(scope="module")
def cluster(packed: Path, given: dict[str, pa.Table]) -> Iterator[str]:
    for name, table in zip(("recs", "truth"), given.values(), strict=True):
        (packed / name).mkdir()
        for part in range(5):
            rows = table.slice(part * len(table) // 5, (part + 1) * len(table) // 5 - part * len(table) // 5)
            pa_parquet.write_table(rows, packed / name / f"{part}.parquet")
    with run_cluster(packed) as address:
        yield address


def test_the_documented_commands_give_the_local_numbers(packed: Path, given: dict[str, Any], cluster: str) -> None:
    commands = read_commands("A standalone cluster, client mode")
    assert "spark://host:7077" in commands
    assert "s3a://bucket/" in commands
    commands = commands.replace("spark://host:7077", cluster).replace("s3a://bucket/", f"file://{packed}/")
    told = run(commands, packed)
    expected = bridgeval.evaluate(**given, metrics=METRICS)
    rows = pa_parquet.read_table(packed / "metrics").to_pylist()
    assert {row["metric"]: row["value"] for row in rows} == pytest.approx(dict(expected), rel=1e-12)
    assert f"{expected['nDCG@10']:.4f}" in told
    started = list(packed.glob("worker*/app-*/*/stderr"))
    assert len({path.parents[2] for path in started}) == 2, "both workers had executors"


def test_an_executor_killed_there_changes_no_digit(packed: Path, cluster: str) -> None:
    (packed / "killing.py").write_bytes((Path(__file__).parent / "killing.py").read_bytes())
    (packed / "evaluate_killing.py").write_text(KILLING % METRICS)
    commands = read_commands("A standalone cluster, client mode").replace("spark://host:7077", cluster)
    submit = commands[: commands.index(" evaluate.py")]
    run(f"{submit} --py-files killing.py evaluate_killing.py '{packed}'", packed)
    assert (packed / "killed").exists()
    found = json.loads((packed / "killed.json").read_text())
    rows = pa_parquet.read_table(packed / "metrics").to_pylist()
    assert {row["metric"]: row["value"] for row in rows} == {name: found[name] for name in METRICS}, "to the last digit"
