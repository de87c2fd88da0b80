"""RePlay's NCIS: the rules of its weights against plain loops, and classes written for RePlay."""

from __future__ import annotations

import math
import pickle
import random

import pandas as pd
import polars as pl
import pytest

import bridgeval
from bridgeval.errors import BadParameterError, DuplicateRowsWarning, MetricFailedError
from bridgeval.toolkits.replay import NCISMetric, NCISPrecision

FRAMES = {"pandas": pd.DataFrame, "polars": lambda data: pl.DataFrame(data)}
COLUMNS = ("user_idx", "item_idx", "relevance")


def frame(rows, kind="pandas"):
    names = COLUMNS[-len(rows[0]) :]
    return FRAMES[kind](dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def random_world(seed, spread):
    """Scores without ties; some users with repeated items, some pairs without a previous score or with 0."""
    rng = random.Random(seed)
    recs, truth, prev = [], [], []
    for user in range(30):
        rows = {}
        for item in rng.sample(range(20), rng.choice([0, 2, 5, 9])):
            rows[item] = [rng.uniform(-spread, spread) for _ in range(rng.choice([1, 1, 2]))]
        recs += [(user, item, score) for item, scores in rows.items() for score in scores]
        prev += [
            (user, item, rng.choice([0.0, rng.uniform(-spread, spread)])) for item in range(20) if rng.random() < 0.6
        ]
        if user % 6:
            truth += [(user, item, 1.0) for item in rng.sample(range(20), 6)]
    return recs, truth, prev


def activated(scores, activation):
    """As float64 gives it: infinite powers divided by an infinite sum are NaN, finite ones 0."""
    if activation is None:
        return list(scores)
    if activation == "sigmoid":
        return [1 / (1 + math.exp(-x)) if x > -700 else 0.0 for x in scores]
    powers = [math.exp(x - min(scores)) if x - min(scores) < 709.78 else math.inf for x in scores]
    total = sum(powers)
    return [math.nan if math.isinf(p) else p / total for p in powers]


def clipped(now, then, threshold):
    ratio = math.nan if then == 0 else now / then
    if then == 0:
        return threshold
    if ratio < 1 / threshold:
        return 1 / threshold
    return threshold if math.isnan(ratio) or ratio > threshold else ratio


def enriched_by_loops(recs, truth, prev, max_k, threshold, activation):
    """Section by section what RePlay does with one user."""
    before = {(user, item): score for user, item, score in prev}
    lists = {}
    for user in {user for user, _, _ in truth}:
        rows = sorted(((s, i) for u, i, s in recs if u == user), reverse=True)[:max_k]
        now = activated([s for s, _ in rows], activation) if rows else []
        then = activated([before.get((user, i), 0.0) for _, i in rows], activation) if rows else []
        best = {}
        for (_, item), x, y in zip(rows, now, then, strict=True):
            best.setdefault(item, (math.inf if math.isnan(x) else x, item, clipped(x, y, threshold)))
        ordered = sorted(best.values(), reverse=True)
        lists[user] = [(item, weight) for _, item, weight in ordered]
    return lists


@pytest.mark.parametrize("activation", [None, "sigmoid", "softmax"])
@pytest.mark.parametrize("spread", [3.0, 60.0, 900.0])
def test_weights_and_order_follow_replays_rules(activation, spread):
    recs, truth, prev = random_world(int(spread), spread)
    wanted: dict[int, set[int]] = {}
    for user, item, _ in truth:
        wanted.setdefault(user, set()).add(item)
    for threshold in (10.0, 0.5):
        metric = NCISPrecision(frame(prev), threshold, activation)
        own = metric._get_enriched_recommendations(frame(recs), frame(truth), 6).set_index("user_idx")
        theirs = enriched_by_loops(recs, truth, prev, 6, threshold, activation)
        assert {u: row.pred for u, row in own.iterrows()} == {u: [i for i, _ in rows] for u, rows in theirs.items()}
        for user, rows in theirs.items():
            assert own.loc[user].weight == pytest.approx([w for _, w in rows], rel=1e-9)

        with pytest.warns(DuplicateRowsWarning):
            values = metric(frame(recs), frame(truth), [2, 6])
        for k in (2, 6):
            shares = [
                sum(w for i, w in rows[:k] if i in wanted[user]) / sum(w for _, w in rows[:k]) if rows else 0.0
                for user, rows in theirs.items()
            ]
            assert values[k] == pytest.approx(sum(shares) / len(shares), abs=1e-9)


RECS = [(1, 10, 4.0), (1, 11, 3.0), (1, 12, 2.0), (2, 10, 1.0), (3, 11, 2.0)]
TRUTH = [(1, 11, 1.0), (1, 12, 1.0), (2, 12, 1.0)]
PREV = [(1, 10, 2.0), (1, 11, 3.0), (1, 12, 1.0), (2, 10, 4.0)]  # weights 2, 1, 2 and 1/4


@pytest.mark.parametrize("kind", FRAMES)
def test_precision_is_called_as_in_replay(kind):
    metric = NCISPrecision(frame(PREV, kind), threshold=10.0, activation=None)
    recs, truth = frame(RECS, kind), frame(TRUTH, kind)

    assert metric(recs, truth, 3) == pytest.approx((3 / 5 + 0) / 2, abs=1e-12)
    assert metric(recs, truth, [3, 1]) == {3: pytest.approx(0.3), 1: 0.0}
    assert metric(recs, truth, 3, FRAMES[kind]({"user_idx": [1]})) == pytest.approx(0.6, abs=1e-12)
    assert str(metric) == "NCISPrecision"


@pytest.mark.parametrize("kind", FRAMES)
def test_enriched_recommendations_are_a_frame_of_the_same_kind(kind):
    lists = NCISPrecision(frame(PREV, kind))._get_enriched_recommendations(frame(RECS, kind), frame(TRUTH, kind), 3)
    assert type(lists) is type(frame(RECS, kind))
    assert list(lists.columns) == ["user_idx", "pred", "weight", "ground_truth"]
    assert lists["pred"].to_list() == [[10, 11, 12], [10]]
    assert lists["weight"].to_list() == [[2.0, 1.0, 2.0], [0.25]]


class WeightOfHits(NCISMetric):
    """Written as the documentation of RePlay says."""

    @staticmethod
    def _get_metric_value_by_user(k, pred, ground_truth, weights):
        return sum(w for item, w in zip(pred[:k], weights[:k], strict=True) if item in ground_truth)


class WeightOfHitsAsColumnsCome(NCISMetric):
    """Written for the order of columns that RePlay really has."""

    @staticmethod
    def _get_metric_value_by_user(k, pred, weight, ground_truth):
        return WeightOfHits._get_metric_value_by_user(k, pred, ground_truth, weight)


class WeightOfHitsByPosition(NCISMetric):
    @staticmethod
    def _get_metric_value_by_user(k, *args):
        pred, ground_truth, weights = args
        return WeightOfHits._get_metric_value_by_user(k, pred, ground_truth, weights)


class HalfPrecision(NCISPrecision):
    @staticmethod
    def _get_metric_value_by_user(k, pred, ground_truth, weights):
        return NCISPrecision._get_metric_value_by_user(k, pred, ground_truth, weights) / 2


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("metric", [WeightOfHits, WeightOfHitsAsColumnsCome, WeightOfHitsByPosition])
def test_an_own_metric_gets_its_arguments_by_name(metric, kind):
    call = metric(frame(PREV, kind))

    assert call(frame(RECS, kind), frame(TRUTH, kind), [1, 2, 3]) == {1: 0.0, 2: 0.5, 3: 1.5}


def test_a_subclass_of_precision_is_run_as_it_is_written():
    assert HalfPrecision(frame(PREV))(frame(RECS), frame(TRUTH), 3) == pytest.approx(0.15, abs=1e-12)


def test_the_python_precision_agrees_with_the_engines():
    recs, truth, prev = random_world(8, 2.0)
    whole = NCISPrecision(frame(prev), activation="sigmoid")
    half = HalfPrecision(frame(prev), activation="sigmoid")
    with pytest.warns(DuplicateRowsWarning):
        assert half(frame(recs), frame(truth), 4) * 2 == pytest.approx(whole(frame(recs), frame(truth), 4), abs=1e-12)


def test_a_failing_own_metric_is_reported_with_its_user():
    class Fails(NCISMetric):
        @staticmethod
        def _get_metric_value_by_user(k, pred, ground_truth, weights):
            return 1 / (len(pred) - 1)

    with pytest.raises(MetricFailedError, match=r"Fails failed for user 2.*ZeroDivisionError"):
        Fails(frame(PREV))(frame(RECS), frame(TRUTH), 2)


@pytest.mark.parametrize(("threshold", "activation"), [(0.0, None), (-1.0, None), (10.0, "tanh")])
def test_wrong_parameters_are_refused_when_the_metric_is_made(threshold, activation):
    with pytest.raises(BadParameterError):
        NCISPrecision(frame(PREV), threshold, activation)


class OwnLists(WeightOfHits):
    """Brings its own lists, in the columns that RePlay's frames have."""

    enriches = "given"

    def _get_enriched_recommendations(self, recommendations, ground_truth, max_k, ground_truth_users=None):
        return pd.DataFrame({"user_idx": [1], "pred": [[10, 11]], "weight": [[2.0, 1.0]], "ground_truth": [[11]]})


def test_custom_lists_are_passed_by_name():
    assert OwnLists(frame(PREV))(frame(RECS), frame(TRUTH), [1, 2]) == {1: 0.0, 2: 1.0}


def test_the_convention_is_asked_for_by_name_and_comes_back_by_its_name():
    (metric,) = bridgeval.parse('replay-experimental:NCISPrecision(threshold=5.0, activation="logit", cut=8)@3')

    assert (metric.ranking.order, metric.ranking.cut, metric.missing) == ("sigmoid", 8, "zero")
    assert str(metric) == 'replay-experimental:NCISPrecision(threshold=5.0, activation="logit", cut=8)@3'
    assert bridgeval.parse(str(metric)) == [metric]
    assert pickle.loads(pickle.dumps(metric)) == metric
    assert bridgeval.parse("replay-experimental:NCISPrecision@3")[0].ranking.cut == 3
