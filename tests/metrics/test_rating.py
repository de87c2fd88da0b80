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
