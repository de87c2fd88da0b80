"""Users, items and scores for metrics written for WarpRec."""

from __future__ import annotations

import math
import random

import numpy as np

from bridgeval import Scores


def world(seed: int = 0, users: int = 30, items: int = 25):
    rng = random.Random(seed)
    names = [f"i{n:02d}" for n in range(items)]
    shown = {
        f"u{u:02d}": {i: round(rng.random(), 1) for i in rng.sample(names, rng.choice([2, 9, 20]))}
        for u in range(users)
    }
    relevance = {
        f"u{u:02d}": {i: rng.choice([1, 1, 2, 4]) for i in rng.sample(names, rng.choice([1, 4]))}
        for u in range(users)
        if u % 6
    }
    return shown, relevance, names


def matrix_of(shown: dict, names: list[str]) -> Scores:
    values = np.array([[rows.get(item, -math.inf) for item in names] for rows in shown.values()], dtype=np.float32)
    return Scores(values, users=list(shown), items=names)
