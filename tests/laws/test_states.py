"""States travel: any cut of users into state files, merged in any order and tree, gives the report of one run."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

import bridgeval
from bridgeval.engine.plan import Execution, Plan, States, fold
from bridgeval.engine.state_files import StateFile, pack_states
from bridgeval.report import Report
from bridgeval.slices import of_items
from bridgeval.testing import World, world
from bridgeval.testing.results import difference
from bridgeval.testing.trial import CPU, Trial, take_users
from tests.laws.test_metrics import CONVENTIONS, NATIVE, VARIANTS, fitting_world, metric_of_convention

NAMES = list(dict.fromkeys([*NATIVE, *VARIANTS, *(str(metric_of_convention(name)) for name in CONVENTIONS)]))
# Arguments by user: a metric that counts the users whom these name needs those of its own shard alone.
BY_USER = ("history", "baseline", "users")
# Kind of ids -> files, and the seed of their cut. Evaluating every metric for every file is slow, so one cut each.
CUTS = {"integer": (3, 1), "string": (5, 2)}


@pytest.mark.parametrize(("at", "name"), list(enumerate(NAMES)), ids=NAMES)
def test_states_of_any_cut_give_one_result_through_files(at, name):
    (metric,) = bridgeval.parse(name)
    trial = Trial(metric, world(("integer", "string")[at % 2], whole=fitting_world(metric) is not None))
    draw = random.Random(at)
    users = list(range(len(trial.slates)))
    for parts in (1, 5):
        draw.shuffle(users)
        shards = [take_users(trial.slates, users[start::parts]) for start in range(parts)]
        how = Execution(CPU, batch_size=3)
        files = [travel(trial.plan, fold(trial.plan, [one], trial.context, how)) for one in shards]
        while len(files) > 1:
            first, second = (files.pop(draw.randrange(len(files))) for _ in range(2))
            files.append(travel(trial.plan, trial.plan.merge(first, second)))
        trial.expect(metric.compute(files[0][0]), f"{parts} files")


def travel(plan: Plan, states: States) -> States:
    """The states as they come out of a file."""
    return StateFile.of(pack_states(plan, states, {}), "in memory").read_states(plan)


def select_metrics(whole: bool, counts_others: bool) -> list[str]:
    """The metrics that fit a world, and that count users beside those of the lists and the relevance, or do not."""
    found = []
    for name in NAMES:
        (metric,) = bridgeval.parse(name)
        needs = metric.needs()
        if (fitting_world(metric) is not None) == whole and bool(needs.users) == counts_others:
            found.append(name)
    return found


def can_be_cut(name: str) -> bool:
    """Whether a shard can have the history of its own users alone: not if the metric needs that of all users too."""
    needs = bridgeval.parse(name)[0].needs()
    return not needs.users or not needs.context & {"item popularity", "all users"}


def deal(everyone: list[Any], parts: int, draw: random.Random, data: World) -> list[set[Any]]:
    """Deals the users so that each shard has a list, which tells that there are scores, and one of the users given."""
    given = set(data.extras["users"])
    while True:
        shuffled = draw.sample(everyone, len(everyone))
        shards = [set(shuffled[part::parts]) for part in range(parts)]
        if all(shard & given and any(map(data.recommendations.get, shard)) for shard in shards):
            return shards


def cut(data: World, users: set[Any], names: list[str]) -> tuple[Any, Any, dict[str, Any]]:
    """The arguments of `evaluate` for some of the users."""
    own = [
        {user: rows for user, rows in side.items() if user in users} for side in (data.recommendations, data.relevance)
    ]
    extras = dict(data.extras)
    if any(bridgeval.parse(name)[0].needs().users for name in names):
        for name in BY_USER:
            kept = extras[name]
            extras[name] = (
                {user: one for user, one in kept.items() if user in users}
                if isinstance(kept, dict)
                else [user for user in kept if user in users]
            )
    return own[0], own[1], extras


@pytest.mark.filterwarnings("ignore::bridgeval.errors.BridgevalWarning")
# Each metric with one kind of ids.
@pytest.mark.parametrize(("half", "ids"), list(enumerate(CUTS)))
@pytest.mark.parametrize("counts_others", [False, True], ids=["own users", "users that others name"])
@pytest.mark.parametrize("whole", [False, True], ids=["lists", "whole rankings"])
def test_files_of_any_cut_give_the_report_of_one_run(whole, counts_others, half, ids, tmp_path):
    names = [name for name in select_metrics(whole, counts_others) if can_be_cut(name)][half :: len(CUTS)]
    if not names:
        pytest.skip("there is no such metric")
    data = world(ids, whole=whole)
    everyone = sorted({*data.recommendations, *data.relevance})
    tables = {
        "price": {item: at / 4 for at, item in enumerate(data.extras["catalogue"])},
        "visits": {user: at % 3 for at, user in enumerate(everyone)},
    }
    # The world is one for all tests.
    data = replace(data, extras={**data.extras, "context": tables})
    genres = of_items({item: f"genre {at % 2}" for at, item in enumerate(data.extras["catalogue"])}, "genre")
    asked: dict[str, Any] = {"metrics": names, "per_user": True, "by": [dict(data.extras["user_groups"]), genres]}
    expected = bridgeval.evaluate(data.recommendations, data.relevance, **asked, **data.extras)
    parts, seed = CUTS[ids]
    draw = random.Random(seed)
    files = []
    for part, users in enumerate(deal(everyone, parts, draw, data)):
        shown, relevant, extras = cut(data, users, names)
        files.append(tmp_path / f"{part}.state")
        bridgeval.evaluate(shown, relevant, **asked, **extras, state=files[-1])
    compare_reports(expected, bridgeval.merge(draw.sample(files, len(files))))
    while len(files) > 1:
        some = [files.pop(draw.randrange(len(files))) for _ in range(min(len(files), draw.randrange(2, 4)))]
        bridgeval.merge(some, state=some[0].with_suffix(".merged"))
        files.append(some[0].with_suffix(".merged"))
    compare_reports(expected, bridgeval.merge(files))


def compare_reports(expected: Report, found: Report) -> None:
    """Values, parts, notes, users, intervals, per-user values, population and slices."""
    assert list(found) == list(expected)
    for name, result in expected.results.items():
        assert difference(result, found.results[name]) == "", name
        mine, other = (one.results[name].interval() for one in (expected, found))
        assert other == (mine if mine is None else pytest.approx(mine, rel=1e-12, abs=1e-12, nan_ok=True)), name
    assert expected.collected.keys() == found.collected.keys()
    for name, table in expected.collected.items():
        assert found.collected[name].to_dict() == pytest.approx(table.to_dict(), rel=1e-12, abs=1e-12, nan_ok=True)
        assert list(found.collected[name].to_dict()) == list(table.to_dict())
    assert found.population == expected.population
    assert [(one.kind, one.label) for one in found.item_slices] == [
        (one.kind, one.label) for one in expected.item_slices
    ]
    for mine, other in zip(expected.item_slices, found.item_slices, strict=True):
        for name, table in mine.values.items():
            assert other.values[name].to_dict() == pytest.approx(table.to_dict(), rel=1e-12, abs=1e-12, nan_ok=True)
