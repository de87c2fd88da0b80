"""Systems in Spark are compared on the executors, with the numbers of a local comparison."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import pytest

import bridgeval
from bridgeval.report.comparison import Comparison
from bridgeval.slices import of_items
from bridgeval.spark.per_user import SparkUserTable
from tests.spark.worlds import world

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::bridgeval.errors.DuplicateRowsWarning")]

PAIRED = ["nDCG@5", "Recall@10", "ARP@5"]
POOLED = ["Gini@5", 'MRR(over="median")@5']


def assert_same(found: Comparison, expected: Comparison) -> None:
    """Every field of every row, numbers to 1e-12."""
    pairs = [(found.differences, expected.differences), (found.means, expected.means)]
    if expected.slices is not None and found.slices is not None:
        pairs += [(found.slices.means, expected.slices.means), (found.slices.changes, expected.slices.changes)]
    for rows, wanted in pairs:
        assert len(rows) == len(wanted) > 0
        for row, other in zip(rows, wanted, strict=True):
            for name, value in asdict(other).items():
                own = getattr(row, name)
                same = math.isclose(own, value, rel_tol=1e-12, abs_tol=1e-12) if isinstance(value, float) else False
                assert own == value or same or (value != value and own != own), (other, name, own)
    assert found.friedman.keys() == expected.friedman.keys()
    for metric, test in expected.friedman.items():
        own = found.friedman[metric]
        assert own.ranks.tolist() == pytest.approx(test.ranks.tolist(), rel=1e-12)
        assert (own.users, own.statistic, own.p) == pytest.approx((test.users, test.statistic, test.p), rel=1e-12)
    assert found.notes == expected.notes


@pytest.mark.parametrize("strings", [False, True], ids=["integers", "strings"])
def test_three_systems_in_spark_have_the_numbers_of_this_process(spark: Any, strings: bool, monkeypatch: Any) -> None:
    monkeypatch.setattr(SparkUserTable, "_collected", property(lambda self: pytest.fail("collected")))
    worlds = [world(strings, seed) for seed in (5, 6, 7)]
    local = {f"system {at}": one["recommendations"] for at, one in enumerate(worlds)}
    # Random halves of the users take long, and do not look at ids.
    given = {role: worlds[0][role] for role in ("relevance", "history")}
    given["metrics"] = PAIRED if strings else [*PAIRED, *POOLED]
    users, items = (sorted(set(given["relevance"][name].to_pylist())) for name in ("user", "item"))
    by = [
        {user: ("even", "odd")[place % 2] for place, user in enumerate(users[5:])},
        of_items({item: ("rock", "jazz")[place % 2] for place, item in enumerate(items[3:])}, "genre"),
    ]
    asked = {"resamples": 500, "halves": 20, "pairs": "all", "by": by, "seed": 3}
    frames = {name: spark.createDataFrame(table) for name, table in local.items()}
    in_spark = given | {role: spark.createDataFrame(given[role]) for role in ("relevance", "history")}
    found = bridgeval.compare(frames, **in_spark, **asked)
    assert found.settings.bootstrap == "poisson"
    assert_same(found, bridgeval.compare(local, **given, **asked, bootstrap="poisson"))
