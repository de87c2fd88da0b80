"""Experiment's other comparison: what bridgeval.compare says of the same values, without evaluating again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bridgeval.errors import InputError, UnknownMetricError
from bridgeval.plugin import Metric, Population, Report, Result, UserTable
from bridgeval.toolkits.replay.system_tables import compared

if TYPE_CHECKING:
    import pandas as pd

    from bridgeval.plugin import Comparison


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


class Systems:
    """What both generations' Experiment can say of the systems in its table.

    Attributes:
        results: a row for each system, a column for each value.
    """

    results: pd.DataFrame
    _kept: dict[str, Report]

    def compare(self, name: str) -> pd.DataFrame:
        """The change of every value against the system `name`, in percent, as text."""
        return compared(self.results, name)

    def significance(self, name: str, **options: Any) -> Comparison:
        """Paired tests and intervals of every system against `name`; nothing is evaluated again.

        RePlay has no such method; its `compare` gives percentages alone. Needs per_user=True.

        Args:
            name: the system to compare with.
            options: of `bridgeval.compare`, e.g. test="wilcoxon", pairs="all" or by=.
        """
        import bridgeval

        if not self._kept:
            raise InputError(
                "the users' values were not kept, so that there is nothing to test",
                hint="make it with Experiment(..., per_user=True) before adding results",
            )
        if name not in self._kept:
            there = ", ".join(map(repr, self.results.index)) or "nobody"
            raise UnknownMetricError(f"no results for {name!r}", hint=f"results were added for {there}")
        return bridgeval.compare(self._kept, **{"baseline": name, **options})
