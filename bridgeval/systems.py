"""Several systems: `compare` them, or `check` one against a baseline.

Both pair the per-user values of systems that were evaluated on the same users. This module evaluates; the statistics
are in `stats`, the results in `report`.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import torch

from bridgeval import plugins, spec
from bridgeval.engine.metric import Metric
from bridgeval.engine.plan import Execution, Plan
from bridgeval.engine.state import UserTable
from bridgeval.errors import BadParameterError, BridgevalError, InputError, SpecError
from bridgeval.evaluation import evaluate_one
from bridgeval.report import Report
from bridgeval.report.comparison import Comparison
from bridgeval.report.gate import Gate
from bridgeval.stats.differences import Settings, compare_pairs, correct, explain_untestable, friedman_tests
from bridgeval.stats.half_sample import Dealt, NotDealtError, PooledNumbers, draw_halves
from bridgeval.stats.non_inferiority import Limit, check_limit, check_slices
from bridgeval.stats.paired_values import Panel, is_user_values, read_user_values, write_user_values
from bridgeval.stats.slice_analysis import find_members, slice_values
from bridgeval.tables.slice_labels import Labels, read_slice_labels

DEFAULT_METRICS = ("nDCG@10", "Recall@10")
# Arguments of `evaluate` that a loader does not take.
NOT_LOADED = ("loader", "convention", "device", "batch_size", "progress", "group", "per_user")
HOW_TO_SAVE = (
    "make one with `bridgeval check RECS TRUTH --max-drop METRIC=DROP --save old.json`, "
    "or with `bridgeval evaluate RECS TRUTH --format json --out old.json --per-user old.parquet`"
)


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

    Each system is evaluated once. For every metric that is a mean of per-user values, the users with a value from every
    system are compared in pairs. Metrics without a value for each user (Gini, coverage, pooled RMSE) are compared on
    random halves of the users.

    Args:
        systems: name -> recommendations as `evaluate` takes them, or a Report made with per_user=True, or the path of a
            Parquet file of per-user values (columns metric, user, value, and system if it holds several).
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
    settings: Any = (test, correction, family, alpha, power, resamples, halves, seed)
    how = Settings(*settings).check()
    names = list(systems)
    chosen = _choose_pairs(names, baseline, pairs)
    labels = () if by is None else read_slice_labels(by)
    asked = {**evaluation, "by": labels} if any(one.side == "item" for one in labels) else evaluation
    scored = {name: _score(name, value, relevance, metrics, asked) for name, value in systems.items()}
    pooled = {metric for one in scored.values() for metric in one.pooled}
    tables = {
        name: {metric: table for metric, table in one.tables.items() if metric not in pooled}
        for name, one in scored.items()
    }
    panel = Panel.of(tables)
    whole = _pool(systems, relevance, scored, pooled, how, evaluation)
    known = {name: metric for one in scored.values() for name, metric in one.metrics.items()} | dict(whole.metrics)
    differences, means = compare_pairs(panel, chosen, known, how)
    if not differences and not whole.numbers:
        raise InputError(
            "the systems have no metric in common",
            "; ".join(f"{name}: {', '.join(one.names)}" for name, one in scored.items()),
            "evaluate them with the same metrics",
            argument="metrics",
        )
    reports = {name: one.report for name, one in scored.items() if one.report is not None}
    items = {name: report.item_slices for name, report in reports.items()}
    notes = [note for one in scored.values() for note in one.notes]
    notes += [*_note_missing(scored), *panel.notes(), *explain_untestable(differences), *whole.notes]
    return Comparison(
        tuple(names),
        tuple(correct([*differences, *whole.differences(chosen)], how)),
        (*means, *whole.means()),
        friedman_tests(panel, known, how) if len(names) > 2 else {},
        how,
        tuple(dict.fromkeys(notes)),
        slice_values(labels, panel, items, chosen, known, how) if labels else None,
        {name: replace(report, by=()) for name, report in reports.items()},
    )


def check(
    recommendations: Any,
    relevance: Any,
    baseline: Any,
    max_drop: str | Iterable[str | Limit],
    *,
    alpha: float = 0.05,
    by: Any = None,
    **evaluation: Any,
) -> Gate:
    """Checks that recommendations are not worse than a baseline by more than an acceptable drop.

    Args:
        recommendations: as `evaluate` takes them, or a Report made with per_user=True.
        relevance: the relevant items.
        baseline: a Report made with per_user=True, a Parquet file of per-user values, or a JSON file that
            `save_baseline` or `bridgeval evaluate --format json` wrote, with its per-user values or its inputs at the
            recorded paths.
        max_drop: the largest acceptable drops, such as "nDCG@10=1%" (of the baseline's value) or "nDCG@10=0.002".
        alpha: the probability that a drop of exactly the margin passes; in slices, that any slice fails whose drop is
            exactly the margin.
        by: slices to check as well, as in `evaluate`. Slices of items need a baseline whose lists are known: a Report
            made with the same by=, or a JSON file whose inputs are still there.
        **evaluation: any further argument of `evaluate`.

    >>> truth = {user: ["x"] for user in range(40)}
    >>> old = {user: ["x", "y"] if user % 4 else ["y", "x"] for user in range(40)}
    >>> from bridgeval import evaluate
    >>> report = evaluate(old, truth, "MRR@2", per_user=True)
    >>> print(check(old, truth, report, "MRR@2=1%"))
    MRR@2 0.8750 -> 0.8750 over 40 users: holds, a drop of 1% is ruled out (p = 0)
    >>> check({**old, **{user: ["y", "x"] for user in range(9)}}, truth, report, "MRR@2=1%").holds
    False
    """
    given = [max_drop] if isinstance(max_drop, str) else max_drop
    limits = [parse_limit(one, evaluation.get("convention")) if isinstance(one, str) else one for one in given]
    if not limits:
        raise BadParameterError("no limit was given", hint="give e.g. nDCG@10=1%", argument="max_drop")
    if not 0 < alpha < 0.5:
        raise BadParameterError(
            "alpha must be between 0 and 0.5", f"{alpha}", "0.05 is a common value", argument="alpha"
        )
    labels = () if by is None else read_slice_labels(by)
    names = [limit.metric for limit in limits]
    old = read_baseline(baseline, names, labels)
    now = recommendations
    if not isinstance(now, Report):
        now = evaluate_one(recommendations, relevance, names, **{**evaluation, "per_user": True, "by": labels or None})
    _check_pairable(names, old, now)
    panel = _pair(old.tables, now.collected, names)
    slices = [(f"{kind} = {label}", panel.take_users(at)) for kind, label, at in find_members(labels, panel.users)]
    slices += _pair_item_slices([one.kind for one in labels if one.side == "item"], old, now, names)
    checks = tuple(check_limit(panel, limit, alpha) for limit in limits)
    return Gate(checks, alpha, (*old.notes, *panel.notes()), check_slices(slices, limits, alpha))


def parse_limit(text: str, convention: str | None = None) -> Limit:
    """Reads the largest acceptable drop of a metric.

    >>> parse_limit("nDCG@10=1%"), parse_limit("MRR@5=0.002").drop
    (Limit(metric='nDCG@10', drop=0.01, relative=True, higher_is_better=True), 0.002)
    """
    name, equals, limit = text.rpartition("=")
    try:
        drop = float(limit.strip().removesuffix("%"))
    except ValueError:
        drop = math.nan
    if not equals or not math.isfinite(drop) or drop < 0:
        raise BadParameterError(
            "a limit is a metric, = and the largest acceptable drop, which is not negative",
            f"{text!r}",
            "write e.g. nDCG@10=1% or nDCG@10=0.002",
            argument="max_drop",
        )
    relative = limit.strip().endswith("%")
    metric = spec.parse(name.strip(), convention)[0]
    return Limit(str(metric), drop / 100 if relative else drop, relative, metric.higher_is_better)


@dataclass(frozen=True)
class System:
    """One system of a comparison, or the baseline of a check.

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
    pooled = frozenset(metric for metric in value.metrics if not value.is_mean_of_users(metric))
    nothing = value.population.shown_nothing
    note = f"{name} showed nothing to {nothing:,} user(s) that count; they score 0."
    return System(value.collected, value.metrics, pooled, (note,) if nothing else (), value)


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
    systems: Mapping[str, Any],
    relevance: Any,
    scored: Mapping[str, System],
    pooled: Collection[str],
    how: Settings,
    evaluation: Mapping[str, Any],
) -> PooledNumbers:
    """The pooled numbers that all systems have, and their half-samples if the lists are at hand."""
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
    if not numbers or not lists:
        return PooledNumbers(numbers, metrics, None, how)
    plan = Plan.of(list(metrics.values()))
    try:
        dealt = {name: _deal(value, relevance, plan, how.seed, evaluation) for name, value in systems.items()}
    except NotDealtError:
        return PooledNumbers(numbers, metrics, None, how)
    return PooledNumbers(numbers, metrics, draw_halves(dealt, plan, how), how)


def _deal(value: Any, relevance: Any, plan: Plan, seed: int, evaluation: Mapping[str, Any]) -> Any:
    """Evaluates a plan on groups of users; returns a DealtState."""
    loader = plugins.installed().loader_for(value, relevance, evaluation.get("loader"))
    given = {name: argument for name, argument in evaluation.items() if name not in NOT_LOADED}
    source: Any = loader.load(value, relevance, **given)
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


def _check_pairable(names: Sequence[str], old: System, now: Report) -> None:
    missing = [name for name in names if name not in old.tables or name not in now.collected]
    if missing:
        raise InputError(
            f"there are no per-user values of {', '.join(missing)} to pair",
            f"the baseline has {', '.join(old.tables)}; now there are {', '.join(now.collected)}",
            "make the baseline with the metrics that are checked, and per user (--save, or per_user=True)",
            argument="baseline",
        )
    pooled = [name for name in names if not now.is_mean_of_users(name)]
    if pooled:
        raise InputError(
            f"{', '.join(pooled)} is not a mean over users, so paired users cannot test it",
            hint='choose a metric that is; a rating error is one with average="users"',
            argument="max_drop",
        )


def _pair(old: Mapping[str, UserTable], now: Mapping[str, UserTable], names: Sequence[str]) -> Panel:
    return Panel.of({"baseline": {name: old[name] for name in names}, "now": {name: now[name] for name in names}})


def _pair_item_slices(kinds: Sequence[str], old: System, now: Report, names: Sequence[str]) -> list[tuple[str, Panel]]:
    """(title, values) of every slice of items that both have."""
    lists = () if old.report is None else old.report.item_slices
    before = {(one.kind, one.label): one.values for one in lists}
    if not all(any(kind == own for own, _ in before) for kind in kinds):
        raise InputError(
            "the baseline cannot be sliced by items: this needs its lists, and per-user values do not have them",
            f"no slices by {', '.join(kinds)}",
            "give a report whose inputs are still at their paths, or leave out slices of items",
            argument="baseline",
        )
    return [
        (f"{one.kind} = {one.label}", _pair(before[one.kind, one.label], one.values, names))
        for one in now.item_slices
        if one.kind in kinds and (one.kind, one.label) in before
    ]


def save_baseline(report: Report, path: str | os.PathLike[str]) -> None:
    """Writes a report as JSON, and its per-user values as Parquet beside it, for later checks."""
    beside = Path(path).with_suffix(".parquet")
    write_user_values({"": report.collected}, beside)
    named = replace(report, manifest={**report.manifest, "per_user": beside.name})
    named.to_json(path)


def read_baseline(baseline: Any, metrics: Sequence[str], labels: Sequence[Labels] = ()) -> System:
    """Reads a baseline; evaluates it again from its recorded inputs if it has no per-user values, or not these slices.

    Args:
        baseline: a Report, or a path.
        metrics: to be checked.
        labels: slices to be checked.
    """
    if isinstance(baseline, Report):
        if not baseline.collected:
            raise InputError(
                "the baseline has no per-user values", hint="evaluate it with per_user=True", argument="baseline"
            )
        return System(baseline.collected, baseline.metrics, report=baseline)
    if not isinstance(baseline, str | os.PathLike):
        raise InputError(
            "the baseline cannot be read",
            f"an object of type {type(baseline).__name__}",
            "give a Report or a file",
            argument="baseline",
        )
    if not os.path.isfile(baseline):
        raise InputError("there is no baseline", f"{os.fspath(baseline)!r}", HOW_TO_SAVE, argument="baseline")
    if is_user_values(baseline):
        return System(_only_system(baseline))
    return _read_document(Path(baseline), metrics, labels)


def _read_document(path: Path, metrics: Sequence[str], labels: Sequence[Labels]) -> System:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        named = document["manifest"].get("per_user")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"the baseline {os.fspath(path)!r} is neither a report nor per-user values",
            str(error),
            "give a file that `bridgeval check --save` or `bridgeval evaluate --format json` wrote",
            argument="baseline",
        ) from error
    beside = path.parent / named if isinstance(named, str) else path.with_suffix(".parquet")
    by_items = any(one.side == "item" for one in labels)
    if is_user_values(beside) and not by_items:
        return System(_only_system(beside))
    return _evaluate_again(path, document, metrics, labels, beside)


def _evaluate_again(
    path: Path, document: Mapping[str, Any], metrics: Sequence[str], labels: Sequence[Labels], beside: Path
) -> System:
    """Evaluates the baseline again, if its inputs have not changed."""
    from bridgeval.verification import read_recorded_request

    try:
        request = read_recorded_request(document, os.fspath(path.parent))
    except BridgevalError as error:
        raise InputError(
            f"the baseline {os.fspath(path)!r} has means but no per-user values, so its users cannot be paired",
            f"no {os.fspath(beside)!r}, and it cannot be evaluated again: {error.wrong}",
            HOW_TO_SAVE,
            argument="baseline",
        ) from error
    if len(request.recommendations) != 1:
        raise _several_systems(path, request.recommendations)
    ((system, file),) = request.recommendations.items()
    lists, truth = request.tables[f"recommendations[{system}]"], request.tables["relevance"]
    report = evaluate_one(lists, truth, metrics, per_user=True, by=tuple(labels) or None, **request.extras())
    note = f"The baseline was evaluated again from {file}."
    return System(report.collected, report.metrics, notes=(note,), report=report)


def _only_system(path: str | os.PathLike[str]) -> Mapping[str, UserTable]:
    systems = read_user_values(path)
    if len(systems) != 1:
        raise _several_systems(path, systems)
    return next(iter(systems.values()))


def _several_systems(path: str | os.PathLike[str], systems: Iterable[str]) -> InputError:
    return InputError(
        f"{os.fspath(path)!r} holds several systems",
        ", ".join(systems),
        "save only the system that is the baseline",
        argument="baseline",
    )
