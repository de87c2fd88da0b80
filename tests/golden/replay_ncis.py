"""Reads RePlay's NCIS files: `...-ncis/1` (one data set, many cases), `...-ncis-edges/1` (a data set for each)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

import bridgeval
from bridgeval.errors import DuplicateRowsWarning
from bridgeval.toolkits.replay import NCISMetric, experimental
from bridgeval.toolkits.replay.conventions import EXPERIMENTAL
from tests.golden.compare import Comparison, number

PAIRS = ("user_idx", "item_idx", "relevance")
# RePlay rounds the standard deviation of an interval to float32, and so does our Experiment; `evaluate` does not.
TOLERANCES = {"conf_interval": 3e-7}
SUMMARIES = {"mean": "mean", "median": "lower_median", "conf_interval": "half_width", "per_user": "per_user"}


def comparisons(document: dict[str, Any]) -> Iterator[Comparison]:
    for at, case in enumerate([*document["cases"], *document.get("multi_k_cases", [])]):
        prev = case["prev"]
        data = {
            "recs": case.get("recs", document.get("recs")),
            "truth": case.get("truth", document.get("truth")),
            "prev": document["prev_policy"][prev] if isinstance(prev, str) else prev,
            "users": case.get("ground_truth_users"),
        }
        where = case.get("label", f"case {at}: {case['activation']}, threshold {case['threshold']}, k {case['k']}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DuplicateRowsWarning)
            if "enriched" in case:
                yield from _lists(f"{where}: enriched", case, data)
            if "error" in case:
                yield Comparison(where, skipped="recorded error")
            else:
                yield from _values(where, case, data, document["alpha"])
                if "label" in case or isinstance(case["k"], list):
                    yield from _experiment(where, case, data, document["alpha"])


def table(rows: list[list[Any]]) -> pa.Table:
    """(user, item, number) or (item, number) rows."""
    names = PAIRS[-len(rows[0]) :] if rows else PAIRS
    return pa.table(
        dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)) if rows else {n: [] for n in names}
    )


def _values(where: str, case: dict[str, Any], data: dict[str, Any], alpha: float) -> Iterator[Comparison]:
    several = isinstance(case["k"], list)
    cutoffs = case["k"] if several else [case["k"]]
    line = EXPERIMENTAL.metrics["NCISPrecision"]
    metrics = {
        (summary, k): line(
            k=k,
            cut=max(cutoffs),
            threshold=case["threshold"],
            activation=case["activation"],
            users="relevant" if data["users"] is None else "given",
            over=over,
            confidence=alpha if over == "half_width" else 0.95,
        )
        for summary, over in SUMMARIES.items()
        for k in cutoffs
    }
    report = bridgeval.evaluate(
        table(data["recs"]),
        table(data["truth"]),
        list(metrics.values()),
        prev_scores=table(data["prev"]),
        users=data["users"],
    )
    for (summary, k), metric in metrics.items():
        result = report.results[str(metric)]
        expected = case[summary]
        if summary == "per_user":
            values = expected["values"][str(k)] if several else expected["values"]
            ours = result.per_user.to_dict()
            yield Comparison(f"{where}: users@{k}", 1.0, float(set(ours) == set(expected["users"])))
            for user, value in zip(expected["users"], values, strict=True):
                yield Comparison(f"{where}: user {user}@{k}", number(value), ours.get(user))
            continue
        theirs = number(expected[str(k)] if several else expected)
        yield Comparison(f"{where}: {summary}@{k}", theirs, result.value, TOLERANCES.get(summary, 1e-9))


def _experiment(where: str, case: dict[str, Any], data: dict[str, Any], alpha: float) -> Iterator[Comparison]:
    """The same by the drop-in classes."""
    cutoffs = case["k"] if isinstance(case["k"], list) else [case["k"]]
    metric = experimental.NCISPrecision(table(data["prev"]), case["threshold"], case["activation"])
    experiment = experimental.Experiment(table(data["truth"]), {metric: cutoffs}, True, alpha)
    experiment.add_result("it", table(data["recs"]), data["users"])
    suffixes = {"mean": "", "median": "_median", "conf_interval": f"_{alpha}_conf_interval"}
    for summary, suffix in suffixes.items():
        for k in cutoffs:
            theirs = number(case[summary][str(k)] if isinstance(case["k"], list) else case[summary])
            ours = experiment.results.loc["it", f"NCISPrecision@{k}{suffix}"]
            yield Comparison(f"{where}: {summary}@{k} in Experiment", theirs, ours)


def _lists(where: str, case: dict[str, Any], data: dict[str, Any]) -> Iterator[Comparison]:
    metric = NCISMetric(table(data["prev"]), case["threshold"], case["activation"])
    k = case["k"] if isinstance(case["k"], int) else max(case["k"])
    users = data["users"]
    frame = metric._get_enriched_recommendations(table(data["recs"]), table(data["truth"]), k, users)
    ours = {row.user_idx: row for row in frame.itertuples()}
    yield Comparison(f"{where}: users", 1.0, float(set(ours) == {row[0] for row in case["enriched"]}))
    for user, pred, weights, truth in case["enriched"]:
        own = ours[user]
        yield Comparison(f"{where}: items of {user}", 1.0, float(own.pred == pred))
        if truth is None:
            # What RePlay then fails on; here the list is empty.
            yield Comparison(f"{where}: truth of {user}", skipped="recorded error")
        else:
            yield Comparison(f"{where}: truth of {user}", 1.0, float(set(own.ground_truth) == set(truth)))
        for theirs, weight in zip(weights, own.weight, strict=True):
            yield Comparison(f"{where}: weight of {user}", number(theirs), weight)
