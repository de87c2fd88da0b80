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


def trained_world(seed: int = 0, users: int = 14, items: int = 24) -> tuple[Scores, dict, dict]:
    """Scores of every item, -inf for those of the history, as WarpRec's full evaluation has them; ratings; the rest.

    Two users have no ratings and one has only a rating of 0: WarpRec evaluates the last, not the two.
    """
    rng = np.random.default_rng(seed)
    names, people = [f"i{n:02d}" for n in range(items)], [f"u{n:02d}" for n in range(users)]
    had = rng.random((users, items)) < np.linspace(0.4, 0.05, items)
    values = (rng.permutation(users * items).reshape(users, items) / (users * items)).astype(np.float32)
    wanted = {
        person: {names[i]: float(rng.choice([1, 2, 5])) for i in rng.choice(np.flatnonzero(~had[n]), 3, replace=False)}
        for n, person in enumerate(people[2:], start=2)
    }
    wanted[people[2]] = {names[-1]: 0.0}
    known = {
        "history": {person: [names[i] for i in np.flatnonzero(had[n])] for n, person in enumerate(people)},
        "catalogue": names,
        "users": people,
        "item_groups": {name: "xyz"[n % 3] for n, name in enumerate(names) if n % 7},
        "user_groups": {person: "pq"[n % 2] for n, person in enumerate(people) if n % 5},
        "item_features": {name: ["ab", "bc", "c"][n % 3] for n, name in enumerate(names)},
    }
    return Scores(np.where(had, -np.inf, values), people, names), wanted, known
