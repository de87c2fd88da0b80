"""A metric written for RePlay, run by RePlay or by bridgeval: only the module it is imported from differs.

    python -P benchmarks/own_metric.py replay.metrics RECS TRUTH
    python -P benchmarks/own_metric.py bridgeval.toolkits.replay RECS TRUTH

prints {"wall": [seconds, ...], "values": {...}} for pandas frames.
"""

import argparse
import importlib
import json
import time
from pathlib import Path

import pandas as pd

CUTOFFS = [5, 10, 20, 50]


def own_metric(library: object) -> object:
    """The metric, on the base class of either library."""

    class FoundEarly(library.Metric):
        """The share of the ground truth in the first k places."""

        @staticmethod
        def _get_metric_value_by_user(ks, ground_truth, pred):
            if not pred:
                return [0.0 for _ in ks]
            wanted = set(ground_truth)
            return [len(wanted.intersection(pred[:k])) / len(wanted) for k in ks]

    return FoundEarly(CUTOFFS, query_column="user_id", rating_column="score")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("recommendations", type=Path)
    parser.add_argument("truth", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    metric = own_metric(importlib.import_module(arguments.library))
    recs, truth = pd.read_parquet(arguments.recommendations), pd.read_parquet(arguments.truth)
    few = recs["user_id"] < 100
    metric(recs[few], truth[truth["user_id"] < 100])
    wall = []
    for _ in range(arguments.repeat):
        start = time.perf_counter()
        values = metric(recs, truth)
        wall.append(time.perf_counter() - start)
    print(json.dumps({"wall": wall, "values": values}))


if __name__ == "__main__":
    main()
