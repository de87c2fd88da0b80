"""inspect: oddities of the data, and the effect of each on the headline metric."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from typing import Any

import pyarrow.compute as pc

from bridgeval import loading, plugins, spec
from bridgeval.arguments import checked
from bridgeval.engine.metric import Metric
from bridgeval.errors import BridgevalError, MisalignedError, PluginError
from bridgeval.inspection import id_mismatch as ids
from bridgeval.inspection.findings import Finding, Inspection
from bridgeval.inspection.look import Look, list_needs
from bridgeval.inspection.time_leakage import find_early_truth
from bridgeval.io.columns import Chosen, Role, find_columns
from bridgeval.io.files import is_path, open_table, read_table
from bridgeval.io.frames import is_frame, to_table

ORDER = {"stop": 0, "alarm": 1, "note": 2, "fine": 3}


@checked
def inspect(
    recommendations: Any,
    relevance: Any,
    metrics: str | Metric | Iterable[str | Metric] = "nDCG@10",
    *,
    convention: str | None = None,
    columns: Mapping[str, str | None] | None = None,
    loader: str | None = None,
    **extras: Any,
) -> Inspection:
    """Inspects the data before you trust a number computed from it.

    Args:
        recommendations: as for `evaluate`.
        relevance: as for `evaluate`.
        metrics: the first ranking metric is the headline metric, for which effects are computed.
        convention: as for `evaluate`.
        columns: as for `evaluate`.
        loader: as for `evaluate`.
        **extras: `history=`, `catalogue=` and the rest, as for `evaluate`.

    Returns:
        An Inspection. Data that `evaluate` rejects is a finding here, not an error.

    >>> found = inspect({1: {"a": 0.5, "b": 0.5}}, {1: ["a"], 2: ["a"]}, "MRR@1")
    >>> print(found["ties"].effect)
    MRR@1 lies between 0.0000 and 0.5000, depending on how equal scores are ordered
    """
    headline = _headline(spec.parse_all(metrics, convention))
    found: list[Finding] = []
    known = plugins.installed()
    reads_files = loading.gets_paths(loader)
    if not reads_files:
        recommendations = loading.read_file(known, recommendations, "recommendations")
        relevance = loading.read_file(known, relevance, "relevance")
        extras = {role: loading.read_file(known, value, role) for role, value in extras.items()}
        recommendations = drop_missing(recommendations, "recommendations", columns, found)
        relevance = drop_missing(relevance, "relevance", columns, found)
    try:
        history = extras.get("history") if reads_files else open_table(extras.get("history"))
        if early := find_early_truth(relevance, history, columns):
            found.append(Finding(early.key, "alarm", early.what, early.effect, early.count))
        loaded = loading.load(known, recommendations, relevance, loader, columns=columns, **extras)
        # Several sources, as those of a study, are not inspected.
        source: Any = loaded.sources.members.get("")
        with loaded.blame():
            while hasattr(source, "open"):
                source = source.open(list_needs(headline))
            look = Look(headline, source) if hasattr(source, "slates") else None
        if look is not None:
            found += _run_checks(look)
            return Inspection(str(headline), look.value, look.users, _sort(found))
        what = f"the lists of loader {loaded.loader.name!r} are not in this process, so they were not inspected"
        effect = (
            "take the rows of some users, e.g. frame.where('user_id < 1000').toArrow() of both sides, and inspect these"
        )
        found.append(Finding("not inspected", "note", what, effect))
    except PluginError:
        raise
    except MisalignedError as error:
        found.append(ids.describe_other_type(error, recommendations, relevance, columns))
    except BridgevalError as error:
        told = error.wrong + (f" ({error.found})" if error.found else "")
        found.append(Finding("unreadable", "stop", told, f"no metric can be computed; {error.hint}"))
    return Inspection(str(headline), None, {}, _sort(found))


def drop_missing(value: Any, role: Role, columns: Chosen | None, found: list[Finding]) -> Any:
    """Drops rows of a frame or file that lack an id or a number, and adds a finding.

    `evaluate` rejects such data; an inspection counts the rows and continues with the others.
    """
    try:
        if is_path(value):
            value = read_table(os.fspath(value))
        if not is_frame(value):
            return value
        table = to_table(value)
        names = find_columns(role, table.column_names, columns).values()
    except BridgevalError:
        # The loader raises a better error.
        return value
    missing = {name: pc.is_null(table[name], nan_is_null=True) for name in names}
    counts = {name: pc.sum(flags).as_py() or 0 for name, flags in missing.items()}
    for name, count in counts.items():
        if count:
            what = f"{count:,} of {len(table):,} rows of the {role} have no value in {name!r} (null or NaN)"
            effect = "`evaluate` rejects them; the other rows were inspected"
            found.append(Finding("missing values", "stop", what, effect, count))
    return table.filter(pc.invert(reduce(pc.or_, missing.values()))) if any(counts.values()) else value


def _run_checks(look: Look) -> Iterator[Finding]:
    """The findings of all checks; one of a plugin that fails is reported and left out."""
    known = plugins.installed()
    for name, check in known.checks.items():
        owner = known.find_owner("checks", name)
        yield from known.attempt(owner, f"check {name!r}", [], lambda check: list(check(look)), check)


def _headline(metrics: list[Metric]) -> Metric:
    ranking = [metric for metric in metrics if metric.family == "accuracy" and metric.cutoff]
    return (ranking or metrics)[0]


def _sort(found: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(found, key=lambda finding: ORDER[finding.level]))
