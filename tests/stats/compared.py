"""Systems to compare, of users whose relevant items they find more or less often."""

from __future__ import annotations

import numpy as np

USERS, ITEMS = 120, 40
RNG = np.random.default_rng(11)
TRUTH = {user: RNG.choice(ITEMS, 3, replace=False).tolist() for user in range(USERS)}


def lists(skill: float, seed: int) -> dict[int, list[int]]:
    rng = np.random.default_rng(seed)
    return {
        user: list(
            dict.fromkeys(
                np.where(rng.random(10) < skill, rng.choice(TRUTH[user], 10), rng.integers(0, ITEMS, 10)).tolist()
            )
        )
        for user in range(USERS)
    }


WEAK, STRONG, MIDDLE = lists(0.05, 1), lists(0.4, 2), lists(0.2, 3)
QUICK = {"resamples": 500, "halves": 40}


def reciprocal_rank(shown: list[int], relevant: list[int], k: int) -> float:
    """In plain loops."""
    for place, item in enumerate(shown[:k], start=1):
        if item in relevant:
            return 1 / place
    return 0.0
