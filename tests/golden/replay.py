"""Golden files of RePlay: both generations, OfflineMetrics and Experiment tables, the torch builder.

The layout is the file's `format`. Files about counterfactual metrics are read by `tests.golden.replay_ncis`.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import torch

from bridgeval.errors import InputError
from bridgeval.toolkits import replay
from bridgeval.toolkits.replay import experimental, older
from bridgeval.toolkits.replay.engines import SPARK
from bridgeval.toolkits.replay.tables import with_row
from tests.golden.compare import Comparison, number
from tests.golden.marks import Place

FORMAT = "bridgeval-golden-replay"
NCIS = "tests.golden.replay_ncis"
COLUMNS = ["query_id", "item_id", "rating"]
OLD_COLUMNS = ["user_idx", "item_idx", "relevance"]
# The newer files give pandas' interval where Spark's is within this of it.
SPARK_INTERVAL = 3e-7
TORCH = 1e-5
RECORDED = "recorded error"
# Keys under which a file has what RePlay was given, or names of rows and columns; all other numbers are its results.
INPUTS = {
    *("format", "name", "tags", "source", "note", "columns", "index", "metrics", "metrics_in_order", "added_in_order"),
    *("recs", "truth", "train", "base_recs", "base_recs_2", "categories", "ground_truth_users", "users"),
    *("ks", "k", "alpha", "top_k", "item_count", "batches", "predictions", "ground_truth"),
    *("prev", "prev_policy", "threshold", "activation"),
}


def reads(document: dict[str, Any]) -> bool:
    layout = str(document.get("format", ""))
    return _layout(layout) in LAYOUTS or (_is_ncis(layout) and importlib.util.find_spec(NCIS) is not None)


def is_output(place: Place) -> bool:
    """Of enriched rows (user, items, weights, truth) the weights; of results in order all but the users."""
    if "enriched" in place:
        return place[place.index("enriched") + 2] == 2
    if "results_in_order" in place:
        _, _, _, *of_user = place[place.index("results_in_order") + 1 :]
        return not of_user or of_user[-1] == 1
    return not INPUTS & set(place)


def comparisons(path: Path, document: dict[str, Any]) -> Iterator[Comparison]:
    layout = document["format"]
    if _is_ncis(layout):
        yield from importlib.import_module(NCIS).comparisons(path, document)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", replay.MetricDuplicatesWarning)
        yield from LAYOUTS[_layout(layout)](document)


def _layout(layout: str) -> str:
    return layout.removeprefix(FORMAT).partition("/")[0] if layout.startswith(FORMAT) else "?"


def _is_ncis(layout: str) -> bool:
    return _layout(layout).startswith("-ncis")


# --- the newer generation ----------------------------------------------------------------------------------


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
                    yield from _value(f"{where}@{k}", theirs, ours.get(f"{key}@{k}"), tolerance)


def _by_cutoff(values: dict[str, Any]) -> dict[str, Any]:
    """Values by k; per-user values as {users, values} by k."""
    if "users" in values:
        return {k: {"users": values["users"], "values": found} for k, found in values["values"].items()}
    return values


def _value(where: str, theirs: Any, ours: Any, tolerance: float = 1e-9) -> Iterator[Comparison]:
    """A number, or the values of users."""
    if isinstance(theirs, list):
        theirs = {"users": [user for user, _ in theirs], "values": [value for _, value in theirs]}
    if not isinstance(theirs, dict):
        yield Comparison(where, number(theirs), ours, tolerance)
        return
    ours = ours or {}
    yield same(f"{where} users", sorted(theirs["users"]), sorted(ours))
    for user, value in zip(theirs["users"], theirs["values"], strict=True):
        yield Comparison(f"{where} user {user!r}", number(value), ours.get(user), tolerance)


def same(where: str, theirs: Any, ours: Any) -> Comparison:
    """Texts, lists of names: equal or not."""
    is_same = theirs == ours
    return Comparison(where if is_same else f"{where}: {theirs!r} against {ours!r}", 1.0, float(is_same))


def _all_values(document: dict[str, Any], engine: str) -> dict[str, Any]:
    """Our values by key; without those of metrics that cannot be evaluated."""
    asked = [(metric, mode) for metric, modes in document["expected"].items() for mode in modes]
    made = {
        name: [_metric(name, mode, document["ks"], document) for n, mode in asked if n == name] for name, _ in asked
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
        frame = _frame(rows, columns, "pandas").assign(item_id=range(len(rows)))
        nobody = _frame([], COLUMNS[:2], "pandas")
        return replay.OfflineMetrics([metric]).evaluate(SPARK, frame, nobody, None, {})
    return metric(_frame(rows, columns, engine))


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
    return _frame(rows, COLUMNS, kind)


def _frame(rows: list[Any], columns: list[str], kind: str) -> Any:
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


def _metric(name: str, mode: str, ks: list[int], document: dict[str, Any]) -> Any:
    made = getattr(replay, name)
    if name == "Coverage":
        return made(ks)
    confidence = (document.get("alpha") or 0.95,) if mode == "ConfidenceInterval" else ()
    return made(ks, mode=getattr(replay, mode)(*confidence))


def _suffix(mode: str) -> str:
    return "" if mode == "Mean" else f"-{mode}"


# --- tables of the newer generation ------------------------------------------------------------------------


def tables(document: dict[str, Any]) -> Iterator[Comparison]:
    """`-tables/1`: OfflineMetrics with its key order, and Experiment."""
    for engine in ("pandas", "polars", "spark"):
        yield from _offline_table(document, engine)
        yield from _experiment_tables(document, engine)


def _offline_table(document: dict[str, Any], engine: str) -> Iterator[Comparison]:
    section = document["offline_metrics"]
    metrics = [_parsed(text, document) for text in section["metrics_in_order"]]
    kind = "polars" if engine == "polars" else "pandas"
    named = {name: _frame(document[rows], COLUMNS, kind) for name, rows in section["base_names"].items()}
    first = next(iter(section["base_names"].values()), "base_recs")
    single = {"base_recommendations": _frame(document[first], COLUMNS, kind)}
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
            yield from _value(f"{engine} {variant} {key}", other.get(key, theirs), ours[key], tolerance)


def _with_categories(
    metrics: list[Any], document: dict[str, Any], engine: str, bases: dict[str, Any]
) -> dict[str, Any]:
    """OfflineMetrics on recommendations that carry a category."""
    category_of = dict(document["categories"])
    rows = [[*row, category_of.get(row[1])] for row in document["recs"]]
    kind = "polars" if engine == "polars" else "pandas"
    frames = [
        _frame(rows, [*COLUMNS, "category_id"], kind),
        _frame(document["truth"], COLUMNS, kind),
        _frame(document["train"], COLUMNS, kind),
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
        _frame(document["truth"], COLUMNS, kind),
        _frame(document["train"], COLUMNS, kind),
        None if base is None else _frame(document[base], COLUMNS, kind),
    )
    experiment = _SparkExperiment(metrics, *others) if engine == "spark" else replay.Experiment(metrics, *others)
    for name, rows in section["added_in_order"]:
        experiment.add_result(name, _frame(document[rows], COLUMNS, kind))
    tolerance = SPARK_INTERVAL if engine == "spark" else 1e-9
    yield from _results_and_changes(f"{engine} experiment", section, experiment, tolerance)


class _SparkExperiment(replay.Experiment):
    """Spark's rules on pandas frames."""

    def add_result(self, name: str, recommendations: Any) -> None:
        bases = {} if self._base_recommendations is None else {"base_recommendations": self._base_recommendations}
        values = self._offline.evaluate(SPARK, recommendations, self._ground_truth, self._train, bases)
        self.results = with_row(self.results, name, values)


def _results_and_changes(
    where: str, section: dict[str, Any], experiment: Any, interval_tolerance: float = 1e-9
) -> Iterator[Comparison]:
    """The table of results and every `compare_<name>` of a section."""
    results = section["results"]
    yield same(f"{where} index", results["index"], list(experiment.results.index))
    yield same(f"{where} columns", results["columns"], list(experiment.results.columns))
    for name, line in zip(results["index"], results["data"], strict=True):
        for column, theirs in zip(results["columns"], line, strict=True):
            tolerance = interval_tolerance if "conf" in column.lower() else 1e-9
            yield from _value(f"{where} {name} {column}", theirs, experiment.results.loc[name, column], tolerance)
    for key, table in section.items():
        if not key.startswith("compare_"):
            continue
        if "error" in table:
            yield Comparison(f"{where} {key}", skipped=RECORDED)
            continue
        ours = experiment.compare(key.removeprefix("compare_"))
        yield same(f"{where} {key} index", table["index"], list(ours.index))
        yield same(f"{where} {key} columns", table["columns"], list(ours.columns))
        for name, line in zip(table["index"], table["data"], strict=True):
            for column, theirs in zip(table["columns"], line, strict=True):
                yield same(f"{where} {key} {name} {column}", theirs, ours.loc[name, column])


def _parsed(text: str, document: dict[str, Any]) -> Any:
    """A metric written as "NDCG-Median[1, 5]"."""
    found = re.fullmatch(r"(\w+)(?:-(\w+))?\[([\d, ]+)\]", text)
    assert found is not None, text
    name, mode, ks = found.groups()
    return _metric(name, mode or "Mean", [int(k) for k in ks.split(",")], document)


# --- the torch builder -------------------------------------------------------------------------------------


def torch_builder(document: dict[str, Any]) -> Iterator[Comparison]:
    """`-torch/1`: values after one batch and after several, in order; the table of them."""
    tensors = [torch.tensor(document[name]) for name in ("predictions", "ground_truth", "train")]
    for variant, pairs in document["results_in_order"].items():
        parts = 1 if variant == "one_batch" else document["batches"]
        builder = replay.TorchMetricsBuilder(document["metrics"], document["top_k"], document["item_count"])
        for at in np.array_split(np.arange(len(tensors[0])), parts):
            builder.add_prediction(*(tensor[torch.from_numpy(at)] for tensor in tensors))
        ours = builder.get_metrics()
        yield same(f"{variant} keys", [key for key, _ in pairs], list(ours))
        for key, theirs in pairs:
            yield Comparison(f"{variant} {key}", number(theirs), ours[key], TORCH)
    table, ours_table = document["metrics_to_df"], replay.metrics_to_df(ours)
    yield same("metrics_to_df index", table["index"], list(ours_table.index))
    yield same("metrics_to_df columns", table["columns"], list(ours_table.columns))
    for name, line in zip(table["index"], table["data"], strict=True):
        for k, theirs in zip(table["columns"], line, strict=True):
            yield Comparison(f"metrics_to_df {name}@{k}", number(theirs), ours_table.loc[name, k], TORCH)


# --- the older generation ----------------------------------------------------------------------------------


def old_calls(document: dict[str, Any]) -> Iterator[Comparison]:
    """`-old/1`: every call with its mean, median, interval and per-user values; user_distribution."""
    recs, truth = _old_frame(document["recs"]), _old_frame(document["truth"])
    alpha = document.get("alpha") or 0.95
    for entry in document["calls"]:
        where = f"{entry['metric']} k={entry['k']} users={entry['ground_truth_users']}"
        if "error" in entry:
            yield Comparison(where, skipped=RECORDED)
            continue
        metric, users = _old_metric(entry["metric"], document), _old_users(entry, document)
        ks = entry["k"] if isinstance(entry["k"], list) else [entry["k"]]
        is_rec_only = entry["metric"] in OF_RECOMMENDATIONS
        found = metric(recs, ks, users) if is_rec_only else metric(recs, truth, ks, users)
        experiment = experimental.Experiment(truth, {metric: ks}, calc_median=True, calc_conf_interval=alpha)
        experiment.add_result("it", recs, users)
        row = experiment.results.loc["it"]
        for k in ks:
            column = f"{entry['metric']}@{k}"
            yield Comparison(f"{where} mean@{k}", _at(entry["mean"], k), found[k])
            yield Comparison(f"{where} in Experiment@{k}", _at(entry["mean"], k), row[column])
            yield Comparison(f"{where} median@{k}", _at(entry["median"], k), row[f"{column}_median"])
            width = row[f"{column}_{alpha}_conf_interval"]
            yield Comparison(f"{where} interval@{k}", _at(entry["conf_interval"], k), width)
        if "per_user" in entry:
            per_user = older.results(metric, older.Call(recs, truth, ks, max(ks), users), ["per_user"])
            for k in ks:
                theirs = {"users": entry["per_user"]["users"], "values": entry["per_user"]["values"][str(k)]}
                ours = per_user[k, "per_user"].per_user.to_dict()
                yield from _value(f"{where}@{k}", theirs, ours)
    for entry in document.get("user_distribution", []):
        yield from _distribution(entry, document, recs, truth)


def _distribution(entry: dict[str, Any], document: dict[str, Any], recs: Any, truth: Any) -> Iterator[Comparison]:
    where = f"user_distribution {entry['metric']} k={entry['k']} users={entry['ground_truth_users']}"
    if "error" in entry:
        yield Comparison(where, skipped=RECORDED)
        return
    metric, users = _old_metric(entry["metric"], document), _old_users(entry, document)
    ours = metric.user_distribution(_old_frame(document["train"]), recs, truth, entry["k"], users)
    yield same(f"{where} columns", entry["columns"], list(ours.columns))
    yield same(f"{where} length", len(entry["rows"]), len(ours))
    for at, line in enumerate(entry["rows"]):
        for column, theirs in zip(entry["columns"], line, strict=True):
            yield Comparison(f"{where} row {at} {column}", number(theirs), float(ours[column].iloc[at]))


def old_tables(document: dict[str, Any]) -> Iterator[Comparison]:
    """`-old-tables/1`: Experiment with and without medians and intervals, as the columns say."""
    truth = _old_frame(document["truth"])
    for variant, section in document["tables"].items():
        columns = section["results"]["columns"]
        levels = [found[1] for c in columns if (found := re.search(r"@\d+_([\d.]+)_conf_interval$", c))]
        metrics = {_old_metric(name, document): ks for name, ks in document["metrics"]}
        experiment = experimental.Experiment(
            truth,
            metrics,
            calc_median=any(column.endswith("_median") for column in columns),
            calc_conf_interval=float(levels[0]) if levels else None,
        )
        for name, rows, users in document["added_in_order"]:
            experiment.add_result(
                name, _old_frame(document[rows]), None if users is None else _users_frame(document[users])
            )
        yield from _results_and_changes(variant, section, experiment)


OF_RECOMMENDATIONS = {"Surprisal": "train", "Coverage": "train", "Unexpectedness": "base_recs"}


def _old_metric(text: str, document: dict[str, Any]) -> Any:
    """A metric written as "NDCG", "Surprisal" or "Surprisal(train)"."""
    name, _, data = text.rstrip(")").partition("(")
    data = data or OF_RECOMMENDATIONS.get(name, "")
    return getattr(experimental, name)(*([_old_frame(document[data])] if data else []))


def _old_users(entry: dict[str, Any], document: dict[str, Any]) -> Any:
    given = entry.get("ground_truth_users")
    return None if given is None else _users_frame(document[given])


def _users_frame(users: list[Any]) -> pd.DataFrame:
    return pd.DataFrame({"user_idx": users})


def _old_frame(rows: list[Any]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=OLD_COLUMNS[: len(rows[0]) if rows else 3])


def _at(values: Any, k: int) -> float:
    return number(values[str(k)] if isinstance(values, dict) else values)


LAYOUTS: dict[str, Callable[[dict[str, Any]], Iterator[Comparison]]] = {
    "": values_by_engine,
    "-tables": tables,
    "-torch": torch_builder,
    "-old": old_calls,
    "-old-tables": old_tables,
}
