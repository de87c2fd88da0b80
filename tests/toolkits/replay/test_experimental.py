"""Drop-in classes of the older generation."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

import bridgeval
from bridgeval.errors import BadParameterError
from bridgeval.toolkits.replay import MetricDuplicatesWarning
from bridgeval.toolkits.replay.experimental import (
    MAP,
    NDCG,
    Coverage,
    Experiment,
    HitRate,
    NCISPrecision,
    Precision,
    Recall,
    Surprisal,
    Unexpectedness,
)
from tests.toolkits.replay.worlds import OLD, frame, world

WORLD = world(5)


def data(kind: str = "pandas") -> dict[str, Any]:
    return {name: frame(rows, OLD, kind) for name, rows in WORLD.items()}


def test_one_k_gives_a_number_and_several_a_mapping_in_their_order() -> None:
    frames = data()
    found = NDCG()(frames["recs"], frames["truth"], [5, 2])
    assert list(found) == [5, 2]
    assert found[2] == NDCG()(frames["recs"], frames["truth"], 2)
    assert NDCG()(frames["recs"], frames["truth"], k=(5, 2)) == found


@pytest.mark.parametrize("kind", ["polars", "arrow"])
def test_every_kind_of_frame_gives_the_same(kind: str) -> None:
    frames, others = data(), data(kind)
    for metric in (NDCG, MAP, Recall):
        expected = metric()(frames["recs"], frames["truth"], [2, 5])
        assert metric()(others["recs"], others["truth"], [2, 5]) == expected
    assert Surprisal(others["train"])(others["recs"], 3) == Surprisal(frames["train"])(frames["recs"], 3)
    assert Unexpectedness(others["base"])(others["recs"], 3) == Unexpectedness(frames["base"])(frames["recs"], 3)


def test_the_average_precision_is_divided_by_k() -> None:
    recs, truth = frame([[1, 5, 0.9]], OLD), frame([[1, 5, 1.0]], OLD)
    assert MAP()(recs, truth, 4) == 0.25


def test_listed_users_count_whether_or_not_they_have_anything() -> None:
    recs, truth = frame([[1, 5, 0.9], [2, 5, 0.9]], OLD), frame([[1, 5, 1.0], [2, 5, 1.0]], OLD)
    users = frame([[1], [7]], OLD)
    assert HitRate()(recs, truth, 1, ground_truth_users=users) == 0.5
    assert Surprisal(truth)(recs, 1, ground_truth_users=users) == 0.0
    assert Unexpectedness(truth)(recs, 2, ground_truth_users=users) == 0.25


def test_unexpectedness_is_over_users_of_the_base_list() -> None:
    recs, base = frame([[1, 5, 0.9], [2, 5, 0.9]], OLD), frame([[1, 6, 1.0], [3, 6, 1.0]], OLD)
    # User 1: nothing expected, 1. User 3 was shown nothing, 0. User 2 has no base list and does not count.
    assert Unexpectedness(base)(recs, 1) == 0.5


def test_coverage_may_exceed_one() -> None:
    recs, log = frame([[1, 5, 0.9], [1, 6, 0.8]], OLD), frame([[1, 7, 1.0]], OLD)
    assert Coverage(log)(recs, [1, 2]) == {1: 1.0, 2: 2.0}
    assert Coverage(log)(recs, 2, ground_truth_users=frame([[9]], OLD)) == 0.0


def test_the_coverage_of_no_recommendations_is_0() -> None:
    """As in RePlay."""
    recs = frame([[1, 5, 0.9]], OLD)
    assert Coverage(recs)(recs[:0], [1, 3]) == {1: 0.0, 3: 0.0}


def test_repeated_rows_take_places_before_they_are_removed() -> None:
    recs = frame([[1, 5, 0.9], [1, 5, 0.8], [1, 6, 0.7], [1, 7, 0.6]], OLD)
    truth = frame([[1, 6, 1.0]], OLD)
    with pytest.warns(MetricDuplicatesWarning, match="1 repeated"):
        # The two rows kept are both item 5.
        assert Precision()(recs, truth, 2) == 0.0
    with pytest.warns(MetricDuplicatesWarning):
        # Of the four rows kept 5, 6, 7 remain, and 6 stands second.
        assert Precision()(recs, truth, [2, 4]) == {2: 0.5, 4: 0.25}


def test_user_distribution_groups_users_by_their_rows_in_the_log() -> None:
    recs, truth = frame([[1, 5, 0.9], [2, 5, 0.9]], OLD), frame([[1, 5, 1.0], [2, 6, 1.0], [3, 5, 1.0]], OLD)
    log = frame([[1, 1, 1.0], [1, 1, 1.0], [2, 1, 1.0], [2, 2, 1.0]], OLD)
    found = HitRate().user_distribution(log, recs, truth, [1, 2])
    assert found.columns.tolist() == ["count", "value"]
    # Users 1 and 2 have two rows each, user 3 none; the two cutoffs stand one below the other.
    assert found.to_numpy().tolist() == [[0, 0.0], [2, 0.5], [0, 0.0], [2, 0.5]]


def test_experiment_has_one_largest_k_and_columns_in_alphabetical_order() -> None:
    recs = frame([[1, 5, 0.9], [1, 5, 0.8], [1, 6, 0.7]], OLD)
    truth = frame([[1, 6, 1.0], [2, 6, 1.0]], OLD)
    experiment = Experiment(truth, {Precision(): 2, HitRate(): [3]}, calc_median=True, calc_conf_interval=0.9)
    with pytest.warns(MetricDuplicatesWarning):
        experiment.add_result("it", recs)
    assert experiment.results.loc["it"].round(6).to_dict() == {
        "HitRate@3": 0.5,
        "HitRate@3_median": 0.0,
        "HitRate@3_0.9_conf_interval": 0.822427,
        "Precision@2": 0.25,
        "Precision@2_median": 0.0,
        "Precision@2_0.9_conf_interval": 0.411213,
    }
    assert list(experiment.compare("it").columns) == ["HitRate@3", "Precision@2"]


def test_a_single_user_has_an_interval_of_no_width() -> None:
    one = frame([[1, 5, 0.9]], OLD)
    experiment = Experiment(one, {HitRate(): 1, Coverage(one): 1}, calc_conf_interval=0.95)
    experiment.add_result("it", one)
    assert experiment.results.loc["it"].to_dict() == {
        "Coverage@1": 1.0,
        "Coverage@1_0.95_conf_interval": 0.0,
        "HitRate@1": 1.0,
        "HitRate@1_0.95_conf_interval": 0.0,
    }


def test_a_zero_in_the_baseline_gives_a_text() -> None:
    recs, truth = frame([[1, 5, 0.9], [1, 6, 0.8]], OLD), frame([[1, 6, 1.0]], OLD)
    experiment = Experiment(truth, {HitRate(): [1, 2]})
    experiment.add_result("none", frame([[1, 7, 0.9]], OLD))
    experiment.add_result("some", recs)
    assert experiment.compare("none").to_numpy().tolist() == [["–", "–"], ["nan%", "inf%"]]


def test_ncis_stands_in_the_experiment_where_replay_fails() -> None:
    recs, truth = frame([[1, 5, 0.9], [1, 6, 0.3]], OLD), frame([[1, 6, 1.0]], OLD)
    previous = frame([[1, 5, 0.3], [1, 6, 0.3]], OLD)
    experiment = Experiment(truth, {NCISPrecision(previous): [1, 2]}, calc_median=True)
    experiment.add_result("it", recs)
    # Weights 0.9 / 0.3 = 3 and 1; the second item is the hit.
    assert experiment.results.loc["it"].to_dict() == {
        "NCISPrecision@1": 0.0,
        "NCISPrecision@1_median": 0.0,
        "NCISPrecision@2": pytest.approx(0.25),
        "NCISPrecision@2_median": pytest.approx(0.25),
    }
    found = NCISPrecision(previous).user_distribution(previous, recs, truth, 2)
    assert found.to_numpy().tolist() == [[2, pytest.approx(0.25)]]


@pytest.mark.parametrize("k", [0, -3, True, "5", [], [2, 0], None])
def test_a_wrong_k_is_refused(k: Any) -> None:
    frames = data()
    with pytest.raises(BadParameterError, match="k"):
        NDCG()(frames["recs"], frames["truth"], k)


def test_significance_is_that_of_the_paired_values() -> None:
    truth = pd.DataFrame({"user_idx": [1, 2, 3, 4], "item_idx": [1, 1, 1, 1]})
    old, new = (
        pd.DataFrame({"user_idx": [1, 2, 3, 4], "item_idx": items, "relevance": [1.0] * 4})
        for items in ([1, 2, 2, 2], [1, 1, 1, 2])
    )
    experiment = Experiment(truth, {HitRate(): [1], Coverage(truth): 1}, calc_median=True, per_user=True)
    experiment.add_result("old", old)
    experiment.add_result("new", new)
    found = experiment.significance("old", resamples=200)
    # Differences 0, 1, 1, 0: mean 1/2, standard deviation 1/sqrt(3), t = sqrt(3).
    row = found.difference("HitRate@1")
    assert (row.difference, row.wins, row.ties, row.losses) == (0.5, 2, 2, 0)
    assert row.t == pytest.approx(3**0.5)
    assert found.difference("Coverage@1").method == "none"
    assert experiment.compare("old").loc["new", "HitRate@1"] == "200.0%"


def test_the_interval_of_one_user_is_0_wide_in_the_older_generation_and_undefined_elsewhere() -> None:
    recs, truth = frame([[1, 5, 0.9], [1, 6, 0.3]], OLD), frame([[1, 6, 1.0]], OLD)
    before = frame([[5, 0.3], [6, 0.3]], OLD[1:])
    asked = [
        f'{name}(over="half_width")@2'
        for name in (
            "replay-experimental:NDCG",
            "replay-experimental:NCISPrecision",
            "replay:NDCG",
            "nDCG",
            "NCISPrecision",
        )
    ]
    widths = list(bridgeval.evaluate(recs, truth, asked, prev_scores=before).values())
    assert widths[:2] == [0.0, 0.0]
    assert all(map(math.isnan, widths[2:]))
    metrics = {NDCG(): 2, NCISPrecision(before): 2}
    experiment = Experiment(truth, metrics, calc_conf_interval=0.9)
    experiment.add_result("it", recs)
    assert [experiment.results.loc["it", f"{metric}@2_0.9_conf_interval"] for metric in metrics] == [0.0, 0.0]
