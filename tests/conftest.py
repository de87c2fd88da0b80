"""Settings for all tests, and one small Spark session for those that need one."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Nothing is asserted by a clock: a busy machine must not fail a test. The same cases on every run.
settings.register_profile("bridgeval", deadline=None, derandomize=True)
settings.load_profile("bridgeval")

# Several test processes run in parallel, so each is quicker with one thread. tests/test_sizes.py uses more.
os.environ.setdefault("OMP_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parents[1]
SPARK_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
}


@pytest.fixture
def set_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Sets how many threads torch and this package use, whatever the machine has; undone after the test."""
    import torch

    from bridgeval import parallel

    def set_number(threads: int) -> None:
        monkeypatch.setattr(parallel, "CPU_QUOTA", "no such file")
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(threads)), raising=False)
        torch.set_num_threads(threads)

    before = torch.get_num_threads()
    yield set_number
    torch.set_num_threads(before)


@pytest.fixture
def two_threads(set_threads: Callable[[int], None]) -> None:
    set_threads(2)


@pytest.fixture
def gpu() -> Iterator[Any]:
    """A pretended GPU, see `tests.pretend_gpu`."""
    from tests.pretend_gpu import PretendedGPU

    with PretendedGPU() as device:
        yield device


@pytest.fixture
def contrary_gpu() -> Iterator[Any]:
    """One that answers otherwise than the CPU wherever CUDA promises nothing."""
    from tests.pretend_gpu import PretendedGPU

    with PretendedGPU(contrary=True) as device:
        yield device


def workers() -> list[threading.Thread]:
    """The threads of this package that are running."""
    return [thread for thread in threading.enumerate() if thread.name.startswith("bridgeval")]


def spark_environment() -> dict[str, str]:
    """What driver and executors need: this interpreter, loopback, and the package on the path."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": path}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """local[2] on loopback, without a page of its own; an event log is in the folder `spark.eventLog.dir`."""
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    (folder / "events").mkdir()
    os.environ.update(spark_environment())
    builder = SparkSession.builder.master("local[2]").appName("bridgeval-tests")
    chosen = SPARK_SETTINGS | {
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.maxResultSize": "48m",
        "spark.python.daemon.module": "bridgeval.spark.daemon",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": (folder / "events").as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
    }
    for name, value in chosen.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
