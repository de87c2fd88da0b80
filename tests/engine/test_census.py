"""Data that was misread gives itself away, in Python as on the command line."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bridgeval
from bridgeval import errors
from bridgeval.engine.census import find_alarms

LISTS = {user: [f"i{(user + place) % 9}" for place in range(4)] for user in range(6)}
TRUTH = {user: [f"i{(user + 1) % 9}"] for user in range(6)}
# The best item first, with falling scores.
SCORED = {user: {item: 1 / (place + 1) for place, item in enumerate(items)} for user, items in LISTS.items()}


def warned(*arguments: Any, **options: Any) -> set[type[Warning]]:
    """The classes of warnings of an evaluation; the same for every batch size."""
    found = []
    for size in (None, 1, 2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            bridgeval.evaluate(*arguments, **{"metrics": "Recall@2", "batch_size": size, **options})
        found.append({warning.category for warning in caught})
    assert all(one == found[0] for one in found)
    return found[0]


def test_sound_data_raises_no_warning():
    assert warned(LISTS, TRUTH) == warned(SCORED, TRUTH) == set()


def test_ranks_taken_for_scores_are_told():
    ranks = {user: {item: float(place + 1) for place, item in enumerate(items)} for user, items in LISTS.items()}
    assert warned(ranks, TRUTH) == {errors.RisingScoresWarning}


def test_a_metric_that_does_not_rank_does_not_mind_rising_numbers():
    rated = {user: {item: float(place + 1) for place, item in enumerate(items)} for user, items in LISTS.items()}
    assert warned(rated, TRUTH, metrics="RMSE") == set()


def test_users_that_never_meet_are_told():
    assert warned(LISTS, {user + 100: items for user, items in TRUTH.items()}) == {errors.NoUserInCommonWarning}


def test_items_that_never_meet_are_told():
    truth = {user: [item.upper() for item in items] for user, items in TRUTH.items()}
    assert warned(LISTS, truth) == {errors.NoItemInCommonWarning}
    matrix = bridgeval.Scores(np.arange(12.0).reshape(3, 4), items=["a", "b", "c", "d"])
    assert warned(matrix, {0: ["A"], 1: ["B"], 2: ["C"]}) == {errors.NoItemInCommonWarning}


def test_misses_alone_are_no_reason_to_doubt_the_ids():
    assert warned({1: ["a"], 2: ["b"]}, {1: ["b"], 2: ["a"]}, batch_size=2) == set()


def test_constant_scores_are_told():
    constant = {user: dict.fromkeys(items, 0.5) for user, items in LISTS.items()}
    assert warned(constant, TRUTH) == {errors.ConstantScoresWarning}
    half = {user: scores if user % 2 else SCORED[user] for user, scores in constant.items()}
    assert warned(half, TRUTH) == set()
    assert warned(bridgeval.Scores(np.zeros((2, 3))), {0: [1], 1: [2]}) == {errors.ConstantScoresWarning}


def test_exchanged_arguments_are_told_by_the_scores_of_the_truth():
    """`evaluate(truth, recs)` gave 0.31 in silence."""
    assert warned(TRUTH, SCORED) == {errors.ExchangedArgumentsWarning}
    # Ratings in half stars are a truth, not scores, and so are a few weights beside long lists.
    assert warned(LISTS, {user: dict.fromkeys(items, 0.7) for user, items in TRUTH.items()}) == set()
    assert warned(LISTS, {user: dict.fromkeys(items, 3.5) for user, items in TRUTH.items()}) == set()


def test_seen_items_are_told_unless_the_caller_has_decided():
    history = {user: items[:1] for user, items in LISTS.items()}
    assert warned(LISTS, TRUTH, history=history) == {errors.SeenItemsWarning}
    assert warned(LISTS, TRUTH, history=history, mask_seen=False) == set()
    assert warned(LISTS, TRUTH, history=history, mask_seen=True) == set()


@pytest.mark.parametrize("scored", [False, True])
def test_mask_seen_drops_what_the_user_has(scored):
    lists = SCORED if scored else LISTS
    history = {user: items[:1] for user, items in LISTS.items()}
    # The hit stands on place 2; without the seen item it moves up to place 1.
    assert bridgeval.evaluate(lists, TRUTH, "MRR@2", history=history, mask_seen=False)["MRR@2"] == 0.5
    report = bridgeval.evaluate(lists, TRUTH, "MRR@2", history=history, mask_seen=True)
    assert report["MRR@2"] == 1
    assert report.population.seen == len(LISTS)
    assert "6 recommendations are masked because the user has the item in the history" in str(report)


def test_mask_seen_decides_for_score_matrices_too():
    scores, history = bridgeval.Scores(np.array([[0.9, 0.5, 0.1]])), {0: [0]}
    values = [
        bridgeval.evaluate(scores, {0: [1]}, "MRR@1", history=history, mask_seen=m)["MRR@1"] for m in (None, True)
    ]
    assert values == [1, 1]
    assert bridgeval.evaluate(scores, {0: [1]}, "MRR@1", history=history, mask_seen=False)["MRR@1"] == 0


def test_without_a_history_nothing_can_be_masked():
    with pytest.raises(errors.InputError, match=r"seen items cannot be masked.*give history="):
        bridgeval.evaluate(LISTS, TRUTH, "MRR@1", mask_seen=True)


@pytest.mark.parametrize("share", [1, 2])
def test_a_truth_that_was_trained_on_is_told(share):
    """Truth equal to the history, or half of it in there, passed unseen."""
    history = {user: items for user, items in TRUTH.items() if user % share == 0}
    with pytest.warns(errors.LeakageWarning) as caught:
        bridgeval.evaluate(LISTS, TRUTH, "Recall@2", history=history, mask_seen=False)
    told = "all 6 relevant rows are" if share == 1 else "3 of 6 relevant rows (50%) are"
    assert str(caught[0].message).startswith(f"{told} in the user's own history")
    assert "leakage" in {finding.key for finding in bridgeval.inspect(LISTS, TRUTH, history=history).alarming}


def test_a_little_overlap_is_a_note_of_the_inspection():
    many = {user: [f"x{user}-{n}" for n in range(5)] + TRUTH[user] for user in range(6)}
    found = bridgeval.inspect(LISTS, many, history={0: TRUTH[0]})["leakage"]
    assert (found.level, found.what) == ("note", "1 of 36 relevant rows are in the user's own history")


def test_the_warning_names_the_line_of_the_caller():
    with pytest.warns(errors.NoUserInCommonWarning) as caught:
        bridgeval.evaluate({1: ["a"]}, {2: ["a"]}, "Recall@1")
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ({"score": [2.0, 1.0]}, "lists ranked by score"),
        ({"rank": [1, 2]}, "lists ranked by rank"),
        ({}, "lists ranked as given"),
        ({"score": [2.0, 1.0], "rank": [2, 1]}, "lists ranked by rank"),
    ],
)
def test_the_report_says_what_ranked_the_lists(rows, told):
    recs = pd.DataFrame({"user_id": [1, 1], "item_id": ["a", "b"], **rows})
    report = bridgeval.evaluate(recs, {1: ["a"]}, "MRR@2")
    assert told in str(report).splitlines()
    assert f"1 of 1 users counted; {told}." in report.to_markdown()
    assert told in report.to_html()
    assert bridgeval.inspect(recs, {1: ["a"]})["reading"].what == told


def test_the_report_says_which_gains_were_read_and_how_they_count():
    """A column `rating` became an exponential gain, and nothing said so."""
    truth = pd.DataFrame({"user_id": [1, 1], "item_id": ["a", "b"], "rating": [5, 1]})
    report = bridgeval.evaluate({1: ["a", "b"]}, truth, ["nDCG@2", "Recall@2"])
    assert "lists ranked as given; gains 1 to 5, exponential" in str(report)
    assert bridgeval.inspect({1: ["a"]}, truth, "nDCG@2")["reading"].what.endswith("gains 1 to 5, exponential")
    both = bridgeval.evaluate({1: ["a", "b"]}, truth, ["nDCG@2", "ranx:ndcg@2"])
    assert "gains 1 to 5, exponential in nDCG@2, linear in ranx:ndcg@2" in str(both)
    assert "gains 1 to 5, counted as relevant or not" in str(bridgeval.evaluate({1: ["a"]}, truth, "Recall@2"))


def test_counts_that_alarm_nobody():
    assert list(find_alarms({"users": 3, "counted": 3, "in both": 3, "meetings": 1})) == []
