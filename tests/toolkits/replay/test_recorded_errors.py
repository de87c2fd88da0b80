"""Where the golden files record an error of RePlay's, a sound value comes here."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest

from bridgeval.toolkits import replay
from bridgeval.toolkits.replay.loader import SPARK
from bridgeval.toolkits.replay.system_table import compare_rows
from tests.golden.compare import DATA
from tests.golden.test_golden import SKIPPED

DOCUMENTS = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted((DATA / "replay").glob("*.json"))
}
WITHOUT_MEDIAN = [
    name
    for name, document in DOCUMENTS.items()
    if "Median" in document.get("engine_errors", {}).get("spark", {}).get("CategoricalDiversity", {})
]
TABLES = [name for name, document in DOCUMENTS.items() if document["format"].endswith("-old-tables/1")]


def errors_in(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where a document says that RePlay raised: entries with "error", and all of "engine_errors"."""
    if isinstance(value, str) and ("error" in place or "engine_errors" in place):
        yield tuple(part for part in place if part != "error")
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from errors_in(inner, (*place, key))


def test_these_are_all_the_errors_that_the_files_record() -> None:
    found = {(name, *place) for name, document in DOCUMENTS.items() for place in errors_in(document)}
    medians = {(name, "engine_errors", "spark", "CategoricalDiversity", "Median") for name in WITHOUT_MEDIAN}
    comparisons = {(name, "tables", part, "compare_baseline") for name in TABLES for part in ("plain", "median_and_ci")}
    # A user without truth, of whom tests/golden/test_replay_ncis.py asks.
    (case,) = found - medians - comparisons
    assert case[:2] == ("old_ncis_edges", "cases")
    assert found == medians | comparisons | {case}
    # A median at every cutoff, two comparisons, the case and its two users without truth.
    assert sum(len(DOCUMENTS[name]["ks"]) for name in WITHOUT_MEDIAN) + len(comparisons) + 1 + 2 == SKIPPED["replay"]


@pytest.mark.parametrize("name", WITHOUT_MEDIAN)
def test_the_median_of_categories_on_spark_is_the_lower_middle_of_replays_own_values(name: str) -> None:
    document = DOCUMENTS[name]
    category_of = dict(document["categories"])
    rows = [[user, item, score, category_of[item]] for user, item, score in document["recs"]]
    recs = pd.DataFrame(rows, columns=["query_id", "item_id", "rating", "category_id"])
    truth = recs[["query_id", "item_id"]]
    metric = replay.CategoricalDiversity(document["ks"], mode=replay.Median())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", replay.MetricDuplicatesWarning)
        found = replay.OfflineMetrics([metric]).evaluate(SPARK, recs, truth, None, {})
    for k, of_users in document["expected"]["CategoricalDiversity"]["PerUser"]["values"].items():
        lower_middle = sorted(of_users)[math.ceil(len(of_users) / 2) - 1]
        assert found[f"CategoricalDiversity-Median@{k}"] == pytest.approx(lower_middle, abs=1e-12)


@pytest.mark.parametrize("name", TABLES)
def test_a_comparison_with_a_zero_gives_a_text(name: str) -> None:
    document = DOCUMENTS[name]
    for section in document["tables"].values():
        results = pd.DataFrame(**{part: section["results"][part] for part in ("data", "index", "columns")})
        changes: Any = compare_rows(results, "baseline")
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
