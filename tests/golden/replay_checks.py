"""Comparisons that all readers of RePlay's files share: values, names, tables of an Experiment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.golden.compare import Comparison, number

RECORDED = "recorded error"


def same_value(where: str, theirs: Any, ours: Any, tolerance: float = 1e-9) -> Iterator[Comparison]:
    """A number, or the values of users."""
    if isinstance(theirs, list):
        theirs = {"users": [user for user, _ in theirs], "values": [value for _, value in theirs]}
    if not isinstance(theirs, dict):
        yield Comparison(where, number(theirs), ours, tolerance)
        return
    ours = ours or {}
    yield same(f"{where} users", sorted(theirs["users"]), sorted(ours))
    for user, value in zip(theirs["users"], theirs["values"], strict=True):
        yield Comparison(f"{where} user {user!r}", number(value), ours.get(user), tolerance)


def same(where: str, theirs: Any, ours: Any) -> Comparison:
    """Texts, lists of names: equal or not."""
    is_same = theirs == ours
    return Comparison(where if is_same else f"{where}: {theirs!r} against {ours!r}", 1.0, float(is_same))


def results_and_changes(
    where: str, section: dict[str, Any], experiment: Any, interval_tolerance: float = 1e-9
) -> Iterator[Comparison]:
    """The table of results and every `compare_<name>` of a section."""
    results = section["results"]
    yield same(f"{where} index", results["index"], list(experiment.results.index))
    yield same(f"{where} columns", results["columns"], list(experiment.results.columns))
    for name, line in zip(results["index"], results["data"], strict=True):
        for column, theirs in zip(results["columns"], line, strict=True):
            tolerance = interval_tolerance if "conf" in column.lower() else 1e-9
            yield from same_value(f"{where} {name} {column}", theirs, experiment.results.loc[name, column], tolerance)
    for key, table in section.items():
        if not key.startswith("compare_"):
            continue
        if "error" in table:
            yield Comparison(f"{where} {key}", skipped=RECORDED)
            continue
        ours = experiment.compare(key.removeprefix("compare_"))
        yield same(f"{where} {key} index", table["index"], list(ours.index))
        yield same(f"{where} {key} columns", table["columns"], list(ours.columns))
        for name, line in zip(table["index"], table["data"], strict=True):
            for column, theirs in zip(table["columns"], line, strict=True):
                yield same(f"{where} {key} {name} {column}", theirs, ours.loc[name, column])
