"""Laws about what a metric gives: a result, values of users, and nothing else changed."""

from __future__ import annotations

import math
import os
import random
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bridgeval.engine.metric import UserMetric
from bridgeval.engine.summary import Bounds, Result
from bridgeval.testing.law import Law, law, require
from bridgeval.testing.results import are_close
from bridgeval.testing.trial import Trial, take_users
from bridgeval.testing.world import world as small_world

ROUNDING = 1e-12


@law(
    "it answers",
    cause="compute gives something else than a Result of plain numbers",
    remedy="return Result(value, parts, users), with float(...) and int(...) around tensors",
)
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


@law(
    "values are one per user",
    cause="the shape of what values(blocks) returns",
    remedy="return a tensor [B] of float64",
)
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


ANSWERS: tuple[Law, ...] = (
    it_answers,
    it_answers_alike,
    it_leaves_the_process_alone,
    values_are_one_per_user,
    values_are_finite,
    values_are_within_bounds,
    its_value_is_the_mean_of_users,
)
