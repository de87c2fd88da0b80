"""OfflineMetrics and Experiment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from bridgeval.engine import plan
from bridgeval.errors import BadParameterError, InputError, NeedError, UnknownMetricError
from bridgeval.toolkits.replay import (
    MRR,
    NDCG,
    CategoricalDiversity,
    Coverage,
    Experiment,
    HitRate,
    Median,
    Metric,
    MetricDuplicatesWarning,
    Novelty,
    OfflineMetrics,
    PerUser,
    Recall,
    Surprisal,
    TorchMetricsBuilder,
    Unexpectedness,
    experimental,
)
from tests.toolkits.replay.worlds import NEW, OLD, frame, items, lists_and_truth, pairs, world

WORLD = world(3)


def frames(kind: str = "pandas") -> dict[str, Any]:
    return {name: frame(rows, NEW, kind) for name, rows in WORLD.items()}


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_all_metrics_come_as_from_single_calls(kind: str) -> None:
    data = frames(kind)
    metrics = [NDCG([1, 5]), Coverage(5), Novelty([2]), Surprisal(5), Unexpectedness([2, 5])]
    found = OfflineMetrics(metrics)(data["recs"], data["truth"], data["train"], data["base"])
    single = {
        **NDCG([1, 5])(data["recs"], data["truth"]),
        **Coverage(5)(data["recs"], data["train"]),
        **Novelty([2])(data["recs"], data["train"]),
        **Surprisal(5)(data["recs"], data["train"]),
    }
    against = Unexpectedness([2, 5])(data["recs"], data["base"])
    single |= {key.replace("@", "_base_recommendations@"): value for key, value in against.items()}
    assert found == pytest.approx(single)
    assert list(found) == list(single)


def test_one_pass_serves_all_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = []
    fold = plan.fold
    monkeypatch.setattr("bridgeval.engine.source.fold", lambda *given: passes.append(1) or fold(*given))
    data = frames()
    bases = {"A": data["base"], "B": data["recs"]}
    rows = data["recs"].assign(category_id=data["recs"]["item_id"] % 3)
    metrics = [NDCG([1, 5]), HitRate(2, mode=PerUser()), Novelty(2), Unexpectedness(2), CategoricalDiversity(3)]
    OfflineMetrics(metrics)(rows, data["truth"], data["train"], bases)
    assert len(passes) == 1


def test_named_bases_come_last_in_the_keys() -> None:
    data = frames()
    rows = data["recs"].assign(category_id=data["recs"]["item_id"] % 3)
    metrics = [CategoricalDiversity(2), Unexpectedness(2), Recall(2)]
    found = OfflineMetrics(metrics)(rows, data["truth"], base_recommendations={"A": data["base"], "B": data["recs"]})
    assert list(found) == ["Recall@2", "Unexpectedness_A@2", "Unexpectedness_B@2", "CategoricalDiversity@2"]


def test_a_mapping_of_lists_is_one_base() -> None:
    recs, base = pairs(WORLD["recs"]), pairs(WORLD["base"])
    found = OfflineMetrics([Unexpectedness(2)])(recs, items(WORLD["truth"]), base_recommendations=base)
    assert list(found) == ["Unexpectedness_base_recommendations@2"]
    named = OfflineMetrics([Unexpectedness(2)])(recs, items(WORLD["truth"]), base_recommendations={"A": base})
    assert list(named.values()) == list(found.values())


def test_categories_may_differ_between_rows_of_one_item() -> None:
    rows = pd.DataFrame(
        [[1, 5, 2.0, "x"], [1, 6, 1.0, "x"], [2, 5, 2.0, "y"], [2, 6, 1.0, "z"]], columns=[*NEW, "category_id"]
    )
    truth = frame([[1, 5, 1.0]])
    assert OfflineMetrics([CategoricalDiversity(2)])(rows, truth) == {"CategoricalDiversity@2": 0.75}


def test_the_columns_of_metric_objects_are_left_alone() -> None:
    data = frames()
    metric = NDCG(5)
    names = {"query_id": "q", "item_id": "i", "rating": "r"}
    offline = OfflineMetrics([metric], query_column="q", item_column="i", rating_column="r")
    found = offline(data["recs"].rename(columns=names), data["truth"].rename(columns=names))
    assert metric.query_column == "query_id"
    assert found == metric(data["recs"], data["truth"])


@pytest.mark.parametrize(
    ("metric", "missing"),
    [
        (Surprisal(2), "train"),
        (Novelty(2), "train"),
        (Coverage(2), "train"),
        (Unexpectedness(2), "base_recommendations"),
    ],
)
def test_missing_data_is_asked_for_by_its_name(metric: Metric, missing: str) -> None:
    data = frames()
    with pytest.raises(NeedError, match=missing):
        OfflineMetrics([metric])(data["recs"], data["truth"])


def test_no_metric_is_refused() -> None:
    with pytest.raises(BadParameterError, match="no metric"):
        OfflineMetrics([])


@pytest.mark.parametrize("kind", ["pandas", "polars", "dict"])
def test_a_custom_metric_works_on_every_kind_of_frame(kind: str) -> None:
    class Mine(Metric):
        @staticmethod
        def _get_metric_value_by_user(ks: list[int], ground_truth: list[Any], pred: list[Any] | None) -> list[float]:
            return [len(set((pred or [])[:k]) & set(ground_truth)) / len(set(ground_truth)) for k in ks]

    recs, truth = lists_and_truth(WORLD, kind)
    found = OfflineMetrics([Mine([2, 5]), Recall([2, 5])])(recs, truth)
    assert [found["Mine@2"], found["Mine@5"]] == pytest.approx([found["Recall@2"], found["Recall@5"]])


def test_experiment_keeps_rows_in_the_order_of_adding_and_replaces_a_name() -> None:
    experiment = Experiment([HitRate(1), MRR(2)], {1: [8], 2: [7]})
    one, other = {1: [(7, 0.9), (8, 0.4)], 2: [(7, 0.9)]}, {1: [(8, 0.9)], 2: [(7, 0.9)]}
    experiment.add_result("first", one)
    experiment.add_result("second", other)
    experiment.add_result("first", other)
    assert list(experiment.results.index) == ["first", "second"]
    assert experiment.results.to_numpy().tolist() == [[1.0, 1.0], [1.0, 1.0]]
    experiment.add_result("first", one)
    assert experiment.results.loc["first"].to_dict() == {"HitRate@1": 0.5, "MRR@2": 0.75}
    assert experiment.compare("first").to_numpy().tolist() == [["–", "–"], ["100.0%", "33.33%"]]
    assert experiment.compare("second").to_numpy().tolist() == [["-50.0%", "-25.0%"], ["–", "–"]]


def test_a_zero_in_the_baseline_gives_a_text_where_replay_divides_by_zero() -> None:
    experiment = Experiment([HitRate([1, 2])], {1: [8]})
    experiment.add_result("some", {1: [(7, 0.9), (8, 0.4)]})
    experiment.add_result("none", {1: [(7, 0.9)]})
    assert experiment.compare("none").to_numpy().tolist() == [["nan%", "inf%"], ["–", "–"]]


def test_per_user_values_stand_in_the_results_and_are_not_compared() -> None:
    experiment = Experiment([HitRate(1, mode=PerUser()), MRR(2)], {1: [8]})
    experiment.add_result("it", {1: [(7, 0.9), (8, 0.4)]})
    assert experiment.results.loc["it", "HitRate-PerUser@1"] == {1: 0.0}
    assert list(experiment.compare("it").columns) == ["MRR@2"]


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(UnknownMetricError, match="no results for 'x'"):
        Experiment([HitRate(1)], {1: [8]}).compare("x")


def test_significance_tests_the_values_that_were_added_and_evaluates_nothing_again(monkeypatch) -> None:
    rng = np.random.default_rng(3)
    users = range(40)
    truth = {u: [7] for u in users}
    systems = {
        name: {u: [(int(item), -float(place)) for place, item in enumerate(rng.permutation(10))] for u in users}
        for name in ("old", "new")
    }
    metrics = [MRR([2, 10]), HitRate(1, mode=Median()), Coverage(5)]
    plain, keeping = (Experiment(metrics, truth, truth, per_user=keep) for keep in (False, True))
    for name, lists in systems.items():
        plain.add_result(name, lists)
        keeping.add_result(name, lists)
    pd.testing.assert_frame_equal(plain.results, keeping.results)
    monkeypatch.setattr("bridgeval.toolkits.replay.offline.compute", None)
    found = keeping.significance("old", resamples=200)
    pd.testing.assert_frame_equal(plain.compare("old"), keeping.compare("old"))
    ranks = {name: np.array([[i for i, _ in lists[u]].index(7) + 1 for u in users]) for name, lists in systems.items()}
    expected = stats.ttest_rel(1 / ranks["new"], 1 / ranks["old"])
    row = found.difference("MRR@10")
    assert (row.system, row.baseline, row.users) == ("new", "old", 40)
    assert row.p_t == pytest.approx(expected.pvalue, rel=1e-9)
    assert found.difference("Coverage@5").method == "none"
    assert {d.metric for d in found} == {"MRR@2", "MRR@10", "Coverage@5"}
    with pytest.raises(InputError, match="not kept"):
        plain.significance("old")
    with pytest.raises(UnknownMetricError, match="no results for 'x'"):
        keeping.significance("x")


def test_repeated_rows_of_both_sides_give_one_warning() -> None:
    recs = frame([[1, 5, 0.9], [1, 5, 0.8], [2, 6, 0.1]])
    base = frame([[1, 7, 0.9], [1, 7, 0.8], [1, 7, 0.7], [2, 7, 0.1]])
    with pytest.warns(MetricDuplicatesWarning) as warned:
        OfflineMetrics([Unexpectedness(2)])(recs, frame(WORLD["truth"]), None, base)
    (told,) = warned
    assert "1 repeated (user, item) rows in the recommendations and 2 repeated" in str(told.message)


def test_the_warning_of_repeated_rows_points_at_the_call() -> None:
    recs, truth = frame([[1, 5, 0.9], [1, 5, 0.8]]), frame([[1, 5, 1.0]])
    old_recs, old_truth = (data.set_axis(OLD, axis=1) for data in (recs, truth))
    experiment = Experiment([NDCG(1)], truth)
    older = experimental.Experiment(old_truth, {experimental.NDCG(): 1})
    builder = TorchMetricsBuilder(["recall"], 2)
    builder.add_prediction(torch.tensor([[5, 5]]), torch.tensor([[5]]))
    calls: list[Callable[[], Any]] = [
        lambda: NDCG(1)(recs, truth),
        lambda: OfflineMetrics([NDCG(1)])(recs, truth),
        lambda: experiment.add_result("it", recs),
        lambda: experimental.NDCG()(old_recs, old_truth, 1),
        lambda: older.add_result("it", old_recs),
        lambda: experimental.NDCG().user_distribution(old_truth, old_recs, old_truth, 1),
        lambda: builder.get_metrics(),
    ]
    for call in calls:
        with pytest.warns(MetricDuplicatesWarning) as warned:
            call()
        (told,) = warned
        assert (told.filename, told.lineno) == (__file__, call.__code__.co_firstlineno)
