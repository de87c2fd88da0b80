"""Baselines: what a new system is checked against, from a Report, a file of per-user values, or a report as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bridgeval.engine.state import UserTable
from bridgeval.errors import BridgevalError, InputError
from bridgeval.report import Report
from bridgeval.stats.item_slice_metric import ItemSlice
from bridgeval.stats.paired_values import is_user_values, read_user_values, write_user_values
from bridgeval.tables.slice_labels import Labels

HOW_TO_SAVE = (
    "make one with `bridgeval check RECS TRUTH --max-drop METRIC=DROP --save old.json`, "
    "or with `bridgeval evaluate RECS TRUTH --format json --out old.json --per-user old.parquet`"
)


@dataclass(frozen=True)
class Baseline:
    """The old system.

    Attributes:
        values: metric -> per-user values.
        item_slices: the same in slices of items, where its lists are known.
        notes: where they come from, where that is not plain.
    """

    values: Mapping[str, UserTable]
    item_slices: tuple[ItemSlice, ...] = ()
    notes: tuple[str, ...] = ()


def save_baseline(report: Report, path: str | os.PathLike[str]) -> None:
    """Writes a report as JSON, and beside it its per-user values as Parquet, for later checks."""
    beside = Path(path).with_suffix(".parquet")
    write_user_values({"": report.collected}, beside)
    named = replace(report, manifest={**report.manifest, "per_user": beside.name})
    named.to_json(path)


def baseline_of(baseline: Any, metrics: Sequence[str], labels: Sequence[Labels] = ()) -> Baseline:
    """Reads a baseline; one that has no per-user values, or not in these slices, is made again where that can be done.

    Args:
        baseline: a Report, or a path.
        metrics: that will be looked at.
        labels: slices that will be looked at.
    """
    if isinstance(baseline, Report):
        if not baseline.collected:
            raise InputError("the baseline has no per-user values", hint="evaluate it with per_user=True")
        return Baseline(baseline.collected, baseline.item_slices)
    if not isinstance(baseline, str | os.PathLike):
        raise InputError(
            "the baseline cannot be read", f"an object of type {type(baseline).__name__}", "give a Report or a file"
        )
    if not os.path.isfile(baseline):
        raise InputError("there is no baseline", f"{os.fspath(baseline)!r}", HOW_TO_SAVE)
    if is_user_values(baseline):
        return Baseline(_only_system(baseline))
    return _of_document(Path(baseline), metrics, labels)


def _of_document(path: Path, metrics: Sequence[str], labels: Sequence[Labels]) -> Baseline:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        named = document["manifest"].get("per_user")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"the baseline {os.fspath(path)!r} is neither a report nor per-user values",
            str(error),
            "give what `bridgeval check --save` or `bridgeval evaluate --format json` wrote",
        ) from error
    beside = path.parent / named if isinstance(named, str) else path.with_suffix(".parquet")
    by_items = any(one.side == "item" for one in labels)
    if is_user_values(beside) and not by_items:
        return Baseline(_only_system(beside))
    return _made_again(path, document, metrics, labels, beside)


def _made_again(
    path: Path, document: Mapping[str, Any], metrics: Sequence[str], labels: Sequence[Labels], beside: Path
) -> Baseline:
    """The baseline evaluated again, where its inputs are still what they were."""
    import bridgeval
    from bridgeval.report.manifest import recorded_request

    try:
        request = recorded_request(document, os.fspath(path.parent))
    except BridgevalError as error:
        raise InputError(
            f"the baseline {os.fspath(path)!r} has means but no per-user values, so that users cannot be paired",
            f"no {os.fspath(beside)!r}, and it cannot be made again: {error.wrong}",
            HOW_TO_SAVE,
        ) from error
    if len(request.recommendations) != 1:
        raise InputError(
            f"{os.fspath(path)!r} holds several systems", ", ".join(request.recommendations), "save the one that counts"
        )
    (system,) = request.recommendations
    report = bridgeval.evaluate(
        request.opened[f"recommendations[{system}]"],
        request.opened["relevance"],
        metrics,
        per_user=True,
        by=tuple(labels) or None,
        **request.extras(),
    )
    made_of = request.recommendations[system]
    return Baseline(report.collected, report.item_slices, (f"The baseline was evaluated again from {made_of}.",))


def _only_system(path: str | os.PathLike[str]) -> Mapping[str, UserTable]:
    systems = read_user_values(path)
    if len(systems) != 1:
        raise InputError(
            f"{os.fspath(path)!r} holds several systems", ", ".join(systems), "save the one that is the baseline"
        )
    return next(iter(systems.values()))
