"""Lists of 400 users, and a worsened copy of them."""

from __future__ import annotations

import numpy as np
import pandas as pd

RNG = np.random.default_rng(8)
USERS = range(400)
TRUTH = {u: [f"i{RNG.integers(50)}"] for u in USERS}


def lists(skill: float, seed: int) -> dict[int, list[str]]:
    rng = np.random.default_rng(seed)
    found = {}
    for user in USERS:
        items = [f"i{item}" for item in rng.permutation(50)[:10]]
        if rng.random() < skill:
            items = [*TRUTH[user], *(i for i in items if i not in TRUTH[user])][:10]
        found[user] = items
    return found


GOOD = lists(0.6, 1)
# A worsened copy: a fifth of the users lose what they had on top.
WORSE = {user: items[::-1] if user % 5 == 0 else items for user, items in GOOD.items()}


def frame(lists):
    rows = [(u, item, -place) for u, items in lists.items() for place, item in enumerate(items)]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "score"])
