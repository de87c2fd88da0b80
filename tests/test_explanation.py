"""Why two numbers differ: named, sized, and adding up."""

from __future__ import annotations

import pytest

import bridgeval
from bridgeval.errors import BadParameterError
from tests.toolkits.peers.test_conventions import RELEVANT, SHOWN


def test_rectools_and_ranx_differ_by_the_ideal_list():
    found = bridgeval.explain(SHOWN, RELEVANT, "rectools:NDCG@5", "ranx:ndcg@5")
    assert found.values == pytest.approx((0.2707, 0.4237), abs=5e-5)
    assert found.steps[0].parameter == "ideal"
    assert found.steps[0].effect == pytest.approx(found.difference)
    assert 'ideal: "k" -> "reachable"' in str(found)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("lenskit:NDCG@5", "mllib:ndcgAt@5"),
        ("recommenders:map@5", "mllib:meanAveragePrecisionAt@5"),
        ("irspack:precision@5", "trec_eval:P@5"),
    ],
)
def test_effects_add_up_to_the_difference(first, second):
    found = bridgeval.explain(SHOWN, RELEVANT, first, second)
    assert sum(step.effect for step in found.steps) == pytest.approx(found.difference, abs=1e-12)
    assert found.difference != 0


def test_lenskit_against_mllib_names_discount_and_population():
    found = bridgeval.explain(SHOWN, RELEVANT, "lenskit:NDCG@5", "mllib:ndcgAt@5")
    assert {step.parameter for step in found.steps if abs(step.effect) > 1e-9} == {"discount", "users"}


def test_one_metric_under_two_names():
    found = bridgeval.explain(SHOWN, RELEVANT, "recpack:RecallK@5", "Recall@5")
    assert found.steps == ()
    assert "same metric under two names" in str(found)


def test_different_metrics_are_refused():
    with pytest.raises(BadParameterError, match="different metrics"):
        bridgeval.explain(SHOWN, RELEVANT, "nDCG@5", "MAP@5")
    with pytest.raises(BadParameterError, match="several metrics"):
        bridgeval.explain(SHOWN, RELEVANT, "nDCG@5,10", "nDCG@5")
