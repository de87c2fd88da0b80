"""Counterfactual metrics: by hand, against plain loops, and at the edges of weights."""

from __future__ import annotations

import doctest
import math
import random
from pathlib import Path

import pyarrow as pa
import pytest

import bridgeval
from bridgeval.errors import BadParameterError, BadValueError, InputError, NeedError
from bridgeval.metrics import NCISPrecision

NAMES = ("NCISPrecision", "NCISRecall", "NCISHitRate", "NCISMRR", "NCISMAP", "NCISnDCG", "SNIPS", "IPS")
TWINS = {
    "NCISPrecision": 'Precision(divide_by="shown")',
    "NCISRecall": "Recall",
    "NCISHitRate": "HitRate",
    "NCISMRR": "MRR",
    "NCISMAP": "MAP",
    "NCISnDCG": "nDCG",
    "IPS": "Precision",
}

# Weights 4, 1, 1/2 and none, for items a, b, c, d; b and d are relevant, and so is e, which was not shown.
LISTS = {1: {"a": 0.8, "b": 0.6, "c": 0.2, "d": 0.1}}
BEFORE = {1: {"a": 0.2, "b": 0.6, "c": 0.4}}
TRUTH = {1: ["b", "d", "e"]}


def value(name, lists=LISTS, truth=TRUTH, before=BEFORE, **more):
    return bridgeval.evaluate(lists, truth, name, prev_scores=before, **more)[name]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NCISPrecision@2", 1 / 5),
        ("NCISPrecision@4", 1 / 5.5),
        ("NCISRecall@4", 4 * (1 / 3) / 5.5),
        ("NCISHitRate@4", 4 * 1 / 5.5),
        ("NCISHitRate@1", 0.0),
        ("NCISMRR@4", 4 * (1 / 2) / 5.5),
        ("NCISMAP@3", 3 * (1 / 2) / 3 / 5.5),
        ("NCISnDCG@2", 2 * (1 / math.log2(3)) / (1 + 1 / math.log2(3)) / 5),
        ("NCISPrecision(threshold=2.0)@4", 1 / (2 + 1 + 0.5)),
        ('NCISPrecision(missing="zero")@4', (1 + 10) / 15.5),
        ("SNIPS@4", 1 / 5.5),
        ("SNIPS(cap=2.0)@4", 1 / 3.5),
        ("IPS@4", 1 / 4),
        ("IPS@1", 0.0),
    ],
)
def test_the_value_is_the_one_worked_out_by_hand(name, expected):
    assert value(name) == pytest.approx(expected, abs=1e-12)


def test_notes_say_what_the_value_rests_on():
    report = bridgeval.evaluate(LISTS, TRUTH, "NCISPrecision(threshold=2.0)@4", prev_scores=BEFORE)

    # Weights 4 -> 2, 1, 1/2 (at the bound, so not clipped), none.
    assert report.results["NCISPrecision(threshold=2.0)@4"].notes == {
        "pairs": 4,
        "effective sample size": pytest.approx(3.5**2 / (4 + 1 + 0.25)),
        "clipped below": 0.0,
        "clipped above": pytest.approx(1 / 3),
        "without previous score": 1 / 4,
    }


def test_notes_are_about_the_first_k_places_of_users_that_count():
    lists = {1: {"a": 0.9, "b": 0.1, "c": 0.05}, 2: {"a": 0.9, "b": 0.8}}
    report = bridgeval.evaluate(lists, {1: ["a"]}, "NCISPrecision@2", prev_scores={"a": 0.03, "c": 0.1})

    notes = report.results["NCISPrecision@2"].notes
    assert (notes["pairs"], notes["without previous score"], notes["clipped above"]) == (2, 0.5, 1.0)


def random_world(seed, strings=True, negative=False):
    rng = random.Random(seed)
    item = (lambda i: f"i{i:03d}") if strings else (lambda i: i * 7 - 30)
    lists, truth, before = {}, {}, {}
    for user in range(40):
        length = rng.choice([0, 1, 3, 8, 15])
        shown = rng.sample(range(40), length)
        low = -3.0 if negative else 0.0
        lists[user] = [(item(i), rng.uniform(low, 3)) for i in shown]
        before[user] = [(item(i), rng.choice([0.0, rng.uniform(low, 3)])) for i in range(40) if rng.random() < 0.7]
        if user % 5:
            truth[user] = [(item(i), rng.choice([1, 1, 2, 4])) for i in rng.sample(range(40), rng.choice([1, 3, 10]))]
    return lists, truth, before


def activated(scores, activation):
    if activation is None:
        return scores
    if activation == "sigmoid":
        return [1 / (1 + math.exp(-score)) for score in scores]
    powers = [math.exp(score - max(scores)) for score in scores]
    return [power / sum(powers) for power in powers]


def weights_by_loops(shown, before, activation, low, high):
    """Weights of (item, score) pairs, None for those without; softmax over those with both scores."""
    known = [(item, score) for item, score in shown if item in before]
    now = activated([score for _, score in known], activation)
    then = activated([before[item] for item, _ in known], activation)
    weight = {}
    for (item, _), x, y in zip(known, now, then, strict=True):
        if x or y:
            weight[item] = min(max(x / y if y else math.inf, low), high)
    return [weight.get(item) for item, _ in shown]


def rewards_by_loops(name, shown, gains, k):
    n = len(shown)
    hits = [item in gains for item, _ in shown]
    first = hits.index(True) if any(hits) else None
    best = sorted(gains.values(), reverse=True)[:k]
    ideal = sum((2**g - 1) / math.log2(j + 2) for j, g in enumerate(best))
    rewards = []
    for j, (item, _) in enumerate(shown):
        rewards.append(
            {
                "NCISPrecision": hits[j],
                "SNIPS": hits[j],
                "IPS": hits[j],
                "NCISRecall": n * hits[j] / len(gains),
                "NCISHitRate": n * (j == first),
                "NCISMRR": n * (j == first) / (j + 1),
                "NCISMAP": n * hits[j] * sum(hits[: j + 1]) / (j + 1) / min(k, len(gains)),
                "NCISnDCG": n * (2 ** gains.get(item, 0) - 1) / math.log2(j + 2) / ideal,
            }[name]
        )
    return rewards


def expected(name, k, activation, bounds, world):
    lists, truth, before = world
    values, pooled, pooled_weight = [], 0.0, 0.0
    for user, rows in truth.items():
        shown = sorted(lists[user], key=lambda row: (row[1], row[0]), reverse=True)[:k]
        weights = weights_by_loops(shown, dict(before[user]), activation, *bounds)
        rewards = rewards_by_loops(name, shown, dict(rows), k)
        total = sum(w for w in weights if w is not None)
        rewarded = sum(w * r for w, r in zip(weights, rewards, strict=True) if w is not None)
        pooled, pooled_weight = pooled + rewarded, pooled_weight + total
        if name == "IPS":
            values.append(rewarded / k)
        elif not shown:
            values.append(0.0)
        elif total:
            values.append(rewarded / total)
    return pooled / pooled_weight if name == "SNIPS" else sum(values) / len(values)


@pytest.mark.parametrize("activation", [None, "sigmoid", "softmax"])
@pytest.mark.parametrize("name", NAMES)
def test_every_metric_agrees_with_plain_loops(name, activation):
    for seed, strings in ((1, True), (2, False)):
        world = random_world(seed, strings, negative=activation is not None)
        for k in (1, 4, 10):
            bounds = (0.0, 5.0) if name in ("SNIPS", "IPS") else (1 / 5.0, 5.0)
            parameter = "cap" if name in ("SNIPS", "IPS") else "threshold"
            asked = f"{name}(activation={activation!r}, {parameter}=5.0)@{k}"
            report = bridgeval.evaluate(world[0], world[1], asked, prev_scores=world[2])
            (found,) = report.values()
            assert found == pytest.approx(expected(name, k, activation, bounds, world), abs=1e-12), asked


@pytest.mark.parametrize(("name", "twin"), TWINS.items())
@pytest.mark.parametrize("activation", [None, "sigmoid", "softmax"])
def test_equal_policies_give_the_plain_twin(name, twin, activation):
    lists, truth, _ = random_world(3, negative=activation is not None)
    for k in (1, 5, 20):
        plain = f"{twin}@{k}"
        own = f"{name}(activation={activation!r})@{k}"
        report = bridgeval.evaluate(lists, truth, [plain, own], prev_scores=lists, per_user=True)
        weighed = [asked for asked in report if asked != plain]
        assert report.per_user(weighed[0])["value"].tolist() == pytest.approx(
            report.per_user(plain)["value"].tolist(), abs=1e-12
        )


@pytest.mark.parametrize("name", NAMES)
def test_values_do_not_depend_on_batches_or_order(name):
    lists, truth, before = random_world(4)
    asked = [f"{name}@5"] if name in ("IPS", "SNIPS") else [f"{name}@5", f'{name}(over="median")@5']
    capped = [metric.replace("@", "(cap=9.0)@") for metric in asked] if name in ("IPS", "SNIPS") else asked
    whole = bridgeval.evaluate(lists, truth, capped, prev_scores=before)
    turned = bridgeval.evaluate(
        dict(reversed(lists.items())), dict(reversed(truth.items())), capped, prev_scores=before, batch_size=3
    )

    for metric in capped:
        assert turned[metric] == pytest.approx(whole[metric], rel=1e-12)
        assert turned.results[metric].notes == pytest.approx(whole.results[metric].notes, rel=1e-12)


@pytest.mark.parametrize("activation", ["sigmoid", "softmax"])
@pytest.mark.parametrize("shift", [1000.0, -1000.0, 1e6])
def test_large_scores_neither_overflow_nor_change_a_softmax(activation, shift):
    lists, before, truth = {1: {"a": 2.0, "b": 1.0}}, {1: {"a": 0.5, "b": 1.0}}, {1: ["a"]}
    moved = {1: {item: score + shift for item, score in lists[1].items()}}
    moved_before = {1: {item: score + shift for item, score in before[1].items()}}
    name = f'NCISPrecision(activation="{activation}")@2'

    found = value(name, moved, truth, moved_before)

    if activation == "softmax":
        assert found == pytest.approx(value(name, lists, truth, before), abs=1e-9)
    elif shift > 0:
        assert found == 0.5  # a saturated sigmoid prefers nothing
    else:
        # sigmoid(x) is exp(x) down there: weights exp(1.5) and 1.
        assert found == pytest.approx(math.exp(1.5) / (1 + math.exp(1.5)), abs=1e-12)


def test_a_softmax_of_k_places_does_not_depend_on_other_cutoffs():
    lists, truth, before = random_world(5)
    name = 'NCISPrecision(activation="softmax")@3'
    alone = bridgeval.evaluate(lists, truth, [name], prev_scores=before)
    together = bridgeval.evaluate(
        lists, truth, [name, "nDCG@12", 'NCISPrecision(activation="softmax")@12'], prev_scores=before
    )

    assert together[name] == alone[name]


def test_a_previous_score_of_0_is_the_upper_bound_and_both_0_is_left_out():
    lists, before, truth = {1: {"a": 0.5, "b": 0.2, "c": 0.0}}, {1: {"a": 0.0, "b": 0.2, "c": 0.0}}, {1: ["a"]}
    report = bridgeval.evaluate(lists, truth, "NCISPrecision(threshold=4.0)@3", prev_scores=before)

    assert report["NCISPrecision(threshold=4.0)@3"] == 4 / 5
    assert report.results["NCISPrecision(threshold=4.0)@3"].notes["without previous score"] == pytest.approx(1 / 3)


def test_users_shown_nothing_score_0_and_users_without_any_weight_are_undefined():
    lists, truth = {1: {"a": 0.5}, 2: {}, 3: {"b": 0.5}}, {1: ["a"], 2: ["a"], 3: ["b"]}
    result = bridgeval.evaluate(lists, truth, "NCISPrecision@1", prev_scores={1: {"a": 0.5}}).results["NCISPrecision@1"]

    assert (result.value, result.users, result.undefined) == (0.5, 2, 1)


@pytest.mark.parametrize(
    "before", [{"a": 0.2, "b": 0.6, "c": 0.4}, pa.table({"item": ["c", "b", "a"], "score": [0.4, 0.6, 0.2]})]
)
def test_previous_scores_may_be_by_item(before):
    assert value("NCISPrecision@4", before=before) == pytest.approx(1 / 5.5, abs=1e-12)


def test_of_repeated_previous_scores_the_highest_counts_in_any_order():
    rows = [("a", 0.1), ("a", 0.2), ("b", 0.6), ("c", 0.4)]
    for before in ({1: rows}, {1: rows[::-1]}):
        assert value("NCISPrecision@4", before=before) == pytest.approx(1 / 5.5, abs=1e-12)


@pytest.mark.parametrize("threshold", [0, -1.0, 0.5, math.nan, math.inf, "ten"])
def test_a_threshold_below_1_is_refused(threshold):
    with pytest.raises(BadParameterError, match=r"threshold of (at least 1|NCISPrecision must be a number)"):
        NCISPrecision(5, threshold=threshold)


def test_a_threshold_of_1_makes_all_weights_equal():
    assert value("NCISPrecision(threshold=1)@2") == 0.5


@pytest.mark.parametrize("cap", [0, -2.0, math.nan, math.inf])
def test_a_cap_that_caps_nothing_is_refused(cap):
    with pytest.raises(BadParameterError, match="cap above 0"):
        bridgeval.metrics.SNIPS(5, cap=cap)


def test_an_unknown_activation_is_refused_before_data_is_read():
    with pytest.raises(BadParameterError, match=r"activation='tanh'.*'softmax'"):
        bridgeval.evaluate(object(), object(), 'NCISPrecision(activation="tanh")@5')


@pytest.mark.parametrize("name", NAMES)
def test_missing_previous_scores_are_asked_for(name):
    with pytest.raises(NeedError, match=r"logging policy's scores.*prev_scores="):
        bridgeval.evaluate(LISTS, TRUTH, f"{name}@2")


def test_lists_without_scores_cannot_be_weighed():
    with pytest.raises(NeedError, match="needs score"):
        bridgeval.evaluate({1: ["a"]}, TRUTH, "NCISPrecision@2", prev_scores=BEFORE)


@pytest.mark.parametrize("side", ["score", "previous score"])
def test_negative_scores_need_an_activation(side):
    lists = {1: {"a": -0.8}} if side == "score" else LISTS
    before = {1: {"a": -0.2}}
    before = {1: {"a": 0.2}} if side == "score" else before
    with pytest.raises(BadValueError, match=f"negative {side}.*softmax"):
        value("NCISPrecision@2", lists, TRUTH, before)


def test_a_weight_without_bound_is_refused_not_reported():
    with pytest.raises(BadValueError, match=r"infinite weight.*cap"):
        value("SNIPS@4", before={1: {"a": 0.0, "b": 0.5}})


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_previous_scores_that_are_no_numbers_are_refused(bad):
    with pytest.raises(BadValueError):
        value("NCISPrecision@4", before={1: {"a": bad}})


def test_previous_items_without_scores_are_refused():
    with pytest.raises(InputError, match="no scores"):
        value("NCISPrecision@4", before={1: ["a"]})


def test_an_own_metric_needs_only_its_rewards():
    from dataclasses import dataclass

    from bridgeval.engine.blocks import Hits

    @dataclass(frozen=True)
    class NcisMisses(bridgeval.NcisMetric):
        name = "NcisMisses"

        def rewards(self, blocks):
            return (~blocks[Hits(self.ranking, self.relevance)]).double()

    report = bridgeval.evaluate(LISTS, TRUTH, [NcisMisses(4), NCISPrecision(4)], prev_scores=BEFORE)
    assert report["NcisMisses@4"] == pytest.approx(1 - report["NCISPrecision@4"], abs=1e-12)


def test_the_document_is_true():
    document = Path(__file__).parents[2] / "docs" / "counterfactual.md"
    assert doctest.testfile(str(document), module_relative=False).failed == 0
