"""Experiment's other comparison: what bridgeval.compare says of the same values, without evaluating again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bridgeval.engine.metric import Metric
from bridgeval.engine.state import UserTable
from bridgeval.engine.summary import Result
from bridgeval.errors import InputError, UnknownMetricError
from bridgeval.report.report import Population, Report

if TYPE_CHECKING:
    from bridgeval.report.comparison import Comparison


def collecting(metrics: Iterable[Metric]) -> list[Metric]:
    """The metrics that collect the users' values of these."""
    return [one for metric in metrics if (one := metric.per_user()) is not None]


def kept(metrics: Mapping[str, Metric], results: Mapping[str, Result], users: Mapping[str, UserTable | None]) -> Report:
    """What is kept of one system: for each column the metric, its value and, where users have one, theirs."""
    tables = {column: table for column, table in users.items() if table is not None}
    named = {column: _called(metric, column) for column, metric in metrics.items()}
    return Report(dict(results), named, Population.of({}), "replay", tables)


def _called(metric: Metric, column: str) -> Metric:
    """The metric by the name of its column."""
    return replace(metric, label=column.removesuffix(f"@{getattr(metric, 'k', None)}"))


def significance(systems: Mapping[str, Report], names: Iterable[str], name: str, **options: Any) -> Comparison:
    """Every system against `name`, over the users that all of them have.

    Args:
        systems: what was kept.
        names: all systems of the table.
        name: the baseline.
        options: of `bridgeval.compare`.
    """
    import bridgeval

    if not systems:
        raise InputError(
            "the users' values were not kept, so that there is nothing to test",
            hint="make it with Experiment(..., per_user=True) before adding results",
        )
    if name not in systems:
        raise UnknownMetricError(
            f"no results for {name!r}", hint=f"results were added for {', '.join(map(repr, names)) or 'nobody'}"
        )
    return bridgeval.compare(systems, **{"baseline": name, **options})
