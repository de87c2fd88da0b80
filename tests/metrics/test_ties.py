"""Equal scores: expectations against all orders, shared places against loops, orders by the truth and by a seed."""

from __future__ import annotations

import itertools
import math
import random
from statistics import fmean

import numpy as np
import pytest

import bridgeval
from bridgeval.errors import BadParameterError

# Lists in which all scores are equal are what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore::bridgeval.errors.ConstantScoresWarning")

ITEMS = "abcdefg"
EXPECTED = [
    *(f"{name}@{k}" for name in ("nDCG", "DCG", "Precision", "Recall", "HitRate", "MRR", "MAP") for k in (1, 2, 4)),
    "nDCG",
    "MAP",
    "MRR",
    'nDCG(gain="linear", discount="position")@3',
    'nDCG(ideal="all")@2',
    'Precision(divide_by="relevant")@3',
    'Recall(divide_by="reachable")@2',
    'HitRate(count="hits")@3',
    'MAP(divide_by="relevant")@3',
    'MAP(divide_by="places")@4',
    'MRR(mean_of="relevant")@3',
]


def add_ties(name: str, ties: str) -> str:
    head, at, k = name.partition("@")
    given = f'ties="{ties}"'
    return (f"{head[:-1]}, {given})" if head.endswith(")") else f"{head}({given})") + at + k


def values(shown: object, truth: object, names: list[str]) -> list[float]:
    return list(bridgeval.evaluate(shown, truth, names).values())


def draw_case(draw: random.Random) -> tuple[list[tuple[str, float]], dict[str, int]]:
    """Up to six items with scores of which many are equal, and a truth of which one was shown and some was not."""
    shown = [(item, draw.choice([1.0, 1.0, 2.0, 3.0])) for item in draw.sample(ITEMS, draw.randrange(1, 7))]
    relevant = dict.fromkeys([draw.choice(shown)[0], *draw.sample(ITEMS, draw.randrange(4))])
    return shown, {item: draw.choice([1, 2, 3]) for item in relevant}


def all_orders(shown: list[tuple[str, float]]) -> list[list[str]]:
    """Every order that the scores allow."""
    scores = sorted({score for _, score in shown}, reverse=True)
    groups = [itertools.permutations([item for item, own in shown if own == score]) for score in scores]
    return [list(itertools.chain(*order)) for order in itertools.product(*groups)]


@pytest.mark.parametrize("seed", range(12))
def test_an_average_over_ties_is_the_mean_over_all_orders(seed):
    shown, truth = draw_case(random.Random(seed))
    orders = all_orders(shown)
    # One user for each order: the mean over users is the mean over orders.
    expected = values(dict(enumerate(orders)), dict.fromkeys(range(len(orders)), truth), EXPECTED)
    found = values({1: shown}, {1: truth}, [add_ties(name, "average") for name in EXPECTED])
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "name", ['MAP(divide_by="hits")@3', 'MAP(divide_by="found")@3', 'nDCG(ideal="found")@3', 'MRR(mean_of="hits")@3']
)
def test_a_denominator_that_depends_on_the_order_has_no_average(name):
    with pytest.raises(BadParameterError, match="no mean over the orders"):
        bridgeval.parse(add_ties(name, "average"))


@pytest.mark.parametrize("ties", ["average", "first", "middle", "last"])
@pytest.mark.parametrize("name", ["RPrecision", "ERR@3", "BPref", "Novelty@3", "RocAuc@3", "MAR@3"])
def test_a_metric_without_a_value_for_shared_places_says_so(name, ties):
    with pytest.raises(BadParameterError, match="equal scores have no order"):
        bridgeval.parse(add_ties(name, ties))


def place(shown: list[tuple[str, float]], item: str, ties: str) -> int:
    """From 1: a group of m equal scores after a others has the places a + 1 to a + m."""
    own = dict(shown)[item]
    before = sum(score > own for _, score in shown)
    size = sum(score == own for _, score in shown)
    return {"first": before + 1, "middle": before + (size + 1) // 2, "last": before + size}[ties]


@pytest.mark.parametrize("ties", ["first", "middle", "last"])
@pytest.mark.parametrize("seed", range(6))
def test_equal_scores_share_a_place(ties, seed):
    shown, truth = draw_case(random.Random(100 + seed))
    places = sorted(place(shown, item, ties) for item in truth if item in dict(shown))
    within = [one for one in places if one <= 3]
    # Precision at a hit counts all relevant items up to its place, those that share it included.
    precision = sum(sum(other <= one for other in within) / one for one in within)
    dcg = sum((2 ** truth[i] - 1) / math.log2(place(shown, i, ties) + 1) for i in truth if i in dict(shown))
    found = values(
        {1: shown}, {1: truth}, [add_ties(name, ties) for name in ("Precision@3", "Recall@3", "MRR", "MAP@3", "DCG")]
    )
    expected = [len(within) / 3, len(within) / len(truth), 1 / places[0] if places else 0]
    assert found == pytest.approx([*expected, precision / min(3, len(truth)), dcg])


def test_two_relevant_items_tied_at_the_top_are_both_second_for_lightfm():
    # LightFM: rank = number of items that score as much or more. Precision at 1 is 0, the reciprocal rank 1/2.
    shown, truth = {1: [("a", 2.0), ("b", 2.0), ("c", 1.0)]}, {1: ["a", "b"]}
    names = ["lightfm:precision_at_k@1", "lightfm:precision_at_k@2", "lightfm:reciprocal_rank"]
    assert values(shown, truth, names) == [0, 1, 0.5]


@pytest.mark.parametrize("form", ["lists", "scores"])
def test_the_truth_decides_between_equal_scores(form):
    # Equal scores of items 0 to 3, with gains 0, 2, 1 and none: best first 1 2 0 3, worst first 0 3 2 1.
    scores = np.zeros((1, 4)) + 0.5
    shown = bridgeval.Scores(scores) if form == "scores" else {0: [(item, 0.5) for item in range(4)]}
    names = [add_ties(f"MRR(above={above})@4", ties) for ties in ("optimistic", "pessimistic") for above in (0, 1)]
    assert values(shown, {0: {0: 0, 1: 2, 2: 1}}, names) == pytest.approx([1, 1, 1 / 3, 1 / 4])


def test_a_random_order_is_that_of_a_seed_and_not_of_batches():
    shown = {user: [(item, 1.0) for item in range(30)] for user in range(40)}
    truth = {user: [3, 7] for user in shown}
    names = [f'MRR(ties="random", seed={seed})' for seed in (1, 2)]
    one, two = values(shown, truth, names)
    assert one != two
    in_batches = bridgeval.evaluate(dict(reversed(shown.items())), truth, names, batch_size=3)
    assert list(in_batches.values()) == pytest.approx([one, two], abs=1e-12)
    # Over 40 users the mean is near the expectation, though no user's order is that of another.
    assert fmean([one, two]) == pytest.approx(values(shown, truth, ['MRR(ties="average")'])[0], abs=0.08)


def test_a_random_order_knows_strings():
    shown = {f"u{user}": [(f"i{item}", 1.0) for item in range(9)] for user in range(9)}
    report = bridgeval.evaluate(shown, {user: ["i3"] for user in shown}, 'MRR(ties="random")', per_user=True)
    assert len(set(report.collected['MRR(ties="random")'].to_dict().values())) > 2


def test_lists_that_come_ranked_have_no_ties():
    shown, truth = {1: ["a", "b", "c"]}, {1: ["c"]}
    for ties in ("average", "first", "middle", "last", "random", "optimistic", "pessimistic"):
        assert values(shown, truth, [f'MRR(ties="{ties}")']) == [pytest.approx(1 / 3)]


def test_score_matrices_and_lists_agree_on_every_rule():
    draw = np.random.default_rng(0)
    scores = draw.integers(0, 4, (20, 12)).astype(float)
    truth = {user: {int(i): int(draw.integers(0, 4)) for i in draw.choice(12, 4, replace=False)} for user in range(20)}
    lists = {user: [(item, scores[user, item]) for item in range(12)] for user in range(20)}
    rules = ("average", "first", "middle", "last", "random", "optimistic", "pessimistic", "text_ascending")
    names = [f'{name}(ties="{ties}")@3' for name in ("nDCG", "MAP", "MRR", "Recall") for ties in rules]
    names += ['Recall(unjudged="skip")@2', 'nDCG(ideal="found")@3', 'nDCG(ideal="hits")@3', "BPref", "InfAP", "RBP@3"]
    names += ["nDCG", "ERR@3", "Judged@3", "Recall(score_above=1.0)@5"]
    assert values(bridgeval.Scores(scores), truth, names) == pytest.approx(values(lists, truth, names), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_a_random_order_is_any_order_for_each_of_many_users(seed):
    shown = {user: [(item, 1.0) for item in "abcd"] for user in range(4000)}
    names = [f'HitPlace(ties="random", seed={seed})', f'HitRate(ties="random", seed={seed})@2']
    for item in "abcd":
        place, early = bridgeval.evaluate(shown, {user: [item] for user in shown}, names).values()
        # Places 1 to 4 are equally likely: mean 2.5, variance 5 / 4.
        assert abs(place - 2.5) < 4 * math.sqrt(5 / 4 / len(shown))
        assert abs(early - 0.5) < 4 * math.sqrt(1 / 4 / len(shown))
