"""Mean scores of user groups against a loop."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from itertools import combinations
from statistics import fmean

import pytest

import bridgeval

GROUPS = ("p", "q", "r")


def world(seed: int, shortest: int) -> tuple[dict, dict]:
    """Lists of `shortest` to 6 items; some users have no group."""
    draw = random.Random(seed)
    lists = {
        user: {f"i{n}": draw.randrange(100) / 8 for n in draw.sample(range(20), draw.randint(shortest, 6))}
        for user in range(30)
    }
    return lists, {user: draw.choice(GROUPS) for user in lists if draw.random() < 0.8}


def gap(lists: dict, groups: dict, k: int) -> float:
    means = defaultdict(list)
    for user, scores in lists.items():
        if user in groups and scores:
            means[groups[user]].append(fmean(sorted(scores.values(), reverse=True)[:k]))
    return fmean(abs(fmean(means[one]) - fmean(means[two])) for one, two in combinations(sorted(means), 2))


@pytest.mark.parametrize("shortest", [6, 3, 0])
@pytest.mark.parametrize("batch_size", [None, 1, 7])
def test_the_gap_between_groups_is_that_of_a_loop(shortest, batch_size):
    lists, groups = world(shortest, shortest)
    truth = {key: ["i1"] for key in lists}
    report = bridgeval.evaluate(lists, truth, "UserMADRating@1,3,6,9", user_groups=groups, batch_size=batch_size)
    for k in (1, 3, 6, 9):
        assert report[f"UserMADRating@{k}"] == pytest.approx(gap(lists, groups, k), abs=1e-12)


def test_a_score_of_minus_infinity_stays_with_its_own_group():
    lists = {1: {"a": 1.0, "b": -math.inf}, 2: {"a": 5.0, "b": 3.0}, 3: {"a": 2.0, "b": 2.0}}
    name = 'UserMADRating(masked="keep")@2'
    report = bridgeval.evaluate(lists, {key: ["a"] for key in lists}, name, user_groups={1: "p", 2: "q", 3: "r"})
    assert report.results[name].parts == {"p": -math.inf, "q": 4.0, "r": 2.0}
    assert report[name] == math.inf
