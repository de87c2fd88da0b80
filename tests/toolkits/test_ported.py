"""Classes written for WarpRec, RePlay and librec-auto, offered by a plugin under their own names."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import pytest

import bridgeval
from bridgeval.errors import BadParameterError, MetricFailedError, PluginWarning, SpecError
from bridgeval.toolkits import librec, replay, warprec
from tests.test_hooks import install  # noqa: F401  (a fixture)
from tests.test_plugins import plugin  # noqa: F401  (a fixture)

SHOWN = {"ann": {"tea": 2.0, "rum": 1.0}, "bob": {"gin": 2.0, "tea": 1.0}}
RELEVANT = {"ann": {"rum": 4.0}, "bob": {"tea": 1.0, "ale": 1.0}}
PREVIOUS = {"ann": {"tea": 1.0, "rum": 2.0}, "bob": {"gin": 1.0, "tea": 1.0}}


class Found(warprec.UserAverageTopKMetric):
    """The share of a user's relevant items within k, times a weight."""

    def __init__(self, k, num_users, *args, weight=1.0, steps=(1, 2), **kwargs):
        super().__init__(k, num_users, *args, **kwargs)
        self.weight = weight * len(steps)

    def compute_scores(self, preds, target, top_k_rel, **kwargs):
        return self.weight * top_k_rel.sum(dim=1) / target.sum(dim=1)


class OlderHits(replay.Metric):
    @staticmethod
    def _get_metric_value_by_user(k, pred, ground_truth):
        return float(len(set(pred[:k]) & set(ground_truth)))


class NewerHits(replay.Metric):
    @staticmethod
    def _get_metric_value_by_user(ks, ground_truth, pred):
        return [float(len(set(pred[:k]) & set(ground_truth))) for k in ks]


class WeightedHits(replay.NCISMetric):
    @staticmethod
    def _get_metric_value_by_user(k, pred, ground_truth, weights):
        return sum(weight for item, weight in zip(pred[:k], weights, strict=False) if item in ground_truth)


class OwnLists(replay.RecOnlyMetric):
    def _get_enriched_recommendations(self, recommendations, ground_truth, max_k, ground_truth_users=None):
        raise NotImplementedError


class Bias(librec.RowBasedMetric):
    def evaluate_row(self, test, result):
        return result[2] - test[2] + float(dict(self.get_params()).get("shift", 0))


OFFERS = [
    warprec.ported(Found),
    warprec.ported(Found, "FoundShare"),
    replay.ported(OlderHits),
    replay.ported(NewerHits),
    replay.ported(WeightedHits),
    librec.ported(Bias),
]
OFFER = "@hookimpl\ndef bridgeval_metrics():\n    from tests.toolkits.test_ported import OFFERS\n    return OFFERS"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Found@1", 0.0),
        # Two steps: 2 * 1 / 1 for ann, 2 * 1 / 2 for bob.
        ("Found@2", (2.0 + 1.0) / 2),
        ("Found(weight=3.0, steps=[7])@2", (3.0 + 1.5) / 2),
        ("FoundShare@2", (2.0 + 1.0) / 2),
        ("OlderHits@2", (1.0 + 1.0) / 2),
        ('OlderHits(over="max")@1', 0.0),
        ("NewerHits@2", (1.0 + 1.0) / 2),
        # Of rum 1 / 2 and of tea 1 / 1; with a threshold of 1 every weight is 1.
        ("WeightedHits@2", (0.5 + 1.0) / 2),
        ("WeightedHits(threshold=1.0)@2", 1.0),
        # rum: 1 - 4, tea: 1 - 1.
        ("Bias", (-3.0 + 0.0) / 2),
        ('Bias(params=[["shift", "5"]])', (2.0 + 5.0) / 2),
    ],
)
def test_an_offered_class_is_asked_for_by_its_name_which_parses_back(install, name, value):  # noqa: F811
    install(OFFER)
    report = bridgeval.evaluate(SHOWN, RELEVANT, name, prev_scores=PREVIOUS)
    assert dict(report) == {name: pytest.approx(value, abs=1e-7)}
    (metric,) = report.metrics.values()
    assert bridgeval.parse(str(metric)) == [metric]
    for copied in (pickle.loads(pickle.dumps(metric)), copy.deepcopy(metric)):
        assert (copied, hash(copied), str(copied)) == (metric, hash(metric), name)


def test_values_of_users_are_kept(install):  # noqa: F811
    install(OFFER)
    report = bridgeval.evaluate(SHOWN, RELEVANT, ["Found@2", "OlderHits@2"], per_user=True)
    assert report.per_user("Found@2")[["user", "value"]].values.tolist() == [["ann", 2.0], ["bob", 1.0]]


def test_a_parameter_that_is_given_as_its_default_makes_an_equal_metric():
    found = warprec.ported(Found)
    assert warprec.ported(Found, "Found") is found
    assert found(2, weight=1.0) == found(2) != found(2, weight=2.0)
    assert str(found(2, weight=1.0)) == "Found@2"
    assert found(2) != warprec.ported(Found, "FoundShare")(2)


def test_wrong_parameters_are_named(install):  # noqa: F811
    install(OFFER)
    with pytest.raises(BadParameterError, match=r"'Found\(wait=2\)@2' has no parameter 'wait'.*weight, steps"):
        bridgeval.parse("Found(wait=2)@2")
    with pytest.raises(BadParameterError, match=r"'Found' needs a cutoff"):
        bridgeval.parse("Found")
    for name in ("Found@0", "OlderHits@0", "NewerHits@0"):
        with pytest.raises((BadParameterError, MetricFailedError)):
            bridgeval.parse(name)


def test_a_class_that_makes_its_own_lists_says_how_it_is_called():
    with pytest.raises(BadParameterError, match=r"OwnLists makes its own lists.*metric\(recommendations, \.\.\., k\)"):
        replay.ported(OwnLists)


def test_a_class_in_place_of_a_metric_says_what_to_do(install):  # noqa: F811
    for one in (Found, OlderHits, OlderHits(), Bias):
        kind = one if isinstance(one, type) else type(one)
        toolkit = {Found: "warprec", OlderHits: "replay", Bias: "librec"}[kind]
        said = rf"becomes one by `ported`: bridgeval\.toolkits\.{toolkit}\.ported\({kind.__name__}\)"
        with pytest.raises(SpecError, match=said):
            bridgeval.evaluate(SHOWN, RELEVANT, one)
    with pytest.raises(SpecError, match=r"let Fraction inherit from a base of bridgeval\.plugin"):
        bridgeval.evaluate(SHOWN, RELEVANT, Fraction)
    with pytest.raises(SpecError, match=r"that is a class: give its name, or an object, e\.g\. nDCG\(\.\.\.\)"):
        bridgeval.evaluate(SHOWN, RELEVANT, [bridgeval.metrics.nDCG])
    found = install(OFFER.replace("import OFFERS", "import Found").replace("return OFFERS", "return [Found]"))
    with pytest.warns(PluginWarning, match=r"Found'> is no metric class.*or offer ported\(Class\)"):
        assert found.metrics
