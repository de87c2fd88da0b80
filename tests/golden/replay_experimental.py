"""RePlay's older generation: calls, distributions over users, and tables of an Experiment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pandas as pd

from bridgeval.toolkits.replay import calls, experimental
from tests.golden.compare import Comparison, number
from tests.golden.replay_checks import RECORDED, results_and_changes, same, same_value

COLUMNS = ["user_idx", "item_idx", "relevance"]


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
            per_user = calls.compute_call(metric, recs, truth, ks, users, ["per_user"])
            for k in ks:
                theirs = {"users": entry["per_user"]["users"], "values": entry["per_user"]["values"][str(k)]}
                ours = per_user[k, "per_user"].per_user.to_dict()
                yield from same_value(f"{where}@{k}", theirs, ours)
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
        yield from results_and_changes(variant, section, experiment)


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
    return pd.DataFrame(rows, columns=COLUMNS[: len(rows[0]) if rows else 3])


def _at(values: Any, k: int) -> float:
    return number(values[str(k)] if isinstance(values, dict) else values)
