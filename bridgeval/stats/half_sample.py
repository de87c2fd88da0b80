"""Half-samples: intervals of numbers that belong to all users together (Gini, coverage, pooled RMSE).

No user has a value of such a metric, so users cannot be resampled; but its states merge. Users are dealt at random into
groups, the same ones for every system; each group is evaluated once; and the number is computed for many random halves
of the groups, whose spread gives the spread of the whole (half-sample bootstrap; Wolter 2007, Saigo, Shao and Sitter
2001).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bridgeval.batch.batch import batches
from bridgeval.engine.blocks import Blocks
from bridgeval.engine.lookup import Lookup
from bridgeval.engine.metric import Metric
from bridgeval.engine.needs import Needs
from bridgeval.engine.plan import Plan, States, merge_all
from bridgeval.engine.state import Floats
from bridgeval.engine.summary import UNBOUNDED, Bounds, Result, clip
from bridgeval.errors import BridgevalError
from bridgeval.stats.differences import Difference, Mean, Settings
from bridgeval.stats.paired_values import Pairs
from bridgeval.tables.ids import Ids
from bridgeval.tables.slates import Slates

GROUPS = 100


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

    def interval(
        self, observed: float, replicates: Floats, alpha: float, bounds: Bounds = UNBOUNDED
    ) -> tuple[float, float, float]:
        """Low, high, and two-sided p against 0, from the spread of the halves and Student's t of groups - 1 degrees.

        Low and high are clipped to the bounds of what is observed.

        A half of the groups varies around the whole as much as the whole varies around the truth; or more, if the
        number is not smooth in the users (coverage), so that the interval is rather too wide. The middle of the halves
        is not used: coverage is lower in every half.
        """
        from scipy import stats

        half = self.groups // 2
        error = float(replicates.std(ddof=1)) * math.sqrt(half / (self.groups - half))
        if math.isnan(error):
            return math.nan, math.nan, math.nan
        if error == 0:
            return observed, observed, math.nan
        reach = stats.t.ppf(1 - alpha / 2, self.groups - 1) * error
        p = float(2 * stats.t.sf(abs(observed) / error, self.groups - 1))
        return clip(observed - reach, bounds), clip(observed + reach, bounds), p


@dataclass(frozen=True)
class PooledNumbers:
    """Numbers that belong to all users together, and their values in random halves of the users.

    Attributes:
        numbers: name -> system -> number, of those that all systems have.
        metrics: name -> its metric.
        halves: None where the lists are not at hand, or too few.
    """

    numbers: Mapping[str, Mapping[str, float]]
    metrics: Mapping[str, Metric]
    halves: Halves | None
    how: Settings

    @property
    def notes(self) -> list[str]:
        """A sentence that says where the intervals come from."""
        names = ", ".join(self.numbers)
        if not names:
            return []
        if self.halves is None:
            return [f"{names}: one value for all users, and no lists to draw half-samples from; no interval."]
        return [
            f"{names}: one value for all users; interval and p from {self.how.halves} random halves of "
            f"{self.halves.users:,} users in {self.halves.groups} groups."
        ]

    def differences(self, pairs: Pairs) -> list[Difference]:
        """The difference of each pair of systems in each number."""
        return [self._difference(name, old, new) for name in self.numbers for old, new in pairs]

    def _difference(self, name: str, old: str, new: str) -> Difference:
        value, baseline = self.numbers[name][new], self.numbers[name][old]
        better, change = self.metrics[name].higher_is_better, value - baseline
        if self.halves is None:
            return Difference(name, new, old, 0, value, baseline, change, higher_is_better=better, method="none")
        drawn = self.halves.values[new][name] - self.halves.values[old][name]
        lowest, highest = self._bounds(name)
        range_of_change = (lowest - highest, highest - lowest)
        low, high, p = self.halves.interval(change, drawn, self.how.alpha, range_of_change)
        users = self.halves.users
        return Difference(name, new, old, users, value, baseline, change, low, high, better, p=p, method="half-samples")

    def means(self) -> list[Mean]:
        """The number of each system, with its interval."""
        return [
            Mean(system, name, value, *self._interval(system, name, value))
            for name, values in self.numbers.items()
            for system, value in values.items()
        ]

    def _interval(self, system: str, name: str, value: float) -> tuple[float, float]:
        if self.halves is None:
            return math.nan, math.nan
        return self.halves.interval(value, self.halves.values[system][name], self.how.alpha, self._bounds(name))[:2]

    def _bounds(self, name: str) -> Bounds:
        """The bounds of a metric's own number; its parts, such as the number of one group, have others."""
        metric = self.metrics[name]
        return metric.number_bounds if name == str(metric) else UNBOUNDED


def draw_halves(systems: Mapping[str, DealtState], plan: Plan, how: Settings) -> Halves | None:
    """Computes the metrics of a plan on random halves of the groups; None if there are fewer than two groups.

    Args:
        systems: name -> the states of the metric `Dealt(plan, how.seed)`.
        plan: the metrics.
        how: the number of halves and the seed.
    """
    groups = sorted({group for state in systems.values() for group in state.states})
    if len(groups) < 2:
        return None
    rng = np.random.default_rng(how.seed)
    chosen = [rng.permutation(groups)[: len(groups) // 2] for _ in range(how.halves)]
    values = {}
    for name, state in systems.items():
        halves = [[state.states[group] for group in half if group in state.states] for half in chosen]
        values[name] = _tabulate([plan.compute(merge_all(plan, half)) for half in halves])
    return Halves(values, max(state.users for state in systems.values()), len(groups))


class NotDealtError(BridgevalError):
    """Users of this source cannot be separated."""


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

    A user's group is a hash of the id and the seed, so that all systems have the same groups, wherever they are
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
            raise NotDealtError("the lists of these users cannot be separated")
        group_of = _assign_groups(slates.users.slice(batch.start, batch.stop), self.seed)
        members = {int(group): batch.start + np.flatnonzero(group_of == group) for group in np.unique(group_of)}
        states = {
            group: self._update_group(slates.of_users(users, slates.shown.take(users)), blocks)
            for group, users in members.items()
        }
        return DealtState(states, len(batch))

    def _update_group(self, slates: Slates, blocks: Blocks) -> States:
        lookup = Lookup(blocks.context, slates, blocks.device)
        cut = batches(slates, blocks.device)
        parts = [self.plan.update(Blocks(part, lookup, blocks.depth, blocks.needs)) for part in cut]
        return merge_all(self.plan, parts)


def _assign_groups(users: Ids, seed: int) -> npt.NDArray[np.uint64]:
    """`[n]`: the group of each user, from a hash of the id."""
    import pandas as pd

    # Hashed again, so that the groups of two seeds do not resemble each other.
    salted = pd.util.hash_array(users.to_numpy()) ^ np.uint64(seed % 2**64)
    return pd.util.hash_array(salted) % np.uint64(GROUPS)


def _tabulate(results: Sequence[Mapping[Metric, Result]]) -> dict[str, Floats]:
    """Name -> `[B]` its number in each of B results."""
    rows = [{k: v for metric, one in row.items() for k, v in one.numbers(str(metric)).items()} for row in results]
    return {name: np.array([row.get(name, math.nan) for row in rows]) for name in rows[0]}
