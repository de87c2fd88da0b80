"""Surprisal, Novelty, Unexpectedness, CategoricalDiversity, Coverage and RocAuc against loops and by hand."""

from __future__ import annotations

import math
import random

import pandas as pd
import pytest

import bridgeval
from bridgeval.errors import BadParameterError, NeedError

HISTORY = {1: ["a", "b"], 2: ["a"], 3: ["a", "c"], 4: ["a"]}
LISTS = {1: ["b", "c", "x"], 2: ["a"], 5: ["x", "y"]}
TRUTH = {1: ["c"], 2: ["z"], 9: ["a"]}


def value(metric: str, lists: object = LISTS, **given: object) -> float:
    return bridgeval.evaluate(lists, TRUTH, metric, **given)[metric]


def per_user(metric: str, lists: object = LISTS, **given: object) -> dict[object, float]:
    frame = bridgeval.evaluate(lists, TRUTH, metric, per_user=True, **given).per_user(metric)
    return dict(zip(frame["user"], frame["value"], strict=True))


def test_surprisal_is_the_mean_scaled_self_information_of_what_is_shown() -> None:
    # 4 users: w_a = log2(4/4)/2 = 0, w_b = w_c = log2(4/1)/2 = 1, unknown items 1.
    assert per_user("Surprisal@2", history=HISTORY) == {1: 1.0, 2: 0.0, 5: 1.0}
    lists = {1: ["a", "b", "c"]}
    assert value("Surprisal@3", lists, history=HISTORY) == pytest.approx(2 / 3)
    assert value('Surprisal(divide_by="k")@4', lists, history=HISTORY) == pytest.approx(2 / 4)


def test_surprisal_has_no_scale_with_one_user_in_the_history() -> None:
    report = bridgeval.evaluate({1: ["a"], 2: ["x"]}, TRUTH, "Surprisal@1", history={1: ["a"]})
    assert report["Surprisal@1"] == 1.0
    assert report.results["Surprisal@1"].undefined == 1


def test_novelty_is_the_share_of_shown_items_that_the_user_does_not_have() -> None:
    assert per_user("Novelty@2", history=HISTORY) == {1: 0.5, 2: 0.0, 5: 1.0}
    assert value('Novelty(divide_by="k")@4', {1: ["b", "c", "x"]}, history=HISTORY) == 2 / 4


def test_novelty_over_users_of_the_history_can_give_one_to_those_shown_nothing() -> None:
    found = per_user('Novelty(users="history", empty="one")@2', history=HISTORY)
    assert found == {1: 0.5, 2: 0.0, 3: 1.0, 4: 1.0}


def test_unexpectedness_leaves_users_without_a_baseline_undefined() -> None:
    baseline = {1: ["c", "b", "a"], 2: ["z", "a"]}
    found = per_user("Unexpectedness@2", baseline=baseline)
    assert found.pop(1) == 0.0
    assert found.pop(2) == 0.0
    assert math.isnan(found.pop(5))
    assert per_user('Unexpectedness(divide_by="k", empty="zero")@2', baseline=baseline) == {1: 0.0, 2: 0.5, 5: 0.0}
    # At 1 the baseline has c for user 1, who is shown b, and z for user 2, who is shown a.
    assert value("Unexpectedness@1", baseline=baseline) == 1.0


def test_a_baseline_is_ranked_by_the_policy_of_the_metric() -> None:
    shown = {1: [("a", 2.0), ("b", 1.0)]}
    # Ties by item descending: b first. As given: a first.
    tied = {1: [("a", 5.0), ("b", 5.0)]}
    assert value("Unexpectedness@1", shown, baseline=tied) == 1.0
    assert value('Unexpectedness(ties="given")@1', shown, baseline=tied) == 0.0
    # The repeated c takes two places where repeats are kept, and a comes third.
    repeated = {1: [("c", 9.0), ("c", 8.0), ("a", 7.0)]}
    assert value("Unexpectedness@2", shown, baseline=repeated) == 0.5
    assert value('Unexpectedness(duplicates="all")@2', shown, baseline=repeated) == 1.0
    masked = {1: [("a", -math.inf), ("c", 7.0)]}
    assert value("Unexpectedness@2", shown, baseline=masked) == 1.0
    assert value('Unexpectedness(masked="keep")@2', shown, baseline=masked) == 0.5


def test_several_baselines_are_distinguished_by_name() -> None:
    frame = pd.DataFrame({"user": [1], "item": ["b"], "score": [1.0]})
    other = frame.assign(item="z")
    truth = pd.DataFrame({"user": [1], "item": ["b"]})
    names = ['Unexpectedness(baseline="ALS")@1', 'Unexpectedness(baseline="KNN")@1']
    report = bridgeval.evaluate(frame, truth, names, baseline={"ALS": frame, "KNN": other})
    assert [report[name] for name in names] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("metric", "baseline", "needs", "found", "hint"),
    [
        (
            "Unexpectedness@1",
            "named",
            "another system's lists",
            "of 'ALS', 'KNN'",
            "ask for 'ALS' with baseline=\"ALS\"",
        ),
        ("AverageOverlap@1", "named", "another system's lists", "of 'ALS', 'KNN'", "give one system's lists alone"),
        ('MRR(users="baseline")@1', "named", "the users of the baseline", "of 'ALS'", "give one system's lists alone"),
        (
            'Unexpectedness(baseline="SVD")@1',
            "named",
            "the baseline 'SVD'",
            "of 'ALS', 'KNN'",
            "{'SVD': ...}, or ask",
        ),
        (
            'Unexpectedness(baseline="SVD")@1',
            "plain",
            "the baseline 'SVD'",
            "relevance, baseline",
            "or leave its name out of the metric",
        ),
    ],
    ids=["unnamed", "without a parameter", "users", "another name", "a name where there is none"],
)
def test_a_baseline_that_is_not_there_is_asked_for_before_data_is_read(metric, baseline, needs, found, hint) -> None:
    frame = pd.DataFrame({"user": [1], "item": ["b"], "score": [math.nan]})
    given = {"ALS": frame, "KNN": frame} if baseline == "named" else frame
    with pytest.raises(NeedError) as caught:
        bridgeval.evaluate(frame, frame, metric, baseline=given)
    assert caught.value.wrong == f"{metric} needs {needs}"
    assert found in caught.value.found
    assert hint in caught.value.hint


def test_categorical_diversity_counts_different_categories() -> None:
    features = {"a": ["rock"], "b": ["rock", "live"], "c": ["live"], "x": ["folk"]}
    lists = {1: ["b", "c", "x"], 2: ["a", "unlabelled"]}
    # User 1: {rock, live} after 1 and 2 places, + folk after 3. User 2: {rock}.
    assert per_user("CategoricalDiversity@2", lists, item_features=features) == {1: 1.0, 2: 0.5}
    assert per_user("CategoricalDiversity@3", lists, item_features=features) == {1: 1.0, 2: 0.5}
    assert per_user('CategoricalDiversity(divide_by="k")@4', lists, item_features=features) == {1: 0.75, 2: 0.25}
    assert per_user('CategoricalDiversity(divide_by="k")@3', lists, item_features=features) == {1: 1.0, 2: 1 / 3}


def test_more_features_than_a_machine_word_holds() -> None:
    # a has the labels 0..39, b 30..69, c 69..79: a and b have 70 between them, all three 80.
    labels = {"a": range(40), "b": range(30, 70), "c": range(69, 80)}
    features = {item: [f"{n:02d}" for n in own] for item, own in labels.items()}
    lists, truth = {1: ["a", "b"]}, {1: ["a", "b", "c"]}
    report = bridgeval.evaluate(lists, truth, ["CategoricalDiversity@1,2", "SRecall@1,2"], item_features=features)
    assert list(report.values()) == [40.0, 35.0, 40 / 80, 70 / 80]


def test_any_number_of_features_is_distinguished() -> None:
    draw = random.Random(3)
    features = {item: draw.sample(range(200), draw.randint(0, 40)) for item in range(30)}
    lists = {user: draw.sample(range(30), draw.randint(1, 8)) for user in range(20)}
    truth = {user: draw.sample(range(30), 10) for user in lists}
    metrics = ["CategoricalDiversity@2,5", "SRecall@2,5"]
    report = bridgeval.evaluate(lists, truth, metrics, item_features=features, per_user=True)

    def topics(items: list[int]) -> int:
        return len({topic for item in items for topic in features[item]})

    for k in (2, 5):
        diversity, recall = (report.per_user(f"{name}@{k}") for name in ("CategoricalDiversity", "SRecall"))
        shown = {user: items[:k] for user, items in lists.items()}
        assert dict(zip(diversity["user"], diversity["value"], strict=True)) == {
            user: topics(items) / len(items) for user, items in shown.items()
        }
        assert dict(zip(recall["user"], recall["value"], strict=True)) == {
            user: topics([item for item in items if item in truth[user]]) / topics(truth[user])
            for user, items in shown.items()
        }


def test_coverage_is_of_the_catalogue_and_may_count_unknown_items() -> None:
    assert value("Coverage@2", history=HISTORY) == 1.0
    assert value("Coverage@2", catalogue=["a", "b", "c", "d"]) == 0.75
    # b, c, a, x, y are shown in two places, of 3 items in the history.
    assert value('Coverage(shown="all")@2', history=HISTORY) == pytest.approx(5 / 3)
    given = {"history": HISTORY, "catalogue": ["a", "b", "c", "d", "e", "f"]}
    assert value('Coverage(known="history")@1', **given) == pytest.approx(2 / 3)
    assert value('Coverage(users="given")@1', users=[1], **given) == pytest.approx(1 / 6)


def test_coverage_is_the_same_for_every_batch_size() -> None:
    draw = random.Random(0)
    lists = {user: draw.sample(range(50), 7) for user in range(40)}
    found = {
        bridgeval.evaluate(lists, {0: lists[0]}, "Coverage@5", catalogue=range(60), batch_size=size)["Coverage@5"]
        for size in (1, 7, 40)
    }
    assert found == {len({item for shown in lists.values() for item in shown[:5]}) / 60}


def test_coverage_has_no_summary_over_users() -> None:
    with pytest.raises(BadParameterError, match="one value for all users"):
        bridgeval.parse('Coverage(over="median")@5')


@pytest.mark.parametrize(
    ("metric", "missing"),
    [
        ("Surprisal@2", "history="),
        ("Novelty@2", "history="),
        ("Unexpectedness@2", "baseline="),
        ("CategoricalDiversity@2", "item_features="),
        ("Coverage@2", "catalogue="),
    ],
)
def test_what_is_missing_is_asked_for(metric: str, missing: str) -> None:
    with pytest.raises(NeedError, match=missing):
        value(metric)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 10])
def test_roc_auc_counts_pairs_inside_the_list(k: int) -> None:
    draw = random.Random(k)
    lists = {user: draw.sample(range(20), draw.randint(1, 10)) for user in range(30)}
    truth = {user: draw.sample(range(20), 5) for user in range(30)}
    report = bridgeval.evaluate(lists, truth, f"RocAuc@{k}", per_user=True)
    found = report.per_user(f"RocAuc@{k}")
    for user, ours in zip(found["user"], found["value"], strict=True):
        hits = [item in truth[user] for item in lists[user][:k]]
        pairs = [above for at, above in enumerate(hits) for below in hits[at + 1 :] if above != below]
        assert ours == pytest.approx(sum(pairs) / len(pairs)) if pairs else math.isnan(ours)


def test_roc_auc_of_one_sided_lists_is_undefined_or_a_bound() -> None:
    lists, truth = {1: ["a", "b"], 2: ["x", "y"]}, {1: ["a", "b"], 2: ["a"]}
    report = bridgeval.evaluate(lists, truth, ["RocAuc@2", 'RocAuc(one_sided="bounds")@2'])
    assert report.results["RocAuc@2"].undefined == 2
    assert report['RocAuc(one_sided="bounds")@2'] == 0.5
