"""Baselines: `check` a system against one; save one, read one.

A baseline is the per-user values of a system and the record of what they were measured with: hashes of the truth and of
the history, and the definitions of its metrics. Values that were measured otherwise cannot be paired, so a check with
another truth is refused unless it is asked for.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from bridgeval import spec
from bridgeval.arguments import checked
from bridgeval.engine.state import UserTable
from bridgeval.errors import BadParameterError, BridgevalError, InputError
from bridgeval.evaluation import evaluate_one
from bridgeval.report import Report
from bridgeval.report.definitions import define
from bridgeval.report.gate import Gate
from bridgeval.report.manifest import (
    HASHED_BY_ROW,
    Described,
    add_inputs,
    describe_inputs,
    explain_unknown_truth,
    find_changed_inputs,
)
from bridgeval.report.saved_reports import read_report
from bridgeval.run_history import find_run
from bridgeval.stats.non_inferiority import Limit, check_limit, check_slices, refuse_any_drop
from bridgeval.stats.paired_values import Panel, is_user_values, read_user_values, write_user_values
from bridgeval.stats.slice_analysis import find_members
from bridgeval.tables.slice_labels import Labels, read_slice_labels

HOW_TO_SAVE = (
    "make one with `bridgeval check RECS TRUTH --max-drop METRIC=DROP --save old.json`, "
    "or with `bridgeval evaluate RECS TRUTH --format json --out old.json --per-user old.parquet`"
)
# Populations that depend on what a system shows: two systems may have different users of one truth.
OF_THE_SYSTEM = ("shown", "both", "any", "listed", "answered", "measured")


@dataclass(frozen=True)
class Baseline:
    """The results that a system is checked against.

    Attributes:
        tables: metric -> per-user values.
        inputs: what is known of the inputs; empty if nothing was recorded.
        definitions: name of a metric, with the label of its report -> its native definition; empty if not recorded.
        notes: sentences about it.
        report: None if it was read from a file of per-user values.
    """

    tables: Mapping[str, UserTable]
    inputs: Described = field(default_factory=dict)
    definitions: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    report: Report | None = None


@checked
def check(
    recommendations: Any,
    relevance: Any,
    baseline: Any,
    max_drop: str | Iterable[str | Limit],
    *,
    alpha: float = 0.05,
    by: Any = None,
    other_inputs: bool = False,
    **evaluation: Any,
) -> Gate:
    """Checks that recommendations are not worse than a baseline by more than an acceptable drop.

    Args:
        recommendations: as `evaluate` takes them, or a Report made with per_user=True.
        relevance: the relevant items; beside a Report they are only compared with those of the baseline.
        baseline: a Report made with per_user=True, a Parquet file of per-user values, or a JSON file that
            `save_baseline` or `bridgeval evaluate --format json` wrote, with its per-user values or its inputs at the
            recorded paths; or a run in a folder of runs: "runs/last", "runs/best" by the first metric of those with the
            same truth, "runs/" and a tag, or what `Runs.pick` returns.
        max_drop: the largest acceptable drops, such as "nDCG@10=1%" (of the baseline's value) or "nDCG@10=0.002". One
            that no drop could exceed is refused.
        alpha: the probability that a drop of exactly the margin passes; in slices, that any slice fails whose drop is
            exactly the margin.
        by: slices to check as well, as in `evaluate`. Slices of items need a baseline whose lists are known: a Report
            made with the same by=, or a JSON file whose inputs are still there.
        other_inputs: allows a baseline of another truth or history, of other users, or of other definitions.
        **evaluation: any further argument of `evaluate`.

    Returns:
        A Gate, which is true if it holds: `assert check(...)`.

    >>> truth = {user: ["x"] for user in range(40)}
    >>> old = {user: ["x", "y"] if user % 4 else ["y", "x"] for user in range(40)}
    >>> from bridgeval import evaluate
    >>> report = evaluate(old, truth, "MRR@2", per_user=True)
    >>> print(check(old, truth, report, "MRR@2=1%"))
    MRR@2 0.8750 -> 0.8750 over 40 users: holds, a drop of 1% is ruled out (p = 0)
    The truth was not compared: the baseline does not record its own; see save_baseline.
    >>> bool(check({**old, **{user: ["y", "x"] for user in range(9)}}, truth, report, "MRR@2=1%"))
    False
    """
    given = [max_drop] if isinstance(max_drop, str) else max_drop
    limits = [parse_limit(one, evaluation.get("convention")) if isinstance(one, str) else one for one in given]
    labels = () if by is None else read_slice_labels(by)
    now = recommendations
    if not isinstance(now, Report):
        names = [limit.metric for limit in limits]
        now = evaluate_one(recommendations, relevance, names, **{**evaluation, "per_user": True, "by": labels or None})
    inputs = {"relevance": relevance, "history": evaluation.get("history")}
    described = describe_inputs(inputs, evaluation.get("columns")) if relevance is not None else {}
    return check_report(now, described, baseline, limits, alpha, labels, other_inputs)


def check_report(
    now: Report,
    inputs: Described,
    baseline: Any,
    limits: Sequence[Limit],
    alpha: float,
    labels: Sequence[Labels] = (),
    other_inputs: bool = False,
) -> Gate:
    """Checks a report, made with per_user=True from the inputs described, against a baseline; see `check`."""
    if not limits:
        raise BadParameterError("no limit was given", hint="give e.g. nDCG@10=1%", argument="max_drop")
    if not 0 < alpha < 0.5:
        raise BadParameterError(
            "alpha must be between 0 and 0.5", f"{alpha}", "0.05 is a common value", argument="alpha"
        )
    names = [limit.metric for limit in limits]
    old = read_baseline(baseline, names, labels, inputs)
    _check_pairable(names, old, now)
    panel = _pair(old.tables, now.collected, names)
    notes = (*old.notes, *_compare_origins(old, now, inputs, panel, other_inputs), *panel.notes())
    slices = [(f"{kind} = {label}", panel.take_users(at)) for kind, label, at in find_members(labels, panel.users)]
    slices += _pair_item_slices([one.kind for one in labels if one.side == "item"], old, now, names)
    checks = tuple(check_limit(panel, limit, alpha) for limit in limits)
    for limit in limits:
        refuse_any_drop(panel, limit)
    return Gate(checks, alpha, notes, check_slices(slices, limits, alpha))


def parse_limit(text: str, convention: str | None = None) -> Limit:
    """Reads the largest acceptable drop of a metric.

    >>> limit = parse_limit("nDCG@10=1%")
    >>> limit.metric, limit.drop, limit.relative, parse_limit("MRR@5=0.002").drop
    ('nDCG@10', 0.01, True, 0.002)
    >>> parse_limit("nDCG@10=5")
    Traceback (most recent call last):
    bridgeval.errors.BadParameterError: a drop of 5 is no limit: nDCG@10 lies between 0 and 1; ...
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
    return Limit(str(metric), drop / 100 if relative else drop, relative, metric.higher_is_better, metric.bounds)


def _compare_origins(old: Baseline, now: Report, inputs: Described, panel: Panel, other_inputs: bool) -> list[str]:
    """Compares what both were measured with; raises for a difference, or, if it is allowed, says so."""
    changes = _find_changed_definitions(old, now, panel.metrics)
    unknown = explain_unknown_truth(old.inputs, inputs)
    if unknown:
        changes += _find_other_users(panel, now)
    else:
        changes += find_changed_inputs(old.inputs, inputs)
    if changes and not other_inputs:
        raise InputError(
            f"the baseline was made with {', '.join(name for name, _ in changes)}, so it cannot be compared",
            "; ".join(found for _, found in changes),
            "check with what the baseline was made with, save a new baseline, or allow it with {argument}",
            argument="other_inputs",
            value=True,
        )
    return [f"The baseline was made with {name} ({found})." for name, found in changes] + unknown


def _find_changed_definitions(old: Baseline, now: Report, names: Iterable[str]) -> list[tuple[str, str]]:
    if not old.definitions:
        return []
    defined = _list_definitions(now)
    changed = []
    for name in names:
        marked = now.marked(name)
        if old.definitions.get(marked) != defined[marked]:
            then = old.definitions.get(marked) or ", ".join(old.definitions)
            changed.append((f"another definition of {name}", f"{then} then, {defined[marked]} now"))
    return changed


def _list_definitions(report: Report) -> dict[str, str]:
    return {report.marked(name): define(metric).native for name, metric in report.metrics.items()}


def _find_other_users(panel: Panel, now: Report) -> list[tuple[str, str]]:
    """Users of one side alone, in metrics whose users the truth decides."""
    decided = [getattr(now.metrics[name], "users", "any") not in OF_THE_SYSTEM for name in panel.metrics]
    present = np.asarray(panel.present[:, :, decided].any(axis=2))
    gone, new = int((present[0] & ~present[1]).sum()), int((present[1] & ~present[0]).sum())
    return [("other users", f"{gone:,} user(s) only then, {new:,} only now")] if gone or new else []


def _check_pairable(names: Sequence[str], old: Baseline, now: Report) -> None:
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


def _pair_item_slices(
    kinds: Sequence[str], old: Baseline, now: Report, names: Sequence[str]
) -> list[tuple[str, Panel]]:
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


@checked
def save_baseline(
    report: Report, path: str | os.PathLike[str], *, columns: Mapping[str, str] | None = None, **inputs: Any
) -> None:
    """Writes a report as JSON, and its per-user values as Parquet beside it, for later checks.

    Args:
        report: made with per_user=True.
        path: of the JSON.
        columns: as it was given to `evaluate`.
        **inputs: what was given to `evaluate`, by argument: `relevance=`, `history=`, as paths, frames or mappings. The
            baseline keeps hashes of them, so that `check` refuses another truth.
    """
    named = add_inputs(report, inputs, columns) if inputs else report
    beside = Path(path).with_suffix(".parquet")
    write_user_values({"": report.collected}, beside)
    replace(named, manifest={**named.manifest, "per_user": beside.name}).to_json(path)


def read_baseline(
    baseline: Any, metrics: Sequence[str], labels: Sequence[Labels] = (), inputs: Described | None = None
) -> Baseline:
    """Reads a baseline; evaluates it again from its recorded inputs if it has no per-user values, or not these slices.

    Args:
        baseline: a Report, or a path.
        metrics: to be checked.
        labels: slices to be checked.
        inputs: of now; the best of several runs is chosen among those with the same truth.
    """
    if isinstance(baseline, Report):
        if not baseline.collected:
            raise InputError(
                "the baseline has no per-user values", hint="evaluate it with per_user=True", argument="baseline"
            )
        recorded = baseline.manifest.get("inputs", {})
        return Baseline(baseline.collected, recorded, _list_definitions(baseline), report=baseline)
    if not isinstance(baseline, str | os.PathLike):
        raise InputError(
            "the baseline cannot be read",
            f"an object of type {type(baseline).__name__}",
            "give a Report or a file",
            argument="baseline",
        )
    if not os.path.isfile(baseline) and (found := find_run(baseline, metrics, inputs or {})):
        run, note = found
        return replace(read := _read_document(run.path, metrics, labels), notes=(note, *read.notes))
    if not os.path.isfile(baseline):
        raise InputError("there is no baseline", f"{os.fspath(baseline)!r}", HOW_TO_SAVE, argument="baseline")
    if is_user_values(baseline):
        return Baseline(_only_system(baseline))
    return _read_document(Path(baseline), metrics, labels)


def _read_document(path: Path, metrics: Sequence[str], labels: Sequence[Labels]) -> Baseline:
    document = read_report(path, HOW_TO_SAVE, "baseline")
    named = document["manifest"].get("per_user")
    beside = path.with_suffix(".parquet") if named is None else path.parent / named
    by_items = any(one.side == "item" for one in labels)
    if is_user_values(beside) and not by_items:
        return Baseline(_only_system(beside), _read_inputs(document), _read_definitions(document))
    return _evaluate_again(path, document, metrics, labels, beside)


def _read_inputs(document: Mapping[str, Any]) -> Described:
    """The recorded inputs; with the columns chosen, which `bridgeval evaluate` records once for all of them."""
    manifest = document["manifest"]
    columns = manifest.get("request", {}).get("columns", {})
    inputs = {role: manifest["inputs"][role] for role in HASHED_BY_ROW if role in manifest.get("inputs", {})}
    chosen = {role: {part: columns[part] for part in HASHED_BY_ROW[role] if part in columns} for role in inputs}
    return {role: one | ({"columns": chosen[role]} if chosen[role] else {}) for role, one in inputs.items()}


def _read_definitions(document: Mapping[str, Any]) -> dict[str, str]:
    return {name: one["native"] for name, one in document.get("definitions", {}).items()}


def _evaluate_again(
    path: Path, document: Mapping[str, Any], metrics: Sequence[str], labels: Sequence[Labels], beside: Path
) -> Baseline:
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
    read = {role: request.tables[role] for role in HASHED_BY_ROW if role in request.tables}
    recorded = _read_inputs(document)
    inputs = {role: {**recorded.get(role, {}), **one} for role, one in describe_inputs(read, request.columns).items()}
    return Baseline(report.collected, inputs, notes=(note,), report=report)


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
