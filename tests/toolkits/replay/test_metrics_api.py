"""Drop-in classes of `replay.metrics`: arguments, keys, shapes, and the rules of each kind of frame."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import bridgeval
from bridgeval.errors import BadParameterError, InputError, MisalignedError, MissingColumnError, NoLoaderError
from bridgeval.toolkits.replay import (
    MAP,
    NDCG,
    CalculationDescriptor,
    CategoricalDiversity,
    ConfidenceInterval,
    Coverage,
    HitRate,
    Mean,
    Median,
    MetricDuplicatesWarning,
    Novelty,
    OfflineMetrics,
    PerUser,
    Precision,
    Recall,
    RocAuc,
    Surprisal,
    Unexpectedness,
)
from tests.toolkits.replay.worlds import NEW, frame, items, pairs, world

WORLD = world()
KINDS = ["pandas", "polars", "arrow"]


def data(kind: str) -> tuple[Any, Any, Any, Any]:
    if kind == "dict":
        return pairs(WORLD["recs"]), items(WORLD["truth"]), items(WORLD["train"]), pairs(WORLD["base"])
    recs, truth, train, base = (frame(WORLD[name], NEW, kind) for name in ("recs", "truth", "train", "base"))
    return recs, truth, train, base


@pytest.mark.parametrize("kind", [*KINDS, "dict"])
def test_every_kind_of_frame_gives_the_values_of_the_convention(kind: str) -> None:
    recs, truth, train, base = data(kind)
    found = {
        **NDCG([3, 5])(recs, truth),
        **RocAuc([3, 5])(recs, truth),
        **Surprisal([3, 5])(recs, train),
        **Novelty([3, 5])(recs, train),
        **Coverage([3, 5])(recs, train),
        **Unexpectedness([3, 5])(recs, base),
    }
    rows = {name: frame(WORLD[name]) for name in WORLD}
    report = bridgeval.evaluate(
        rows["recs"], rows["truth"], [f"replay:{key}" for key in found], history=rows["train"], baseline=rows["base"]
    )
    for key, value in found.items():
        assert value == pytest.approx(report[f"replay:{key}"], abs=1e-12)


def test_keys_come_in_ascending_order_of_k_with_the_mode_in_them() -> None:
    recs, truth, *_ = data("pandas")
    assert list(NDCG([10, 1, 5])(recs, truth)) == ["NDCG@1", "NDCG@5", "NDCG@10"]
    assert list(NDCG(5, mode=Median())(recs, truth)) == ["NDCG-Median@5"]
    assert list(NDCG(5, mode=ConfidenceInterval(0.9))(recs, truth)) == ["NDCG-ConfidenceInterval@5"]
    per_user = NDCG(5, mode=PerUser())(recs, truth)["NDCG-PerUser@5"]
    assert list(per_user) == sorted({user for user, *_ in WORLD["truth"]})
    assert all(type(value) is float for value in per_user.values())
    assert type(NDCG(5)(recs, truth)["NDCG@5"]) is float


def test_columns_may_be_renamed_and_others_are_not_looked_at() -> None:
    recs, truth, *_ = data("pandas")
    names = {"query_id": "who", "item_id": "what", "rating": "how"}
    renamed = recs.rename(columns=names).assign(note=object(), user_id="x")
    metric = Recall(3, query_column="who", item_column="what", rating_column="how")
    assert metric(renamed, truth.rename(columns=names)) == Recall(3)(recs, truth)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("pandas", math.nan), ("arrow", math.nan), ("dict", math.nan), ("polars", 0.0)],
)
def test_the_interval_of_one_user_follows_the_kind_of_frame(kind: str, expected: float) -> None:
    rows = [[1, 5, 0.9]]
    recs, truth = (pairs(rows), {1: [5]}) if kind == "dict" else (frame(rows, NEW, kind), frame(rows, NEW, kind))
    found = HitRate(1, mode=ConfidenceInterval(0.95))(recs, truth)["HitRate-ConfidenceInterval@1"]
    assert found == pytest.approx(expected, nan_ok=True)


def test_repeated_rows_count_as_often_as_they_occur_and_warn_with_their_number() -> None:
    # P = a a a, T = a: DCG = 1 + 1/log2(3) + 1/2, ideal 1; AP = (1 + 1 + 1) / 1.
    recs, truth = {1: [("a", 3.0), ("a", 2.0), ("a", 1.0)]}, {1: ["a"]}
    with pytest.warns(MetricDuplicatesWarning, match="2 repeated") as caught:
        found = NDCG(3)(recs, truth)
    assert len(caught) == 1
    assert found["NDCG@3"] == pytest.approx(1 + 1 / math.log2(3) + 0.5)
    with pytest.warns(MetricDuplicatesWarning):
        assert MAP(3)(recs, truth) == {"MAP@3": 3.0}
    with pytest.warns(MetricDuplicatesWarning):
        assert Precision(3)(recs, truth) == {"Precision@3": pytest.approx(1 / 3)}


def test_repeated_truth_rows_enter_the_ideal_list() -> None:
    recs, truth = frame([[1, 5, 0.9]]), frame([[1, 5, 1.0], [1, 5, 1.0]])
    assert MAP(2)(recs, truth)["MAP@2"] == 0.5
    assert NDCG(2)(recs, truth)["NDCG@2"] == pytest.approx(1 / (1 + 1 / math.log2(3)))
    assert Recall(2)(recs, truth)["Recall@2"] == 1.0


def test_ties_go_to_the_larger_item_but_keep_the_order_of_a_mapping() -> None:
    rows = [[1, 5, 0.5], [1, 7, 0.5]]
    truth = [[1, 5, 1.0]]
    assert HitRate(1)(frame(rows), frame(truth))["HitRate@1"] == 0.0
    assert HitRate(1)(pairs(rows), items(truth))["HitRate@1"] == 1.0
    assert Coverage(1)(frame(rows, NEW, "polars"), frame(truth, NEW, "polars"))["Coverage@1"] == 1.0
    assert Coverage(1)(frame(rows), frame(truth))["Coverage@1"] == 0.0


def test_users_of_a_mapping_count_even_with_an_empty_list() -> None:
    recs = {1: [(7, 0.9), (8, 0.4), (9, 0.1)], 2: [], 3: [(8, 0.5)], 4: [(5, 0.1)]}
    truth: dict[int, list[int]] = {1: [8], 2: [7], 3: [], 5: [7], 6: []}
    train: dict[int, list[int]] = {1: [7], 2: [], 3: [8, 7], 9: [], 8: [5]}
    base = {1: [(7, 0.9)], 2: [(7, 0.1)], 3: [], 7: [(1, 0.3)]}

    hits = {1: 1.0, 2: 0.0, 3: 0.0, 5: 0.0, 6: 0.0}
    # Who has nothing in the train data is shown nothing old, nor is who is shown nothing.
    novelty = {1: 0.5, 2: 1.0, 3: 0.0, 8: 1.0, 9: 1.0}
    # The train data name 5 users: item 7 has 2 of them, items 8 and 5 have 1.
    seven = math.log2(5 / 2) / math.log2(5)
    surprisal = {1: (seven + 1) / 2, 2: 0.0, 3: 0.5, 4: 0.5}
    unexpected = {1: 0.5, 2: 0.0, 3: 0.0, 4: 0.0}

    assert HitRate(2, mode=PerUser())(recs, truth)["HitRate-PerUser@2"] == hits
    assert Novelty(2, mode=PerUser())(recs, train)["Novelty-PerUser@2"] == novelty
    assert Surprisal(2, mode=PerUser())(recs, train)["Surprisal-PerUser@2"] == pytest.approx(surprisal)
    assert Unexpectedness(2, mode=PerUser())(recs, base)["Unexpectedness-PerUser@2"] == unexpected
    names = ["replay:HitRate@2", "replay:Novelty@2", "replay:Surprisal@2", "replay:Unexpectedness@2"]
    report = bridgeval.evaluate(recs, truth, names, history=train, baseline=base)
    for name, values in zip(names, (hits, novelty, surprisal, unexpected), strict=True):
        assert report[name] == pytest.approx(sum(values.values()) / len(values)), name
    # Under the native names those alone count who have a relevant item.
    assert bridgeval.evaluate(recs, truth, "HitRate@2")["HitRate@2"] == pytest.approx(1 / 3)


def test_users_that_count_differ_by_metric() -> None:
    recs, other = frame([[1, 5, 0.9], [2, 5, 0.9]]), frame([[2, 5, 1.0], [3, 6, 1.0]])
    assert Recall(1, mode=PerUser())(recs, other)["Recall-PerUser@1"] == {2: 1.0, 3: 0.0}
    assert Novelty(1, mode=PerUser())(recs, other)["Novelty-PerUser@1"] == {2: 0.0, 3: 1.0}
    assert Unexpectedness(1, mode=PerUser())(recs, other)["Unexpectedness-PerUser@1"] == {1: 0.0, 2: 0.0}
    assert list(Surprisal(1, mode=PerUser())(recs, other)["Surprisal-PerUser@1"]) == [1, 2]


def test_categories_stand_in_the_recommendations() -> None:
    rows = [[1, "rock", 3.0], [1, "rock", 2.0], [1, "jazz", 1.0], [2, "folk", 1.0]]
    columns = ["query_id", "category_id", "rating"]
    for kind in ("pandas", "polars"):
        found = CategoricalDiversity([2, 3], mode=PerUser())(frame(rows, columns, kind))
        assert found["CategoricalDiversity-PerUser@2"] == {1: 0.5, 2: 0.5}
        assert found["CategoricalDiversity-PerUser@3"] == {1: pytest.approx(2 / 3), 2: pytest.approx(1 / 3)}


def test_a_custom_mode_gets_the_per_user_values() -> None:
    class Best(CalculationDescriptor):
        def cpu(self, distribution: Any) -> float:
            return float(np.max(np.asarray(distribution)))

    for kind in ("pandas", "polars"):
        recs, truth, *_ = data(kind)
        assert Recall(5, mode=Best())(recs, truth) == {
            "Recall-Best@5": max(Recall(5, mode=PerUser())(recs, truth)["Recall-PerUser@5"].values())
        }


def test_metrics_and_modes_have_the_names_that_keys_begin_with() -> None:
    """As RePlay's `__name__`."""
    assert (NDCG(5).__name__, Coverage(5).__name__, Mean().__name__) == ("NDCG", "Coverage", "Mean")
    assert NDCG(5, mode=ConfidenceInterval(0.9)).__name__ == "NDCG-ConfidenceInterval"
    assert NDCG.__name__ == "NDCG"


def test_an_authors_mode_may_build_on_a_named_one() -> None:
    """RePlay gives {'Recall-Halved@1': 0.5} for this."""

    class Halved(Mean):
        def cpu(self, distribution: Any) -> float:
            return super().cpu(distribution) / 2

    recs, truth = {1: [(5, 0.9)], 2: [(6, 0.9)]}, {1: [5], 2: [6]}
    assert Recall(1, mode=Halved())(recs, truth) == {"Recall-Halved@1": 0.5}


@pytest.mark.parametrize(
    ("mode", "expected"), [(Mean(), 0.475), (Median(), 0.45), (ConfidenceInterval(0.9), 0.27173293893334677)]
)
def test_named_modes_summarize_values_as_in_replay(mode: CalculationDescriptor, expected: float) -> None:
    values = np.array([0.1, 0.5, 0.4, 0.9])
    for distribution in (values, pl.DataFrame({"value": values})):
        assert mode.cpu(distribution) == pytest.approx(expected, abs=1e-12)
        assert PerUser().cpu(distribution) is distribution


@pytest.mark.parametrize("topk", [0, -1, True, "5", [], [5, 0], [5, "x"], 2.5, None])
def test_a_wrong_topk_is_refused(topk: Any) -> None:
    with pytest.raises(BadParameterError, match="topk of NDCG"):
        NDCG(topk)


def test_a_repeated_topk_is_asked_once() -> None:
    recs, truth, *_ = data("polars")
    assert list(NDCG([5, 5])(recs, truth)) == ["NDCG@5"]


def test_frames_of_two_kinds_are_refused() -> None:
    with pytest.raises(InputError, match="same type"):
        NDCG(5)(data("pandas")[0], data("polars")[1])
    with pytest.raises(NoLoaderError, match="list"):
        NDCG(5)([1], [2])


def test_a_missing_column_is_named() -> None:
    recs, truth, *_ = data("pandas")
    with pytest.raises(MissingColumnError, match="no column 'rating'"):
        NDCG(5)(recs[["query_id", "item_id"]], truth)


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_column_is_a_key_error_as_in_replay_and_a_value_error_as_all_bad_input(kind: str) -> None:
    recs, truth, *_ = data(kind)
    for parent in (KeyError, ValueError):
        with pytest.raises(parent) as caught:
            OfflineMetrics([NDCG(5)], query_column="who")(recs, truth)
        # A KeyError alone would print its message in quotes.
        assert str(caught.value).startswith(
            "there is no column 'who' in the recommendations; found: columns 'query_id'"
        )


def test_ids_of_two_types_are_refused() -> None:
    recs, truth, *_ = data("pandas")
    with pytest.raises(MisalignedError):
        NDCG(5)(recs, truth.astype({"item_id": str}))


@pytest.mark.parametrize("kind", KINDS)
def test_no_recommendations_score_nothing_and_no_truth_is_an_error(kind: str) -> None:
    recs, truth, *_ = data(kind)
    assert NDCG(5)(recs[:0], truth) == {"NDCG@5": 0.0}
    with pytest.raises(InputError, match="no user to evaluate"):
        NDCG(5)(recs, truth[:0])


def test_a_mapping_without_truth_is_an_error() -> None:
    with pytest.raises(InputError, match="no user to evaluate"):
        NDCG(5)({1: [("a", 1.0)]}, {})


@pytest.mark.parametrize("kind", KINDS)
def test_the_coverage_of_no_recommendations_is_0(kind: str) -> None:
    """As in RePlay, where the other metrics of no recommendations have no user to count."""
    recs, _, train, _ = data(kind)
    assert Coverage([1, 5])(recs[:0], train) == {"Coverage@1": 0.0, "Coverage@5": 0.0}
    with pytest.raises(InputError, match="no user to evaluate"):
        Surprisal(5)(recs[:0], train)


def test_the_coverage_of_mappings_without_items_is_0() -> None:
    for recs in ({}, {1: []}):
        assert Coverage(2)(recs, {1: [7]}) == {"Coverage@2": 0.0}


def test_an_empty_pandas_frame_without_types_is_no_recommendations() -> None:
    assert NDCG(5)(pd.DataFrame(columns=NEW), data("pandas")[1]) == {"NDCG@5": 0.0}


@pytest.mark.parametrize("kind", KINDS)
def test_nan_scores_are_refused(kind: str) -> None:
    rows = [[1, 5, math.nan], [1, 6, 0.5]]
    with pytest.raises(InputError, match="NaN"):
        NDCG(5)(frame(rows, NEW, kind), data(kind)[1])


def test_surprisal_with_one_train_user_is_not_a_number() -> None:
    found = Surprisal(1)(frame([[1, 5, 0.5], [2, 9, 0.5]]), frame([[1, 5, 1.0]]))
    assert math.isnan(found["Surprisal@1"])


def test_coverage_takes_no_mode() -> None:
    with pytest.raises(TypeError):
        Coverage(5, mode=Mean())  # type: ignore[call-arg]


def test_a_confidence_beyond_its_bounds_is_refused() -> None:
    with pytest.raises(BadParameterError, match="alpha"):
        ConfidenceInterval(95)
