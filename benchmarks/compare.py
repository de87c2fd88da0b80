"""Measures one comparison: 10,000-fold bootstrap and permutation of 24 metric values for 100,000 users.

    python benchmarks/compare.py [--users 100000] [--metrics 24] [--resamples 10000]

prints seconds, processor seconds (the honest number on a busy machine) and the largest memory of the process. The
bound is 20 s on 2 cores and 1 GB.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from bridgeval.engine.state import UserTable
from bridgeval.stats.differences import Settings, compare_pairs, correct
from bridgeval.stats.paired_values import Panel
from bridgeval.tables.ids import Ids

# Reciprocal ranks with many zeros, as recommenders give them.
VALUES = np.array([0.0, 0.0, 0.0, 0.1, 0.2, 0.25, 1 / 3, 0.5, 1.0])


def tables(users: int, metrics: int, seed: int) -> dict[str, UserTable]:
    rng = np.random.default_rng(seed)
    ids = Ids(np.arange(users))
    return {f"metric{at}": UserTable(ids, rng.choice(VALUES, users)) for at in range(metrics)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--metrics", type=int, default=24)
    parser.add_argument("--resamples", type=int, default=10_000)
    given = parser.parse_args()
    systems = {name: tables(given.users, given.metrics, seed) for seed, name in enumerate(("a", "b"))}
    how = Settings(resamples=given.resamples)
    started, used = time.perf_counter(), time.process_time()
    differences, _ = compare_pairs(Panel.of(systems), [("a", "b")], {}, how)
    found = correct(differences, how)
    seconds, used = time.perf_counter() - started, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    size = f"users={given.users} metrics={len(found)} resamples={given.resamples}"
    print(f"{size} seconds={seconds:.1f} processor_seconds={used:.1f} memory={peak:.2f}GB")


if __name__ == "__main__":
    main()
