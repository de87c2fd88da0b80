"""Every installed metric, and every name of every convention, keeps the laws."""

from __future__ import annotations

from dataclasses import fields

import pytest

import bridgeval
from bridgeval import plugins
from bridgeval.engine.metric import Metric
from bridgeval.errors import NeedError, SpecError
from bridgeval.testing import World, check_metric, world
from bridgeval.testing.metrics import Trial

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
    'SNIPS(average="users", cap=2.0)@5',
    "IPS(cap=1.5)@5",
]


def with_cutoff(name: str, metric: type[Metric]) -> str:
    return f"{name}@5" if any(f.name == "k" for f in fields(metric)) else name


NATIVE = [with_cutoff(name, metric) for name, metric in plugins.installed().metrics.items()]
CONVENTIONS = [
    f"{table.toolkit}:{name}" for table in plugins.installed().conventions.values() for name in table.metrics
]


def fitting_world(metric: Metric) -> World | None:
    """None, the small world; or one of whole rankings for a metric that says it needs them."""
    try:
        Trial(metric, world()).result()
    except NeedError:
        return world(whole=True)
    return None


@pytest.mark.parametrize("name", [*NATIVE, *VARIANTS])
def test_a_metric_keeps_the_laws(name):
    (metric,) = bridgeval.parse(name)
    check_metric(metric, world=fitting_world(metric))


def metric_of_convention(name: str) -> Metric:
    try:
        return bridgeval.parse(f"{name}@5")[0]
    except (SpecError, TypeError):
        return bridgeval.parse(name)[0]


@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_name_of_a_convention_gives_the_same_metric_back(name):
    metric = metric_of_convention(name)
    assert bridgeval.parse(str(metric)) == [metric]
    assert str(bridgeval.parse(str(metric))[0]) == str(metric)


@pytest.mark.parametrize("metric", dict.fromkeys(map(metric_of_convention, CONVENTIONS)), ids=str)
def test_a_convention_keeps_the_laws(metric):
    check_metric(metric, world=fitting_world(metric) or world())
