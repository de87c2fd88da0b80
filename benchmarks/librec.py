"""From librec-auto's text files to NDCG, and a Python `evaluate_user` over every user.

    python benchmarks/librec.py [--users 20000 50000 100000 200000] [--folder benchmarks/data/librec]

Each user has 50 recommendations and 10 test rows. Times include reading both files, and are the best of three. For
20,000 users librec-auto's own NDCG takes 458 s, growing with the square of the users (git fcfbdaf, Python 3.11, numpy
1.26, two shared cores).
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bridgeval.toolkits.librec import Fold, ListBasedMetric, custom

LISTED, TESTED, ITEMS = 50, 10, 20_000
LIBREC_AUTO_SECONDS = 458.0


class Ndcg(ListBasedMetric):
    """Binary NDCG of one user, as a person would write it."""

    def evaluate_user(self, test_user_data: Any, result_user_data: Any) -> float:
        wanted = set(test_user_data[:, 1])
        found = sum(1 / math.log2(place + 2) for place, item in enumerate(result_user_data[:, 1]) if item in wanted)
        return found / sum(1 / math.log2(place + 2) for place in range(min(len(wanted), len(result_user_data))))


def study_files(folder: Path, users: int) -> Fold:
    """A result and a test file, made on first use."""
    target = folder / str(users)
    if not (target / "test.txt").exists():
        target.mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng(7)
        start = random.integers(0, ITEMS, users)
        # Even items only, so that the odd ones beside them are nobody's recommendation.
        steps = random.integers(1, ITEMS // LISTED // 2, (users, LISTED)).cumsum(1)
        items = (start[:, None] + steps) * 2 % ITEMS
        scores = np.sort(random.random((users, LISTED)))[:, ::-1]
        owners = np.repeat(np.arange(users), LISTED)
        rows = zip(owners.tolist(), items.ravel().tolist(), scores.ravel().tolist(), strict=True)
        (target / "out-1.txt").write_text("".join(f"{user},{item},{score}\n" for user, item, score in rows))
        liked = np.where(random.random((users, TESTED)) < 0.3, items[:, :TESTED], (items[:, :TESTED] + 1) % ITEMS)
        owners = np.repeat(np.arange(users), TESTED)
        pairs = zip(owners.tolist(), liked.ravel().tolist(), strict=True)
        (target / "test.txt").write_text("".join(f"{user}\t{item}\t4.0\n" for user, item in pairs))
    return Fold(target / "out-1.txt", target / "test.txt")


def seconds(action: Callable[[], Any], repeat: int = 3) -> tuple[float, Any]:
    """The best time, and what came of it."""
    best, value = float("inf"), None
    for _ in range(repeat):
        start = time.perf_counter()
        value = action()
        best = min(best, time.perf_counter() - start)
    return best, value


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--users", type=int, nargs="+", default=[20_000, 50_000, 100_000, 200_000])
    options.add_argument("--folder", type=Path, default=Path(__file__).parent / "data" / "librec")
    chosen = options.parse_args()
    native = f"librec:ndcg_binary@{LISTED}"
    print("users      rows         seconds  per million rows  value")
    for users in chosen.users:
        fold = study_files(chosen.folder, users)
        took, report = seconds(lambda fold=fold: fold.evaluate(native))
        rows = users * (LISTED + TESTED)
        print(f"{users:<10,} {rows:<12,} {took:<8.2f} {took / rows * 1e6:<17.2f} {report[native]:.6f}", flush=True)
        if users == 20_000:
            print(f"librec-auto took {LIBREC_AUTO_SECONDS:.0f} s, {LIBREC_AUTO_SECONDS / took:,.0f} times as long")
    fold, metric = study_files(chosen.folder, chosen.users[0]), custom(Ndcg)
    took, report = seconds(lambda: fold.evaluate(metric))
    expected = fold.evaluate(native)[native]
    if not math.isclose(report[str(metric)], expected, rel_tol=1e-9):
        raise SystemExit(f"evaluate_user gave {report[str(metric)]}, {native} {expected}")
    print(f"a Python evaluate_user over {chosen.users[0]:,} users, same value: {took:.2f} s")


if __name__ == "__main__":
    main()
