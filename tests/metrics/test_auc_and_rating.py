"""AUC over whole rankings, and rating errors over joined pairs, worked by hand."""

from __future__ import annotations

import math

import pytest

import bridgeval
from bridgeval.errors import NeedError

CATALOGUE = ["a", "b", "c", "d", "e"]
# ann: relevant at places 1 and 4; negatives b, c below "a" and e below "d": shares 3/3 and 1/3. bob: 0 of 4 below.
WHOLE = {"ann": ["a", "b", "c", "d", "e"], "bob": ["a", "b", "c", "d", "e"]}
WANTED = {"ann": ["a", "d"], "bob": ["e"]}


def test_auc_averages_over_relevant_items_and_gauc_over_users():
    report = bridgeval.evaluate(WHOLE, WANTED, ["AUC", "GAUC", "GAUC(weight='relevant')"], catalogue=CATALOGUE)
    assert report["AUC"] == pytest.approx((1 + 1 / 3 + 0) / 3)
    assert report["GAUC"] == pytest.approx(((1 + 1 / 3) / 2 + 0) / 2)
    assert report['GAUC(weight="relevant")'] == pytest.approx(report["AUC"])


def test_lauc_looks_at_the_first_places_only():
    report = bridgeval.evaluate(WHOLE, WANTED, "LAUC@1,3,5", catalogue=CATALOGUE)
    # @1: ann 1 of min(1, 2), bob 0. @3: ann 1 of 2. @5: ann (1 + 1/3) of 2.
    assert report["LAUC@1"] == pytest.approx((1 + 0) / 2)
    assert report["LAUC@3"] == pytest.approx((1 / 2 + 0) / 2)
    assert report["LAUC@5"] == pytest.approx(((1 + 1 / 3) / 2 + 0) / 2)


def test_equal_scores_count_half():
    shown = {"ann": {"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.0}}
    report = bridgeval.evaluate(shown, {"ann": ["b"]}, "AUC", catalogue=["a", "b", "c", "d"])
    # b ties with two negatives and beats one: (1 + 2 / 2) / 3.
    assert report["AUC"] == pytest.approx(2 / 3)


def test_a_partial_list_cannot_give_auc_and_says_what_is_missing():
    with pytest.raises(NeedError, match=r"ranking of all candidates.*2 of 5"):
        bridgeval.evaluate({"ann": ["a", "b"]}, {"ann": ["a"]}, "AUC", catalogue=CATALOGUE)


def test_without_a_catalogue_nobody_knows_the_candidates():
    with pytest.raises(NeedError, match="catalogue"):
        bridgeval.evaluate(WHOLE, WANTED, "GAUC")


def test_items_of_the_history_are_no_candidates():
    shown = {"ann": ["a", "b", "c"]}
    history = {"ann": ["d", "e"], "bob": ["a", "b", "c"]}
    report = bridgeval.evaluate(shown, {"ann": ["b"]}, "AUC", history=history)
    assert report["AUC"] == pytest.approx(1 / 2)


def test_users_whose_candidates_are_all_relevant_are_undefined():
    report = bridgeval.evaluate({"ann": ["a"], "bob": ["a"]}, {"ann": ["a"]}, "GAUC", catalogue=["a"])
    assert math.isnan(report["GAUC"])
    assert report.results["GAUC"].undefined == 1


def test_rating_errors_join_by_user_and_item():
    predicted = {1: {"a": 3.0, "b": 1.0, "extra": 9.0}, 2: {"b": 4.0}}
    actual = {1: {"b": 2.0, "a": 5.0, "missed": 1.0}, 2: {"b": 4.0}}
    # errors: a -2, b -1, (2, b) 0
    report = bridgeval.evaluate(predicted, actual, ["MAE", "MSE", "RMSE", "RMSE(average='users')"])
    assert report["MAE"] == pytest.approx((2 + 1 + 0) / 3)
    assert report["MSE"] == pytest.approx((4 + 1 + 0) / 3)
    assert report["RMSE"] == pytest.approx(math.sqrt(5 / 3))
    assert report['RMSE(average="users")'] == pytest.approx((math.sqrt(5 / 2) + 0) / 2)
    assert report.results["MAE"].notes == {
        "pairs": 3,
        "pairs without a prediction": 1,
        "predictions without a pair": 1,
    }


def test_a_rating_of_zero_is_a_rating():
    assert bridgeval.evaluate({1: {"a": 1.0}}, {1: {"a": 0.0}}, "MAE")["MAE"] == 1


def test_rating_metrics_need_scores():
    with pytest.raises(NeedError, match="MAE needs score"):
        bridgeval.evaluate({1: ["a"]}, {1: {"a": 3.0}}, "MAE")


def test_per_user_rating_error():
    report = bridgeval.evaluate({1: {"a": 3.0}, 2: {"a": 1.0}}, {1: {"a": 5.0}, 2: {"a": 1.5}}, ["RMSE"], per_user=True)
    assert report.per_user("RMSE")["value"].tolist() == [2.0, 0.5]
