"""Score matrices on a GPU: launches, waits and bytes of a batch, and the seconds that a card needs for them.

    python benchmarks/device.py

Without a GPU the device is pretended (`tests/pretend_gpu`), which counts every launch, wait and copied byte, and the
time is an estimate for a card of the A100 class (`tests/pretend_gpu/ledger.py` has its numbers): each kernel takes its
launch or its bytes, whichever is longer, and waits and copies come on top. Bytes are counted for 64 and for 128 users
with all items, and continued on a straight line to the users of a batch that fills the memory of the card. Host time is
not in it. Where there is a GPU, the same evaluations are timed there as well.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

import scores as host_benchmark

import bridgeval
from bridgeval.batch.batch import BYTES_PER_CELL
from tests.pretend_gpu import PretendedGPU
from tests.pretend_gpu.ledger import BUS_SPEED, LAUNCH_SECONDS, MEMORY_SPEED, WAIT_SECONDS, Ledger

MEMORY = 80 << 30
WORLDS = [(20_000, 5_000), (100_000, 50_000)]


def make_world(users: int, items: int) -> tuple[torch.Tensor, dict[str, Any], dict[str, Any]]:
    """Scores, the truth, and what metrics read beside them."""
    draw = np.random.default_rng(7)
    # Every row has all numbers once: equal scores would take some launches more.
    numbers = torch.from_numpy(np.stack([draw.permutation(items) for _ in range(users)]).astype(np.float32))
    # The best item is relevant: without any hit the census looks closer.
    best = numbers.argmax(1).tolist()
    truth = {user: [best[user], *draw.choice(items, 9, replace=False).tolist()] for user in range(users)}
    extras = {
        "history": {user: draw.choice(items, 20, replace=False).tolist() for user in range(users)},
        "catalogue": range(items),
        "item_groups": {item: item % 7 for item in range(items)},
        "user_groups": {user: user % 5 for user in range(users)},
        "item_features": {item: [item % 20, item % 3] for item in range(items)},
        "prev_scores": {item: 1 / (1 + item) for item in range(items)},
    }
    return numbers, truth, extras


def read_ledger(metrics: list[str], users: int, items: int) -> Ledger:
    """What one batch asks of the device; constants of the run are among it."""
    numbers, truth, extras = make_world(users, items)
    with PretendedGPU(memory=MEMORY) as gpu:
        on_device = numbers.to("cuda")
        gpu.forget()
        bridgeval.evaluate(bridgeval.Scores(on_device), truth, metrics, device="cuda", batch_size=users, **extras)
    return gpu.ledger


def estimate(metrics: list[str], users: int, items: int) -> str:
    small, large = (read_ledger(metrics, count, items) for count in (64, 128))
    if [one.operation for one in small.entries] != [one.operation for one in large.entries]:
        raise SystemExit("the batches took different operations, so that their bytes cannot be compared")
    batch = min(users, MEMORY // (2 * BYTES_PER_CELL) // items)
    batches = -(-users // batch)
    traffic = seconds = 0.0
    for first, second in zip(small.entries, large.entries, strict=True):
        size = first.size + (second.size - first.size) / 64 * (users / batches - 64)
        if first.kind == "launch":
            traffic += size / MEMORY_SPEED
            seconds += max(LAUNCH_SECONDS, size / MEMORY_SPEED)
        else:
            seconds += WAIT_SECONDS if first.kind == "wait" else size / BUS_SPEED
    return (
        f"{batches} batches; of each {small.count('launch')} launches, {small.count('wait')} waits, "
        f"{small.count('upload')} uploads, {small.count('download')} downloads; "
        f"estimated {seconds * batches:.3f} s, memory traffic alone {traffic * batches:.3f} s: {seconds / traffic:.1f}x"
    )


def measure(metrics: list[str], users: int, items: int) -> float:
    """Seconds on the GPU that is here, the quickest of three."""
    _, truth, extras = make_world(users, min(items, 100))
    numbers = torch.rand((users, items), device="cuda")
    best = float("inf")
    for _ in range(3):
        torch.cuda.synchronize()
        start = time.perf_counter()
        bridgeval.evaluate(bridgeval.Scores(numbers), truth, metrics, device="cuda", **extras)
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    host_benchmark.CUTOFFS = "5,10,20,50"
    six = host_benchmark.asked("six")
    host_benchmark.CUTOFFS = "10"
    forty = host_benchmark.asked("all")
    # What the process makes once for a device is in no count.
    read_ledger(forty, 2, 1000)
    for users, items in WORLDS:
        for name, metrics in (("six metrics at four cutoffs", six), ("forty metrics at one", forty)):
            print(f"{users:,} x {items:,}, {name}: {estimate(metrics, users, items)}")
            if torch.cuda.is_available():
                print(f"    measured on {torch.cuda.get_device_name()}: {measure(metrics, users, items):.3f} s")


if __name__ == "__main__":
    main()
