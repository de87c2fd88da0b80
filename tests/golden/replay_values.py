"""RePlay's newer generation: every metric, mode, cutoff and user, on every engine."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import pandas as pd
import polars as pl

from bridgeval.errors import InputError
from bridgeval.toolkits import replay
from bridgeval.toolkits.replay.loader import SPARK
from tests.golden.compare import Comparison
from tests.golden.replay_checks import RECORDED, same, same_value

COLUMNS = ["query_id", "item_id", "rating"]
# The newer files give pandas' interval where Spark's is within this of it.
SPARK_INTERVAL = 3e-7


def values_by_engine(document: dict[str, Any]) -> Iterator[Comparison]:
    """`bridgeval-golden-replay/1`: every metric, mode, cutoff and user, on every engine."""
    expected = document["expected"]
    for engine in ("pandas", "polars", "dict", "spark"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ours = _all_values(document, engine)
        yield same(f"{engine} warnings", document["warnings"], sorted({one.category.__name__ for one in caught}))
        overrides = document.get("engine_overrides", {}).get(engine, {})
        errors = document.get("engine_errors", {}).get(engine, {})
        for metric, modes in expected.items():
            for mode, values in modes.items():
                where = f"{engine} {metric}-{mode}"
                key = f"{metric}{_suffix(mode)}"
                other = overrides.get(metric, {}).get(mode, {})
                error = errors.get(metric, {}) if isinstance(errors, dict) else errors
                error = error.get(mode) if isinstance(error, dict) else error
                tolerance = SPARK_INTERVAL if mode == "ConfidenceInterval" and engine == "spark" else 1e-9
                for k, theirs in _by_cutoff(values).items():
                    failed = error.get(k) if isinstance(error, dict) else error
                    if failed is not None:
                        yield Comparison(f"{where}@{k}", skipped=RECORDED)
                        continue
                    theirs = other.get(k, theirs)
                    yield from same_value(f"{where}@{k}", theirs, ours.get(f"{key}@{k}"), tolerance)


def _by_cutoff(values: dict[str, Any]) -> dict[str, Any]:
    """Values by k; per-user values as {users, values} by k."""
    if "users" in values:
        return {k: {"users": values["users"], "values": found} for k, found in values["values"].items()}
    return values


def _all_values(document: dict[str, Any], engine: str) -> dict[str, Any]:
    """Our values by key; without those of metrics that cannot be evaluated."""
    asked = [(metric, mode) for metric, modes in document["expected"].items() for mode in modes]
    made = {
        name: [metric_of(name, mode, document["ks"], document) for n, mode in asked if n == name] for name, _ in asked
    }
    categorical = made.pop("CategoricalDiversity", [])
    try:
        ours = _offline([metric for metrics in made.values() for metric in metrics], document, engine)
    except InputError:
        ours = {}
        for metrics in made.values():
            with contextlib.suppress(InputError):
                ours |= _offline(metrics, document, engine)
    for metric in categorical:
        ours |= _categorical(metric, document, engine)
    return {key.replace("_base_recommendations@", "@"): value for key, value in ours.items()}


def _categorical(metric: Any, document: dict[str, Any], engine: str) -> dict[str, Any]:
    """The recommendations with the category in place of the item."""
    category_of = dict(document["categories"])
    rows = [[user, category_of.get(item), score] for user, item, score in document["recs"]]
    if engine == "dict":
        return metric(_pairs(rows))
    columns = ["query_id", "category_id", "rating"]
    if engine == "spark":
        frame = frame_of(rows, columns, "pandas").assign(item_id=range(len(rows)))
        nobody = frame_of([], COLUMNS[:2], "pandas")
        return replay.OfflineMetrics([metric]).evaluate(SPARK, frame, nobody, None, {})
    return metric(frame_of(rows, columns, engine))


def _offline(metrics: list[Any], document: dict[str, Any], engine: str) -> dict[str, Any]:
    """OfflineMetrics on the frames of an engine; Spark's rules are applied to pandas frames."""
    if not metrics:
        return {}
    offline = replay.OfflineMetrics(metrics)
    kind = "pandas" if engine == "spark" else engine
    recs, truth, train, base = (
        _data(document[name], name in ("recs", "base_recs"), kind) if name in document else None
        for name in ("recs", "truth", "train", "base_recs")
    )
    if engine == "spark":
        return offline.evaluate(SPARK, recs, truth, train, {} if base is None else {"base_recommendations": base})
    return offline(recs, truth, train, base)


def _data(rows: list[Any], scored: bool, kind: str) -> Any:
    if kind == "dict":
        return _pairs(rows) if scored else _items(rows)
    return frame_of(rows, COLUMNS, kind)


def frame_of(rows: list[Any], columns: list[str], kind: str) -> Any:
    width = len(rows[0]) if rows else len(columns)
    frame = pd.DataFrame(rows, columns=columns[:width])
    return pl.from_pandas(frame) if kind == "polars" else frame


def _pairs(rows: list[Any]) -> dict[Any, list[Any]]:
    lists: dict[Any, list[Any]] = {}
    for user, item, score in rows:
        lists.setdefault(user, []).append((item, score))
    return lists


def _items(rows: list[Any]) -> dict[Any, list[Any]]:
    lists: dict[Any, list[Any]] = {}
    for user, item, *_ in rows:
        lists.setdefault(user, []).append(item)
    return lists


def metric_of(name: str, mode: str, ks: list[int], document: dict[str, Any]) -> Any:
    made = getattr(replay, name)
    if name == "Coverage":
        return made(ks)
    confidence = (document.get("alpha") or 0.95,) if mode == "ConfidenceInterval" else ()
    return made(ks, mode=getattr(replay, mode)(*confidence))


def _suffix(mode: str) -> str:
    return "" if mode == "Mean" else f"-{mode}"
