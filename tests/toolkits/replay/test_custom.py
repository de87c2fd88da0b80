"""Metrics written for RePlay run after changing the import line."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import polars as pl
import pytest

from bridgeval.errors import BadParameterError, MetricFailedError
from bridgeval.toolkits.replay import (
    NDCG,
    CategoricalDiversity,
    ConfidenceInterval,
    HitRate,
    Metric,
    PerUser,
    Precision,
    RecOnlyMetric,
    experimental,
    get_enriched_recommendations,
)
from tests.toolkits.replay.worlds import OLD, frame, lists_and_truth, world

WORLD = world(11)


class Older(Metric):
    """Precision by the older contract."""

    @staticmethod
    def _get_metric_value_by_user(k: int, pred: list[Any], ground_truth: list[Any]) -> float:
        return len(set(pred[:k]) & set(ground_truth)) / k


class Swapped(Metric):
    """The same with the lists the other way round."""

    @staticmethod
    def _get_metric_value_by_user(k: int, ground_truth: list[Any], pred: list[Any]) -> float:
        return len(set(pred[:k]) & set(ground_truth)) / k


class Unnamed(Metric):
    """The same with names of the author's own, and nothing done for the parent's constructor."""

    def __init__(self, weight: float) -> None:
        self.weight = weight

    @staticmethod
    def _get_metric_value_by_user(k: int, *args: Any) -> float:
        shown, wanted = args
        return len(set(shown[:k]) & set(wanted)) / k


class Newer(Metric):
    """Precision by the newer contract."""

    @staticmethod
    def _get_metric_value_by_user(ks: list[int], ground_truth: list[Any], pred: list[Any] | None) -> list[float]:
        if not pred:
            return [0.0 for _ in ks]
        return [len(set(pred[:k]) & set(ground_truth)) / k for k in ks]


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
@pytest.mark.parametrize("metric", [Older(), Swapped(), Unnamed(2.0)], ids=str)
def test_the_older_contract_runs_on_every_kind_of_frame(metric: Metric, kind: str) -> None:
    recs, truth = (frame(WORLD[name], OLD, kind) for name in ("recs", "truth"))
    expected = experimental.Precision()(recs, truth, [5, 2])
    assert metric(recs, truth, k=[5, 2]) == pytest.approx(expected)
    assert metric(recs, truth, 2) == pytest.approx(expected[2])
    users = frame([[1], [4], [99]], OLD, kind)
    with_users = experimental.Precision()(recs, truth, 3, ground_truth_users=users)
    assert metric(recs, truth, 3, ground_truth_users=users) == pytest.approx(with_users)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "dict"])
def test_the_newer_contract_runs_on_every_kind_of_frame(kind: str) -> None:
    recs, truth = lists_and_truth(WORLD, kind)
    for mode in (PerUser(), ConfidenceInterval(0.9)):
        ours, theirs = Newer([5, 2], mode=mode)(recs, truth), Precision([5, 2], mode=mode)(recs, truth)
        assert [key.replace("Newer", "Precision") for key in ours] == list(theirs)
        for mine, known in zip(ours.values(), theirs.values(), strict=True):
            assert mine == pytest.approx(known, nan_ok=True)


def test_a_user_without_recommendations_has_none_in_the_newer_contract_and_an_empty_list_in_the_older() -> None:
    seen: list[Any] = []

    class New(Metric):
        @staticmethod
        def _get_metric_value_by_user(ks: list[int], ground_truth: list[Any], pred: Any) -> list[float]:
            seen.append((ground_truth, pred))
            return [0.0] * len(ks)

    class Old(Metric):
        @staticmethod
        def _get_metric_value_by_user(k: int, pred: Any, ground_truth: list[Any]) -> float:
            seen.append((ground_truth, pred))
            return 0.0

    New(3)({1: [("a", 1.0)]}, {2: ["b"]})
    Old()({1: [("a", 1.0)]}, {2: ["b"]}, 3)
    assert seen == [(["b"], None), (["b"], [])]


def test_lists_are_whole_in_the_newer_contract_and_cut_to_the_largest_k_in_the_older() -> None:
    lengths = []

    class New(Metric):
        @staticmethod
        def _get_metric_value_by_user(ks: list[int], ground_truth: list[Any], pred: list[Any]) -> list[float]:
            lengths.append(len(pred))
            return [0.0] * len(ks)

    class Old(Metric):
        @staticmethod
        def _get_metric_value_by_user(k: int, pred: list[Any], ground_truth: list[Any]) -> float:
            lengths.append(len(pred))
            return 0.0

    recs = {1: [(item, -float(item)) for item in range(9)]}
    New([1, 2])(recs, {1: [3]})
    Old()(recs, {1: [3]}, [1, 4])
    assert lengths == [9, 4, 4]


def test_a_metric_that_fails_is_named_with_its_user() -> None:
    class Broken(Metric):
        @staticmethod
        def _get_metric_value_by_user(k: int, pred: list[Any], ground_truth: list[Any]) -> float:
            return 1 / (len(pred) - 1)

    with pytest.raises(MetricFailedError, match=r"Broken failed for user 'ann'.*ZeroDivisionError"):
        Broken()({"ann": [("tea", 1.0)]}, {"ann": ["tea"]}, 1)


def test_the_two_contracts_are_not_confused() -> None:
    with pytest.raises(BadParameterError, match="older contract"):
        Older(5)({1: [("a", 1.0)]}, {1: ["a"]})
    with pytest.raises(NotImplementedError):
        Metric()._get_metric_value_by_user(1, [], [])


def test_a_metric_derived_from_one_of_the_truth_may_redefine_it() -> None:
    class Twice(HitRate):
        @staticmethod
        def _get_metric_value_by_user(ks: list[int], ground_truth: list[Any], pred: list[Any]) -> list[float]:
            return [2.0 * bool(set(pred[:k]) & set(ground_truth)) for k in ks]

    assert Twice([1])({1: [("a", 1.0)]}, {1: ["a"]}) == {"Twice@1": 2.0}

    class Renamed(NDCG):
        pass

    assert Renamed(1)({1: [("a", 1.0)]}, {1: ["a"]}) == {"Renamed@1": 1.0}

    class Odd(CategoricalDiversity):
        @staticmethod
        def _get_metric_value_by_user(ks: list[int], pred: list[Any]) -> list[float]:
            return [0.0]

    with pytest.raises(BadParameterError, match="redefines"):
        Odd(1)({1: [("a", 1.0)]})


def test_own_metrics_stand_in_the_older_experiment_and_in_user_distribution() -> None:
    recs, truth, train = (frame(WORLD[name], OLD) for name in ("recs", "truth", "train"))
    experiment = experimental.Experiment(truth, {Older(): [2, 5], experimental.Precision(): [2, 5]}, calc_median=True)
    experiment.add_result("it", recs)
    row = experiment.results.loc["it"]
    for column in [name for name in row.index if name.startswith("Older")]:
        assert row[column] == pytest.approx(row[column.replace("Older", "Precision")])
    ours = Older().user_distribution(train, recs, truth, 3)
    pd.testing.assert_frame_equal(ours, experimental.Precision().user_distribution(train, recs, truth, 3))


class PopularShare(RecOnlyMetric):
    """The share of k places with an item of the log; lists of its own, of the frames it was given."""

    enriches = "given"

    def __init__(self, log: Any) -> None:
        self.items = set(log["item_idx"].to_list())

    def _get_enriched_recommendations(
        self, recommendations: Any, ground_truth: Any, max_k: int, ground_truth_users: Any = None
    ) -> pd.DataFrame:
        assert ground_truth is None
        frame = recommendations.to_pandas() if isinstance(recommendations, pl.DataFrame) else recommendations
        frame = frame.sort_values("relevance", ascending=False)
        frame["known"] = frame["item_idx"].isin(self.items)
        return frame.groupby("user_idx")["known"].agg(list).reset_index()

    @staticmethod
    def _get_metric_value_by_user(k: int, *args: Any) -> float:
        return sum(args[0][:k]) / k


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_metric_of_recommendations_makes_lists_of_its_own(kind: str) -> None:
    recs, log = (frame(rows, OLD, kind) for rows in ([[1, 5, 0.2], [1, 6, 0.9], [2, 5, 0.1]], [[9, 5, 1.0]]))
    # User 1: 6 (unknown), 5. User 2: 5.
    assert PopularShare(log)(recs, [1, 2]) == {1: 0.5, 2: 0.5}
    assert PopularShare(log)(recs, k=1) == 0.5


class Weighed(Metric):
    """Ten for every hit: a column of weights beside the usual lists, and arguments in no particular order."""

    enriches = "given"

    def _get_enriched_recommendations(
        self, recommendations: Any, ground_truth: Any, max_k: int, ground_truth_users: Any = None
    ) -> Any:
        lists = super()._get_enriched_recommendations(recommendations, ground_truth, max_k, ground_truth_users)
        lists["weight"] = [[10.0] * len(pred) for pred in lists["pred"]]
        return lists

    @staticmethod
    def _get_metric_value_by_user(k: int, weight: list[float], ground_truth: list[Any], pred: list[Any]) -> float:
        return math.fsum(w for w, item in zip(weight[:k], pred[:k], strict=True) if item in ground_truth)


def test_enriched_columns_are_passed_by_name_where_the_names_agree() -> None:
    recs, truth = frame([[1, 5, 0.2], [1, 6, 0.9]], OLD), frame([[1, 5, 1.0], [2, 5, 1.0]], OLD)
    assert Weighed()(recs, truth, [1, 2]) == {1: 0.0, 2: 5.0}
    experiment = experimental.Experiment(truth, {Weighed(): 2, experimental.HitRate(): 1}, calc_median=True)
    experiment.add_result("it", recs)
    assert experiment.results.loc["it"].to_dict() == {
        "HitRate@1": 0.0,
        "HitRate@1_median": 0.0,
        "Weighed@2": 5.0,
        "Weighed@2_median": 0.0,
    }


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_enriched_recommendations_are_lists_of_all_users_of_the_truth(kind: str) -> None:
    recs = frame([[1, 5, 0.2], [1, 6, 0.9], [1, 6, 0.8], [1, 7, 0.1], [3, 5, 1.0]], OLD, kind)
    truth = frame([[1, 5, 1.0], [1, 5, 1.0], [2, 8, 1.0]], OLD, kind)
    lists = get_enriched_recommendations(recs, truth, 3)
    assert type(lists) is type(recs)
    assert list(lists.columns) == ["user_idx", "pred", "ground_truth"]
    assert lists["pred"].to_list() == [[6, 5], []]
    assert lists["ground_truth"].to_list() == [[5], [8]]
    assert get_enriched_recommendations(recs[:0], truth, 3)["pred"].to_list() == [[], []]
    users = frame([[3], [2]], OLD, kind)
    assert get_enriched_recommendations(recs, truth, 3, users)["pred"].to_list() == [[], [5]]
