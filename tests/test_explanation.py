"""Why two numbers differ: named, sized, and adding up."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import bridgeval
from bridgeval import plugins
from bridgeval.axes import AXES
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


def test_metrics_of_the_same_parts_are_explained_with_the_formula_as_a_step():
    found = bridgeval.explain(SHOWN, RELEVANT, "Precision(divide_by='relevant')@5", "trec_eval:Rprec")
    # P/min(k, P): U1 2/3, U2 1/1, U3 0, U5 2/5; R-precision over users of both sides: U1 2/3, U2 0, U5 2/7.
    assert found.values == pytest.approx(((2 / 3 + 1 + 0.4) / 4, (2 / 3 + 2 / 7) / 3))
    effects = {step.parameter: step.effect for step in found.steps}
    assert sum(effects.values()) == pytest.approx(found.difference, abs=1e-12)
    # Of the two orders, the one that begins with the larger move towards the second: R-precision over four users.
    assert effects["metric"] == pytest.approx((2 / 3 + 2 / 7) / 4 - (2 / 3 + 1 + 0.4) / 4)
    assert effects["users"] == pytest.approx((2 / 3 + 2 / 7) / 3 - (2 / 3 + 2 / 7) / 4)
    assert 'metric: "Precision" -> "RPrecision"' in str(found)


def test_a_metric_and_its_subclass_differ_by_their_parameters():
    graded = {user: {item: 1 + at for at, item in enumerate(items)} for user, items in RELEVANT.items()}
    found = bridgeval.explain(SHOWN, graded, "nDCG@5", "nDCGRendle2020@5")
    # The formula is the same: with gain="binary" nDCG is nDCGRendle2020.
    assert {step.parameter for step in found.steps if abs(step.effect) > 1e-12} == {"gain"}


@pytest.mark.parametrize(("first", "second"), [("Precision@5", "Recall(divide_by='reachable')@3"), ("MAP@5", "MRR@3")])
def test_effects_add_up_between_two_formulas(first, second):
    found = bridgeval.explain(SHOWN, RELEVANT, first, second)
    assert sum(step.effect for step in found.steps) == pytest.approx(found.difference, abs=1e-12)
    assert {"k", "metric"} <= {step.parameter for step in found.steps}


def test_the_paragraph_names_what_matters_and_what_does_not():
    told = bridgeval.explain(SHOWN, RELEVANT, "rectools:NDCG@5", "ranx:ndcg@5").to_markdown()
    assert told.startswith("On the same data `rectools:NDCG@5` is 0.2707 and `ranx:ndcg@5` is 0.4237, a difference")
    assert '+0.1530 is due to the ideal list (`ideal: "k" -> "reachable"`)' in told
    assert "Without effect on this data: the users averaged over" in told
    assert "\n" not in told


def test_a_notebook_shows_a_waterfall_and_names_are_escaped():
    odd = replace(bridgeval.parse("nDCG(ideal='k')@5")[0], label="<b>ours</b>")
    found = bridgeval.explain(SHOWN, RELEVANT, odd, "nDCG@5")
    shown = found._repr_html_()
    assert "<svg" in shown
    assert "<b>ours" not in shown
    assert "&lt;b&gt;ours" in shown
    assert "ideal: &#34;k&#34; -&gt; &#34;reachable&#34;" in shown
    page = found.to_html()
    assert page.startswith("<!doctype html>")
    assert "<b>ours" not in page


def test_an_explanation_is_plain_data_too():
    found = bridgeval.explain(SHOWN, RELEVANT, "rectools:NDCG@5", "ranx:ndcg@5").to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found["steps"][0]["before"] == '"k"'
    assert found["natives"][1].startswith("nDCG(users=")


def test_every_parameter_of_every_native_metric_has_words():
    metrics = plugins.load_plugins(entry_points=()).metrics.values()
    native = [metric for metric in metrics if metric.__module__.startswith("bridgeval.metrics")]
    assert len(native) > 60
    assert {(one.name, name) for one in native for name in one.default_parameters() if name not in AXES} == set()


def test_empty_and_pooled_are_steps_with_words():
    shown, truth = {1: ["a", "b"], 2: ["c"], 3: ["d"]}, {1: ["b", "x", "y"], 2: ["c"]}
    found = bridgeval.explain(shown, truth, "Recall(users='shown')@2", "Recall(users='shown', empty='one')@2")
    assert [(step.parameter, round(step.effect, 6)) for step in found.steps] == [("empty", round(1 / 3, 6))]
    assert "what a user without relevant items is worth" in str(found)
    pooled = bridgeval.explain(shown, truth, "Recall@2", "selfrec:Hit_Ratio@2")
    # (1/3 + 1) / 2 against 2 hits of 4 relevant items.
    assert {step.parameter: round(step.effect, 6) for step in pooled.steps}["over"] == round(2 / 4 - 2 / 3, 6)
    assert "how the users' values are summarized" in pooled.to_markdown()
