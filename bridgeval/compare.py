"""compare: is one system better than another, by how much, and how sure is that."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np

from bridgeval import spec
from bridgeval.engine.metric import Metric
from bridgeval.engine.summary import UserTable
from bridgeval.errors import BadParameterError, InputError, SpecError
from bridgeval.evaluate import evaluate
from bridgeval.report import Report
from bridgeval.report import statistics as st
from bridgeval.report.comparison import CORRECTIONS, FAMILIES, TESTS, Comparison, Difference, Mean, Settings
from bridgeval.report.panel import Panel, is_user_values, read_user_values
from bridgeval.report.resampling import (
    all_signs,
    bca_intervals,
    resampled_means,
    sign_draws,
    sign_flip_p,
    user_draws,
)

DEFAULT_METRICS = ("nDCG@10", "Recall@10")
UNPAIRED = ("mannwhitneyu", "whitney_u_test", "kruskal", "kruskal_test", "ttest_ind", "welch", "unpaired")


def compare(
    systems: Mapping[str, Any],
    relevance: Any = None,
    metrics: str | Metric | Iterable[str | Metric] = DEFAULT_METRICS,
    *,
    baseline: str | None = None,
    pairs: Literal["baseline", "all"] = "baseline",
    test: str = "t",
    correction: str = "holm",
    family: str = "all",
    alpha: float = 0.05,
    power: float = 0.8,
    resamples: int = 10_000,
    halves: int = 200,
    seed: int = 0,
    **evaluation: Any,
) -> Comparison:
    """Compares systems on the same users.

    Each system is evaluated once. Of every metric that is the mean of per-user values, the users with a value from
    every system are compared pair by pair. Metrics without a value for each user (Gini, coverage, pooled RMSE) are
    compared on random halves of the users.

    Args:
        systems: name -> recommendations as `evaluate` takes them, or a Report made with per_user=True, or the path of a
            Parquet file of per-user values (columns metric, user, value, and system where it holds several).
        relevance: what proved relevant; not needed where no system is given as recommendations.
        metrics: as in `evaluate`; Reports and files are compared in the metrics that they have.
        baseline: the system the others are compared with; the first one if left out.
        pairs: each system with the "baseline", or "all" pairs.
        test: whose p decides: "t", "wilcoxon" or "permutation". All three are reported.
        correction: "holm" (no false alarm in the family), "bh" (few among the alarms) or "none". Both are reported.
        family: the tests that are counted together: "all", those of one "metric", or those of one "system".
        alpha: differences with an adjusted p below are significant; intervals have confidence 1 - alpha.
        power: of the minimum detectable difference.
        resamples: of the bootstrap and of the permutation test; all sign patterns are tried where they are fewer.
        halves: random halves of the users, for metrics that give users no value.
        seed: of all that is random; the same seed gives the same digits.
        **evaluation: any further argument of `evaluate`.

    Returns:
        A Comparison: differences with intervals, p and effect sizes; means; Friedman's and Nemenyi's test for more than
        two systems.

    >>> truth = {user: ["x"] for user in range(6)}
    >>> a = {user: ["y", "x"] for user in range(6)}
    >>> b = {user: ["x", "y"] if user < 5 else ["y", "x"] for user in range(6)}
    >>> row = compare({"a": a, "b": b}, truth, "MRR@2").difference("MRR@2")
    >>> round(row.difference, 4), row.wins, row.ties, row.losses, row.p_permutation
    (0.4167, 5, 1, 0, 0.0625)
    """
    settings = _settings(test, correction, family, alpha, power, resamples, halves, seed)
    scored = {name: _scored(name, value, relevance, metrics, evaluation) for name, value in systems.items()}
    names = list(scored)
    if len(names) < 2:
        raise InputError("a comparison needs two systems", f"{names}", "give e.g. {'a': recs_a, 'b': recs_b}")
    against = _baseline(baseline, names)
    ordered = [against, *(name for name in names if name != against)]
    chosen = list(combinations(ordered, 2)) if pairs == "all" else [(against, name) for name in ordered[1:]]
    panel = Panel.of({name: scored[name].tables for name in names})
    known = {name: metric for one in scored.values() for name, metric in one.metrics.items()}
    if not panel.metrics:
        raise InputError(
            "the systems have no metric in common",
            "; ".join(f"{name}: {', '.join(one.tables) or 'none'}" for name, one in scored.items()),
            "evaluate them with the same metrics and per_user=True",
        )
    differences, means = _paired(panel, chosen, known, settings)
    notes = [*(note for one in scored.values() for note in one.notes), *panel.notes(), *_no_spread(differences)]
    return Comparison(
        tuple(names),
        tuple(with_corrections(differences, settings)),
        tuple(means),
        _friedman(panel, known, settings) if len(names) > 2 else {},
        settings,
        tuple(dict.fromkeys(notes)),
    )


@dataclass(frozen=True)
class _Scored:
    """What is known of one system.

    Attributes:
        tables: metric -> per-user values whose mean is the system's number.
        numbers: metric -> the number, where it is no mean over users.
        metrics: metric -> what it is, as far as that is known.
    """

    tables: Mapping[str, UserTable]
    numbers: Mapping[str, float] = field(default_factory=dict)
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def _scored(name: str, value: Any, relevance: Any, metrics: Any, evaluation: Mapping[str, Any]) -> _Scored:
    if isinstance(value, Report):
        return _scored_report(name, value)
    if is_user_values(value):
        return _scored_file(name, value)
    if relevance is None:
        raise InputError(
            f"the relevance is missing, so that system {name!r} cannot be evaluated",
            f"an object of type {type(value).__name__}",
            "give relevance=, or Reports made with per_user=True",
        )
    return _scored_report(name, evaluate(value, relevance, metrics, **{**evaluation, "per_user": True}))


def _scored_report(name: str, report: Report) -> _Scored:
    means = {metric: table for metric, table in report.collected.items() if _is_mean(report, metric, table)}
    if not means and not report.collected:
        if any(metric.per_user() is not None for metric in report.metrics.values()):
            raise InputError(
                f"the report of system {name!r} has no per-user values, so that users cannot be paired",
                f"metrics {', '.join(report.metrics)}",
                "evaluate with per_user=True",
            )
    whole = [metric for metric in report.metrics if metric not in means]
    numbers = {n: v for n, v in report.values.items() if n in whole or n.partition("[")[0] in whole}
    nothing = report.population.shown_nothing
    note = f"{name} showed nothing to {nothing:,} user(s) that count; they score 0." if nothing else ""
    return _Scored(means, numbers, report.metrics, (note,) if note else ())


def _is_mean(report: Report, metric: str, table: UserTable) -> bool:
    """Whether the number reported is the mean of the per-user values; a median, or a pooled RMSE, is not."""
    defined = table.values[~np.isnan(table.values)]
    value = report.results[metric].value
    return value is not None and (not len(defined) or bool(np.isclose(defined.mean(), value, rtol=1e-9, atol=1e-12)))


def _scored_file(name: str, path: str | os.PathLike[str]) -> _Scored:
    saved = read_user_values(path)
    if name not in saved and len(saved) != 1:
        raise InputError(
            f"{os.fspath(path)!r} has no system {name!r}", f"systems {', '.join(saved)}", "call it by its name there"
        )
    tables = saved.get(name) or next(iter(saved.values()))
    metrics = {}
    for metric in tables:
        try:
            metrics[metric] = spec.parse(metric)[0]
        except SpecError:
            continue
    unknown = [metric for metric in tables if metric not in metrics]
    note = f"{', '.join(unknown)} in {os.fspath(path)!r} is not known here; higher is taken as better."
    return _Scored(tables, {}, metrics, (note,) if unknown else ())


def _paired(
    panel: Panel, pairs: Sequence[tuple[str, str]], known: Mapping[str, Metric], how: Settings
) -> tuple[list[Difference], list[Mean]]:
    """Differences and means of all metrics, in the order of the panel."""
    found: list[tuple[int, list[Difference], list[Mean]]] = []
    for columns, users in panel.groups():
        values = panel.values[:, users][:, :, columns]
        names = [panel.metrics[column] for column in columns]
        rows = list(_group(values, names, panel.systems, pairs, known, how))
        found += [(column, *row) for column, row in zip(columns.tolist(), rows, strict=True)]
    found.sort(key=lambda entry: entry[0])
    return [d for _, some, _ in found for d in some], [m for _, _, some in found for m in some]


def _group(
    values: st.Floats,
    metrics: Sequence[str],
    systems: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    known: Mapping[str, Metric],
    how: Settings,
) -> Iterator[tuple[list[Difference], list[Mean]]]:
    """Differences and means of each of m metrics that the same n users have: values `[k, n, m]`."""
    k, n, m = values.shape
    at = {name: place for place, name in enumerate(systems)}
    change = np.stack([st.differences(values[at[new]], values[at[old]]) for old, new in pairs])
    flat, flat_change = _columns(values), _columns(change)
    nothing = np.full(flat.shape[1], np.nan)
    nothing_changed = np.full(flat_change.shape[1], np.nan)
    averages = flat.mean(axis=0) if n else nothing
    low = high = nothing
    tests = [nothing_changed] * 5
    change_low = change_high = nothing_changed
    if n > 1:
        means = resampled_means(flat, user_draws(n, how.resamples, how.seed))
        low, high = bca_intervals(flat, means, 1 - how.alpha)
        of_system = means.reshape(-1, k, m)
        moved = np.stack([of_system[:, at[new]] - of_system[:, at[old]] for old, new in pairs], axis=1)
        change_low, change_high = bca_intervals(flat_change, moved.reshape(len(means), -1), 1 - how.alpha)
        tests = [*st.t_test(flat_change), *st.wilcoxon_test(flat_change), _permutation_p(flat_change, how)]
    spread, d_z = st.deviations(flat_change), st.standardised(flat_change)
    for metric, name in enumerate(metrics):
        better = known[name].higher_is_better if name in known else True
        direction = -1 if better is False else 1
        rows = []
        for pair, (old, new) in enumerate(pairs):
            column = pair * m + metric
            moved_by = change[pair, :, metric] * direction
            wins, losses = int((moved_by > 0).sum()), int((moved_by < 0).sum())
            t, p_t, wilcoxon, p_wilcoxon, p_permutation = (float(one[column]) for one in tests)
            rows.append(
                Difference(
                    name,
                    new,
                    old,
                    n,
                    float(averages[at[new] * m + metric]),
                    float(averages[at[old] * m + metric]),
                    float(flat_change[:, column].mean()) if n else np.nan,
                    float(change_low[column]),
                    float(change_high[column]),
                    better,
                    t,
                    p_t,
                    wilcoxon,
                    p_wilcoxon,
                    p_permutation,
                    p={"t": p_t, "wilcoxon": p_wilcoxon, "permutation": p_permutation}[how.test],
                    d_z=float(d_z[column]),
                    superiority=(wins + (n - wins - losses) / 2) / n if n else np.nan,
                    wins=wins,
                    ties=n - wins - losses,
                    losses=losses,
                    detectable=st.detectable_difference(float(spread[column]), n, how.alpha, how.power),
                )
            )
        yield (
            rows,
            [
                Mean(system, name, *(float(x[place * m + metric]) for x in (averages, low, high)))
                for place, system in enumerate(systems)
            ],
        )


def _columns(values: st.Floats) -> st.Floats:
    """`[k, n, m]` as `[n, k * m]`."""
    return np.ascontiguousarray(values.transpose(1, 0, 2)).reshape(values.shape[1], -1)


def _permutation_p(change: st.Floats, how: Settings) -> st.Floats:
    users = len(change)
    exact = users < 32 and 2**users <= how.resamples
    blocks = [lambda: all_signs(users)] if exact else sign_draws(users, how.resamples, how.seed)
    return sign_flip_p(change, resampled_means(change, blocks), exact)


def with_corrections(differences: Sequence[Difference], how: Settings) -> list[Difference]:
    """The same with p adjusted over the family; undefined p are no tests."""
    families: dict[Any, list[int]] = {}
    for place, one in enumerate(differences):
        key = {"all": None, "metric": one.metric, "system": (one.system, one.baseline)}[how.family]
        families.setdefault(key, []).append(place)
    adjusted = list(differences)
    for places in families.values():
        p = np.array([differences[place].p for place in places])
        tests = int((~np.isnan(p)).sum())
        for place, own, holm, bh in zip(places, p, st.holm(p), st.benjamini_hochberg(p), strict=True):
            deciding = float({"holm": holm, "bh": bh, "none": own}[how.correction])
            adjusted[place] = replace(
                differences[place],
                p_holm=float(holm),
                p_bh=float(bh),
                adjusted=deciding,
                tests=tests,
                significant=deciding < how.alpha,
            )
    return adjusted


def _no_spread(differences: Sequence[Difference]) -> list[str]:
    """What cannot be tested, in sentences."""
    notes = []
    for d in differences:
        who = f"{d.metric}, {d.system} against {d.baseline}"
        if d.method != "paired":
            continue
        if d.users < 2:
            notes.append(f"{who}: {d.users} user(s) have a value from every system; that is too few to test.")
        elif d.ties == d.users:
            notes.append(f"{who}: no user differs; t and Wilcoxon are undefined, the permutation test gives 1.")
        elif np.isnan(d.t):
            notes.append(
                f"{who}: every user differs by the same {d.difference:+.4g}; t has no spread to compare it with, "
                "see the permutation test."
            )
    return notes


def _friedman(panel: Panel, known: Mapping[str, Metric], how: Settings) -> dict[str, st.Friedman]:
    complete = panel.complete
    found = {}
    for column, name in enumerate(panel.metrics):
        values = panel.values[:, complete[:, column], column].T
        lower_is_better = name in known and known[name].higher_is_better is False
        if len(values) > 1:
            found[name] = st.friedman(-values if lower_is_better else values, how.alpha)
    return found


def _baseline(baseline: str | None, names: Sequence[str]) -> str:
    if baseline is not None and baseline not in names:
        raise BadParameterError(
            f"there is no system {baseline!r} to compare with", f"systems {', '.join(names)}", "name one of them"
        )
    return names[0] if baseline is None else baseline


def _settings(
    test: Any, correction: Any, family: Any, alpha: float, power: float, resamples: int, halves: int, seed: int
) -> Settings:
    if test in UNPAIRED:
        raise BadParameterError(
            f"{test} is a test for unpaired samples, and both systems were given the same users",
            "it would treat a user's two values as strangers and miss differences that the pairs show",
            f"choose one of {', '.join(TESTS)}",
        )
    for what, value, choices in (("test", test, TESTS), ("correction", correction, CORRECTIONS), ("family", family, FAMILIES)):  # fmt: skip
        if value not in choices:
            raise BadParameterError(f"there is no {what} {value!r}", hint=f"choose one of {', '.join(choices)}")
    for what, share in (("alpha", alpha), ("power", power)):
        if not 0 < share < 1:
            raise BadParameterError(f"{what} must be between 0 and 1", f"{share}", "0.05 and 0.8 are usual")
    if resamples < 100 or halves < 20:
        raise BadParameterError(
            "too few resamples", f"resamples={resamples}, halves={halves}", "give at least 100 and 20; 10,000 is usual"
        )
    return Settings(test, correction, family, alpha, power, resamples, halves, seed)
