"""The forty metrics of the taxonomy: each in the file of its family, and what holds for all, native and WarpRec's."""

from __future__ import annotations

import pickle
import random
from dataclasses import dataclass

import numpy as np
import pytest
import torch

import bridgeval
from bridgeval import metrics as native
from bridgeval.engine.inputs import Inputs
from bridgeval.engine.plan import Execution, Plan, fold, merge_all
from tests.metrics.test_families_against_loops import whole_world

TAXONOMY = [
    "AUC",
    "F1",
    "GAUC",
    "HitRate",
    "LAUC",
    "MAP",
    "MAR",
    "MRR",
    "nDCG",
    "nDCGRendle2020",
    "Precision",
    "Recall",
    "MAE",
    "MSE",
    "RMSE",
    "ItemCoverage",
    "UserCoverage",
    "NumRetrieved",
    "UserCoverageAtN",
    "EFD",
    "EPC",
    "Gini",
    "ShannonEntropy",
    "SRecall",
    "ACLT",
    "APLT",
    "ARP",
    "PopREO",
    "PopRSP",
    "BiasDisparityBD",
    "BiasDisparityBR",
    "BiasDisparityBS",
    "ItemMADRanking",
    "ItemMADRating",
    "REO",
    "RSP",
    "UserMADRanking",
    "UserMADRating",
    "EucDistance",
    "Hypervolume",
]
WHOLE = ["AUC", "GAUC", "MAE", "MSE", "RMSE", "BiasDisparityBS"]
GIVEN = {
    "": {
        "F1": '(metric_1="nDCG", metric_2="MAP", beta=0.5)',
        "EucDistance": '(metrics=["Precision", "ACLT"], utopia=[1.0, 3.0])',
        "Hypervolume": '(metrics=["nDCG", "ARP"], nadir=[0.0, 12.0])',
        "UserMADRanking": '(metric="SRecall")',
    },
    "warprec:": {
        "F1": '(metric_1="nDCG", metric_2="MAP", beta=0.5)',
        "EucDistance": '(metric_names=["Precision", "ACLT"], utopia_points=[1.0, 3.0])',
        "Hypervolume": '(metric_names=["nDCG", "ARP"], nadir_points=[0.0, 12.0], higher_is_better=[True, False])',
        "EFD": '(relevance="discounted")',
        "PopREO": "(pop_ratio=0.6)",
    },
}
NAMES = [
    f"{toolkit}{name}{given.get(name, '')}{'' if name in WHOLE else '@4'}"
    for toolkit, given in GIVEN.items()
    for name in TAXONOMY
]


@pytest.fixture(scope="module")
def world():
    """Ragged lists of all candidates, because AUC needs them; some users without any row on one side."""
    _, relevant, known = whole_world(0)
    rng = random.Random(3)
    items = sorted({*known["catalogue"], *(item for rows in relevant.values() for item, _ in rows)})
    known = {**known, "catalogue": items}
    shown = {}
    for user in sorted({*relevant, *known["history"]})[2:]:
        seen = set(known["history"].get(user, ()))
        shown[user] = {item: -np.inf if item in seen else rng.choice([0.5, rng.random()]) for item in items}
    relevant = {user: rows for user, rows in relevant.items() if user in shown}
    return shown, relevant, known


@pytest.fixture(scope="module")
def whole(world):
    shown, relevant, known = world
    return bridgeval.evaluate(shown, relevant, NAMES, **known)


def same(ours, theirs):
    return dict(ours) == pytest.approx(dict(theirs), rel=1e-12, abs=1e-12, nan_ok=True)


def test_each_name_of_the_taxonomy_is_a_native_metric():
    assert set(TAXONOMY) <= set(native.__all__)
    assert len(NAMES) == 80


def test_order_of_users_and_rows_does_not_show(world, whole):
    shown, relevant, known = world
    rng = random.Random(1)
    shuffled = {user: dict(rng.sample(list(rows.items()), len(rows))) for user, rows in reversed(shown.items())}
    backwards = {user: rows[::-1] for user, rows in reversed(relevant.items())}
    assert same(bridgeval.evaluate(shuffled, backwards, NAMES, **known), whole)


def test_partitions_with_vocabularies_of_their_own_merge_to_the_whole(world, whole):
    """As on Spark: each partition has the lists of its users, its own item codes, and the context of all."""
    shown, relevant, known = world
    plan = Plan.of([metric for name in NAMES for metric in bridgeval.parse(name)])
    users = sorted({*shown, *relevant, *known["history"]})
    context = Inputs.of(shown, relevant, **known).context
    states = []
    for part in (users[::3], users[1::3], users[2::3]):
        mine = [{user: rows[user] for user in part if user in rows} for rows in (shown, relevant, known["history"])]
        inputs = Inputs.of(mine[0], mine[1], **{**known, "history": mine[2]})
        folded = fold(plan, inputs.slates(plan.needs), context, Execution(torch.device("cpu"), 5))
        states.append(pickle.loads(pickle.dumps(folded)))
    results = plan.compute(merge_all(plan, states[::-1]))
    for metric, result in results.items():
        theirs = whole.results[str(metric)]
        assert result.parts == pytest.approx(theirs.parts, abs=1e-12, nan_ok=True), metric
        assert (result.value is None) == (theirs.value is None)
        if result.value is not None:
            assert result.value == pytest.approx(theirs.value, abs=1e-12, nan_ok=True), metric


def test_a_custom_metric_can_be_an_objective():
    @dataclass(frozen=True)
    class Length(bridgeval.ListMetric):
        name = "Length"

        def value(self, slate):
            return float(len(slate.items))

    both = native.EucDistance(2, metrics=(Length(), native.Precision(2)), utopia=(4.0, 0.5))
    # Two items shown, one of them relevant: the distance is 4 - 2.
    assert bridgeval.evaluate({1: ["a", "b"]}, {1: ["b"]}, both)[str(both)] == 2.0


@pytest.mark.parametrize("name", native.__all__)
def test_a_metric_is_defined_in_the_file_of_its_family(name):
    metric = getattr(native, name)
    assert metric.__module__ == f"bridgeval.metrics.{metric.family}"
