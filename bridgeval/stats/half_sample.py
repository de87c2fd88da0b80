"""Halves: how sure a number is that belongs to all users together (Gini, coverage, pooled RMSE).

Users have no values of it that could be resampled, but its states merge. So users are dealt at random into groups, the
same ones for every system; each group is evaluated once; and the number is computed of many random halves of the
groups, whose spread tells the spread of the whole (half-sample bootstrap; Wolter 2007, Saigo, Shao and Sitter 2001).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import torch
from scipy import stats

from bridgeval import plugins
from bridgeval.batch.batch import batches
from bridgeval.engine.blocks import Blocks
from bridgeval.engine.lookup import Lookup
from bridgeval.engine.metric import Metric
from bridgeval.engine.needs import Needs
from bridgeval.engine.plan import Execution, Plan, States, merge_all
from bridgeval.engine.source import Source
from bridgeval.engine.state import Floats
from bridgeval.engine.summary import Result
from bridgeval.errors import BridgevalError
from bridgeval.stats.comparison import Difference, Mean, Settings
from bridgeval.stats.paired import higher_is_better
from bridgeval.stats.paired_values import Pairs
from bridgeval.tables.ids import Ids
from bridgeval.tables.slates import Slates

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

        A half of the groups varies as much around the whole as the whole does around the truth; more, where the number
        is not smooth in the users (coverage), so that the interval errs on the wide side. The middle of the halves is
        not used: coverage is lower in every half.
        """
        half = self.groups // 2
        error = float(replicates.std(ddof=1)) * math.sqrt(half / (self.groups - half))
        if math.isnan(error):
            return math.nan, math.nan, math.nan
        if error == 0:
            return observed, observed, math.nan
        reach = stats.t.ppf(1 - alpha / 2, self.groups - 1) * error
        return observed - reach, observed + reach, float(2 * stats.t.sf(abs(observed) / error, self.groups - 1))


@dataclass(frozen=True)
class Whole:
    """Numbers that belong to all users together, and their values in random halves of the users.

    Attributes:
        numbers: name -> system -> number, of those that all systems have.
        metrics: name -> the metric it is of.
        halves: None where there is nothing to take them from.
    """

    numbers: Mapping[str, Mapping[str, float]]
    metrics: Mapping[str, Metric]
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
    """Evaluates metrics on random halves of the users; None where users are too few or cannot be dealt."""
    plan = Plan.of(metrics)
    try:
        dealt = {name: _dealt(value, relevance, plan, how.seed, evaluation) for name, value in systems.items()}
    except NotDealtError:
        return None
    groups = sorted({group for state in dealt.values() for group in state.states})
    if len(groups) < 2:
        return None
    rng = np.random.default_rng(how.seed)
    chosen = [rng.permutation(groups)[: len(groups) // 2] for _ in range(how.halves)]
    values = {}
    for name, state in dealt.items():
        halves = [[state.states[group] for group in half if group in state.states] for half in chosen]
        values[name] = _numbers([plan.compute(merge_all(plan, half)) for half in halves])
    return Halves(values, max(state.users for state in dealt.values()), len(groups))


class NotDealtError(BridgevalError):
    """Users of this source cannot be taken apart."""


@dataclass(frozen=True)
class DealtState:
    """The states of a plan for each group of users.

    Attributes:
        states: group -> states.
        users: in all groups.
    """

    states: Mapping[int, States] = field(default_factory=dict)
    users: int = 0

    def merge(self, other: DealtState) -> DealtState:
        merged = dict(self.states)
        for group, states in other.states.items():
            own = merged.get(group)
            merged[group] = states if own is None else tuple(a.merge(b) for a, b in zip(own, states, strict=True))
        return DealtState(merged, self.users + other.users)


@dataclass(frozen=True)
class Dealt(Metric):
    """The metrics of a plan for each of many groups of users.

    A user's group follows from the id and the seed alone, so that all systems have the same groups, wherever they are
    evaluated.
    """

    name = "Dealt"
    plan: Plan
    seed: int

    def needs(self) -> Needs:
        return self.plan.needs

    def start(self) -> DealtState:
        return DealtState()

    def update(self, blocks: Blocks) -> DealtState:
        batch = blocks.batch
        slates = batch.slates
        if not hasattr(slates.shown, "take"):
            raise NotDealtError("the lists of these users cannot be taken apart")
        group_of = _groups(slates.users.slice(batch.start, batch.stop), self.seed)
        members = {int(group): batch.start + np.flatnonzero(group_of == group) for group in np.unique(group_of)}
        states = {
            group: self._of(slates.of_users(users, slates.shown.take(users)), blocks)
            for group, users in members.items()
        }
        return DealtState(states, len(batch))

    def _of(self, slates: Slates, blocks: Blocks) -> States:
        lookup = Lookup(blocks.context, slates, blocks.device)
        cut = batches(slates, blocks.device)
        parts = [self.plan.update(Blocks(part, lookup, blocks.depth, blocks.needs)) for part in cut]
        return merge_all(self.plan, parts)


def _dealt(value: Any, relevance: Any, plan: Plan, seed: int, evaluation: Mapping[str, Any]) -> DealtState:
    loader = plugins.installed().loader_for(value, relevance, evaluation.get("loader"))
    given = {name: argument for name, argument in evaluation.items() if name not in NOT_READ}
    source = cast(Source, loader.load(value, relevance, **given))
    how = Execution(torch.device("cpu"), evaluation.get("batch_size"))
    (state,) = source.run(Plan.of([Dealt(plan, seed)]), how)
    dealt: Any = state
    return dealt


def _groups(users: Ids, seed: int) -> npt.NDArray[np.uint64]:
    """`[n]`: the group of each user, from a hash of the id."""
    import pandas as pd

    salted = pd.util.hash_array(users.to_numpy()) ^ np.uint64(seed % 2**64)
    return pd.util.hash_array(salted) % np.uint64(GROUPS)


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
