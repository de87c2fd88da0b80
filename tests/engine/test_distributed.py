"""Two processes, each with its own users, give one report."""

from __future__ import annotations

import json
import socket
import subprocess
import sys

import pytest

import bridgeval
from tests.conftest import ROOT

SCRIPT = """
import json, sys
from contextlib import nullcontext
import torch.distributed as dist
import bridgeval
from tests.pretend_gpu import PretendedGPU

rank, port = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
shown, relevant = json.loads(sys.argv[3])
with PretendedGPU() if sys.argv[4] == "cuda" else nullcontext():
    report = bridgeval.evaluate(
        shown, relevant, ["nDCG@2", "MAP(over='median')@2", "RMSE"], group=dist.group.WORLD, device=sys.argv[4]
    )
print(json.dumps([dict(report), report.population.counted, report.device]))
dist.destroy_process_group()
"""
SHOWN = {f"u{u}": [(f"i{(u * i) % 7}", 1.0 / i) for i in range(1, 4)] for u in range(1, 6)}
RELEVANT = {f"u{u}": [(f"i{u % 4}", 1.0), ("i3", 2.0)] for u in range(2, 8)}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.filterwarnings("ignore::bridgeval.errors.DuplicateRowsWarning")
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_two_gloo_processes_agree_with_one(device):
    port = str(free_port())
    mine = ["u1", "u2", "u3"]
    halves = [
        [{u: v for u, v in side.items() if (u in mine) == first} for side in (SHOWN, RELEVANT)]
        for first in (True, False)
    ]
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", SCRIPT, str(rank), port, json.dumps(half), device],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank, half in enumerate(halves)
    ]
    outputs = [json.loads(process.communicate(timeout=120)[0]) for process in processes]
    report = bridgeval.evaluate(SHOWN, RELEVANT, ["nDCG@2", "MAP(over='median')@2", "RMSE"])
    for values, counted, where in outputs:
        assert where == device
        assert values == pytest.approx(dict(report), abs=1e-12)
        assert counted == report.population.counted
