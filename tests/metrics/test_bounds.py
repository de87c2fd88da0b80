"""The bounds that metrics declare: values by hand that reach or pass 1, and random parameters on random data."""

from __future__ import annotations

import math
import random
from contextlib import suppress

import pytest

import bridgeval
from bridgeval import plugins
from bridgeval.choices import list_choices
from bridgeval.errors import BadParameterError, BadValueError, NeedError
from bridgeval.testing import World
from bridgeval.testing.metric_laws.answers import values_are_within_bounds
from bridgeval.testing.trial import Trial

ITEMS = list(range(9))
MADE_OF = {
    "EucDistance": {"metrics": (bridgeval.parse("Precision@3")[0],), "utopia": (1.0,)},
    "Hypervolume": {"metrics": (bridgeval.parse("nDCG@3")[0],), "nadir": (0.2,)},
    "WeightedMean": {"metric": bridgeval.parse("nDCG@3")[0], "weight": "visits"},
}
# Flat parameters of every ranking metric.
POLICIES = {
    "duplicates": ("best", "all"),
    "truth_duplicates": ("best", "first", "all"),
    "masked": ("drop", "keep"),
    "above": (None, 0.0, 1.0, -2.0),
}


def random_world(draw: random.Random, whole: bool) -> World:
    """Lists with repeated and masked items, grades of which some are negative, users without either side."""
    lists, truth, previous = {}, {}, {}
    for user in range(8):
        shown = draw.sample(ITEMS, len(ITEMS)) if whole else [draw.choice(ITEMS) for _ in range(draw.randrange(7))]
        lists[user] = [(item, -math.inf if draw.random() < 0.05 else draw.randrange(1, 5) / 4) for item in shown]
        truth[user] = [(draw.choice(ITEMS), draw.choice([-1, 0, 0.5, 1, 1, 3])) for _ in range(draw.randrange(5))]
        previous[user] = {item: draw.randrange(1, 5) / 4 for item in ITEMS}
    history = {user: draw.sample(ITEMS, 2) for user in range(5, 11)}
    extras = {
        "history": {} if whole else history,
        "catalogue": ITEMS if whole else ITEMS[:8],
        "item_groups": {item: item % 2 for item in ITEMS[:7]},
        "user_groups": {user: user % 2 for user in range(8)},
        "item_features": {item: [f"f{item % 3}", f"f{item % 2}"] for item in ITEMS},
        "prev_scores": previous,
        "baseline": {user: draw.sample(ITEMS, 3) for user in range(8)},
        "users": list(range(0, 8, 2)),
        "context": {"visits": {user: draw.randrange(3) for user in range(8)}},
    }
    return World(lists, truth, extras)


def random_metric(name: str, draw: random.Random) -> bridgeval.Metric:
    kind = plugins.installed().metrics[name]
    choices = {key: values for key, values in list_choices(kind).items() if key not in ("users", "over")}
    accepted = kind.default_parameters()
    given = {key: draw.choice(values) for key, values in (choices | POLICIES).items() if key in accepted}
    if "k" in accepted:
        given["k"] = draw.randrange(1, 6)
    return kind.from_parameters(**given, **MADE_OF.get(name, {}))


NATIVE = [name for name, kind in plugins.installed().metrics.items() if kind.__module__.startswith("bridgeval.metrics")]


@pytest.mark.parametrize("trials", [15, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NATIVE)
def test_no_value_is_beyond_the_bounds_whatever_the_parameters(name, trials):
    draw, tried = random.Random(name), 0
    for _ in range(trials):
        with suppress(NeedError, BadValueError, BadParameterError):
            metric = random_metric(name, draw)
            values_are_within_bounds.keep(Trial(metric, random_world(draw, whole="AUC" in name)))
            tried += 1
    assert tried > trials / 6


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("nDCG@10", (0, 1)),
        ("Recall@10", (0, 1)),
        ("HitRate@10", (0, 1)),
        ('HitRate(count="hits")@10', (0, 10)),
        ('nDCG(ideal="k")@10', (0, math.inf)),
        ('nDCG(ideal="k", gain="binary")@10', (0, 1)),
        ('nDCG(gain="shifted")@10', (-math.inf, math.inf)),
        ('nDCG(above=None, gain="linear")@10', (-math.inf, math.inf)),
        ('F1(metric_1="ARP")@10', (0, math.inf)),
        ("RMSE", (0, math.inf)),
        ("NCISnDCG@10", (0, math.inf)),
        ("IPS(cap=3.0)@10", (0, 3)),
        ("rectools:NDCG@10", (0, 1)),
    ],
)
def test_bounds_follow_from_the_formula_and_the_parameters(name, bounds):
    assert bridgeval.parse(name)[0].bounds == bounds


def test_values_that_pass_1_are_not_said_to_be_shares():
    # Two hits: HitRate counts 2. A gain of 3 is worth 2^3 - 1 = 7 at place 1, over one discount of 1: 7.
    report = bridgeval.evaluate(
        {1: ["a", "b"]}, {1: {"a": 3, "b": 1}}, ['HitRate(count="hits")@2', 'nDCG(ideal="k")@1']
    )
    assert list(report.values()) == [2, 7]
    # "a" twice, where both places count: precision 1 at place 1 and 2/2 at place 2, over one relevant item: 2.
    with pytest.warns(bridgeval.errors.DuplicateRowsWarning):
        twice = bridgeval.evaluate({1: ["a", "a"]}, {1: ["a"]}, 'MAP(duplicates="all")@2')
    assert list(twice.values()) == [2]
    assert all(metric.bounds[1] > 1 for one in (report, twice) for metric in one.metrics.values())
