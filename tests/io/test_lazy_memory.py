"""A lazy frame of 20 million rows is evaluated within its budget: the peak of a process of its own stays under 1 GB."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

USERS, SHOWN, AT_ONCE = 400_000, 50, 20_000
# Each user is shown items first, first + 13, ...; three of five relevant items are among them, so Recall@50 is 0.6.
RELEVANT = np.array([0, 10, 20, 60, 70])
CODE = """
import json, resource, sys
import polars as pl
import bridgeval

recs, truth = (pl.scan_parquet(f"{sys.argv[1]}/{name}.parquet") for name in ("recs", "truth"))
report = bridgeval.evaluate(recs, truth, ["Recall@50", "nDCG@10", "MRR"], memory="500MB", progress=False)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"recall": report["Recall@50"], "users": report.population.counted, "peak": peak}))
"""


def write_rows(path, places, order):
    """Rows of all users in the order given, `AT_ONCE` users at a time: (user, item), and a score of lists."""
    random = np.random.default_rng(0)
    names = ["user_id", "item_id", "score"][: 2 if len(places) == len(RELEVANT) else 3]
    types = {"user_id": pa.int64(), "item_id": pa.int64(), "score": pa.float64()}
    with pq.ParquetWriter(path, pa.schema([(name, types[name]) for name in names])) as writer:
        for own in np.split(order, len(order) // (AT_ONCE * len(places))):
            users, at = own // len(places), own % len(places)
            columns = {"user_id": users, "item_id": (users * 7919 + places[at] * 13) % 10**6, "score": None}
            columns["score"] = random.random(len(users))
            writer.write_table(pa.table({name: columns[name] for name in names}))


@pytest.mark.slow
@pytest.mark.parametrize("order", ["sorted by user", "shuffled"])
def test_20_million_rows_with_a_budget_of_500_mb_stay_under_a_gigabyte(tmp_path, order):
    rows = np.arange(USERS * SHOWN)
    if order == "shuffled":
        np.random.default_rng(1).shuffle(rows)
    write_rows(tmp_path / "recs.parquet", np.arange(SHOWN), rows)
    write_rows(tmp_path / "truth.parquet", RELEVANT, np.arange(USERS * len(RELEVANT)))
    done = subprocess.run([sys.executable, "-c", CODE, tmp_path], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    print(order, found)
    assert found["users"] == USERS
    assert found["recall"] == pytest.approx(0.6, abs=1e-12)
    assert found["peak"] < 10**9
