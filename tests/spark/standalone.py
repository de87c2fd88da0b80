"""A standalone cluster on loopback: a master and two workers, started and stopped by a test."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

SPARK_HOME = Path(pyspark.__file__).parent
SECONDS = 120


def find_port() -> int:
    """A port of loopback that is free now."""
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


@contextmanager
def run_daemon(name: str, arguments: list[str], log: Path) -> Iterator[None]:
    """A process of Spark's own, until the end of the block."""
    settings = {"SPARK_HOME": str(SPARK_HOME), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_NO_DAEMONIZE": "1"}
    command = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
    with log.open("wb") as opened:
        process = subprocess.Popen(command, stdout=opened, stderr=opened, env=os.environ | settings)
    try:
        yield
    finally:
        process.terminate()
        process.wait(SECONDS)


def wait_for(text: str, log: Path, times: int = 1) -> None:
    """Until a log has a text so many times."""
    end = time.monotonic() + SECONDS
    while log.read_text(errors="replace").count(text) < times:
        if time.monotonic() > end:
            raise TimeoutError(f"{text!r} is not in the log:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.2)


@contextmanager
def run_cluster(folder: Path) -> Iterator[str]:
    """The address of a master with two workers of one core each; their files are in the folder."""
    port = find_port()
    address, log = f"spark://127.0.0.1:{port}", folder / "master.log"
    own = ["--host", "127.0.0.1", "--webui-port", "0"]
    with ExitStack() as running:
        running.enter_context(run_daemon("master.Master", [*own, "--port", str(port)], log))
        wait_for("I have been elected leader", log)
        for number in (1, 2):
            place = ["--work-dir", str(folder / f"worker {number}"), "--cores", "1", "--memory", "1g"]
            arguments = [*own, *place, address]
            running.enter_context(run_daemon("worker.Worker", arguments, folder / f"worker {number}.log"))
        wait_for("Registering worker", log, 2)
        yield address
