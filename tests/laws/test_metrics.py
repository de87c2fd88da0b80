"""Every installed metric, and every name of every convention, keeps the laws."""

from __future__ import annotations

import gc
import weakref

import pytest

import bridgeval
from bridgeval import plugins
from bridgeval.engine import plan
from bridgeval.engine.blocks import Blocks
from bridgeval.engine.metric import Metric
from bridgeval.errors import NeedError, SpecError
from bridgeval.testing import World, check_metric, world
from bridgeval.testing.trial import Trial

# Parameters that matter to states, populations and rankings. Every installed metric is tried with its defaults anyway.
VARIANTS = [
    'nDCG(gain="linear", ideal="listed", discount="jarvelin")@3',
    'Precision(divide_by="relevant", users="any")@4',
    'Recall(over="median")@2',
    'Recall(over="half_width", confidence=0.9)@2',
    'HitRate(over="per_user", users="given")@2',
    'MRR(users="history", duplicates="all", ties="given")@5',
    'MAP(users="baseline", order="given", masked="keep")@5',
    'MAP(cut=4, truth_duplicates="all")@3',
    'F1(metric_1="nDCG", metric_2="MAP", beta=0.5)@5',
    'RMSE(average="users")',
    'MAE(over="per_user")',
    'GAUC(weight="relevant")',
    'AUC(over="median")',
    'NCISPrecision(activation="softmax", threshold=2.0)@4',
    'NCISnDCG(activation="sigmoid", missing="zero", gain="binary")@6',
    'NCISPrecision(activation="softmax", arithmetic="plain", missing="zero", order="softmax", cut=6)@3',
    'NCISRecall(over="per_user", average="pairs")@4',
    'UserMADRanking(metric="SRecall", unassigned="group")@4',
    'EPC(gain="none", users="shown")@4',
    'EFD(gain="shifted", floor=2.0)@4',
    'APLT(pop_ratio=0.5, unknown="neither", divide_by="k")@4',
    'PopREO(count="shown", users="truth", undefined="zero")@4',
    'PopRSP(candidates="all", masked="keep")@4',
    'BiasDisparityBD(source="truth", users="truth")@4',
    'ItemMADRating(count="hits", unassigned="group")@4',
    'Gini(total="cells", masked="keep")@4',
    'F1(users="known", undefined="zero", metric_1="ARP")@4',
    'MAE(masked="keep", unscored="spoils", average="users", above=0.0)',
    'warprec:F1(metric_1="nDCG", metric_2="MAP", beta=0.5)@4',
    'warprec:EFD(relevance="discounted")@4',
    'SNIPS(average="users", cap=2.0)@5',
    "IPS(cap=1.5)@5",
    "nDCG",
    'nDCG(ideal="all", empty="one", users="any")@3',
    'nDCG(ideal="found", ties="pessimistic", empty="match", users="listed")@3',
    'nDCG(ideal="hits", ties="optimistic", cut=4)@3',
    'nDCG(gain="threshold", at_least=2, discount="position", ties="average")@4',
    'nDCG(gain=[0.0, 1.0, 3.0, 7.0, 15.0, 31.0], ties="last")@4',
    'DCG(discount="ln", ties="middle", over="min")@4',
    'Precision(over="pooled", divide_by="relevant")@4',
    'Recall(over="pooled", unjudged="skip", ties="average")',
    'Recall(over="geometric", divide_by="listed", empty="drop", users="any")@3',
    'HitRate(ties="average", score_above=0.5)@2',
    'MRR(ties="average")',
    'MRR(mean_of="relevant", ties="random", seed=5)@4',
    'MRR(mean_of="hits", ties="first")@4',
    'MAP(divide_by="places", ties="average")@4',
    'MAP(divide_by="found", ties="last")',
    'MAR(divide_by="places")@4',
    'ERR(stop="linear", max_grade=9, decay=0.85)@4',
    "RBPResidual(p=0.5)",
    'WeightedMean(metric="nDCG(empty=\\"one\\", users=\\"any\\")@3", weight="visits", weigh_empty=False)',
    "RBP(normalize=True)@3",
    'Judged(count="unjudged", divide_by="k", users="shown")@4',
    'BPref(over="geometric")',
    "InterpolatedPrecision(recall=0.5)",
]


# Parameters without which there is no metric.
GIVEN = {
    "EucDistance": '(metrics=["Precision", "ARP"], utopia=[1.0, 0.0])',
    "Hypervolume": '(metrics=["nDCG", "NumRetrieved"], nadir=[0.0, 1.0])',
    "WeightedMean": '(metric="Recall", weight="visits")',
    # Targets are probabilities there; the grades of the small world are not.
    "catboost:ERR": "(max_grade=9)",
    "catboost:PFound": "(max_grade=9)",
    "warprec:EucDistance": '(metric_names=["Precision", "EPC"], utopia_points=[1.0, 0.5])',
    "warprec:Hypervolume": '(metric_names=["nDCG", "ARP"], nadir_points=[0.0, 9.0], higher_is_better=[True, False])',
}


def metric_of_convention(name: str) -> Metric:
    try:
        return bridgeval.parse(f"{name}@5")[0]
    except (SpecError, TypeError):
        return bridgeval.parse(name)[0]


def with_parameters(name: str) -> str:
    if name in GIVEN:
        return name + GIVEN[name]
    metric = metric_of_convention(name)
    if not hasattr(metric, "protected"):
        return name
    return name + ('(protected="new")' if "user groups" in metric.needs().context else '(protected="f1")')


def with_cutoff(name: str, metric: type[Metric]) -> str:
    name = with_parameters(name)
    return f"{name}@5" if "k" in metric.default_parameters() else name


NATIVE = [with_cutoff(name, metric) for name, metric in plugins.installed().metrics.items()]
CONVENTIONS = [
    with_parameters(f"{table.toolkit}:{own}")
    for table in plugins.installed().conventions.values()
    for own in table.metrics
]


def fitting_world(metric: Metric) -> World | None:
    """None, the small world; or one of whole rankings for a metric that says it needs them."""
    try:
        _ = Trial(metric, world()).expected
    except NeedError:
        return world(whole=True)
    return None


# Conventions whose libraries break a law, and which one.
BROKEN = {
    # It reads data of users who do not count.
    "warprec:BiasDisparityBD@5": "populations are honored",
    # A user without a hit has the rank infinity.
    "rankereval:FirstRelevantRank@5": "values are finite",
    # Its ideal list is the truth in the order of its rows.
    "TestOrderNDCG@5": "the order of rows changes nothing",
    # They count users, relevant or all items, whatever the lists are.
    **dict.fromkeys(
        (
            "trec_eval:num_q@5",
            "trec_eval:num_rel@5",
            "warprec:UserCoverage@5",
            "irspack:valid_user@5",
            "irspack:total_user@5",
            "irspack:n_items@5",
        ),
        "it reads the first k places",
    ),
}


def check(metric: Metric, world: World | None) -> None:
    if str(metric) not in BROKEN:
        check_metric(metric, world=world)
        return
    with pytest.raises(AssertionError, match=f"breaks the law that {BROKEN[str(metric)]}"):
        check_metric(metric, world=world)


@pytest.mark.parametrize("name", [*NATIVE, *VARIANTS])
def test_a_metric_keeps_the_laws(name):
    (metric,) = bridgeval.parse(name)
    check(metric, fitting_world(metric))


def test_a_batch_is_gone_with_its_state_though_nothing_is_collected(monkeypatch):
    made: list[tuple[str, weakref.ref[Blocks]]] = []

    def watched(*arguments):
        blocks = Blocks(*arguments)
        made.append((name, weakref.ref(blocks)))
        return blocks

    monkeypatch.setattr(plan, "Blocks", watched)
    gc.disable()
    try:
        for name in [*NATIVE, *VARIANTS]:
            (metric,) = bridgeval.parse(name)
            whole = "AUC" in name and "RocAuc" not in name
            _ = Trial(metric, world(whole=whole)).state
        kept = [name for name, blocks in made if blocks() is not None]
    finally:
        gc.enable()
    assert len(made) >= len(NATIVE)
    assert kept == []


@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_name_of_a_convention_gives_the_same_metric_back(name):
    metric = metric_of_convention(name)
    assert bridgeval.parse(str(metric)) == [metric]
    assert str(bridgeval.parse(str(metric))[0]) == str(metric)


@pytest.mark.parametrize("metric", dict.fromkeys(map(metric_of_convention, CONVENTIONS)), ids=str)
def test_a_convention_keeps_the_laws(metric):
    check(metric, fitting_world(metric) or world())
