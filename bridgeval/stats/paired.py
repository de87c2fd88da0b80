"""Paired analysis of a Panel: differences with intervals, tests and effect sizes, corrected over their family."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bridgeval.engine.metric import Metric
from bridgeval.stats import tests as st
from bridgeval.stats.bootstrap import (
    all_signs,
    bca_intervals,
    resampled_means,
    sign_draws,
    sign_flip_p,
    user_draws,
)
from bridgeval.stats.comparison import Difference, Mean, Settings
from bridgeval.stats.paired_values import Pairs, Panel
from bridgeval.stats.tests import Floats


def higher_is_better(metric: str, known: Mapping[str, Metric]) -> bool | None:
    """As the metric says; True for one that is not known."""
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


def estimates(values: Floats, pairs: Sequence[tuple[int, int]], how: Settings) -> Estimates:
    """BCa intervals of values `[k, n, m]`; NaN below two users."""
    systems, users, metrics = values.shape
    change = np.zeros((len(pairs), users, metrics))
    for at, (old, new) in enumerate(pairs):
        change[at] = st.differences(values[new], values[old])
    flat, flat_change = _flat(values), _flat(change)
    means, moved = np.full((3, flat.shape[1]), math.nan), np.full((3, flat_change.shape[1]), math.nan)
    if users:
        means[0], moved[0] = flat.mean(axis=0), flat_change.mean(axis=0)
    if users > 1:
        drawn = resampled_means(flat, user_draws(users, how.resamples, how.seed))
        means[1:] = bca_intervals(flat, drawn, 1 - how.alpha)
        by_system = drawn.reshape(-1, systems, metrics)
        drawn_change = np.zeros((len(drawn), len(pairs), metrics))
        for at, (old, new) in enumerate(pairs):
            drawn_change[:, at] = by_system[:, new] - by_system[:, old]
        moved[1:] = bca_intervals(flat_change, drawn_change.reshape(len(drawn), -1), 1 - how.alpha)
    return Estimates(means.reshape(3, systems, metrics), change, moved.reshape(3, len(pairs), metrics))


def paired(
    panel: Panel, pairs: Pairs, known: Mapping[str, Metric], how: Settings
) -> tuple[list[Difference], list[Mean]]:
    """Differences and means of all metrics, in the order of the panel; p are not corrected yet."""
    differences: dict[int, list[Difference]] = {}
    means: dict[int, list[Mean]] = {}
    for columns, users in panel.groups():
        found = estimates(panel.selected(users, columns), panel.places(pairs), how)
        tests = _tests(found.change, how)
        for at, column in enumerate(columns.tolist()):
            name = panel.metrics[column]
            means[column] = [
                Mean(system, name, *found.means[:, place, at].tolist()) for place, system in enumerate(panel.systems)
            ]
            differences[column] = [
                _difference(
                    name,
                    pair,
                    found.means[0, [panel.systems.index(one) for one in pair], at],
                    found.moved[:, place, at],
                    found.change[place, :, at],
                    {test: numbers[place, at] for test, numbers in tests.items()},
                    higher_is_better(name, known),
                    how,
                )
                for place, pair in enumerate(pairs)
            ]
    in_order = range(len(panel.metrics))
    return [d for c in in_order for d in differences[c]], [m for c in in_order for m in means[c]]


def _tests(change: Floats, how: Settings) -> dict[str, Floats]:
    """The tests of differences `[pairs, n, m]`, `[pairs, m]` each; NaN below two users."""
    pairs, users, metrics = change.shape
    flat = _flat(change)
    names = ("t", "p_t", "wilcoxon", "p_wilcoxon", "p_permutation", "d_z", "spread")
    if users < 2:
        return {name: np.full((pairs, metrics), math.nan) for name in names}
    columns = [
        *st.t_test(flat),
        *st.wilcoxon_test(flat),
        permutation_p(flat, how),
        st.standardised(flat),
        st.deviations(flat),
    ]
    return {name: column.reshape(pairs, metrics) for name, column in zip(names, columns, strict=True)}


def _flat(values: Floats) -> Floats:
    """`[k, n, m]` as `[n, k * m]`."""
    return np.ascontiguousarray(values.transpose(1, 0, 2)).reshape(values.shape[1], -1)


def permutation_p(change: Floats, how: Settings) -> Floats:
    """The sign-flip test of differences `[n, m]`: p, `[m]`; exact where no more sign patterns exist than resamples."""
    users = len(change)
    exact = users < 32 and 2**users <= how.resamples
    blocks = [lambda: all_signs(users)] if exact else sign_draws(users, how.resamples, how.seed)
    return sign_flip_p(change, resampled_means(change, blocks), exact)


def _difference(
    metric: str,
    pair: tuple[str, str],
    values: Floats,
    moved: Floats,
    change: Floats,
    tests: Mapping[str, Any],
    better: bool | None,
    how: Settings,
) -> Difference:
    users = len(change)
    gain = -change if better is False else change
    wins, losses = int((gain > 0).sum()), int((gain < 0).sum())
    ties = users - wins - losses
    numbers: dict[str, Any] = {name: float(value) for name, value in tests.items()}
    spread = numbers.pop("spread")
    (old, new), (difference, low, high) = values.tolist(), moved.tolist()
    return replace(
        Difference(metric, pair[1], pair[0], users, new, old, difference, low, high),
        **numbers,
        p=numbers[f"p_{how.test}"],
        higher_is_better=better,
        superiority=(wins + ties / 2) / users if users else math.nan,
        wins=wins,
        ties=ties,
        losses=losses,
        detectable=st.detectable_difference(spread, users, how.alpha, how.power),
    )


def corrected(differences: Sequence[Difference], how: Settings) -> list[Difference]:
    """The same with p adjusted over the family; undefined p are no tests."""
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


def untestable(differences: Sequence[Difference]) -> list[str]:
    """What cannot be tested and why, in sentences."""
    notes = []
    for d in differences:
        who = f"{d.metric}, {d.system} against {d.baseline}"
        if d.users < 2:
            notes.append(f"{who}: {d.users} user(s) have a value from every system; that is too few to test.")
        elif d.ties == d.users:
            notes.append(f"{who}: no user differs; t and Wilcoxon are undefined, the permutation test gives 1.")
        elif math.isnan(d.t):
            notes.append(
                f"{who}: every user differs by the same {d.difference:+.4g}; t has no spread to compare it with, "
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
