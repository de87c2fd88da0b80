"""Where the golden files record an error of RePlay's, a sound value comes here."""

from __future__ import annotations

import json
import math
import warnings
from typing import Any

import pandas as pd
import pytest

from bridgeval.toolkits import replay
from bridgeval.toolkits.replay import tables
from bridgeval.toolkits.replay.engines import SPARK
from tests.golden.compare import DATA

DOCUMENTS = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted((DATA / "replay").glob("*.json"))
}
WITHOUT_MEDIAN = [
    name
    for name, document in DOCUMENTS.items()
    if "Median" in document.get("engine_errors", {}).get("spark", {}).get("CategoricalDiversity", {})
]
TABLES = [name for name, document in DOCUMENTS.items() if document["format"].endswith("-old-tables/1")]


def errors_in(value: Any, where: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """Where a document says that RePlay raised."""
    if not isinstance(value, dict):
        return set()
    found = {where} if "error" in value else set()
    return found.union(*(errors_in(inner, (*where, key)) for key, inner in value.items()))


def test_these_are_all_the_errors_that_the_files_record() -> None:
    engines = {
        (engine, metric, mode)
        for document in DOCUMENTS.values()
        for engine, metrics in document.get("engine_errors", {}).items()
        for metric, modes in metrics.items()
        for mode in modes
    }
    assert engines == {("spark", "CategoricalDiversity", "Median")}
    tables = set().union(*(errors_in(document) for document in DOCUMENTS.values()))
    assert {where[-1] for where in tables} == {"compare_baseline"}
    calls = [c for d in DOCUMENTS.values() for c in (*d.get("calls", ()), *d.get("user_distribution", ()))]
    assert not any("error" in call for call in calls)


@pytest.mark.parametrize("name", WITHOUT_MEDIAN)
def test_the_median_of_categories_on_spark_is_the_lower_middle_value(name: str) -> None:
    document = DOCUMENTS[name]
    category_of = dict(document["categories"])
    rows = [[user, item, score, category_of[item]] for user, item, score in document["recs"]]
    recs = pd.DataFrame(rows, columns=["query_id", "item_id", "rating", "category_id"])
    truth = recs[["query_id", "item_id"]]
    metrics = [replay.CategoricalDiversity(document["ks"], mode=mode) for mode in (replay.Median(), replay.PerUser())]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", replay.MetricDuplicatesWarning)
        found = replay.OfflineMetrics(metrics).evaluate(SPARK, recs, truth, None, {})
    for k in document["ks"]:
        values = sorted(found[f"CategoricalDiversity-PerUser@{k}"].values())
        assert found[f"CategoricalDiversity-Median@{k}"] == values[math.ceil(len(values) / 2) - 1]


@pytest.mark.parametrize("name", TABLES)
def test_a_comparison_with_a_zero_gives_a_text(name: str) -> None:
    document = DOCUMENTS[name]
    for section in document["tables"].values():
        results = pd.DataFrame(**{part: section["results"][part] for part in ("data", "index", "columns")})
        changes: Any = tables.compared(results, "baseline")
        for row in results.index:
            for column in changes.columns:
                value, base = results.loc[row, column], results.loc["baseline", column]
                if row == "baseline":
                    expected = "–"
                elif base == 0:
                    expected = "nan%" if value == 0 else "inf%"
                else:
                    expected = f"{round((value / base - 1) * 100, 2)}%"
                assert changes.loc[row, column] == expected
