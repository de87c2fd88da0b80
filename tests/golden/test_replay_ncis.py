"""Where RePlay's NCIS fails, a sound value; its finite values are compared by the golden runner."""

from __future__ import annotations

import json

import pytest

import bridgeval
from bridgeval.toolkits.replay import NCISPrecision
from tests.golden import replay_ncis
from tests.golden.compare import DATA


def test_users_given_without_truth_score_0_where_replay_fails():
    document = json.loads((DATA / "replay" / "old_ncis_edges.json").read_text(encoding="utf-8"))
    (case,) = [case for case in document["cases"] if "error" in case]
    recs, truth, prev = (replay_ncis.table(case[name]) for name in ("recs", "truth", "prev"))

    metric = NCISPrecision(prev, case["threshold"], case["activation"])
    lists = metric._get_enriched_recommendations(recs, truth, case["k"], case["ground_truth_users"])
    value = metric(recs, truth, case["k"], case["ground_truth_users"])

    # User 1: weights 5, 1, 10, 10 with hits at places 2 and 3; users 3, 4 and 7 have no list or no truth.
    assert value == pytest.approx((1 + 10) / 26 / 4, abs=1e-12)
    # RePlay has null for the truth of these two, and fails on it.
    without_truth = [row[0] for row in case["enriched"] if row[3] is None]
    assert without_truth == [4, 7]
    assert lists.set_index("user_idx").loc[without_truth, "ground_truth"].tolist() == [[], []]


def test_replays_overflow_is_not_ours():
    """RePlay's softmax of 1000 against 0 gives NaN and the upper bound for every pair; ours is exact."""
    lists, before, truth = {1: {"a": 0.0, "b": 0.5}}, {1: {"a": 1000.0, "b": 0.0}}, {1: ["a"]}

    value = bridgeval.evaluate(lists, truth, 'NCISPrecision(activation="softmax")@2', prev_scores=before)

    # softmax: 1 / (1 + sqrt e) = 0.38 against 1, sqrt e / (1 + sqrt e) = 0.62 against 0: weights 0.38 and 10.
    share = 1 / (1 + 2.718281828459045**0.5)
    assert value['NCISPrecision(activation="softmax")@2'] == pytest.approx(share / (share + 10), abs=1e-12)
