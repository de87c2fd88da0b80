"""Score matrices: 20,000 users x 5,000 items of float32 in memory, batches of 1,024 users, cutoffs 5, 10, 20, 50.

    python benchmarks/scores.py [--users 20000] [--items 5000] [--repeat 3]

Each set of metrics runs in a process of its own. Printed are CPU seconds, wall seconds, the peak memory above the
input, and both as multiples: of `torch.topk(k=50)` over the same batches, and of one `[B, N]` float32 tensor.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch

import bridgeval
from bridgeval import plugins

BATCH = 1024
CUTOFFS = "5,10,20,50"
SIX = ("Precision", "Recall", "nDCG", "MAP", "MRR", "HitRate")


def world(users: int, items: int) -> tuple[torch.Tensor, dict, dict]:
    """Scores, and 20 train and 10 test items for each user."""
    rng = np.random.default_rng(7)
    scores = torch.from_numpy(rng.standard_normal((users, items), dtype=np.float32))
    drawn = np.stack([rng.choice(items, 30, replace=False) for _ in range(users)])
    who = np.arange(users)
    history = {"user_id": np.repeat(who, 20), "item_id": drawn[:, :20].ravel()}
    relevance = {
        "user_id": np.repeat(who, 10),
        "item_id": drawn[:, 20:].ravel(),
        "rating": rng.integers(1, 6, users * 10),
    }
    return scores, history, relevance


def asked(which: str) -> list[str]:
    if which == "six":
        return [f"{name}@{CUTOFFS}" for name in SIX]
    native = plugins.installed().metrics
    names = []
    for name in plugins.installed().conventions["warprec"].metrics:
        if name in native and name not in ("EucDistance", "Hypervolume"):
            cutoff = "k" in native[name].__dataclass_fields__
            names.append(f"{name}@{CUTOFFS}" if cutoff else name)
    parts = 'metrics=["Precision", "nDCG"]'
    names += [f"EucDistance({parts}, utopia=[1.0, 1.0])@{CUTOFFS}", f"Hypervolume({parts}, nadir=[0.0, 0.0])@{CUTOFFS}"]
    return names


def peak_memory(*, forget: bool = False) -> float:
    """The largest resident memory so far, in MB; `forget` starts anew from what is resident now (Linux)."""
    if forget:
        Path("/proc/self/clear_refs").write_text("5")
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def floor(scores: torch.Tensor) -> float:
    before = cpu()
    for start in range(0, len(scores), BATCH):
        torch.topk(scores[start : start + BATCH], 50, dim=1)
    return cpu() - before


def run(which: str, users: int, items: int, repeat: int) -> None:
    import pyarrow as pa

    scores, history, relevance = world(users, items)
    history, relevance = pa.table(history), pa.table(relevance)
    metrics = asked(which)
    extras = {"history": history, "catalogue": range(items)}
    extras |= {
        "item_groups": {i: i % 7 for i in range(items)},
        "user_groups": {u: u % 5 for u in range(users)},
        "item_features": {i: [i % 20, i % 3] for i in range(items)},
        "prev_scores": {i: 1 / (1 + i) for i in range(items)},
    }
    tensor = BATCH * items * 4 / 2**20
    few, theirs = bridgeval.Scores(scores[:100]), relevance.slice(0, 1000)
    kept, left_out = [], []
    for name in metrics:
        try:
            bridgeval.evaluate(few, theirs, name, **extras)
            kept.append(name)
        except bridgeval.errors.NeedError:
            left_out.append(name)
    best = None
    for _ in range(repeat):
        before = peak_memory(forget=True)
        used, wall = cpu(), time.perf_counter()
        bridgeval.evaluate(bridgeval.Scores(scores), relevance, kept, batch_size=BATCH, **extras)
        used, wall = cpu() - used, time.perf_counter() - wall
        memory = peak_memory() - before
        bar = min(floor(scores) for _ in range(2))
        measured = (used, wall, memory, bar)
        best = measured if best is None or used < best[0] else best
    used, wall, memory, bar = best
    print(
        f"{which:4} {len(kept):3} specs: cpu {used:6.2f} s = {used / bar:4.1f} x topk ({bar:.2f} s)  "
        f"wall {wall:6.2f} s  peak above input {memory:6.1f} MB = {memory / tensor:4.1f} x [B, N]"
        + (f"  left out: {', '.join(left_out)}" if left_out else "")
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=20_000)
    parser.add_argument("--items", type=int, default=5_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", choices=["six", "all"])
    given = parser.parse_args()
    if given.only:
        run(given.only, given.users, given.items, given.repeat)
        return
    sizes = [f"--users={given.users}", f"--items={given.items}", f"--repeat={given.repeat}"]
    for which in ("six", "all"):
        subprocess.run([sys.executable, __file__, f"--only={which}", *sizes], check=True)


if __name__ == "__main__":
    main()
