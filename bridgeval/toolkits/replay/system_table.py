"""Experiment in both generations: a table of systems, and their comparison with one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import bridgeval
from bridgeval.errors import InputError, UnknownMetricError
from bridgeval.plugin import Metric, Population, Report, Result, UserTable

if TYPE_CHECKING:
    from bridgeval.plugin import Comparison

BASELINE_CELL = "–"


class SystemTable:
    """A table of systems, filled by the `add_result` of its subclasses.

    Attributes:
        results: a row for each system, a column for each value.
    """

    results: pd.DataFrame

    def __init__(self) -> None:
        self.results = pd.DataFrame()
        self._reports: dict[str, Report] = {}

    def compare(self, name: str) -> pd.DataFrame:
        """The change of every value against the system `name`, in percent, as text."""
        return compare_rows(self.results, name)

    def significance(self, name: str, **options: Any) -> Comparison:
        """Paired tests and intervals of every system against `name`; nothing is evaluated again.

        RePlay has no such method; its `compare` gives percentages alone. Needs per_user=True.

        Args:
            name: the system to compare with.
            options: of `bridgeval.compare`, e.g. test="wilcoxon", pairs="all" or by=.
        """
        if not self._reports:
            raise InputError(
                "significance tests need the users' values, which were not kept",
                hint="make it with Experiment(..., per_user=True) before adding results",
            )
        check_name(name, self.results)
        return bridgeval.compare(self._reports, **{"baseline": name, **options})

    def _add_row(self, name: str, values: Mapping[str, Any]) -> None:
        """Adds a row, or replaces the row of that name."""
        rows = {row: dict(zip(self.results.columns, cells, strict=True)) for row, *cells in self.results.itertuples()}
        rows[name] = dict(values)
        columns = list(dict.fromkeys(column for row in rows.values() for column in row))
        cells = {column: [row.get(column, np.nan) for row in rows.values()] for column in columns}
        self.results = pd.DataFrame(cells, index=list(rows))

    def _keep_users(
        self,
        name: str,
        metrics: Mapping[str, Metric],
        results: Mapping[str, Result],
        users: Mapping[str, UserTable | None],
    ) -> None:
        """Keeps what `significance` needs of a system: by column the metric, its result, and the users' values."""
        named = {
            column: replace(metric, label=column.removesuffix(f"@{getattr(metric, 'k', None)}"))
            for column, metric in metrics.items()
        }
        tables = {column: table for column, table in users.items() if table is not None}
        self._reports[name] = Report(dict(results), named, Population(), "replay", tables)


def compare_rows(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Changes in percent as text, of columns that end in a cutoff: of values and not of their spread.

    Against a 0 every other value is "inf%" (or "-inf%") and another 0 is "nan%".
    """
    check_name(name, table)
    columns = [c for c in table.columns if c[-1].isdigit() and pd.api.types.is_numeric_dtype(table[c])]
    values = table[columns].to_numpy(dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        changes = (values / values[list(table.index).index(name)] - 1) * 100
    cells = [
        [BASELINE_CELL if row == name else f"{round(float(change), 2)}%" for change in line]
        for row, line in zip(table.index, changes, strict=True)
    ]
    return pd.DataFrame(cells, index=table.index, columns=columns, dtype=object)


def check_name(name: str, table: pd.DataFrame) -> None:
    """Raises unless the table has a row of that name."""
    if name not in table.index:
        there = ", ".join(map(repr, table.index)) or "no system"
        raise UnknownMetricError(f"there are no results for {name!r}", hint=f"results were added for {there}")
