"""A small world with everything in it that has ever made two evaluators disagree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import bridgeval
from bridgeval.engine.metric import Metric
from tests.laws.test_metrics import CONVENTIONS, NATIVE, VARIANTS, metric_of_convention

USERS, ITEMS = 240, 60


def world(strings: bool = False, seed: int = 5) -> dict[str, Any]:
    """Arguments of `evaluate`: ties, repeated pairs, masked items, users and items that only one side has."""
    rng = np.random.default_rng(seed)

    def user(ids: Any) -> Any:
        return [f"u{one}" for one in ids] if strings else np.asarray(ids) * 7 - 50

    def item(ids: Any) -> Any:
        return [f"i{one}" for one in ids] if strings else np.asarray(ids) * 3

    def pairs(rows: int, users: tuple[int, int], items: int = ITEMS) -> dict[str, Any]:
        return {"user": user(rng.integers(*users, rows)), "item": item(rng.integers(0, items, rows))}

    scores = np.round(rng.random(12 * USERS), 1)
    scores[rng.random(len(scores)) < 0.02] = -np.inf
    everyone, catalogue = np.arange(USERS), np.arange(ITEMS + 5)
    return {
        "recommendations": pa.table({**pairs(12 * USERS, (0, USERS - 20)), "score": scores}),
        "relevance": pa.table({**pairs(5 * USERS, (15, USERS)), "gain": rng.integers(0, 4, 5 * USERS).astype(float)}),
        "history": pa.table(pairs(8 * USERS, (5, USERS + 10), ITEMS - 4)),
        "baseline": pa.table({**pairs(6 * USERS, (0, USERS)), "score": np.round(rng.random(6 * USERS), 1)}),
        "prev_scores": pa.table({**pairs(9 * USERS, (0, USERS)), "score": rng.random(9 * USERS) + 0.01}),
        "catalogue": item(catalogue),
        "item_groups": dict(
            zip(list(item(catalogue)), rng.choice(["long tail", "popular"], len(catalogue)), strict=True)
        ),
        "user_groups": dict(zip(list(user(everyone)), rng.choice(["new", "old", "other"], USERS), strict=True)),
        "item_features": {one: list(rng.choice(["f0", "f1", "f2"], 2, replace=False)) for one in item(catalogue)},
        "users": user(np.arange(10, 40)),
        # Tables that metrics ask for by name, those of the example plugins too.
        "context": {
            "price": {one: float(rng.integers(1, 9)) for one in list(item(catalogue))},
            "visits": {one: float(rng.integers(0, 4)) for one in list(user(np.arange(-1, USERS + 10)))},
        },
    }


def whole_world(strings: bool = False) -> dict[str, Any]:
    """The same with everything ranked for everyone, which metrics over all candidates ask for."""
    arguments = world(strings)
    users, items = list(arguments["user_groups"]), list(arguments["catalogue"])
    scores = np.round(np.random.default_rng(9).random(len(users) * len(items)), 2)
    pairs = {"user": np.repeat(users, len(items)).tolist(), "item": np.tile(items, len(users)).tolist()}
    return arguments | {"recommendations": pa.table({**pairs, "score": scores})}


def installed_metrics() -> list[Metric]:
    """One of every metric and every name of every convention, and variants that matter to states and rankings."""
    native = [metric for name in [*NATIVE, *VARIANTS] for metric in bridgeval.parse(name)]
    return list(dict.fromkeys([*native, *map(metric_of_convention, CONVENTIONS)]))
