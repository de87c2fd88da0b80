"""Metamorphic laws on random data with ties: the order of rows, names of ids and cuts of users change nothing."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd

import bridgeval
from bridgeval.errors import BridgevalError
from tests.fuzz.harness import check_bounds, require, target
from tests.fuzz.names import list_names

Frame = Any


def draw_world(rng: Random) -> dict[str, Frame]:
    """Frames with ties, users on one side only, repeated scores and few items."""
    users, items = rng.randint(1, 12), rng.randint(2, 15)
    values = [0.0, 0.5, 0.5, 1.0, -1.0, 1e-9]

    def rows(share: float, number: str) -> Frame:
        found = [(u, i, rng.choice(values)) for u in range(users) for i in range(items) if rng.random() < share]
        frame = pd.DataFrame(found or [(0, 0, 1.0)], columns=["user_id", "item_id", number])
        return frame.sample(frac=1, random_state=rng.randrange(1000))

    truth = rows(0.3, "relevance")
    truth["relevance"] = [float(rng.choice([1, 1, 2, 0.5])) for _ in range(len(truth))]
    return {
        "recommendations": rows(rng.choice([0.3, 0.9]), "score"),
        "relevance": truth,
        "history": rows(0.2, "h").iloc[:, :2],
    }


def evaluate(world: dict[str, Frame], metrics: list[str], **options: Any) -> Any:
    catalogue = options.pop("catalogue", list(range(20)))
    return bridgeval.evaluate(
        world["recommendations"], world["relevance"], metrics, history=world["history"], catalogue=catalogue,
        mask_seen=False, **options,
    )  # fmt: skip


def draw_metrics(rng: Random, world: dict[str, Frame]) -> list[str]:
    """Metrics that this world can be evaluated by."""
    names = rng.sample(list_names(), 6) + rng.choice([["AUC"], ["nDCG", "MAP"], ["GAUC"], ["Recall", "AUC"]])
    found = []
    for name in names:
        try:
            (metric, *_) = bridgeval.parse(name)
        except BridgevalError:
            try:
                (metric, *_) = bridgeval.parse(f"{name}@{rng.choice([1, 3, 50])}")
            except BridgevalError:
                continue
        try:
            evaluate(world, [metric])
        except BridgevalError:
            continue
        found.append(metric)
    return found


def require_same(one: Any, other: Any, what: str) -> None:
    for name in one.results:
        first, second = one.results[name], other.results[name]
        pairs = [(first.value, second.value), *((v, second.parts.get(k, math.nan)) for k, v in first.parts.items())]
        for a, b in pairs:
            same = a is b or (
                a is not None
                and b is not None
                and (math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) or (a != a and b != b))
            )
            require(same, f"{what}: {name} is {a}, then {b}")


def depends_on_order(metric: Any) -> bool:
    """Whether rows with equal scores count in the order in which they come, or are drawn at random."""
    text = repr(metric)
    return any(
        word in text
        for word in ("given", "stable", "first", "last", "random", "seed", "sample", "torch", "quick", "numpy")
    )


def shuffle(frame: Frame, rng: Random) -> Frame:
    return frame.sample(frac=1, random_state=rng.randrange(10**6))


@target
def laws(rng: Random, folder: Path) -> None:
    """One law, on a random world and some metrics."""
    world = draw_world(rng)
    metrics = draw_metrics(rng, world)
    if not metrics:
        return
    report = evaluate(world, metrics)
    check_bounds(report)
    law = rng.choice(["batches", "rows", "labels", "streams", "unknown users", "state"])
    if law == "batches":
        require_same(report, evaluate(world, metrics, batch_size=rng.choice([1, 2, 5])), law)
    elif law == "rows":
        metrics = [one for one in metrics if not depends_on_order(one)]
        if metrics:
            other = {name: shuffle(frame, rng) for name, frame in world.items()}
            require_same(evaluate(world, metrics), evaluate(other, metrics), law)
    elif law == "labels":
        # Names in the same order: ties are cut by the order of ids. Some libraries compare ids as text.
        metrics = [one for one in metrics if not depends_on_order(one) and "text" not in repr(one)]
        if metrics:
            other = {
                name: frame.assign(user_id=frame["user_id"] + 7, item_id=frame["item_id"] * 3 + 5)
                for name, frame in world.items()
            }
            moved = evaluate(other, metrics, catalogue=[3 * item + 5 for item in range(20)])
            require_same(evaluate(world, metrics), moved, law)
    elif law == "streams":
        paths = []
        for name in ("recommendations", "relevance"):
            world[name].to_parquet(folder / f"{name}.parquet", index=False)
            paths.append(folder / f"{name}.parquet")
        files = {**world, "recommendations": paths[0], "relevance": paths[1]}
        require_same(report, evaluate(files, metrics, memory=1), law)
    elif law == "unknown users":
        # Who has no relevant item does not count in these.
        counted = [one for one in metrics if getattr(one, "users", "") == "relevant" and report.results[str(one)].users]
        counted = [one for one in counted if type(one).__mro__[1].__name__ in ("TopKMetric", "UserMetric")]
        if counted:
            more = pd.DataFrame({"user_id": [900, 900, 901], "item_id": [0, 1, 0], "score": [0.5, 0.5, 1.0]})
            other = {**world, "recommendations": pd.concat([world["recommendations"], more])}
            require_same(evaluate(world, counted), evaluate(other, counted), law)
    else:
        path = folder / "one.state"
        saved = evaluate(world, metrics, state=path)
        require_same(report, saved, law)
        require_same(report, bridgeval.merge([path]), "merge")
