"""Metrics that other evaluators brought, against a second opinion in plain Python loops, on ragged random data."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from itertools import combinations, pairwise

import pytest

import bridgeval
from bridgeval.errors import BadParameterError
from tests.metrics.test_accuracy import random_world, ranked
from tests.metrics.test_families_against_loops import whole_world

pytestmark = pytest.mark.filterwarnings(
    "ignore::bridgeval.errors.DuplicateRowsWarning", "ignore::bridgeval.errors.NoItemInCommonWarning"
)
CUTOFFS = (1, 3, 10)
SEEDS = (1, 2)


def lists_of(shown):
    return {user: ranked(rows) for user, rows in shown.items() if ranked(rows)}


def gains_of(relevant):
    return {user: {item: gain for item, gain in rows if gain > 0} for user, rows in relevant.items()}


def close(found, wanted):
    both = math.isnan(found) and math.isnan(wanted)
    return both or math.isclose(found, wanted, rel_tol=1e-9, abs_tol=1e-12)


def compare(shown, relevant, wanted, **more):
    """Compares numbers of metrics, by name, with those of loops."""
    found = bridgeval.evaluate(shown, relevant, list(wanted), **more).values()
    pairs = zip(wanted.items(), found, strict=True)
    assert {name: (number, value) for (name, value), number in pairs if not close(number, value)} == {}


def cosine(one, two):
    return len(one & two) / math.sqrt(len(one) * len(two)) if one and two else 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_lists_of_two_users(seed):
    shown, relevant = random_world(seed, strings=False)
    lists, wanted = lists_of(shown), {}
    for k in CUTOFFS:
        tops = [set(items[:k]) for items in lists.values()]
        pairs = list(combinations(tops, 2))
        wanted[f"InterListDistance@{k}"] = 1 - statistics.fmean(cosine(one, two) for one, two in pairs)
        by_k = statistics.fmean(len(one & two) / k for one, two in pairs)
        wanted[f'InterListDistance(divide_by="k")@{k}'] = 1 - by_k
        # Too much is left out for itself: k of each list, not its length.
        spared = sum(k - len(one) for one in tops) / k / (len(tops) * (len(tops) - 1))
        wanted[f'InterListDistance(divide_by="k", own="k")@{k}'] = 1 - by_k + spared
    compare(shown, relevant, wanted)


@pytest.mark.parametrize("seed", SEEDS)
def test_overlap_with_a_baseline(seed):
    shown, relevant = random_world(seed, strings=False)
    other, _ = random_world(seed + 50, strings=False)
    lists, others, wanted = lists_of(shown), lists_of(other), {}
    for k in CUTOFFS:
        values = []
        for user, items in lists.items():
            if user in others:
                weights = [0.8**depth for depth in range(k)]
                shares = [len({*items[:d]} & {*others[user][:d]}) / d for d in range(1, k + 1)]
                values.append(sum(w * s for w, s in zip(weights, shares, strict=True)) / sum(weights))
        wanted[f"RankBiasedOverlap(p=0.8)@{k}"] = statistics.fmean(values)
    compare(shown, relevant, wanted, baseline=other)


@pytest.mark.parametrize("seed", SEEDS)
def test_distance_to_the_history_and_entropy_of_categories(seed):
    shown, relevant, world = whole_world(seed)
    features = {item: set(names) for item, names in world["item_features"].items()}
    history = {user: set(items) for user, items in world["history"].items()}
    popularity = Counter(item for items in history.values() for item in items)
    total, lists, wanted = sum(popularity.values()), lists_of(shown), {}
    names = sorted(set().union(*features.values()))
    for k in CUTOFFS:
        far, near, entropies, biased = [], [], [], []
        surprises = []
        for user, items in lists.items():
            top = items[:k]
            sets = [features.get(item, set()) for item in top]
            surprises += [-math.log(popularity[item] / total) if popularity[item] else 0.0 for item in top]
            if user in history:
                had = [features.get(item, set()) for item in history[user]]
                far.append(statistics.fmean(1 - cosine(one, two) for one in sets for two in had))
            if len(top) > 1:
                near.append(statistics.fmean(1 - cosine(one, two) for one, two in combinations(sets, 2)))
            for p, values in ((1.0, entropies), (0.5, biased)):
                parts = [sum(p**at for at, one in enumerate(sets) if name in one) + 0.01 for name in names]
                shares = [part / sum(parts) for part in parts]
                values.append(-sum(share * math.log2(share) for share in shares))
        wanted |= {
            f"HistoryDistance@{k}": statistics.fmean(far),
            f"CategoryEntropy(floor=0.01)@{k}": statistics.fmean(entropies),
            f"CategoryEntropy(p=0.5, floor=0.01)@{k}": statistics.fmean(biased),
            f'ShannonEntropy(against="history")@{k}': statistics.fmean(surprises),
        }
        if k > 1:
            wanted[f'IntraListDistance(distance="cosine")@{k}'] = statistics.fmean(near)
    compare(shown, relevant, wanted, **world)


@pytest.mark.parametrize("seed", SEEDS)
def test_popularity_by_quantile_and_a_tail_of_items(seed):
    shown, relevant, world = whole_world(seed)
    popularity = Counter(item for items in world["history"].values() for item in set(items))
    counts = sorted(popularity.values())
    places = {n: statistics.fmean(at for at, m in enumerate(counts, start=1) if m == n) for n in counts}
    quantile = {item: places[n] / len(counts) for item, n in popularity.items()}
    rarest = sorted(popularity, key=lambda item: (popularity[item], item))
    tail = set(rarest[: max(int(len(rarest) * 0.25), 1)])
    wanted = {}
    for k in CUTOFFS:
        tops = [items[:k] for items in lists_of(shown).values()]
        wanted |= {
            f'ARP(popularity="quantile", users="shown")@{k}': statistics.fmean(
                statistics.fmean(quantile.get(item, 0.0) for item in top) for top in tops
            ),
            f'ARP(divide_by="k", users="shown")@{k}': statistics.fmean(
                sum(popularity[item] for item in top) / k for top in tops
            ),
            f'APLT(head="items", pop_ratio=0.75, users="shown")@{k}': statistics.fmean(
                statistics.fmean(item in tail for item in top) for top in tops
            ),
        }
    compare(shown, relevant, wanted, **world)


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_of_all_users_together(seed):
    shown, relevant = random_world(seed, strings=False)
    judged = {user: dict(rows) for user, rows in relevant.items()}
    anyone = {item for gains in judged.values() for item in gains}
    best = {user: dict(sorted(rows, key=lambda row: row[1])) for user, rows in shown.items()}
    lists, wanted = lists_of(shown), {}
    for k in CUTOFFS:
        rows = [
            (best[user][item], judged[user][item] > 0)
            for user, items in lists.items()
            for item in items[:k]
            if item in judged.get(user, {})
        ]
        hits, misses = ([score for score, hit in rows if hit is way] for way in (True, False))
        pairs = [(one > two) + (one == two) / 2 for one in hits for two in misses]
        wanted[f"RowAuc@{k}"] = statistics.fmean(pairs) if pairs else math.nan
        wanted[f'Precision(divide_by="judged", over="pooled", users="any")@{k}'] = len(hits) / len(rows)
        holes = [sum(item not in anyone for item in items[:k]) for items in lists.values()]
        wanted[f'Hole(users="any", divide_by="listed")@{k}'] = sum(holes) / k / len(holes)
    compare(shown, relevant, wanted)


@pytest.mark.parametrize("seed", SEEDS)
def test_means_of_users_before_the_rest(seed):
    shown, relevant = random_world(seed, strings=False)
    truth = {user: gains for user, gains in gains_of(relevant).items() if gains}
    lists, wanted, curve = lists_of(shown), {}, []
    for k in range(1, 11):
        found = {user: len(set(lists.get(user, [])[:k]) & gains.keys()) for user, gains in truth.items()}
        precision = statistics.fmean(found[user] / k for user in truth)
        recall = statistics.fmean(found[user] / len(gains) for user, gains in truth.items())
        curve.append((precision, recall))
        wanted[f'F1(mean_of="means")@{k}'] = 2 * precision * recall / (precision + recall) if recall else 0.0
        wanted[f'Precision(missed="one")@{k}'] = statistics.fmean(hits / k if hits else 1.0 for hits in found.values())
        hitting = [hits / k for hits in found.values() if hits]
        wanted[f'Precision(missed="drop")@{k}'] = statistics.fmean(hitting) if hitting else math.nan
    bar = sorted(precision for precision, _ in curve)[5]
    fitting = [(recall, k) for k, (precision, recall) in enumerate(curve, start=1) if precision >= bar]
    wanted[f"RecallAtPrecision(precision={bar - 1e-12})@10"] = max(fitting)[0]
    wanted[f'RecallAtPrecision(precision={bar - 1e-12}, value="k")@10'] = max(fitting)[1]
    compare(shown, relevant, wanted)


@pytest.mark.parametrize("signal", ["highest", "spread", "lead"])
def test_users_are_left_out_by_what_their_scores_say(signal):
    shown, relevant = random_world(3, strings=False)
    lists, best = lists_of(shown), {}
    for user, rows in shown.items():
        scores = dict(sorted(rows, key=lambda row: row[1]))
        best[user] = sorted((scores[item] for item in lists.get(user, [])), reverse=True)
    values = bridgeval.evaluate(shown, relevant, "Recall@3", per_user=True).collected["Recall@3"].to_dict()

    def say(user):
        scores = best.get(user, [])
        if signal == "spread":
            return statistics.pstdev(scores) if scores else 0.0
        if signal == "highest":
            return scores[0] if scores else 0.0
        return scores[0] - scores[1] if len(scores) > 1 else 0.0

    def area(by):
        order, points = sorted(values, key=by), []
        alike = {user: statistics.fmean(values[one] for one in order if by(one) == by(user)) for user in order}
        for tenth in range(10):
            kept = order[min(round(tenth / 10 * len(order)), len(order) - 1) :]
            points.append(statistics.fmean(alike[user] for user in kept))
        return sum((one + two) / 20 for one, two in pairwise(points))

    flat = 0.9 * statistics.fmean(values.values())
    wanted = (area(say) - flat) / (area(values.__getitem__) - flat)
    compare(shown, relevant, {f'Abstention(metric_1="Recall", signal="{signal}")@3': wanted})


def test_abstention_of_equal_values_has_no_value():
    shown = {1: {"a": 0.5}, 2: {"a": 0.25}}
    report = bridgeval.evaluate(shown, {1: ["b"], 2: ["b"]}, ["Abstention@1", "Recall@1"])
    assert math.isnan(report["Abstention@1"])


def test_a_user_without_an_item_of_the_level_has_no_level_ndcg():
    shown, truth = {1: ["a", "b"], 2: ["a"]}, {1: {"a": 1, "b": 2}, 2: {"a": 1}}
    names = ["LevelnDCG", "LevelnDCG(level=2)"]
    report = bridgeval.evaluate(shown, truth, names, per_user=True)
    plain, raised = (report.collected[name].to_dict() for name in names)
    assert plain[2] == 1.0
    assert raised == {1: plain[1], 2: 0.0}


def test_counts_of_users_to_whom_nothing_was_shown():
    names = ['Count(of="relevant")', 'Count(of="relevant", unshown="zero")']
    assert [*bridgeval.evaluate({1: ["a"]}, {1: ["a"], 2: ["a", "b"]}, names).values()] == [3.0, 1.0]
    name = 'Count(of="catalogue", over="mean")'
    assert [*bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, name, catalogue=["a", "b", "c"]).values()] == [3.0]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("RankBiasedOverlap(p=0)@3", "p above 0"),
        ("RankBiasedOverlap@1000000", "at most 100,000"),
        ("RecallAtPrecision@1000000", "at most 100,000"),
        ("RecallAtPrecision(precision=2)@3", "from 0 to 1"),
        ("CategoryEntropy(p=2)@3", "at most 1"),
        ('Precision(missed="one", over="pooled")@3', "no value of a user"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(name, message):
    with pytest.raises(BadParameterError, match=message):
        bridgeval.parse(name)
