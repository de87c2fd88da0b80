"""The laws of metrics."""

from __future__ import annotations

import inspect
import math
import os
import pickle
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property, reduce
from types import SimpleNamespace
from typing import Any, ClassVar, get_origin

import numpy as np
import torch
from torch import Tensor

from bridgeval import plugins
from bridgeval.batch import kernels
from bridgeval.choices import list_choices
from bridgeval.engine.metric import Metric, UserMetric
from bridgeval.engine.needs import NEEDS, Needs
from bridgeval.engine.plan import Execution, Plan
from bridgeval.engine.state import State
from bridgeval.engine.state_files import StateFile, pack_states
from bridgeval.engine.summary import Bounds, Result
from bridgeval.errors import NeedError
from bridgeval.evaluation import evaluate
from bridgeval.hookspecs import hookimpl
from bridgeval.spec import parse
from bridgeval.tables.context import Context
from bridgeval.testing.law import Law, describe_error, keep_laws, refuse, require
from bridgeval.testing.pretended_device import pretend_device
from bridgeval.testing.results import are_close, difference
from bridgeval.testing.trial import Trial, copy_arrays, repeat_users, take_users, was_written
from bridgeval.testing.world import World, world as small_world

COPIES = 40
ROUNDING = 1e-12
# Users of the small world with all kinds of lists; one batch for each of all users would take twice as long.
FEW_USERS = range(8)
# Ties that do not depend on the order in which rows came.
TIES_BY_ITEM = ("item_descending", "item_ascending", "text_descending", "text_ascending")


def check_metric(metric: Metric, *, world: World | None = None) -> None:
    """Tests the laws of docs/laws.md on a metric.

    Args:
        metric: with its parameters; its class need not be installed.
        world: the data to test on. By default `world()`, or `world(whole=True)` for a metric that refuses lists which
            are no whole rankings.

    Raises:
        AssertionError: names the first law that is broken, what was found, the likely cause and what to do.
    """
    trial = make_trial(metric, world)
    keep_laws(name_metric(metric), METRIC_LAWS, trial)


def make_trial(metric: Metric, world: World | None = None) -> Trial:
    """The metric on a world that it can be evaluated on."""
    if world is not None:
        return Trial(metric, world)
    trial = Trial(metric, small_world())
    try:
        trial.expected  # noqa: B018  (asks whether there is one)
    except NeedError:
        whole = Trial(metric, small_world(whole=True))
        try:
            whole.expected  # noqa: B018
        except Exception:
            return trial
        return whole
    except Exception:
        return trial
    return trial


def name_metric(metric: Metric) -> str:
    try:
        return str(metric)
    except Exception:
        return type(metric).__name__


def its_parameters_are_fields(trial: Trial) -> None:
    """A metric is a frozen dataclass, and so is each of its blocks: what tells two of them apart is a field."""
    _require_fields(trial.metric, "the metric")


def _require_fields(thing: Any, what: str) -> None:
    kind = type(thing)
    decorate = f"write @dataclass(frozen=True) above class {kind.__name__} and declare each parameter as a field"
    require(is_dataclass(kind), f"{what} {kind.__name__} is no dataclass", "@dataclass was forgotten", decorate)
    params = kind.__dataclass_params__
    require(params.frozen, f"{what} {kind.__name__} is not frozen", "a plain @dataclass", decorate)
    known = {one.name for one in fields(kind)}
    for base in kind.__mro__:
        hints = inspect.get_annotations(base)
        loose = [name for name, hint in hints.items() if name not in known and not _is_class_variable(hint)]
        require(
            not loose,
            f"{what} {kind.__name__} has the parameter {loose[:1]} that is no field",
            "no @dataclass",
            decorate,
        )
    cached = {name for base in kind.__mro__ for name, one in vars(base).items() if isinstance(one, cached_property)}
    loose = [name for name in getattr(thing, "__dict__", {}) if name not in known | cached]
    require(not loose, f"{what} {kind.__name__} keeps {loose[:1]} that is no field", "it is set in __init__", decorate)


def _is_class_variable(hint: Any) -> bool:
    return get_origin(hint) is ClassVar or hint is ClassVar or str(hint).startswith(("ClassVar", "typing.ClassVar"))


def it_is_described(trial: Trial) -> None:
    """Its direction, family and bounds are of the types that lists, gates and intervals read."""
    metric = trial.metric
    require(metric.higher_is_better in (True, False, None), f"higher_is_better is {metric.higher_is_better!r}")
    require(isinstance(metric.family, str) and bool(metric.family), f"family is {metric.family!r}")
    low, high = metric.bounds
    require(low < high, f"bounds are ({low!r}, {high!r})")


def its_name_gives_it_back(trial: Trial) -> None:
    """`parse(str(metric))` gives the metric back."""
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


def it_pickles(trial: Trial) -> None:
    """A pickle gives the metric back, equal and with an equal hash, as Spark's executors need it."""
    copy = pickle.loads(pickle.dumps(trial.metric))
    require(copy == trial.metric, f"{copy!r} is not {trial.metric!r}")
    require(hash(copy) == hash(trial.metric), "equal metrics have different hashes")


def its_needs_can_be_met(trial: Trial) -> None:
    """Every need that it declares is one that an argument of `evaluate` answers."""
    needs = trial.metric.needs()
    require(isinstance(needs, Needs), f"needs() gives {needs!r}")
    answered = {*NEEDS, *needs.named_tables}
    unknown = [one for one in sorted(needs.required) if one not in answered and not one.startswith("baseline_rank")]
    require(not unknown, f"it needs {unknown[:1]}")


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
        refuse("the data was read")


def needs_come_first(trial: Trial) -> None:
    """What is missing is reported before data is read."""
    if not trial.metric.needs().required:
        return
    try:
        evaluate({}, {}, trial.metric, loader=_Unread())
    except NeedError:
        return
    refuse("nothing was missed")


def it_answers(trial: Trial) -> None:
    """It has a result for the small world: a Result with numbers, which are plain floats."""
    result = trial.expected
    require(
        isinstance(result, Result), f"compute gives {result!r}", "compute returns no Result", "return Result(value)"
    )
    for name, number in {"value": result.value, **result.parts, **result.notes}.items():
        require(
            number is None or (isinstance(number, float | int) and not isinstance(number, bool)),
            f"{name} is {number!r}",
            "a tensor or an array in place of a number",
            "wrap it in float(...)",
        )
    users = result.users
    require(users is None or isinstance(users, int), f"users is {users!r}", remedy="wrap it in int(...)")
    require(users is None or users <= len(trial.slates), f"{users} users of {len(trial.slates)}")


def it_answers_alike(trial: Trial) -> None:
    """The same data give the same result: no chance, no clock, no memory of what was evaluated before."""
    trial.expect(trial.result(), "evaluated again")


def it_leaves_the_process_alone(trial: Trial) -> None:
    """Neither random generators, settings of torch and numpy, warnings nor the environment are changed."""
    with _other_random_numbers():
        before = _look_at_process()
        trial.result()
        after = _look_at_process()
    changed = [name for name in before if before[name] != after[name]]
    require(not changed, f"it changes {', '.join(changed)}")


@contextmanager
def _other_random_numbers() -> Iterator[None]:
    """Moves the random generators on: evaluations before this one may have set the seed that this one sets again."""
    torchs, numpys, pythons = torch.get_rng_state(), np.random.get_state(), random.getstate()
    try:
        torch.rand(1)
        np.random.rand(1)
        random.random()
        yield
    finally:
        torch.set_rng_state(torchs)
        np.random.set_state(numpys)
        random.setstate(pythons)


def _look_at_process() -> dict[str, Any]:
    return {
        "the default dtype of torch": torch.get_default_dtype(),
        "the threads of torch": torch.get_num_threads(),
        "whether torch computes gradients": torch.is_grad_enabled(),
        "the random generator of torch": torch.get_rng_state().tolist()[:16],
        "the random generator of numpy": str(np.random.get_state(legacy=False)),
        "the random generator of Python": random.getstate(),
        "the error settings of numpy": np.geterr(),
        "the filters of warnings": list(warnings.filters),
        "the environment": dict(os.environ),
        "the working directory": os.getcwd(),
    }


def values_are_one_per_user(trial: Trial) -> None:
    """`values(blocks)` gives `[B]`: as many values as users, in float64 unless every value is a short fraction."""
    metric = trial.metric
    if not isinstance(metric, UserMetric) or type(metric).values is UserMetric.values:
        return
    for slates in (trial.slates, take_users(trial.slates, [2])):
        values: Any = metric.values(trial.lay_out(slates))
        require(isinstance(values, Tensor), f"values gives {type(values).__name__}", "no tensor", "return a tensor [B]")
        require(
            tuple(values.shape) == (len(slates),),
            f"for {len(slates)} user(s) values gives the shape {list(values.shape)}",
            "a dimension too many, or users that were left out or dropped",
            "give one value for each user of the batch, NaN where it is undefined; the base selects who counts",
        )
        if values.dtype.is_floating_point and values.dtype != torch.float64:
            short = values.double() * 1024
            rounded = values[short.isfinite() & (short != short.round())].tolist()
            require(
                not rounded,
                f"values has the dtype {str(values.dtype).removeprefix('torch.')}, which rounds {rounded[:1]}",
                "torch divides integers to float32",
                "use .double() before dividing",
            )


def values_are_finite(trial: Trial) -> None:
    """Its number is finite, of lists or of whole rankings; some user has a value, and no user's value is infinite."""
    result, single = trial.expected, trial.metric.per_user()
    if result.value is not None and not math.isfinite(result.value):
        other = trial.on(small_world(whole=True)).expected.value
        require(other is not None and math.isfinite(other), f"its value is {result.value}, of whole rankings {other}")
    if single is None:
        return
    table = trial_of_users(trial).expected.per_user
    require(
        table is not None, f"{single} keeps no values of users", "per_user() gives a metric without per_user values"
    )
    values = np.zeros(0) if table is None else table.values
    require(not len(values) or not np.isnan(values).all(), "every user's value is NaN")
    require(not np.isinf(values).any(), "a user's value is infinite")


def trial_of_users(trial: Trial) -> Trial:
    """The trial of every user's value."""
    single = trial.metric.per_user()
    assert single is not None
    return Trial(single, trial.world)


def values_are_within_bounds(trial: Trial) -> None:
    """Its number and every user's value lie within its `bounds`."""
    number, single = trial.expected.value, trial.metric.per_user()
    table = None if single is None else trial_of_users(trial).expected.per_user
    _require_within([] if number is None else [number], trial.metric.number_bounds)
    _require_within([] if table is None else table.values.tolist(), trial.metric.bounds)


def _require_within(values: Sequence[float], bounds: Bounds) -> None:
    low, high = bounds
    beyond = [value for value in values if value < low - ROUNDING or value > high + ROUNDING]
    require(not beyond, f"{beyond[:3]} of {len(values)} value(s) are not within [{low:g}, {high:g}]")


def its_value_is_the_mean_of_users(trial: Trial) -> None:
    """A result with a deviation is the mean of the values that `per_user()` keeps, and has their number and spread.

    A metric whose number is no plain mean (pooled, geometric, minimum, weighted) says so: its result has no deviation.
    """
    result = trial.expected
    if trial.metric.per_user() is None or result.value is None or result.deviation is None or math.isnan(result.value):
        return
    table = trial_of_users(trial).expected.per_user
    if table is None:
        return
    values = table.values[~np.isnan(table.values)]
    require(
        are_close(result.value, float(values.mean()) if len(values) else math.nan),
        f"its value is {result.value!r}, the mean of its {len(values)} users {float(values.mean())!r}",
    )
    require(result.users == len(values), f"{len(values)} users have a value, and users is {result.users}")
    deviation = float(values.std(ddof=1)) if len(values) > 1 else math.nan
    require(
        result.deviation is None or are_close(result.deviation, deviation),
        f"its deviation is {result.deviation!r}, that of its users {deviation!r}",
    )


def it_reads_what_it_declares(trial: Trial) -> None:
    """It answers alike where there is nothing but the lists and what `needs()` declares."""
    context, needs = trial.context, trial.metric.needs()
    declared = needs.context | needs.named_tables | needs.optional | needs.users
    known = Context(
        context.catalogue if "catalogue" in declared else None,
        {name: table for name, table in context.items.items() if f"item {name}" in declared},
        {name: table for name, table in context.users.items() if f"user {name}" in declared},
        context.history_users,
        context.history_pairs,
        context.given_users if "all users" in declared else 0,
    )
    when = f"with nothing but {', '.join(sorted(declared)) or 'the lists'}"
    _expect_or_blame(trial, lambda: trial.result(context=known), when)


def _expect_or_blame(trial: Trial, run: Callable[[], Result], when: str) -> None:
    try:
        found = run()
    except Exception as error:
        refuse(f"{when} {describe_error(error)}")
    trial.expect(found, when)


def it_reads_scores_if_declared(trial: Trial) -> None:
    """A metric that does not declare scores answers for lists that come ranked without any."""
    if not _reads_no_scores(trial.metric):
        return
    try:
        trial.on(trial.world.ranked).expected  # noqa: B018
    except Exception as error:
        refuse(f"of lists without scores {describe_error(error)}")


def _reads_no_scores(metric: Metric) -> bool:
    ranking = getattr(metric, "ranking", None)
    by_score = ranking is not None and (ranking.score_above is not None or ranking.order in ("sigmoid", "softmax"))
    needs = metric.needs()
    return not by_score and not needs.reads("score") and not needs.lists and "prev_score" not in needs.pairs


def depth_changes_nothing(trial: Trial) -> None:
    """Deeper lists than it needs, because another metric needs them, change nothing."""
    trial.expect(trial.result(plan=Plan((_Deep(), trial.metric))), "beside a metric of whole lists")


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


def shared_blocks_are_not_written(trial: Trial) -> None:
    """Blocks, batches and the context, which all metrics share, are as they were."""
    blocks = trial.lay_out()
    batch, shown = blocks.batch, blocks.batch.shown
    columns = [shown.column(name) for name in ("score",) if shown.has(name)]
    laid_out = [shown.items, shown.valid, *columns, batch.relevant.items, batch.relevant.column("gain")]
    copies = copy_arrays([laid_out, trial.slates, trial.context])
    trial.plan.update(blocks)
    require(not was_written(copies), "the batch or the context was written to")
    for block, made in blocks.copies.items():
        require(not was_written(made), f"the block {block!r} was written to")
        _require_fields(block, "the block")


def its_kin_change_nothing(trial: Trial) -> None:
    """The same metric with other parameters, evaluated first in the same pass, changes nothing."""
    kin = list(_vary(trial.metric))
    needs = Plan((trial.metric, *kin)).needs
    (slates,) = trial.world.inputs.slates(needs)
    for other in kin:
        # New blocks for each: what the first of them leaves behind would hide what the others do.
        blocks = trial.lay_out(slates, needs=needs)
        try:
            Plan((other,)).update(blocks)
        except Exception:
            # Parameters that it does not take are no fault: they were made up.
            continue
        trial.expect(trial.metric.compute(trial.plan.update(blocks)[0]), f"beside {name_metric(other)}")


def _vary(metric: Metric) -> Iterator[Metric]:
    """The same metric with one parameter changed."""
    for name, value in metric.parameters.items():
        for other in _vary_value(name, value, type(metric)):
            try:
                changed = metric.with_parameters(**{name: other})
                changed.needs()
            except Exception:
                continue
            yield changed


def _vary_value(name: str, value: Any, kind: type[Metric]) -> list[Any]:
    if name == "k":
        return [1, value + 3] if value < 1000 else [2]
    if name in ("ties", "users", "above"):
        return [{"ties": "item_ascending", "users": "shown", "above": 1.0}[name]]
    if name in INHERITED:
        return []
    choices = [one for one in list_choices(kind).get(name, ()) if one != value]  # type: ignore[arg-type]
    if choices:
        return choices[:1]
    if isinstance(value, bool):
        return [not value]
    return [value + 1] if isinstance(value, int) else [value * 0.5] if isinstance(value, float) else []


INHERITED = set(UserMetric.default_parameters()) | {"empty"}


def an_empty_state_is_neutral(trial: Trial) -> None:
    """`start()` changes nothing in a merge, on either side, and has a result of no data."""
    metric, state = trial.metric, trial.state
    trial.expect(metric.compute(_merge(metric.start(), state)), "start() merged with the state")
    trial.expect(metric.compute(_merge(state, metric.start())), "the state merged with start()")
    nothing = metric.compute(metric.start())
    require(nothing.value is None or nothing.value == 0 or math.isnan(nothing.value), f"of no data {nothing.value}")


def states_are_values(trial: Trial) -> None:
    """Neither `compute` nor `merge` changes a state."""
    metric = trial.metric
    halves = [trial.fold([take_users(trial.slates, users)]) for users in (FEW_USERS, range(8, len(trial.slates)))]
    first: list[Result] = [metric.compute(half) for half in halves]
    for half, result in zip(halves, first, strict=True):
        differs = difference(result, metric.compute(half))
        require(not differs, f"computed twice: {differs}", "compute writes to the state")
    _merge(*halves)
    for half, result in zip(halves, first, strict=True):
        differs = difference(result, metric.compute(half))
        require(not differs, f"computed after a merge: {differs}", "merge writes to one of its states")


def batches_change_nothing(trial: Trial) -> None:
    """The size of batches does not change the result beyond 1e-12."""
    few = take_users(trial.slates, FEW_USERS)
    differs = difference(trial.result([few]), trial.result([few], batch_size=1))
    require(not differs, f"in batches of 1: {differs}")
    trial.expect(trial.result(batch_size=7), "in batches of 7")


def chunks_change_nothing(trial: Trial) -> None:
    """Chunks of users with vocabularies of their own, in any order and merged in any order, change nothing."""
    users = list(range(len(trial.slates)))
    halves = ([at for at in users if at % 4 < 2], [at for at in users if at % 4 >= 2])
    both = [trial.fold([take_users(trial.slates, half)]) for half in halves]
    trial.expect(trial.metric.compute(_merge(*both)), "two chunks that share no item")
    random.Random(3).shuffle(users)
    states = [trial.fold([take_users(trial.slates, users[at::5])]) for at in range(5)]
    paired = [reduce(_merge, states[at : at + 2]) for at in range(0, 5, 2)]
    trial.expect(trial.metric.compute(reduce(_merge, states)), "5 chunks of users in another order")
    trial.expect(trial.metric.compute(reduce(_merge, reversed(paired))), "5 chunks merged in pairs")


def _merge(first: Any, second: Any) -> Any:
    return first.merge(second)


def string_ids_change_nothing(trial: Trial) -> None:
    """String ids work as integers do: merged chunks give the result of one."""
    if trial.world not in (small_world(), small_world(whole=True)):
        return
    chunks_change_nothing(trial.on(small_world("string", whole=trial.world is small_world(whole=True))))


def states_travel(trial: Trial) -> None:
    """A state comes back from a pickle, and from a file of plain data, as it was."""
    copy = pickle.loads(pickle.dumps(trial.state))
    trial.expect(trial.metric.compute(copy), "after a pickle")
    trial.expect(trial.metric.compute(_merge(trial.metric.start(), copy)), "a pickle merged with start()")
    packed = pack_states(trial.plan, (trial.state,), {})
    (read,) = StateFile.of(packed, "in memory").read_states(trial.plan)
    trial.expect(trial.metric.compute(read), "after a state file")


def states_stay_small(trial: Trial) -> None:
    """40 times the users of the same items do not make a state larger, unless it is or holds a `Collected`."""
    few = take_users(trial.slates, FEW_USERS)
    one = trial.fold([few])
    size = _measure(one)
    if b"Collected" in pickle.dumps(one):
        return
    many = _measure(trial.fold([repeat_users(few, COPIES)]))
    require(many <= 1.5 * size + 64, f"{size} bytes of {len(few)} users became {many} of {COPIES} times as many")
    merged = _measure(reduce(_merge, [one] * COPIES))
    require(merged <= 1.5 * size + 64, f"{size} bytes became {merged} when {COPIES} states were merged")


def _measure(state: Any) -> int:
    return len(pickle.dumps(state))


def row_order_changes_nothing(trial: Trial) -> None:
    """Rows that come in another order are ranked alike, unless the ranking is the order in which they came."""
    ranking = getattr(trial.metric, "ranking", None)
    if ranking is None or ranking.order == "given" or ranking.ties not in TIES_BY_ITEM:
        return
    trial.expect(trial.on(trial.world.reversed).expected, "rows in reverse order")


def awkward_scores_change_nothing(trial: Trial) -> None:
    """A metric that does not declare scores reads their order alone, in float64: negative, tiny, huge, neighbors."""
    if _reads_no_scores(trial.metric):
        trial.expect(trial.on(trial.world.awkward).expected, "other scores in the same order")


def policies_are_honored(trial: Trial) -> None:
    """`ranking` and `relevance` are what it ranks and selects by: order="given" takes rows as they came."""
    metric = trial.metric
    # What is made of metrics has their policies, under other users than the relevant ones every row of truth may count.
    if metric.made_of or metric.parameters.get("users") != "relevant":
        return
    if _reads_no_scores(metric) and metric.parameters.get("order") == "score":
        scored = trial.on(trial.world.plain).of(order="given").expected
        differs = difference(trial.on(trial.world.ranked).expected, scored)
        require(
            not differs,
            f'with order="given": {differs}',
            "it asks for a block without its own ranking",
            "pass self.ranking to the blocks: Hits(self.ranking, self.relevance)",
        )
    if metric.parameters.get("above") == 0:
        dropped = trial.on(trial.world.without_low_gains).expected
        differs = difference(dropped, trial.of(above=1.0).expected)
        require(
            not differs,
            f"with above=1: {differs}",
            "it asks for a block without its own relevance",
            "pass self.relevance to the blocks: Hits(self.ranking, self.relevance)",
        )


def populations_are_honored(trial: Trial) -> None:
    """Users who do not count change nothing: under users="given" the lists of others may as well not be there."""
    if "users" not in trial.metric.parameters or "users" not in trial.world.extras:
        return
    if "given" not in list_choices(type(trial.metric)).get("users", ()):  # type: ignore[arg-type]
        return
    given = trial.of(users="given")
    members = set(trial.world.extras["users"])
    rows = [at for at, user in enumerate(given.slates.users.tolist()) if user in members]
    alone = given.result([take_users(given.slates, rows)])
    # Notes count what was left out, also of users who do not count.
    differs = difference(replace(given.expected, notes={}), replace(alone, notes={}))
    require(not differs, f"of the given users' data alone: {differs}")


def devices_change_nothing(trial: Trial) -> None:
    """On a GPU, or on a pretended one if there is none, the result is the same."""
    if torch.cuda.is_available():
        trial.expect(trial.result(device=torch.device("cuda")), "on the GPU")
        return
    with kernels.use("portable"), pretend_device() as device:
        blocks = trial.lay_out(device=device)
        try:
            (state,) = trial.plan.update(blocks)
        except Exception as error:
            refuse(f"on a pretended GPU {describe_error(error)}")
        for block, copies in blocks.copies.items():
            elsewhere = [one for one, _ in copies if isinstance(one, Tensor) and one.device != device]
            # Metrics that are made of this one would mix devices.
            require(not elsewhere, f"on a pretended GPU the block {block!r} is made on the CPU")
    trial.expect(trial.metric.compute(state), "on a pretended GPU")


# In the order in which a fault is told best: what breaks an early law often breaks later ones too.
METRIC_LAWS: tuple[Law, ...] = (
    Law(
        "its parameters are fields",
        its_parameters_are_fields,
        "a parameter that is no field is in neither its name, its equality nor its pickle",
        "write @dataclass(frozen=True) above the class and declare each parameter as a field",
    ),
    Law(
        "it describes itself",
        it_is_described,
        "a class attribute of another type",
        "higher_is_better is True, False or None, family a text, bounds a pair (low, high)",
    ),
    Law(
        "its name gives it back",
        its_name_gives_it_back,
        "a name that is no identifier, or a parameter whose value cannot be typed",
        "give it a name of letters and digits, and parameters that are numbers, texts, None or lists of these",
    ),
    Law(
        "it pickles",
        it_pickles,
        "a field that holds a function, a lock or a file, or an __eq__ of its own",
        "keep names and numbers in fields, and leave equality to the dataclass",
    ),
    Law(
        "its needs can be met",
        its_needs_can_be_met,
        "a need that is misspelled, or that no argument of evaluate answers",
        "choose one of the needs that docs/plugins.md lists",
    ),
    Law(
        "needs are checked before data is read",
        needs_come_first,
        "needs() depends on something else than the parameters",
        "let needs() give the same Needs at each call",
    ),
    Law(
        "it answers",
        it_answers,
        "compute gives something else than a Result of plain numbers",
        "return Result(value, parts, users), with float(...) and int(...) around tensors",
    ),
    Law(
        "it answers alike for the same data",
        it_answers_alike,
        "it draws random numbers, reads a clock, or keeps something between evaluations",
        "draw from a generator with a seed that is a parameter, and keep nothing on the class",
    ),
    Law(
        "it leaves the process as it was",
        it_leaves_the_process_alone,
        "it sets a seed, a default or an option for the whole process",
        "use a generator of its own, and pass dtypes and devices as arguments",
    ),
    Law(
        "values are one per user",
        values_are_one_per_user,
        "the shape of what values(blocks) returns",
        "return a tensor [B] of float64",
    ),
    Law(
        "values are finite",
        values_are_finite,
        "a division by zero, the logarithm of 0, or a NaN that spreads by a sum",
        "guard the division, and give NaN only to users for whom it is undefined",
    ),
    Law(
        "values are within bounds",
        values_are_within_bounds,
        "bounds that do not hold for all parameters, or a value that is normalized wrongly",
        "correct the formula, or widen bounds",
    ),
    Law(
        "its value is the mean of its users",
        its_value_is_the_mean_of_users,
        "compute makes something else of the values than their mean, so that comparisons test another number",
        "leave compute to the base; a number that is no mean has another over, or no per_user()",
    ),
    Law(
        "it reads only what it declares",
        it_reads_what_it_declares,
        "it reads data that needs() does not declare",
        "add the data to needs()",
    ),
    Law(
        "it reads scores only if it declares them",
        it_reads_scores_if_declared,
        "it reads scores that needs() does not declare",
        'add Needs(pairs=frozenset({"score"})) to needs()',
    ),
    Law(
        "shared blocks are not written to",
        shared_blocks_are_not_written,
        "an operation in place (x += 1, x[mask] = 0, sort_, masked_fill_) on a tensor that other metrics read",
        "work on a new tensor: x + 1, torch.where(mask, 0, x), x.clone()",
    ),
    Law(
        "deeper lists change nothing",
        depth_changes_nothing,
        "it reads all D places that a block has, not the first k",
        "cut with [:, : self.k], or declare depth=None in needs()",
    ),
    Law(
        "it does not mind its kin",
        its_kin_change_nothing,
        "a block or a key of lookup.once(...) that does not tell two parameters apart",
        "make each parameter that a tensor depends on a field of its block, or a part of the key",
    ),
    Law(
        "an empty state is neutral",
        an_empty_state_is_neutral,
        "start() holds more than the state of no data, or merge does not know an empty state",
        "let start() be zeros or nothing, and compute of it NaN or 0",
    ),
    Law(
        "states are values",
        states_are_values,
        "an operation in place on what a state holds",
        "build a new state in merge, and read only in compute",
    ),
    Law(
        "batches change nothing",
        batches_change_nothing,
        "an answer for the whole batch (a count of batches, a maximum over users, padding read as items)",
        "answer for each user alone, mask with .valid, and leave adding up to the state",
    ),
    Law(
        "chunks and their order change nothing",
        chunks_change_nothing,
        "item codes or rows kept in a state (they differ from chunk to chunk), or a merge that depends on the order",
        "keep item ids (ItemSums), and merge by operations that may be regrouped: sums, minima, unions",
    ),
    Law(
        "string ids change nothing",
        string_ids_change_nothing,
        "ids that are taken for numbers",
        "treat ids as names: look them up, compare them, do not calculate with them",
    ),
    Law(
        "states travel",
        states_travel,
        "a state that holds objects other than numbers, texts, arrays and states",
        "make the state a frozen dataclass of plain data",
    ),
    Law(
        "states stay small",
        states_stay_small,
        "a state that keeps something for every user, batch or merge",
        "keep sums (Sums, Moments, ItemSums); a Collected where every value is needed",
    ),
    Law(
        "the order of rows changes nothing",
        row_order_changes_nothing,
        "it reads batch.shown, which is in the order of the rows",
        "read Ranked(self.ranking), which is ranked",
    ),
    Law(
        "scores are read for their order",
        awkward_scores_change_nothing,
        "scores that become float32, are compared with 0, or are used as numbers",
        'keep them in float64, or declare them: Needs(pairs=frozenset({"score"}))',
    ),
    Law(
        "policies are honored",
        policies_are_honored,
        "a block without the metric's ranking or relevance",
        "pass self.ranking and self.relevance to the blocks",
    ),
    Law(
        "populations are honored",
        populations_are_honored,
        "users who do not count are added up",
        "select by self.counted(blocks)",
    ),
    Law(
        "devices change nothing",
        devices_change_nothing,
        "tensors made without device=blocks.device, or .numpy() without .cpu()",
        "pass device=blocks.device to every tensor that is made",
    ),
)
