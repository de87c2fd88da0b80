"""Several systems: `compare` pairs their per-user values on the same users.

This module evaluates; the statistics are in `stats`, the results in `report`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any, Literal

import torch

from bridgeval import loading, plugins, spec
from bridgeval.arguments import checked
from bridgeval.engine.metric import Metric
from bridgeval.engine.plan import Execution, Plan
from bridgeval.engine.source import JointLoader
from bridgeval.engine.state import UserTable
from bridgeval.errors import BadParameterError, InputError, SpecError
from bridgeval.evaluation import evaluate_one
from bridgeval.io.places import open_place
from bridgeval.joint_evaluation import evaluate_together, find_joint_loader
from bridgeval.report import Report
from bridgeval.report.comparison import Comparison
from bridgeval.stats.differences import Settings, correct, explain_untestable
from bridgeval.stats.half_sample import Dealt, Halves, NotDealtError, PooledNumbers, draw_halves
from bridgeval.stats.paired_results import PairedResults
from bridgeval.stats.paired_state import PairedUsers
from bridgeval.stats.paired_values import Pairs, Panel, is_user_values, read_user_values
from bridgeval.stats.panel_results import PanelResults
from bridgeval.stats.slice_analysis import check_item_slices
from bridgeval.tables.slice_labels import Labels, read_slice_labels

DEFAULT_METRICS = ("nDCG@10", "Recall@10")
# Arguments of `evaluate` that a loader does not take.
NOT_LOADED = ("loader", "convention", "device", "batch_size", "memory", "progress", "group", "per_user")

# Arguments of `evaluate` that are decided before all systems are evaluated together.
NOT_TOGETHER = ("loader", "per_user", "group")


@checked
def compare(
    systems: Mapping[str, Any] | Sequence[Any],
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
    bootstrap: str | None = None,
    by: Any = None,
    **evaluation: Any,
) -> Comparison:
    """Compares systems on the same users.

    Each system is evaluated once. For every metric that is a mean of per-user values, the users with a value from every
    system are compared in pairs. Metrics without a value for each user (Gini, coverage, pooled RMSE) are compared on
    random halves of the users.

    Args:
        systems: name -> recommendations as `evaluate` takes them, or a Report made with per_user=True, or the path of a
            Parquet file of per-user values (columns metric, user, value, and system if it holds several). Those of a
            list are called "1", "2", ...
        relevance: the relevant items; not needed if no system is given as recommendations.
        metrics: as in `evaluate`; Reports and files are compared in the metrics that they have.
        baseline: the system that the others are compared with; the first one by default.
        pairs: each system with the "baseline", or "all" pairs.
        test: the test whose p decides: "t", "wilcoxon" or "permutation". All three are reported.
        correction: "holm" (family-wise error rate), "bh" (false discovery rate) or "none". Both are reported.
        family: the tests that are corrected together: "all", those of one "metric", or those of one "system".
        alpha: differences with an adjusted p below are significant; intervals have confidence 1 - alpha.
        power: of the minimum detectable difference.
        resamples: of the bootstrap and of the permutation test; if there are fewer sign patterns, all are tried.
        halves: random halves of the users, for metrics that have no value for each user.
        seed: of everything random; the same seed gives the same digits.
        bootstrap: "users" draws as many users as there are; "poisson" draws each by a hash of the id, so that sums over
            users merge. None is "poisson" where recommendations are in Spark: their users are paired on the executors
            in one pass, and no user's value is collected; else "users".
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
    if "state" in evaluation:
        raise BadParameterError("a state file holds one system", "state= for several", "evaluate each with its own")
    systems = name_systems(systems)
    names = list(systems)
    chosen = _choose_pairs(names, baseline, pairs)
    labels = () if by is None else read_slice_labels(by)
    joint = _choose_joint_loader(systems, relevance, bootstrap, evaluation)
    drawing = bootstrap or ("users" if joint is None else "poisson")
    settings: Any = (test, correction, family, alpha, power, resamples, halves, seed, drawing)
    how = Settings(*settings).check()
    if joint is None:
        asked = {**evaluation, "by": labels} if any(one.side == "item" for one in labels) else evaluation
        scored = {name: _score(name, value, relevance, metrics, asked) for name, value in systems.items()}
        pooled = {metric for one in scored.values() for metric in one.pooled}
        whole = _pool(scored, pooled, how, partial(_draw_halves, systems, relevance, how, evaluation))
        known = {name: metric for one in scored.values() for name, metric in one.metrics.items()} | dict(whole.metrics)
        found: PanelResults | PairedResults = _pair(scored, pooled, labels, chosen, known, how)
    else:
        given = {name: value for name, value in evaluation.items() if name not in NOT_TOGETHER}
        together = evaluate_together(joint, systems, relevance, metrics, chosen, how, labels, **given)
        scored = {name: _describe(name, report) for name, report in together.reports.items()}
        compared = {name for _, name in together.paired.metrics}
        pooled = {name for one in scored.values() for name in one.metrics if name not in compared}
        whole = _pool(scored, pooled, how, lambda _: together.halves)
        found = together.paired
    differences = found.differences()
    if not differences and not whole.numbers:
        raise InputError(
            "the systems have no metric in common",
            "; ".join(f"{name}: {', '.join(one.names)}" for name, one in scored.items()),
            "evaluate them with the same metrics",
            argument="metrics",
        )
    notes = [note for one in scored.values() for note in one.notes]
    notes += [*_note_missing(scored), *found.notes(), *explain_untestable(differences), *whole.notes]
    return Comparison(
        tuple(names),
        tuple(correct([*differences, *whole.differences(chosen)], how)),
        (*found.means(), *whole.means()),
        found.friedman(),
        how,
        tuple(dict.fromkeys(notes)),
        found.slices(),
        {name: replace(one.report, by=()) for name, one in scored.items() if one.report is not None},
    )


@dataclass(frozen=True)
class System:
    """One system of a comparison.

    Attributes:
        tables: metric -> per-user values.
        metrics: name -> metric, as far as it is known.
        pooled: metrics whose number is not the mean of per-user values.
        notes: sentences about its values.
        report: None for a system that was read from a file of per-user values.
    """

    tables: Mapping[str, UserTable]
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    pooled: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    report: Report | None = None

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys([*self.tables, *self.metrics]))

    def numbers(self, metric: str) -> dict[str, float]:
        """The number of a metric, or its named parts; none if only per-user values are known."""
        result = None if self.report is None else self.report.results.get(metric)
        return {} if result is None else result.numbers(metric)


def name_systems(systems: Any) -> Mapping[str, Any]:
    """The systems by name; those of a list are called "1", "2", ..."""
    if isinstance(systems, list | tuple):
        return {str(number): open_place(one) for number, one in enumerate(systems, start=1)}
    if isinstance(systems, Mapping) and not isinstance(systems, Report):
        return {name: open_place(one) for name, one in systems.items()}
    raise InputError(
        "the systems are a mapping of name to recommendations, or a list",
        f"an object of type {type(systems).__name__}",
        "give e.g. {'old': recs_a, 'new': recs_b}",
        argument="systems",
    )


def _choose_joint_loader(
    systems: Mapping[str, Any], relevance: Any, bootstrap: str | None, evaluation: Mapping[str, Any]
) -> JointLoader | None:
    """The loader that pairs users where they lie; None if their values are asked for, or at hand already."""
    at_hand = any(isinstance(value, Report) or is_user_values(value) for value in systems.values())
    if at_hand or bootstrap == "users" or evaluation.get("per_user") or evaluation.get("group") is not None:
        return None
    return find_joint_loader(systems.values(), relevance, evaluation.get("loader"))


def _pair(
    scored: Mapping[str, System],
    pooled: Collection[str],
    labels: tuple[Labels, ...],
    pairs: Pairs,
    known: Mapping[str, Metric],
    how: Settings,
) -> PanelResults | PairedResults:
    """The results of users whose values are at hand."""
    tables = {
        name: {metric: table for metric, table in one.tables.items() if metric not in pooled}
        for name, one in scored.items()
    }
    panel = Panel.of(tables)
    items = {name: one.report.item_slices for name, one in scored.items() if one.report is not None}
    if how.bootstrap == "users":
        return PanelResults(panel, items, pairs, known, labels, how)
    check_item_slices(labels, panel, items)
    asked = PairedUsers(panel.systems, dict.fromkeys(panel.metrics), pairs, how, labels)
    return PairedResults(asked, asked.add_up(panel, items), known)


def _score(name: str, value: Any, relevance: Any, metrics: Any, evaluation: Mapping[str, Any]) -> System:
    if is_user_values(value):
        return _score_file(name, value)
    if not isinstance(value, Report):
        if relevance is None:
            raise InputError(
                f"system {name!r} cannot be evaluated without the relevance",
                f"an object of type {type(value).__name__}",
                "give {argument}, or Reports made with per_user=True",
                argument="relevance",
            )
        value = evaluate_one(value, relevance, metrics, **{**evaluation, "per_user": True})
    if not value.collected and any(metric.per_user() is not None for metric in value.metrics.values()):
        raise InputError(
            f"the report of system {name!r} has no per-user values, so its users cannot be paired",
            f"metrics {', '.join(value.metrics)}",
            "evaluate with per_user=True",
            argument="systems",
        )
    return _describe(name, value)


def _describe(name: str, report: Report) -> System:
    """The system of a report."""
    pooled = frozenset(metric for metric in report.metrics if not report.is_mean_of_users(metric))
    nothing = report.population.shown_nothing
    note = f"{name} showed nothing to {nothing:,} user(s) that count; they score 0."
    return System(report.collected, report.metrics, pooled, (note,) if nothing else (), report)


def _score_file(name: str, path: str | os.PathLike[str]) -> System:
    saved = read_user_values(path)
    if name not in saved and len(saved) != 1:
        raise InputError(
            f"{os.fspath(path)!r} has no system {name!r}",
            f"systems {', '.join(saved)}",
            "use the system's name in the file",
            argument="systems",
        )
    tables = saved.get(name) or next(iter(saved.values()))
    metrics = {}
    for metric in tables:
        try:
            metrics[metric] = spec.parse(metric)[0]
        except SpecError:
            continue
    unknown = [metric for metric in tables if metric not in metrics]
    note = f"{', '.join(unknown)} in {os.fspath(path)!r} is not a known metric; higher is assumed to be better."
    return System(tables, metrics, notes=(note,) if unknown else ())


def _pool(
    scored: Mapping[str, System],
    pooled: Collection[str],
    how: Settings,
    draw: Callable[[Plan], Halves | None],
) -> PooledNumbers:
    """The pooled numbers that all systems have, and their half-samples, drawn of the plan of their metrics."""
    first = next(iter(scored.values()))
    metrics: dict[str, Metric] = {}
    numbers: dict[str, dict[str, float]] = {}
    for metric in first.metrics:
        found = {system: one.numbers(metric) for system, one in scored.items() if metric in pooled}
        for name in first.numbers(metric) if found else ():
            if all(name in own for own in found.values()):
                numbers[name] = {system: own[name] for system, own in found.items()}
                metrics[name] = first.metrics[metric]
    return PooledNumbers(numbers, metrics, draw(Plan.of(metrics.values())) if numbers else None, how)


def _draw_halves(
    systems: Mapping[str, Any], relevance: Any, how: Settings, evaluation: Mapping[str, Any], plan: Plan
) -> Halves | None:
    """Evaluates a plan on random halves of the users; None if the lists are not at hand, or cannot be separated."""
    if any(isinstance(value, Report) or is_user_values(value) for value in systems.values()):
        return None
    try:
        dealt = {name: _deal(value, relevance, plan, how.seed, evaluation) for name, value in systems.items()}
    except NotDealtError:
        return None
    return draw_halves(dealt, plan, how)


def _deal(value: Any, relevance: Any, plan: Plan, seed: int, evaluation: Mapping[str, Any]) -> Any:
    """Evaluates a plan on groups of users; returns a DealtState."""
    given = {name: one for name, one in evaluation.items() if one is not None and name not in NOT_LOADED}
    source = loading.load(plugins.installed(), value, relevance, evaluation.get("loader"), **given).source
    (state,) = source.run(Plan.of([Dealt(plan, seed)]), Execution(torch.device("cpu"), evaluation.get("batch_size")))
    return state


def _note_missing(scored: Mapping[str, System]) -> list[str]:
    everything = dict.fromkeys(name for one in scored.values() for name in one.names)
    missing = [name for name in everything if not all(name in one.names for one in scored.values())]
    return [f"{', '.join(missing)}: not in every system, excluded."] if missing else []


def _choose_pairs(names: Sequence[str], baseline: str | None, pairs: str) -> list[tuple[str, str]]:
    """(baseline, system) of every comparison."""
    if pairs not in ("baseline", "all"):
        raise BadParameterError(f"there is no pairs={pairs!r}", hint="choose 'baseline' or 'all'", argument="pairs")
    if len(names) < 2:
        raise InputError(
            "a comparison needs two systems", f"{names}", "give e.g. {'a': recs_a, 'b': recs_b}", argument="systems"
        )
    if baseline is not None and baseline not in names:
        raise BadParameterError(
            f"there is no system {baseline!r} to compare with",
            f"systems {', '.join(names)}",
            "name one of them",
            argument="baseline",
        )
    first = names[0] if baseline is None else baseline
    ordered = [first, *(name for name in names if name != first)]
    return list(combinations(ordered, 2)) if pairs == "all" else [(first, name) for name in ordered[1:]]
