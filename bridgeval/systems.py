"""compare: is one system better than another, by how much, and how sure is that."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

from bridgeval import spec
from bridgeval.engine.metric import Metric
from bridgeval.engine.state import UserTable
from bridgeval.errors import BadParameterError, InputError, SpecError
from bridgeval.evaluation import one_report
from bridgeval.report import Report
from bridgeval.slices import all_slices
from bridgeval.stats.comparison import CORRECTIONS, FAMILIES, TESTS, Comparison, Settings
from bridgeval.stats.half_sample import Whole, halves_of, numbers_of
from bridgeval.stats.paired import corrected, friedman_tests, paired, untestable
from bridgeval.stats.paired_values import Panel, is_mean_of_users, is_user_values, read_user_values
from bridgeval.tables.slice_labels import read_slice_labels

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
    by: Any = None,
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
        by: slices: a mapping user -> label, or a frame with the id of users or of items and one column for each kind of
            slice, or a list of these; see `bridgeval.slices`. Slices of items need recommendations, or Reports made
            with the same by=.
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
    if pairs not in ("baseline", "all"):
        raise BadParameterError(f"there is no pairs={pairs!r}", hint="choose 'baseline' or 'all'")
    how = _settings(test, correction, family, alpha, power, resamples, halves, seed)
    if len(systems) < 2:
        raise InputError("a comparison needs two systems", f"{list(systems)}", "give e.g. {'a': recs_a, 'b': recs_b}")
    names = list(systems)
    first = _baseline(baseline, names)
    ordered = [first, *(name for name in names if name != first)]
    chosen = list(combinations(ordered, 2)) if pairs == "all" else [(first, name) for name in ordered[1:]]
    labels = () if by is None else read_slice_labels(by)
    asked = {**evaluation, "by": labels} if any(one.side == "item" for one in labels) else evaluation
    scored = {name: _scored(name, value, relevance, metrics, asked) for name, value in systems.items()}
    pooled = {metric for one in scored.values() for metric in one.pooled}
    tables = {
        name: {metric: table for metric, table in one.tables.items() if metric not in pooled}
        for name, one in scored.items()
    }
    panel = Panel.of(tables)
    whole = _whole(systems, relevance, scored, pooled, how, evaluation)
    known = {name: metric for one in scored.values() for name, metric in one.metrics.items()} | dict(whole.metrics)
    differences, means = paired(panel, chosen, known, how)
    if not differences and not whole.numbers:
        raise InputError(
            "the systems have no metric in common",
            "; ".join(f"{name}: {', '.join(one.names)}" for name, one in scored.items()),
            "evaluate them with the same metrics",
        )
    reports = {name: one.report for name, one in scored.items() if one.report is not None}
    notes = [note for one in scored.values() for note in one.notes]
    notes += [*_left_out(scored), *panel.notes(), *untestable(differences), *whole.notes]
    return Comparison(
        tuple(names),
        tuple(corrected([*differences, *whole.differences(chosen, known)], how)),
        (*means, *whole.means()),
        friedman_tests(panel, known, how) if len(names) > 2 else {},
        how,
        tuple(dict.fromkeys(notes)),
        all_slices(labels, panel, reports, chosen, known, how) if labels else None,
        {name: replace(report, by=()) for name, report in reports.items()},
    )


@dataclass(frozen=True)
class _Scored:
    """What is known of one system.

    Attributes:
        tables: metric -> per-user values.
        metrics: metric -> what it is, as far as that is known.
        pooled: metrics whose number is not the mean of per-user values.
        report: None for a system that was read from a file.
    """

    tables: Mapping[str, UserTable]
    metrics: Mapping[str, Metric]
    pooled: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    report: Report | None = None

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys([*self.tables, *self.metrics]))

    def numbers(self, metric: str) -> dict[str, float]:
        """The number of a metric, or its named parts; none where only per-user values are known."""
        if self.report is None or metric not in self.report.results:
            return {}
        return numbers_of({self.metrics[metric]: self.report.results[metric]})


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
    return _scored_report(name, one_report(value, relevance, metrics, **{**evaluation, "per_user": True}))


def _scored_report(name: str, report: Report) -> _Scored:
    if not report.collected and any(metric.per_user() is not None for metric in report.metrics.values()):
        raise InputError(
            f"the report of system {name!r} has no per-user values, so that users cannot be paired",
            f"metrics {', '.join(report.metrics)}",
            "evaluate with per_user=True",
        )
    pooled = frozenset(metric for metric in report.metrics if not is_mean_of_users(report, metric))
    nothing = report.population.shown_nothing
    note = f"{name} showed nothing to {nothing:,} user(s) that count; they score 0." if nothing else ""
    return _Scored(report.collected, report.metrics, pooled, (note,) if note else (), report)


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
    return _Scored(tables, metrics, notes=(note,) if unknown else ())


def _whole(
    systems: Mapping[str, Any],
    relevance: Any,
    scored: Mapping[str, _Scored],
    pooled: Collection[str],
    how: Settings,
    evaluation: Mapping[str, Any],
) -> Whole:
    """The pooled numbers that all systems have, and their halves where the lists are here."""
    first = next(iter(scored.values()))
    metrics: dict[str, Metric] = {}
    numbers: dict[str, dict[str, float]] = {}
    for metric in first.metrics:
        found = {system: one.numbers(metric) for system, one in scored.items() if metric in pooled}
        for name in first.numbers(metric) if found else ():
            if all(name in own for own in found.values()):
                numbers[name] = {system: own[name] for system, own in found.items()}
                metrics[name] = first.metrics[metric]
    lists = not any(isinstance(value, Report) or is_user_values(value) for value in systems.values())
    halves = halves_of(systems, relevance, list(metrics.values()), how, evaluation) if numbers and lists else None
    return Whole(numbers, metrics, halves, how)


def _left_out(scored: Mapping[str, _Scored]) -> list[str]:
    everything = dict.fromkeys(name for one in scored.values() for name in one.names)
    missing = [name for name in everything if not all(name in one.names for one in scored.values())]
    return [f"{', '.join(missing)}: not in every system, left out."] if missing else []


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
    chosen: dict[str, tuple[Any, Mapping[Any, str]]] = {
        "test": (test, TESTS),
        "correction": (correction, CORRECTIONS),
        "family": (family, FAMILIES),
    }
    for what, (value, choices) in chosen.items():
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
