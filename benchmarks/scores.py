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
import threading
import time

import numpy as np
import torch

import bridgeval

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
    relevance = {"user_id": np.repeat(who, 10), "item_id": drawn[:, 20:].ravel(), "rating": rng.integers(1, 6, users * 10)}
    return scores, history, relevance


def asked(which: str) -> list[str]:
    if which == "six":
        return [f"{name}@{CUTOFFS}" for name in SIX]
    known = bridgeval.plugins.installed().metrics
    names = []
    for name, metric in known.items():
        cutoff = "k" in getattr(metric, "__dataclass_fields__", {})
        try:
            parsed = f"{name}@{CUTOFFS}" if cutoff else name
            bridgeval.parse(parsed)
        except bridgeval.errors.SpecError:
            continue
        names.append(parsed)
    return names


class Peak:
    """The largest resident memory while it is watched, in MB; a process forgets its peak only through this."""

    def __enter__(self) -> Peak:
        self.before = self.peak = resident()
        self._done = threading.Event()
        self._watcher = threading.Thread(target=self._watch)
        self._watcher.start()
        return self

    def _watch(self) -> None:
        while not self._done.wait(0.002):
            self.peak = max(self.peak, resident())

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._watcher.join()


def resident() -> float:
    with open("/proc/self/statm") as opened:
        return int(opened.read().split()[1]) * resource.getpagesize() / 2**20


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
    }
    tensor = BATCH * items * 4 / 2**20
    few = bridgeval.Scores(scores[:100])
    kept, left_out = [], []
    for name in metrics:
        try:
            bridgeval.evaluate(few, relevance, name, **extras)
            kept.append(name)
        except bridgeval.errors.NeedError:
            left_out.append(name)
    best = None
    for _ in range(repeat):
        used, wall = cpu(), time.perf_counter()
        with Peak() as peak:
            bridgeval.evaluate(bridgeval.Scores(scores), relevance, kept, batch_size=BATCH, **extras)
        used, wall = cpu() - used, time.perf_counter() - wall
        bar = min(floor(scores) for _ in range(2))
        measured = (used, wall, peak.peak - peak.before, bar)
        best = measured if best is None or used < best[0] else best
    used, wall, memory, bar = best
    print(
        f"{which:4} {len(kept):3} specs: cpu {used:6.2f} s = {used / bar:4.1f} x topk ({bar:.2f} s)  wall {wall:6.2f} s  "
        f"peak above input {memory:6.1f} MB = {memory / tensor:4.1f} x [B, N]"
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
