"""Differences between systems on paired users: intervals, tests and effect sizes, corrected over their family."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from bridgeval.engine.metric import Metric
from bridgeval.errors import BadParameterError
from bridgeval.stats import tests as st
from bridgeval.stats.bootstrap import (
    all_signs,
    bca_intervals,
    expand_intervals,
    resample_means,
    sign_draws,
    sign_flip_p,
    user_draws,
)
from bridgeval.stats.paired_values import Pairs, Panel, flatten_systems
from bridgeval.stats.tests import Floats

Test = Literal["t", "wilcoxon", "permutation"]
Correction = Literal["holm", "bh", "none"]
Family = Literal["all", "metric", "system"]
Bootstrap = Literal["users", "poisson"]

TESTS: Mapping[Test, str] = {
    "t": "paired t test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "permutation": "paired permutation test",
}
CORRECTIONS: Mapping[Correction, str] = {
    "holm": "Holm-adjusted",
    "bh": "Benjamini-Hochberg-adjusted",
    "none": "unadjusted",
}
FAMILIES: Mapping[Family, str] = {
    "all": "all metrics and systems",
    "metric": "all systems, each metric separately",
    "system": "all metrics, each system separately",
}
BOOTSTRAPS: Mapping[Bootstrap, str] = {
    "users": "resamples of users",
    "poisson": "Poisson resamples of users",
}
UNPAIRED = ("mannwhitneyu", "whitney_u_test", "kruskal", "kruskal_test", "ttest_ind", "welch", "unpaired")


@dataclass(frozen=True)
class Settings:
    """The parameters of a comparison.

    Attributes:
        test: the test whose p decides.
        correction: how that p is adjusted for the number of tests.
        family: the tests that are corrected together.
        alpha: differences with an adjusted p below are significant; intervals have confidence 1 - alpha.
        power: of the minimum detectable difference.
        resamples: of the bootstrap and of the permutation test.
        halves: random half-samples of users for metrics that have no value for each user.
        seed: of everything random.
        bootstrap: "users" draws as many users as there are; "poisson" draws each user by a hash of the id, so that sums
            of parts of the users add up, see `bridgeval.stats.paired_state`.
    """

    test: Test = "t"
    correction: Correction = "holm"
    family: Family = "all"
    alpha: float = 0.05
    power: float = 0.8
    resamples: int = 10_000
    halves: int = 200
    seed: int = 0
    bootstrap: Bootstrap = "users"

    def check(self) -> Settings:
        """Returns these settings; raises BadParameterError if one of them cannot be used."""
        if self.test in UNPAIRED:
            raise BadParameterError(
                f"{self.test} is a test for unpaired samples, but all systems were evaluated on the same users",
                "it would ignore the pairs and miss differences that they show",
                f"choose one of {', '.join(TESTS)}",
                argument="test",
            )
        choices: Mapping[str, Mapping[Any, str]] = {
            "test": TESTS,
            "correction": CORRECTIONS,
            "family": FAMILIES,
            "bootstrap": BOOTSTRAPS,
        }
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise BadParameterError(
                    f"there is no {name} {getattr(self, name)!r}",
                    hint=f"choose one of {', '.join(known)}",
                    argument=name,
                )
        for name in ("alpha", "power"):
            if not 0 < getattr(self, name) < 1:
                raise BadParameterError(
                    f"{name} must be between 0 and 1",
                    f"{getattr(self, name)}",
                    "0.05 and 0.8 are common values",
                    argument=name,
                )
        if self.resamples < 100 or self.halves < 20:
            raise BadParameterError(
                "too few resamples",
                f"resamples={self.resamples}, halves={self.halves}",
                "use at least 100 resamples and 20 halves; 10,000 resamples are common",
                argument="resamples",
            )
        return self


@dataclass(frozen=True)
class Mean:
    """A system's value of a metric over the users that all systems share, and its interval."""

    system: str
    metric: str
    value: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class Difference:
    """The difference between a system and the baseline in one metric.

    Attributes:
        users: users with a value from every system.
        difference: value minus baseline value, and its interval `low`, `high`.
        higher_is_better: None where neither direction is better.
        t, wilcoxon: the statistics.
        p_t, p_wilcoxon, p_permutation: two-sided, before any correction.
        p: of the deciding test; `p_holm` and `p_bh` are adjusted over the family, `tests` of them.
        d_z: mean of the differences over their standard deviation.
        superiority: the share of users for whom the system is better, ties counted half.
        wins, ties, losses: users for whom the system is better, the same, worse (without a direction: higher, lower).
        detectable: the smallest true difference that the test finds with the power asked for.
        method: "paired" users, or "half-samples" where users have no value; "none" gives the difference alone.
        adjusted: the p that decides.
        significant: whether it is below alpha.
    """

    metric: str
    system: str
    baseline: str
    users: int
    value: float
    baseline_value: float
    difference: float
    low: float = math.nan
    high: float = math.nan
    higher_is_better: bool | None = True
    t: float = math.nan
    p_t: float = math.nan
    wilcoxon: float = math.nan
    p_wilcoxon: float = math.nan
    p_permutation: float = math.nan
    p: float = math.nan
    p_holm: float = math.nan
    p_bh: float = math.nan
    adjusted: float = math.nan
    tests: int = 0
    significant: bool = False
    d_z: float = math.nan
    superiority: float = math.nan
    wins: int = 0
    ties: int = 0
    losses: int = 0
    detectable: float = math.nan
    method: Literal["paired", "half-samples", "none"] = "paired"

    @property
    def relative(self) -> float:
        """The difference as a share of the baseline's value."""
        return self.difference / abs(self.baseline_value) if self.baseline_value else math.nan

    @property
    def mark(self) -> str:
        """▲ significantly better, ▼ significantly worse, * significantly different where no direction is better."""
        if not self.significant:
            return ""
        if self.higher_is_better is None:
            return "*"
        return "▲" if (self.difference > 0) == self.higher_is_better else "▼"


def higher_is_better(metric: str, known: Mapping[str, Metric]) -> bool | None:
    """The direction of a metric; True for one that is not known."""
    return known[metric].higher_is_better if metric in known else True


@dataclass(frozen=True)
class Estimates:
    """Means of k systems and differences of pairs of them, over n users that all have a value, in m metrics.

    Attributes:
        means: `[3, k, m]`: mean, low and high end of its interval.
        change: `[pairs, n, m]`: every user's difference.
        moved: `[3, pairs, m]`: mean difference, low, high.
    """

    means: Floats
    change: Floats
    moved: Floats


def estimate(
    values: Floats, pairs: Sequence[tuple[int, int]], how: Settings, expand_from: int | None = None
) -> Estimates:
    """BCa intervals of values `[k, n, m]`; NaN below two users, and where a user's value is infinite.

    Args:
        values: of k systems, n users and m metrics.
        pairs: positions of (baseline, system).
        how: resamples and seed.
        expand_from: users from which on no resamples are drawn, see `expand_intervals`; None always draws them.
    """
    systems, users, metrics = values.shape
    change = np.zeros((len(pairs), users, metrics))
    for at, (old, new) in enumerate(pairs):
        change[at] = st.subtract(values[new], values[old])
    flat, flat_change = flatten_systems(values), flatten_systems(change)
    means, moved = np.full((3, flat.shape[1]), math.nan), np.full((3, flat_change.shape[1]), math.nan)
    if users:
        means[0], moved[0] = flat.mean(axis=0), flat_change.mean(axis=0)
    endless, endless_change = ~np.isfinite(flat).all(axis=0), ~np.isfinite(flat_change).all(axis=0)
    flat, flat_change = np.where(endless, 0.0, flat), np.where(endless_change, 0.0, flat_change)
    drawing = users > 1
    if expand_from is not None and users >= max(expand_from, 2):
        *means[1:], sure = expand_intervals(flat, 1 - how.alpha)
        *moved[1:], sure_change = expand_intervals(flat_change, 1 - how.alpha)
        drawing = not (sure.all() and sure_change.all())
    if drawing:
        drawn = resample_means(flat, user_draws(users, how.resamples, how.seed))
        means[1:] = bca_intervals(flat, drawn, 1 - how.alpha)
        by_system = drawn.reshape(-1, systems, metrics)
        drawn_change = np.zeros((len(drawn), len(pairs), metrics))
        for at, (old, new) in enumerate(pairs):
            drawn_change[:, at] = by_system[:, new] - by_system[:, old]
        moved[1:] = bca_intervals(flat_change, drawn_change.reshape(len(drawn), -1), 1 - how.alpha)
    means[1:, endless], moved[1:, endless_change] = math.nan, math.nan
    return Estimates(means.reshape(3, systems, metrics), change, moved.reshape(3, len(pairs), metrics))


def compare_pairs(
    panel: Panel, pairs: Pairs, known: Mapping[str, Metric], how: Settings
) -> tuple[list[Difference], list[Mean]]:
    """Differences and means of all metrics, in the order of the panel; p are not corrected yet."""
    differences: dict[int, list[Difference]] = {}
    means: dict[int, list[Mean]] = {}
    for columns, users in panel.groups():
        found = estimate(panel.select(users, columns), panel.places(pairs), how)
        tests = _test(found.change, how)
        for at, column in enumerate(columns.tolist()):
            name = panel.metrics[column]
            means[column] = [
                Mean(system, name, *found.means[:, place, at].tolist()) for place, system in enumerate(panel.systems)
            ]
            differences[column] = [
                make_difference(
                    name,
                    pair,
                    found.means[0, [panel.systems.index(one) for one in pair], at],
                    found.moved[:, place, at],
                    _count_signs(found.change[place, :, at]),
                    {test: numbers[place, at] for test, numbers in tests.items()},
                    higher_is_better(name, known),
                    how,
                )
                for place, pair in enumerate(pairs)
            ]
    in_order = range(len(panel.metrics))
    return [d for c in in_order for d in differences[c]], [m for c in in_order for m in means[c]]


def _test(change: Floats, how: Settings) -> dict[str, Floats]:
    """The tests of differences `[pairs, n, m]`, `[pairs, m]` each; NaN below two users."""
    pairs, users, metrics = change.shape
    flat = flatten_systems(change)
    names = ("t", "p_t", "wilcoxon", "p_wilcoxon", "p_permutation", "d_z", "spread")
    if users < 2:
        return {name: np.full((pairs, metrics), math.nan) for name in names}
    columns = [
        *st.t_test(flat),
        *st.wilcoxon_test(flat),
        permutation_p(flat, how),
        st.effect_sizes(flat),
        st.deviations(flat),
    ]
    return {name: column.reshape(pairs, metrics) for name, column in zip(names, columns, strict=True)}


def permutation_p(change: Floats, how: Settings) -> Floats:
    """The sign-flip test of differences `[n, m]`: p, `[m]`; exact where no more sign patterns exist than resamples."""
    users = len(change)
    exact = users < 32 and 2**users <= how.resamples
    blocks = [lambda: all_signs(users)] if exact else sign_draws(users, how.resamples, how.seed)
    return sign_flip_p(change, resample_means(change, blocks), exact)


def _count_signs(change: Floats) -> tuple[int, int, int]:
    """The numbers of all users, of those with a higher and of those with a lower value."""
    return len(change), int((change > 0).sum()), int((change < 0).sum())


def make_difference(
    metric: str,
    pair: tuple[str, str],
    values: Floats,
    moved: Floats,
    counts: tuple[int, int, int],
    tests: Mapping[str, Any],
    better: bool | None,
    how: Settings,
) -> Difference:
    """The difference of a pair in one metric.

    Args:
        pair: (baseline, system).
        values: their values.
        moved: mean difference, low and high end of its interval.
        counts: users; those with a higher, and with a lower value.
        tests: the statistics and p by the name of their fields, and the `spread` of the differences.
        better: whether higher is better.
        how: the settings.
    """
    users, higher, lower = counts
    wins, losses = (lower, higher) if better is False else (higher, lower)
    ties = users - wins - losses
    numbers: dict[str, Any] = {name: float(value) for name, value in tests.items()}
    spread = numbers.pop("spread")
    (old, new), (difference, low, high) = values.tolist(), moved.tolist()
    return Difference(
        metric,
        pair[1],
        pair[0],
        users,
        new,
        old,
        difference,
        low,
        high,
        better,
        **numbers,
        p=numbers[f"p_{how.test}"],
        superiority=(wins + ties / 2) / users if users else math.nan,
        wins=wins,
        ties=ties,
        losses=losses,
        detectable=st.detectable_difference(spread, users, how.alpha, how.power),
    )


def correct(differences: Sequence[Difference], how: Settings) -> list[Difference]:
    """The differences with p adjusted over the family; undefined p are no tests."""
    families: dict[Any, list[int]] = {}
    for place, one in enumerate(differences):
        key = {"all": None, "metric": one.metric, "system": (one.system, one.baseline)}[how.family]
        families.setdefault(key, []).append(place)
    adjusted = list(differences)
    for places in families.values():
        p = np.array([differences[place].p for place in places])
        columns = {"holm": st.holm(p), "bh": st.benjamini_hochberg(p), "none": p}
        for at, place in enumerate(places):
            deciding = float(columns[how.correction][at])
            adjusted[place] = replace(
                differences[place],
                p_holm=float(columns["holm"][at]),
                p_bh=float(columns["bh"][at]),
                adjusted=deciding,
                tests=int((~np.isnan(p)).sum()),
                significant=deciding < how.alpha,
            )
    return adjusted


def explain_untestable(differences: Sequence[Difference]) -> list[str]:
    """Sentences that say which differences cannot be tested, and why."""
    notes = []
    for d in differences:
        who = f"{d.metric}, {d.system} against {d.baseline}"
        if d.users < 2:
            notes.append(f"{who}: {d.users} user(s) have a value from every system, too few for a test.")
        elif d.ties == d.users:
            notes.append(f"{who}: no user differs; t and Wilcoxon are undefined, the permutation test gives 1.")
        elif math.isnan(d.t):
            notes.append(
                f"{who}: every user differs by the same {d.difference:+.4g}; t is undefined without spread, "
                "see the permutation test."
            )
    return notes


def friedman_tests(panel: Panel, known: Mapping[str, Metric], how: Settings) -> dict[str, st.Friedman]:
    """Friedman's test of each metric that two users or more have from every system."""
    found = {}
    for columns, users in panel.groups():
        if users.sum() < 2:
            continue
        for column in columns:
            name = panel.metrics[column]
            values = panel.values[:, users, column].T
            found[name] = st.friedman(-values if higher_is_better(name, known) is False else values, how.alpha)
    return {name: found[name] for name in panel.metrics if name in found}
