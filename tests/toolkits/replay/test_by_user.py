"""The values of one user that authors build their metrics on. Expected values are those of RePlay 0.22."""

from __future__ import annotations

import random
from typing import Any

import pytest

from bridgeval.errors import BadParameterError
from bridgeval.toolkits import replay
from bridgeval.toolkits.replay import Metric, OfflineMetrics, PerUser, experimental
from tests.toolkits.replay.worlds import OLD, frame

QUALITY = ["HitRate", "Precision", "MAP", "Recall", "RocAuc", "MRR", "NDCG"]
PRED = [5, 7, 7, 8, 6]
# At the cutoffs 1, 3 and 6, with a repeated hit and a relevant item that is named twice.
NEWER = {
    "HitRate": [0.0, 1.0, 1.0],
    "Precision": [0.0, 1 / 3, 1 / 3],
    "MAP": [0.0, 0.38888888888888884, 0.47916666666666663],
    "Recall": [0.0, 1 / 3, 2 / 3],
    "RocAuc": [0.0, 0.0, 0.5],
    "MRR": [0.0, 0.5, 0.5],
    "NDCG": [0.0, 0.5307212739772434, 0.6096199500078984],
}
# The older generation gets the relevant items once each, and divides MAP by k.
OLDER = NEWER | {
    "MAP": [0.0, 0.38888888888888884, 0.3194444444444444],
    "NDCG": [0.0, 0.5307212739772434, 0.7328286204777911],
}


@pytest.mark.parametrize("name", QUALITY)
def test_metrics_of_the_truth_have_the_values_of_replay(name: str) -> None:
    newer, older = (getattr(where, name)._get_metric_value_by_user for where in (replay, experimental))
    assert newer([1, 3, 6], [7, 8, 8, 9], PRED) == pytest.approx(NEWER[name], abs=1e-12)
    assert [older(k, PRED, [7, 8, 9]) for k in (1, 3, 6)] == pytest.approx(OLDER[name], abs=1e-12)


@pytest.mark.parametrize("name", QUALITY)
def test_a_user_without_a_list_has_0(name: str) -> None:
    newer, older = (getattr(where, name)._get_metric_value_by_user for where in (replay, experimental))
    for pred, truth in ((None, [7]), ([], [7]), ([7], []), ([7], None)):
        assert newer([1, 3], truth, pred) == [0.0, 0.0]
    assert older(k=3, pred=[], ground_truth=[7]) == older(k=3, pred=[7], ground_truth=[]) == 0.0


def test_metrics_of_other_data_have_the_values_of_replay() -> None:
    base = [7, 8, 8, 9]
    novelty, surprisal, unexpectedness = replay.Novelty, replay.Surprisal, replay.Unexpectedness
    assert novelty._get_metric_value_by_user([1, 3, 6], PRED, base) == pytest.approx([1.0, 2 / 3, 0.6])
    assert novelty._get_metric_value_by_user([1], PRED, None) == [1.0]
    assert unexpectedness._get_metric_value_by_user([1, 3, 6], base, PRED) == pytest.approx([1.0, 2 / 3, 2 / 3])
    assert unexpectedness._get_metric_value_by_user([1], None, PRED) == [0.0]
    assert surprisal._get_metric_value_by_user([1, 3], [5, 7], [0.5, 1.0]) == [0.5, 0.5]
    assert surprisal._get_metric_value_by_user([1], None, []) == [0.0]
    older = experimental.Unexpectedness._get_metric_value_by_user
    assert older(3, PRED, base) == pytest.approx(2 / 3)
    assert (older(3, PRED, []), older(3, [], base)) == (1.0, 0.0)
    assert experimental.Surprisal._get_metric_value_by_user(3, [0.5, 1.0]) == 0.5


@pytest.mark.filterwarnings("ignore::bridgeval.toolkits.replay.MetricDuplicatesWarning")
@pytest.mark.parametrize("name", QUALITY)
def test_the_engine_gives_every_user_the_same_value(name: str) -> None:
    draw = random.Random(4)
    lists = {user: [draw.randrange(9) for _ in range(draw.randrange(7))] for user in range(80)}
    truth = {user: [draw.randrange(9) for _ in range(draw.randrange(5))] for user in lists}
    recs = {user: [(item, 1.0) for item in pred] for user, pred in lists.items()}
    metric = getattr(replay, name)([2, 5], mode=PerUser())
    found = metric(recs, truth)
    for user, pred in lists.items():
        expected = metric._get_metric_value_by_user([2, 5], truth[user], pred)
        assert [by_user[user] for by_user in found.values()] == pytest.approx(expected, abs=1e-12)


class RecalledGain(Metric):
    """Built on two metrics of RePlay's newer generation."""

    @staticmethod
    def _get_metric_value_by_user(ks: list[int], ground_truth: list[Any], pred: list[Any] | None) -> list[float]:
        gains = replay.NDCG._get_metric_value_by_user(ks, ground_truth, pred)
        recalls = replay.Recall._get_metric_value_by_user(ks, ground_truth, pred)
        return [gain * recall for gain, recall in zip(gains, recalls, strict=True)]


class FirstHits(Metric):
    """Built on two metrics of the older generation."""

    @staticmethod
    def _get_metric_value_by_user(k: int, pred: list[Any], ground_truth: list[Any]) -> float:
        return experimental.MAP._get_metric_value_by_user(
            k, pred, ground_truth
        ) + experimental.MRR._get_metric_value_by_user(k, pred, ground_truth)


def test_metrics_built_on_named_ones_have_the_values_of_replay() -> None:
    rows = [[1, 5, 0.9], [1, 7, 0.8], [1, 8, 0.7], [2, 6, 0.9]]
    truth = [[1, 7, 1.0], [1, 9, 1.0], [2, 6, 1.0], [3, 5, 1.0]]
    expected = {"RecalledGain@1": 1 / 3, "RecalledGain@3": 0.39780880120575696}
    assert RecalledGain([1, 3])(frame(rows), frame(truth)) == pytest.approx(expected)
    assert OfflineMetrics([RecalledGain([1, 3])])(frame(rows), frame(truth)) == pytest.approx(expected)
    found = FirstHits()(frame(rows, OLD), frame(truth, OLD), [1, 3])
    assert found == pytest.approx({1: 2 / 3, 3: 2 / 3})


def test_a_subclass_may_build_on_the_metric_that_it_derives_from() -> None:
    class Half(replay.MRR):
        @staticmethod
        def _get_metric_value_by_user(ks: list[int], ground_truth: list[Any], pred: list[Any] | None) -> list[float]:
            return [value / 2 for value in replay.MRR._get_metric_value_by_user(ks, ground_truth, pred)]

    class OldHalf(experimental.MRR):
        @staticmethod
        def _get_metric_value_by_user(k: int, pred: list[Any], ground_truth: list[Any]) -> float:
            return experimental.MRR._get_metric_value_by_user(k, pred, ground_truth) / 2

    recs, truth = {1: [(5, 0.9), (7, 0.8)]}, {1: [7]}
    assert Half(2)(recs, truth) == {"Half@2": 0.25}
    assert OldHalf()(recs, truth, 2) == 0.25


def test_a_redefined_metric_of_recommendations_alone_is_refused() -> None:
    """RePlay hands it weights, which nothing here makes user by user."""

    class Doubled(experimental.Surprisal):
        @staticmethod
        def _get_metric_value_by_user(k: int, *args: Any) -> float:
            return 2 * sum(args[0][:k]) / k

    recs = frame([[1, 5, 0.9]], OLD)
    with pytest.raises(BadParameterError, match="Doubled redefines _get_metric_value_by_user of Surprisal"):
        Doubled(recs)(recs, 1)
