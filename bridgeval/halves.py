"""Halves: how sure a number is that belongs to all users together (Gini, coverage, pooled RMSE).

Users have no values of it that could be resampled, but its states merge. So users are dealt at random into groups, the
same ones for every system; each group is evaluated once; and the number is computed of many random halves of the
groups, whose spread tells the spread of the whole (half-sample bootstrap; Wolter 2007, Saigo, Shao and Sitter 2001).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from scipy import stats

from bridgeval import plugins
from bridgeval.data.ids import encode
from bridgeval.data.slates import Slates
from bridgeval.engine.metric import Metric
from bridgeval.engine.plan import Execution, Plan, States, fold, merge_all
from bridgeval.engine.state import Floats
from bridgeval.engine.summary import Result
from bridgeval.report.comparison import Difference, Mean, Settings
from bridgeval.report.paired import higher_is_better
from bridgeval.report.panel import Pairs

GROUPS = 100
# Arguments of `evaluate` that are not for the loader.
NOT_READ = ("loader", "convention", "device", "batch_size", "progress", "group", "per_user")


@dataclass(frozen=True)
class Halves:
    """Numbers of random halves of the users.

    Attributes:
        values: system -> name of the number -> `[B]` its value in each half.
        users: how many there are.
        groups: how many groups they were dealt into.
    """

    values: Mapping[str, Mapping[str, Floats]]
    users: int
    groups: int

    def interval(self, observed: float, replicates: Floats, alpha: float) -> tuple[float, float, float]:
        """Low, high, and two-sided p against 0, from the spread of the halves and Student's t of groups - 1 degrees.

        A half of the groups varies as much around the whole as the whole does around the truth. The middle of the
        halves is not used: numbers such as coverage are lower in every half.
        """
        half = self.groups // 2
        error = float(replicates.std(ddof=1)) * math.sqrt(half / (self.groups - half))
        if not error > 0:
            return observed, observed, math.nan
        reach = stats.t.ppf(1 - alpha / 2, self.groups - 1) * error
        return observed - reach, observed + reach, float(2 * stats.t.sf(abs(observed) / error, self.groups - 1))


@dataclass(frozen=True)
class Whole:
    """Numbers that belong to all users together, and their values in random halves of the users.

    Attributes:
        numbers: name -> system -> number, of those that all systems have.
        halves: None where there is nothing to take them from.
    """

    numbers: Mapping[str, Mapping[str, float]]
    halves: Halves | None
    how: Settings

    @property
    def notes(self) -> list[str]:
        """How sure the numbers are, in a sentence."""
        names = ", ".join(self.numbers)
        if not names:
            return []
        if self.halves is None:
            return [f"{names}: one value for all users, and no lists here to draw halves of; no interval."]
        return [
            f"{names}: one value for all users; interval and p from {self.how.halves} random halves of "
            f"{self.halves.users:,} users in {self.halves.groups} groups."
        ]

    def differences(self, pairs: Pairs, known: Mapping[str, Metric]) -> list[Difference]:
        found = []
        for name, values in self.numbers.items():
            for old, new in pairs:
                change = values[new] - values[old]
                low = high = p = math.nan
                if self.halves is not None:
                    drawn = self.halves.values[new][name] - self.halves.values[old][name]
                    low, high, p = self.halves.interval(change, drawn, self.how.alpha)
                better = higher_is_better(name, known)
                users = self.halves.users if self.halves is not None else 0
                method: Literal["half-samples", "none"] = "half-samples" if users else "none"
                row = Difference(name, new, old, users, values[new], values[old], change, low, high, better)
                found.append(replace(row, p=p, method=method))
        return found

    def means(self) -> list[Mean]:
        return [
            Mean(system, name, value, *self._interval(system, name, value))
            for name, values in self.numbers.items()
            for system, value in values.items()
        ]

    def _interval(self, system: str, name: str, value: float) -> tuple[float, float]:
        if self.halves is None:
            return math.nan, math.nan
        return self.halves.interval(value, self.halves.values[system][name], self.how.alpha)[:2]


def halves_of(
    systems: Mapping[str, Any],
    relevance: Any,
    metrics: Sequence[Metric],
    how: Settings,
    evaluation: Mapping[str, Any],
) -> Halves | None:
    """Evaluates metrics on random halves of the users; None where the lists are not in this process."""
    plan = Plan.of(metrics)
    loaded = {name: _chunks(value, relevance, plan, evaluation) for name, value in systems.items()}
    if any(chunks is None for chunks in loaded.values()):
        return None
    found = {name: chunks for name, chunks in loaded.items() if chunks is not None}
    columns = [slates.users for slates_list, _ in found.values() for slates in slates_list]
    users, codes = encode(columns, "user ids of the systems")
    rng = np.random.default_rng(how.seed)
    groups = min(GROUPS, len(users))
    if groups < 2:
        return None
    group_of = rng.permutation(len(users)) % groups
    chosen = [rng.permutation(groups)[: groups // 2] for _ in range(how.halves)]
    code = iter(codes)
    values = {}
    for name, (slates_list, context) in found.items():
        dealt: list[States] = [plan.start() for _ in range(groups)]
        for slates in slates_list:
            own = group_of[next(code)]
            for group in range(groups):
                part = _taken(slates, np.flatnonzero(own == group))
                states = fold(plan, [part], context, Execution(torch.device("cpu")))
                dealt[group] = plan.merge(dealt[group], states)
        results = [plan.compute(merge_all(plan, [dealt[group] for group in half])) for half in chosen]
        values[name] = _numbers(results)
    return Halves(values, len(users), groups)


def _chunks(value: Any, relevance: Any, plan: Plan, evaluation: Mapping[str, Any]) -> tuple[list[Slates], Any] | None:
    """The Slates of a system and their context; None where they cannot be had here."""
    loader = plugins.installed().loader_for(value, relevance, evaluation.get("loader"))
    given = {name: argument for name, argument in evaluation.items() if name not in NOT_READ}
    source: Any = loader.load(value, relevance, **given)
    source = source.open() if hasattr(source, "open") else source
    if not hasattr(source, "slates"):
        return None
    chunks = list(source.slates(plan.needs))
    return (chunks, source.context) if all(hasattr(slates.shown, "take") for slates in chunks) else None


def _taken(slates: Slates, users: np.ndarray[Any, np.dtype[np.int64]]) -> Slates:
    columns = {name: column[users] for name, column in slates.user_columns.items()}
    return Slates(
        slates.users.take(users), slates.items, slates.shown.take(users), slates.relevant.take(users), columns
    )


def numbers_of(results: Mapping[Metric, Result]) -> dict[str, float]:
    """Name -> number; named parts give one entry each."""
    flat: dict[str, float] = {}
    for metric, result in results.items():
        if result.value is not None:
            flat[str(metric)] = result.value
        flat |= {f"{metric}[{part}]": value for part, value in result.parts.items()}
    return flat


def _numbers(results: Sequence[Mapping[Metric, Result]]) -> dict[str, Floats]:
    rows = [numbers_of(result) for result in results]
    return {name: np.array([row.get(name, math.nan) for row in rows]) for name in rows[0]}
