"""The laws of metrics."""

from __future__ import annotations

import math
import pickle
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from bridgeval import plugins
from bridgeval.engine.metric import Metric
from bridgeval.engine.needs import Needs
from bridgeval.engine.plan import Execution, Plan, fold
from bridgeval.engine.state import State
from bridgeval.engine.summary import Bounds, Result
from bridgeval.errors import NeedError
from bridgeval.evaluation import evaluate
from bridgeval.hookspecs import hookimpl
from bridgeval.spec import parse
from bridgeval.tables.context import Context
from bridgeval.tables.ids import Ids
from bridgeval.tables.slates import Slates
from bridgeval.testing.results import difference, name_law, require
from bridgeval.testing.world import World, world as small_world

CPU = torch.device("cpu")
COPIES = 4
ROUNDING = 1e-12


def check_metric(metric: Metric, *, world: World | None = None) -> None:
    """Tests the laws on a metric.

    - `parse(str(metric))` gives the metric back, and so does a pickle of it.
    - Missing data is reported before data is read, and the metric reads only what `needs()` declares.
    - Deeper lists than it needs change nothing.
    - Batches, chunks, and the order of users, chunks and merging do not change the result beyond 1e-12.
    - `start()` is neutral, and has a result.
    - States pickle, and stay small: four times the users (of the same items) may not make a pickled state half as
      large again, unless it is or holds a `Collected`.
    - Its number and every user's value lie within its `bounds`.
    - On CUDA, if it is available, the result is the same.

    Args:
        metric: with its parameters; its class need not be installed.
        world: the data to test on; `world()` by default, with integer and with string ids. Metrics of whole rankings
            need `world(whole=True)`.
    """
    trial = Trial(metric, world if world is not None else small_world())
    for law, keep in LAWS.items():
        with name_law(str(metric), law):
            keep(trial)
    if world is None:
        with name_law(str(metric), "string ids change nothing"):
            _chunks_change_nothing(Trial(metric, small_world("string")))


@dataclass(frozen=True)
class Trial:
    """A metric and the data that it is tested on."""

    metric: Metric
    world: World

    @cached_property
    def plan(self) -> Plan:
        return Plan((self.metric,))

    @cached_property
    def slates(self) -> Slates:
        (slates,) = self.world.inputs.slates(self.plan.needs)
        return slates

    def state(self, chunks: Iterable[Slates] | None = None, batch_size: int | None = None, **more: Any) -> State:
        how = Execution(more.get("device", CPU), batch_size)
        context = more.get("context", self.world.inputs.context)
        return fold(more.get("plan", self.plan), [self.slates] if chunks is None else chunks, context, how)[0]

    def result(self, chunks: Iterable[Slates] | None = None, batch_size: int | None = None, **more: Any) -> Result:
        return self.metric.compute(self.state(chunks, batch_size, **more))

    @cached_property
    def expected(self) -> Result:
        return self.result()

    def expect(self, result: Result, when: str) -> None:
        """Raises when a result is not the expected one."""
        differs = difference(self.expected, result)
        require(not differs, f"{when}: {differs}")


def _name_gives_it_back(trial: Trial) -> None:
    metric = trial.metric
    found = parse(str(metric), plugins=_install(type(metric)))
    require(found == [metric], f"{str(metric)!r} gives {found!r}")
    require(str(found[0]) == str(metric), f"{str(metric)!r} gives one called {str(found[0])!r}")


def _install(metric: type[Metric]) -> plugins.Plugins:
    """The installed plugins, and the class of the metric if it is not installed."""
    known = plugins.installed()
    if metric in known.metrics.values():
        return known
    extended = plugins.load_plugins(entry_points=())
    extended.manager.register(SimpleNamespace(bridgeval_metrics=hookimpl(lambda: [metric])), name="under test")
    return extended


def _pickles(trial: Trial) -> None:
    copy = pickle.loads(pickle.dumps(trial.metric))
    require(copy == trial.metric, f"{copy!r} is not {trial.metric!r}")
    require(hash(copy) == hash(trial.metric), "equal metrics have different hashes")


class _Unread:
    """A loader of data that must not be read."""

    name = "unread"
    label = ""
    offers: frozenset[str] = frozenset()

    def recognizes(self, recommendations: Any, relevance: Any, /) -> bool:
        return True

    def load(self, recommendations: Any, relevance: Any, /, **extras: Any) -> _Unread:
        return self

    def run(self, plan: Plan, how: Execution) -> Any:
        raise AssertionError("the data was read")


def _needs_come_first(trial: Trial) -> None:
    needs = trial.metric.needs()
    if not needs.pairs | needs.context | needs.users | needs.lists:
        return
    try:
        evaluate({}, {}, trial.metric, loader=_Unread())
    except NeedError:
        return
    raise AssertionError("nothing was missed")


def _reads_what_it_declares(trial: Trial) -> None:
    context, needs = trial.world.inputs.context, trial.metric.needs()
    declared = needs.context | needs.optional | needs.users
    known = Context(
        context.catalogue if "catalogue" in declared else None,
        {name: table for name, table in context.items.items() if f"item {name}" in declared},
        {name: table for name, table in context.users.items() if f"user {name}" in declared},
        context.history_users,
        context.history_pairs,
        context.given_users if "all users" in declared else 0,
    )
    trial.expect(trial.result(context=known), f"with nothing but {', '.join(sorted(declared)) or 'the lists'}")


@dataclass(frozen=True)
class _Deep(Metric):
    """Needs whole lists and has no result."""

    def needs(self) -> Needs:
        return Needs(depth=None)

    def start(self) -> State:
        return _Nothing()

    def update(self, blocks: Any) -> State:
        return _Nothing()


class _Nothing:
    def merge(self, other: _Nothing) -> _Nothing:
        return self


def _depth_changes_nothing(trial: Trial) -> None:
    trial.expect(trial.result(plan=Plan((trial.metric, _Deep()))), "beside a metric of whole lists")


def _batches_change_nothing(trial: Trial) -> None:
    for size in (1, 7):
        trial.expect(trial.result(batch_size=size), f"in batches of {size}")


def _chunks_change_nothing(trial: Trial) -> None:
    draw = random.Random(3)
    users = list(range(len(trial.slates)))
    for parts in (2, 5):
        draw.shuffle(users)
        states = [trial.state([_take_users(trial.slates, users[at::parts])]) for at in range(parts)]
        paired = [reduce(_merge, states[at : at + 2]) for at in range(0, parts, 2)]
        trial.expect(trial.metric.compute(reduce(_merge, states)), f"{parts} chunks of users in another order")
        trial.expect(trial.metric.compute(reduce(_merge, reversed(paired))), f"{parts} chunks merged in pairs")


def _merge(first: Any, second: Any) -> Any:
    return first.merge(second)


def _start_is_neutral(trial: Trial) -> None:
    state: Any = trial.state()
    trial.expect(trial.metric.compute(trial.metric.start().merge(state)), "start() merged with the state")
    trial.expect(trial.metric.compute(state.merge(trial.metric.start())), "the state merged with start()")
    nothing = trial.metric.compute(trial.metric.start())
    require(nothing.value is None or nothing.value == 0 or math.isnan(nothing.value), f"of no data {nothing.value}")


def _states_pickle(trial: Trial) -> None:
    copy = pickle.loads(pickle.dumps(trial.state()))
    trial.expect(trial.metric.compute(copy), "after a pickle")
    trial.expect(trial.metric.compute(trial.metric.start().merge(copy)), "a pickle merged with start()")


def _states_stay_small(trial: Trial) -> None:
    one = pickle.dumps(trial.state())
    if b"Collected" in one:
        return
    many = pickle.dumps(trial.state([_rename_users(trial.slates, copy) for copy in range(COPIES)]))
    require(len(many) <= 1.5 * len(one) + 64, f"{len(one)} bytes of {len(trial.slates)} users became {len(many)}")


def _values_are_within_bounds(trial: Trial) -> None:
    number, single = trial.expected.value, trial.metric.per_user()
    table = None if single is None else Trial(single, trial.world).expected.per_user
    _require_within([] if number is None else [number], trial.metric.number_bounds)
    _require_within([] if table is None else table.values.tolist(), trial.metric.bounds)


def _require_within(values: Sequence[float], bounds: Bounds) -> None:
    low, high = bounds
    beyond = [value for value in values if value < low - ROUNDING or value > high + ROUNDING]
    require(not beyond, f"{beyond[:3]} of {len(values)} value(s) are not within [{low:g}, {high:g}]")


def _devices_change_nothing(trial: Trial) -> None:
    if torch.cuda.is_available():
        trial.expect(trial.result(device=torch.device("cuda")), "on the GPU")


def _take_users(slates: Slates, users: Sequence[int]) -> Slates:
    """Some users, in this order, with a vocabulary of their own."""
    where = np.asarray(users, dtype=np.int64)
    given = {"shown": slates.shown, "relevant": slates.relevant, "history": slates.history}
    cut = {name: lists.take(where) for name, lists in given.items() if lists is not None}
    used = np.unique(np.concatenate([lists.items for lists in cut.values()]))
    coded: dict[str, Any] = {
        name: replace(lists, items=np.searchsorted(used, lists.items).astype(np.int32)) for name, lists in cut.items()
    }
    return replace(
        slates,
        **coded,
        users=slates.users.take(where),
        items=slates.items.take(used),
        user_columns={name: column[where] for name, column in slates.user_columns.items()},
    )


def _rename_users(slates: Slates, copy: int) -> Slates:
    """The same lists of other users."""
    names = [f"{copy} {user}" if isinstance(user, str) else user + 1000 * copy for user in slates.users.tolist()]
    return replace(slates, users=Ids.of(names))


LAWS: dict[str, Callable[[Trial], None]] = {
    "its name gives it back": _name_gives_it_back,
    "it pickles": _pickles,
    "needs are checked before data is read": _needs_come_first,
    "it reads only what it declares": _reads_what_it_declares,
    "deeper lists change nothing": _depth_changes_nothing,
    "an empty state is neutral": _start_is_neutral,
    "batches change nothing": _batches_change_nothing,
    "chunks and their order change nothing": _chunks_change_nothing,
    "states pickle": _states_pickle,
    "states stay small": _states_stay_small,
    "values are within bounds": _values_are_within_bounds,
    "devices change nothing": _devices_change_nothing,
}
