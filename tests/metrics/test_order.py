"""Places of hits and pairs in order, against plain loops over lists with equal scores."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from itertools import combinations
from statistics import fmean, geometric_mean

import pytest

import bridgeval

ITEMS = "abcdefghij"


def draw_world(seed: int) -> tuple[dict[int, list[tuple[str, float]]], dict[int, dict[str, float]]]:
    draw = random.Random(seed)
    shown, truth = {}, {}
    for user in range(8):
        items = draw.sample(ITEMS, draw.randrange(1, 9))
        scores = sorted((draw.choice([1.0, 1.0, 2.0, 3.0, 4.0]) for _ in items), reverse=True)
        shown[user] = list(zip(items, scores, strict=True))
        truth[user] = {item: float(draw.choice([1, 2, 3])) for item in draw.sample(ITEMS, draw.randrange(1, 5))}
    return shown, truth


def count_pairs(rows, gains, tied: float) -> tuple[float, float]:
    """Pairs in the right order, and all whose gains differ; a pair of equal scores is worth `tied`, or its order."""
    right = pairs = 0.0
    for (one, high), (other, low) in combinations(rows, 2):
        first, second = gains.get(one, 0), gains.get(other, 0)
        if first != second:
            pairs += 1
            right += (first > second) if math.isnan(tied) or high != low else tied
    return right, pairs


def by_user(shown, truth, name, **more):
    (metric,) = bridgeval.parse(name)
    return bridgeval.evaluate(shown, truth, [name], per_user=True, **more).collected[str(metric)].to_dict()


def same(found: float, expected: float) -> bool:
    return (math.isnan(found) and math.isnan(expected)) or found == pytest.approx(expected)


TIED = {"order": math.nan, "half": 0.5, "lost": 0.0}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("tied", TIED)
@pytest.mark.parametrize("k", [3, 99])
def test_pairs_are_those_that_a_loop_counts(seed, tied, k):
    shown, truth = draw_world(seed)
    graded = by_user(shown, truth, f'PairAccuracy(tied="{tied}", ties="given")@{k}')
    binary = by_user(shown, truth, f'PairAccuracy(tied="{tied}", between="relevance", ties="given")@{k}')
    lost = by_user(shown, truth, f'RankingLoss(tied="{tied}", ties="given")@{k}')
    for user, rows in shown.items():
        right, pairs = count_pairs(rows[:k], truth[user], TIED[tied])
        assert same(graded[user], right / pairs if pairs else math.nan)
        right, pairs = count_pairs(rows[:k], dict.fromkeys(truth[user], 1), TIED[tied])
        assert same(binary[user], right / pairs if pairs else math.nan)
        assert same(lost[user], 1 - right / pairs if pairs else math.nan)


@pytest.mark.parametrize("seed", range(4))
def test_concordant_pairs_are_averaged_over_users_who_have_any(seed):
    shown, truth = draw_world(seed)
    counts = defaultdict(list)
    for user, rows in shown.items():
        right, pairs = count_pairs(rows, truth[user], 0.0)
        counts["right"].append(right)
        counts["wrong"].append(pairs - right)
    right, wrong = (fmean([n for n in counts[way] if n] or [0]) for way in ("right", "wrong"))
    assert bridgeval.evaluate(shown, truth, "FCP")["FCP"] == pytest.approx(right / (right + wrong))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [2, 99])
def test_places_are_those_that_a_loop_finds(seed, k):
    shown, truth = draw_world(seed)
    means = {"mean": fmean, "geometric": geometric_mean, "first": min, "last": max}
    found = {of: by_user(shown, truth, f'HitPlace(of="{of}", ties="given")@{k}') for of in means}
    shared = by_user(shown, truth, 'HitPlace(of="last", ties="last", missed="zero")')
    over_all = by_user(shown, truth, f'HitPlace(divide_by="relevant", missed="infinite", ties="given")@{k}')
    for user, rows in shown.items():
        places = [at for at, (item, _) in enumerate(rows[:k], start=1) if item in truth[user]]
        for of, mean in means.items():
            assert same(found[of][user], mean(places) if places else math.nan)
        assert over_all[user] == pytest.approx(sum(places) / len(truth[user]) if places else math.inf)
        # Of equal scores all are at the last place of their group.
        ends = [sum(other >= score for _, other in rows) for item, score in rows if item in truth[user]]
        assert shared[user] == max(ends, default=0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [1, 4])
def test_the_area_with_a_straight_tail_is_that_of_a_loop(seed, k):
    shown, truth = draw_world(seed)
    found = by_user(shown, truth, f'StraightAUC(ties="given")@{k}', catalogue=list(ITEMS))
    for user, rows in shown.items():
        hits = misses = area = 0
        for place in range(k):
            if place < len(rows) and rows[place][0] in truth[user]:
                hits += 1
            else:
                misses, area = misses + 1, area + hits
        positive, negative = len(truth[user]), len(ITEMS) - len(truth[user])
        area += (hits + positive) / 2 * (negative - misses)
        assert found[user] == pytest.approx(area / positive / negative)


def test_a_hit_rate_of_one_target_leaves_others_out_or_counts_them_as_empty():
    shown, truth = {1: ["a"], 2: ["a"], 3: ["b"]}, {1: ["a"], 2: ["a", "b"], 3: ["a"]}
    names = ['HitRate(targets="one", empty="drop")@1', 'HitRate(targets="one")@1']
    # Users 1 and 3 have one target: 1 and 0; user 2 has two.
    assert list(bridgeval.evaluate(shown, truth, names).values()) == pytest.approx([1 / 2, 1 / 3])
    assert bridgeval.evaluate(shown, truth, 'MRR(missed="drop")@1').population.counted == 3
    assert list(bridgeval.evaluate(shown, truth, 'MRR(missed="drop")@1').values()) == [1.0]
