"""RePlay's newer generation: OfflineMetrics with its key order, and Experiment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from bridgeval.toolkits import replay
from bridgeval.toolkits.replay.loader import SPARK
from tests.golden.compare import Comparison
from tests.golden.replay_checks import results_and_changes, same, same_value
from tests.golden.replay_values import COLUMNS, SPARK_INTERVAL, frame_of, metric_of


def tables(document: dict[str, Any]) -> Iterator[Comparison]:
    """`-tables/1`: OfflineMetrics with its key order, and Experiment."""
    for engine in ("pandas", "polars", "spark"):
        yield from _offline_table(document, engine)
        yield from _experiment_tables(document, engine)


def _offline_table(document: dict[str, Any], engine: str) -> Iterator[Comparison]:
    section = document["offline_metrics"]
    metrics = [_parsed(text, document) for text in section["metrics_in_order"]]
    kind = "polars" if engine == "polars" else "pandas"
    named = {name: frame_of(document[rows], COLUMNS, kind) for name, rows in section["base_names"].items()}
    first = next(iter(section["base_names"].values()), "base_recs")
    single = {"base_recommendations": frame_of(document[first], COLUMNS, kind)}
    overrides = section.get("engine_overrides", {}).get(engine, {})
    for variant, pairs in section["results_in_order"].items():
        keys = [key for key, _ in pairs]
        is_single = any("_base_recommendations@" in key for key in keys)
        heads = {re.split("[_@]", key)[0] for key in keys}
        asked = [metric for metric in metrics if f"{metric}{metric.mode.key}" in heads]
        ours = _with_categories(asked, document, engine, single if is_single else named)
        other = overrides.get(variant, overrides)
        yield same(f"{engine} {variant} keys", keys, list(ours))
        for key, theirs in pairs:
            tolerance = SPARK_INTERVAL if "ConfidenceInterval" in key and engine == "spark" else 1e-9
            yield from same_value(f"{engine} {variant} {key}", other.get(key, theirs), ours[key], tolerance)


def _with_categories(
    metrics: list[Any], document: dict[str, Any], engine: str, bases: dict[str, Any]
) -> dict[str, Any]:
    """OfflineMetrics on recommendations that carry a category."""
    category_of = dict(document["categories"])
    rows = [[*row, category_of.get(row[1])] for row in document["recs"]]
    kind = "polars" if engine == "polars" else "pandas"
    frames = [
        frame_of(rows, [*COLUMNS, "category_id"], kind),
        frame_of(document["truth"], COLUMNS, kind),
        frame_of(document["train"], COLUMNS, kind),
    ]
    offline = replay.OfflineMetrics(metrics)
    return offline.evaluate(SPARK, *frames, bases) if engine == "spark" else offline(*frames, bases)


def _experiment_tables(document: dict[str, Any], engine: str) -> Iterator[Comparison]:
    section = document["experiment"]
    section = section | section.get("engine_overrides", {}).get(engine, {})
    kind = "polars" if engine == "polars" else "pandas"
    metrics = [_parsed(text, document) for text in section["metrics_in_order"]]
    base = section.get("base_recommendations")
    others = (
        frame_of(document["truth"], COLUMNS, kind),
        frame_of(document["train"], COLUMNS, kind),
        None if base is None else frame_of(document[base], COLUMNS, kind),
    )
    experiment = _SparkExperiment(metrics, *others) if engine == "spark" else replay.Experiment(metrics, *others)
    for name, rows in section["added_in_order"]:
        experiment.add_result(name, frame_of(document[rows], COLUMNS, kind))
    tolerance = SPARK_INTERVAL if engine == "spark" else 1e-9
    yield from results_and_changes(f"{engine} experiment", section, experiment, tolerance)


class _SparkExperiment(replay.Experiment):
    """Spark's rules on pandas frames."""

    def add_result(self, name: str, recommendations: Any) -> None:
        self._add_result(name, recommendations, SPARK)


def _parsed(text: str, document: dict[str, Any]) -> Any:
    """A metric written as "NDCG-Median[1, 5]"."""
    found = re.fullmatch(r"(\w+)(?:-(\w+))?\[([\d, ]+)\]", text)
    assert found is not None, text
    name, mode, ks = found.groups()
    return metric_of(name, mode or "Mean", [int(k) for k in ks.split(",")], document)
