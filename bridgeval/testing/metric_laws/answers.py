"""Laws about what a metric gives: a result, values of users, and nothing else changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from bridgeval.engine.metric import UserMetric
from bridgeval.engine.needs import Needs
from bridgeval.engine.summary import Bounds, Result
from bridgeval.errors import BridgevalError
from bridgeval.testing.law import UNDECLARED, Law, describe_error, law, refuse, require
from bridgeval.testing.operations import NotedOperations
from bridgeval.testing.process import find_changes, look_at_process, other_process
from bridgeval.testing.results import are_close
from bridgeval.testing.trial import Trial, copy_arrays, take_users
from bridgeval.testing.world import world as small_world

ROUNDING = 1e-12


@law(
    "it answers",
    cause="compute gives something else than a Result of plain numbers",
    remedy="return Result(value, parts, users), with float(...) and int(...) around tensors",
)
def it_answers(trial: Trial) -> None:
    """It has a result for the small world: a Result with numbers, which are plain floats."""
    try:
        result = trial.expected
    except Exception as error:
        if _answers_with_history(trial):
            refuse(describe_error(error), *UNDECLARED)
        raise
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


def _answers_with_history(trial: Trial) -> bool:
    """Whether a metric that fails does not fail where there is a history, which is laid out only if it is declared."""
    needs = trial.plan.needs | Needs(pairs=frozenset({"seen"}), lists=frozenset({"history lists"}))
    try:
        (slates,) = trial.world.inputs.slates(needs)
        trial.plan.update(trial.lay_out(slates, needs=needs))
    except Exception:
        return False
    return True


@law(
    "it answers alike for the same data",
    cause="it draws random numbers, reads a clock, or keeps something between evaluations",
    remedy="draw from a generator with a seed that is a parameter, and keep nothing on the class",
)
def it_answers_alike(trial: Trial) -> None:
    """The same data give the same result: no chance, no clock, no memory of what was evaluated before."""
    trial.expect(trial.result(), "evaluated again")


@law(
    "it leaves the process as it was",
    cause="it sets a seed, a default or an option for the whole process",
    remedy="use a generator of its own, and pass dtypes and devices as arguments",
)
def it_leaves_the_process_alone(trial: Trial) -> None:
    """Neither random generators, settings of torch and numpy, warnings nor the environment are changed."""
    trial.expected  # noqa: B018  (the first evaluation: a setting that is made again is no change)
    with other_process():
        before = look_at_process()
        trial.result()
        changed = list(dict.fromkeys([*trial.changed, *find_changes(before)]))
    require(not changed, f"it changes {', '.join(changed)}")


@law(
    "values are one per user",
    cause="the shape of what values(blocks) returns",
    remedy="return a tensor [B] of float64",
)
def values_are_one_per_user(trial: Trial) -> None:
    """`values(blocks)` gives `[B]`: as many values as users."""
    metric: Any = trial.metric
    if not trial.has_values:
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


@law(
    "numbers are computed in float64",
    cause="torch gives float32 for a division, a logarithm or a mean of integers, and for torch.tensor of floats",
    remedy="write .double() before it, or dtype=torch.float64",
)
def numbers_are_float64(trial: Trial) -> None:
    """No operation of torch rounds to float32, neither values nor results are rounded, and no state holds float32."""
    with NotedOperations() as noted:
        blocks = trial.lay_out()
        (state,) = trial.plan.update(blocks)
    require(not noted.rounded, ", ".join(dict.fromkeys(noted.rounded)))
    for one, _ in copy_arrays(state):
        dtype = str(one.dtype).removeprefix("torch.")
        require(
            dtype not in ("float16", "bfloat16", "float32"),
            f"the state holds {dtype}",
            "a sum of many users in float32 loses the small ones",
            "keep float64 or integers in states",
        )
    numbers = {"value": trial.expected.value, **trial.expected.parts}
    if trial.metric.per_user() is not None and (table := trial_of_users(trial).expected.per_user) is not None:
        numbers |= table.to_dict()
    rounded = [number for number in numbers.values() if number is not None and _is_rounded(number)]
    require(not rounded, f"{rounded[:2]} have no more digits than float32")


def _is_rounded(number: float) -> bool:
    """Whether a number has the 24 bits of a float32, which few numbers of float64 have by chance."""
    bits = math.frexp(number)[0] * 2**24 if math.isfinite(number) else 0.0
    return bits == round(bits) and bits % 8 != 0


@law(
    "values are finite",
    cause="a division by zero, the logarithm of 0, or a NaN that spreads by a sum",
    remedy="guard the division, and give NaN only to users for whom it is undefined",
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
        table is not None,
        f"{single} keeps no values of users",
        "compute drops the values of users, or per_user() gives a metric that has none",
        "leave compute to the base, or pass per_user on in the Result",
    )
    values = np.zeros(0) if table is None else table.values
    require(not len(values) or not np.isnan(values).all(), "every user's value is NaN")
    require(not np.isinf(values).any(), "a user's value is infinite")


def trial_of_users(trial: Trial) -> Trial:
    """The trial of every user's value."""
    single = trial.metric.per_user()
    assert single is not None
    return Trial(single, trial.world)


@law(
    "other cutoffs have finite values",
    cause="a division by k - 1 or by the logarithm of k, which are 0 at the cutoff 1, or a list that is shorter than k",
    remedy="try the metric at the cutoff 1, and at one that is longer than every list",
)
def other_cutoffs_are_finite(trial: Trial) -> None:
    """At the cutoffs 1 and 100 it has a finite number too, unless it refuses the cutoff."""
    value = trial.expected.value
    if "k" not in trial.metric.parameters or value is None or not math.isfinite(value):
        return
    for k in (1, 100):
        try:
            other = trial.of(k=k).expected.value
        except BridgevalError:
            continue
        require(other is None or not math.isinf(other), f"at the cutoff {k} its value is {other}")


@law(
    "values are within bounds",
    cause="bounds that do not hold for all parameters, or a value that is normalized wrongly",
    remedy="correct the formula, or widen bounds",
)
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


@law(
    "its value is the mean of its users",
    cause="compute makes something else of the values than their mean, so that comparisons test another number",
    remedy="leave compute to the base; a number that is no mean has another over, or no per_user()",
)
def its_value_is_the_mean_of_users(trial: Trial) -> None:
    """A result is the mean of the values that `per_user()` keeps, and has their number and spread.

    A metric whose number is no plain mean (pooled, geometric, minimum, weighted) says so by an `update` of its own or
    another `over`, and a result without a deviation.
    """
    metric, result = trial.metric, trial.expected
    if metric.per_user() is None or result.value is None or math.isnan(result.value):
        return
    averages = type(metric).update is UserMetric.update and metric.parameters.get("over") == "mean"
    if result.deviation is None and not averages:
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


ANSWERS: tuple[Law, ...] = (
    it_answers,
    it_answers_alike,
    it_leaves_the_process_alone,
    values_are_one_per_user,
    numbers_are_float64,
    values_are_finite,
    other_cutoffs_are_finite,
    values_are_within_bounds,
    its_value_is_the_mean_of_users,
)
