"""Rating errors over joined pairs, worked by hand."""

from __future__ import annotations

import math

import pytest

import bridgeval
from bridgeval.errors import NeedError


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


def test_explained_variance_forgives_a_constant_error_and_r2_does_not():
    predicted, actual = {1: {"a": 2.0, "b": 4.0}, 2: {"c": 6.0}}, {1: {"a": 1.0, "b": 3.0}, 2: {"c": 5.0}}
    # Every error is 1; the ratings 1, 3, 5 have a spread of 8.
    report = bridgeval.evaluate(predicted, actual, ["R2", "R2(bias='removed')", "R2(average='users')"], per_user=True)
    assert report["R2"] == pytest.approx(1 - 3 / 8)
    assert report['R2(bias="removed")'] == pytest.approx(1)
    # User 1 alone: a spread of 2. User 2 has one rating, which has none.
    assert report['R2(average="users")'] == pytest.approx(1 - 2 / 2)


def test_equal_ratings_have_no_variance_to_explain():
    names = ["R2", "R2(constant='zero')"]
    wrong = bridgeval.evaluate({1: {"a": 1.0, "b": 2.0}}, {1: {"a": 3.0, "b": 3.0}}, names)
    right = bridgeval.evaluate({1: {"a": 3.0, "b": 3.0}}, {1: {"a": 3.0, "b": 3.0}}, names)
    assert [*map(math.isnan, (wrong["R2"], right["R2"]))] == [True, True]
    assert (wrong['R2(constant="zero")'], right['R2(constant="zero")']) == (0, 1)


def test_a_certain_error_costs_much_but_not_everything():
    report = bridgeval.evaluate({1: {"a": 0.25, "b": 1.0}}, {1: {"a": 2.0, "b": 0.0}}, "LogLoss")
    assert report["LogLoss"] == pytest.approx((math.log(4) + 52 * math.log(2)) / 2)
