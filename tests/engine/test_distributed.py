"""Two processes, each with its own users, give one report."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys

import pytest
import torch

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
# One rank has a GPU and the other none.
DEVICES = ["cpu", "cuda"]
SHOWN = {f"u{u}": [(f"i{(u * i) % 7}", 1.0 / i) for i in range(1, 4)] for u in range(1, 6)}
RELEVANT = {f"u{u}": [(f"i{u % 4}", 1.0), ("i3", 2.0)] for u in range(2, 8)}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.filterwarnings("ignore::bridgeval.errors.DuplicateRowsWarning")
def test_two_gloo_processes_agree_with_one():
    port = str(free_port())
    mine = ["u1", "u2", "u3"]
    halves = [
        [{u: v for u, v in side.items() if (u in mine) == first} for side in (SHOWN, RELEVANT)]
        for first in (True, False)
    ]
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", SCRIPT, str(rank), port, json.dumps(half), DEVICES[rank]],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank, half in enumerate(halves)
    ]
    outputs = [json.loads(process.communicate(timeout=120)[0]) for process in processes]
    report = bridgeval.evaluate(SHOWN, RELEVANT, ["nDCG@2", "MAP(over='median')@2", "RMSE"])
    assert [where for _, _, where in outputs] == DEVICES
    for values, counted, _ in outputs:
        assert values == pytest.approx(dict(report), abs=1e-12)
        assert counted == report.population.counted


PAGE = (ROOT / "docs" / "gpu.md").read_text(encoding="utf-8")
ON_A_GPU = "import sys; from tests.pretend_gpu import PretendedGPU\nwith PretendedGPU(): exec(open(sys.argv[1]).read())"


def test_the_program_of_the_page_gives_both_ranks_the_numbers_of_all_users(tmp_path):
    (program,) = re.findall(r"^```python torchrun\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    script = tmp_path / "ranks.py"
    script.write_text(program, encoding="utf-8")
    # What torchrun sets.
    settings = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2"}
    processes = [
        subprocess.Popen(
            [sys.executable, *command, script],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **settings, "RANK": str(rank)},
        )
        for rank, command in enumerate([[], ["-c", ON_A_GPU]])
    ]
    first, second = (process.communicate(timeout=120)[0] for process in processes)
    draw = torch.Generator().manual_seed(0)
    scores = torch.rand(100, 50, generator=draw)
    truth = torch.rand(100, 50, generator=draw).argsort(dim=1)[:, :3]
    best = scores.argsort(dim=1, descending=True)[:, :10]
    found = (best[:, :, None] == truth[:, None]).any(2)
    recall = found.sum(1) / 3
    weights = 1 / torch.log2(torch.arange(2.0, 12))
    ndcg = (found * weights).sum(1) / weights[:3].sum()
    expected = f"{{'nDCG@10': {float(ndcg.mean()):.4f}, 'Recall@10': {float(recall.mean()):.4f}}} of 100 users\n"
    assert first == second == expected
