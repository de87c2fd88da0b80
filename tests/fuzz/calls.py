"""Public functions with arguments of every wrong type."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import bridgeval
from bridgeval.errors import SpecError
from tests.fuzz.harness import check_bounds, target
from tests.fuzz.junk import pick
from tests.fuzz.own_files import draw_report

SHOWN = {1: ["a", "b"], 2: ["c", "a"], 3: ["b"]}
TRUTH = {1: ["b"], 2: ["a"], 3: ["c"]}


def good_calls() -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Public functions, and methods, with arguments that work."""
    report = draw_report()
    two = {"a": SHOWN, "b": {1: ["b", "a"], 2: ["a"], 3: ["c"]}}
    comparison = bridgeval.compare(two, TRUTH, "MRR@2", resamples=20)
    lists = {"recommendations": SHOWN, "relevance": TRUTH}
    return {
        "evaluate": (bridgeval.evaluate, {**lists, "metrics": ["nDCG@2", "AUC"]}),
        "compare": (bridgeval.compare, {"systems": two, "relevance": TRUTH, "metrics": "MRR@2", "resamples": 20}),
        "check": (bridgeval.check, {**lists, "baseline": report, "max_drop": "nDCG@2=1%", "other_inputs": True}),
        "explain": (bridgeval.explain, {**lists, "first": "nDCG@2", "second": "ranx:ndcg@2"}),
        "identify": (bridgeval.identify, {**lists, "value": 0.5}),
        "inspect": (bridgeval.inspect, {**lists, "metrics": "nDCG@2"}),
        "sample": (bridgeval.sample_candidates, {"relevance": TRUTH, "catalogue": list("abcdefg"), "negatives": 2}),
        "parse": (bridgeval.parse, {"text": "nDCG@2"}),
        "sliced": (bridgeval.sliced, {}),
        "merge": (bridgeval.merge, {"states": []}),
        "read_runs": (bridgeval.read_runs, {"folder": "."}),
        "save_baseline": (bridgeval.save_baseline, {"report": report, "path": "old.json"}),
        "Scores": (evaluate_scores, {"values": np.zeros((3, 4))}),
        "candidates": (evaluate_scores, {"values": np.arange(12.0).reshape(3, 4), "candidates": [[0, 1], [2], [3]]}),
        "save": (report.save, {"path": "r.json"}),
        "to_csv": (report.to_csv, {"path": "r.csv"}),
        "to_html": (report.to_html, {"title": "x"}),
        "log": (report.log, {"sink": "jsonl", "path": "r.jsonl"}),
        "per_user": (report.per_user, {}),
        "comparison.save": (comparison.save, {"path": "c.json"}),
        "Ranking": (bridgeval.Ranking, {}),
        "Relevance": (bridgeval.Relevance, {}),
        "Online": (bridgeval.OnlineEvaluator, {"metrics": "nDCG@2"}),
    }


def evaluate_scores(**given: Any) -> Any:
    scores = bridgeval.Scores(**given)
    return bridgeval.evaluate(scores, {0: [1], 2: [3]}, ["nDCG@2", "AUC"])


@target
def calls(rng: Random, folder: Path) -> None:
    """A call with one to three arguments replaced by junk."""
    os.chdir(folder)
    known = good_calls()
    name = rng.choice([*known, *["evaluate"] * 6, *["Scores", "candidates", "compare"] * 2])
    function, given = known[name]
    places = inspect.signature(bridgeval.Scores if function is evaluate_scores else function).parameters
    options = [one for one, place in places.items() if place.kind not in (place.VAR_KEYWORD, place.VAR_POSITIONAL)]
    if name == "check" or name == "compare":
        options += ["history", "batch_size", "mask_seen"]
    given = dict(given)
    # Values of a sink are the sink's own; a positional-only argument has no name.
    fixed = [one for one, place in places.items() if place.kind is place.POSITIONAL_ONLY]
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if options:
            given[rng.choice(options)] = pick(rng)
    found = function(*(given.pop(one) for one in fixed), **given)
    if isinstance(found, bridgeval.Report):
        check_bounds(found)


@target
def metrics(rng: Random, folder: Path) -> None:
    """Metric classes with parameters of every wrong type, evaluated if they can be made."""
    kinds = [
        one for one in vars(bridgeval.metrics).values() if isinstance(one, type) and issubclass(one, bridgeval.Metric)
    ]
    kind = rng.choice([one for one in kinds if one is not bridgeval.Metric])
    places = list(inspect.signature(kind).parameters)
    given = {name: pick(rng) for name in rng.sample(places, min(len(places), rng.randint(1, 2)))}
    if "k" in places:
        given.setdefault("k", 2)
    if kind is bridgeval.metrics.WeightedMean:
        given = {"metric": bridgeval.metrics.nDCG(2), "weight": "visits"} | given
    metric = kind(**given)
    report = bridgeval.evaluate(
        SHOWN, TRUTH, [metric], history={1: ["c"], 2: ["b"]}, item_groups={"a": 1, "b": 2}, catalogue=list("abcd"),
        item_features={"a": ["x"], "b": ["y"]}, user_groups={1: "m", 2: "f"}, mask_seen=False,
        context={"visits": {1: 1, 2: 3}},
    )  # fmt: skip
    check_bounds(report)
    require_number(report)


def require_number(report: Any) -> None:
    for value in report.values():
        if not (isinstance(value, float) or math.isnan(value)):
            raise SpecError(f"no number: {value!r}")
