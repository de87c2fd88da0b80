"""Tables of systems: a row for each, and the change against one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from bridgeval.errors import UnknownMetricError

BASELINE_CELL = "–"


def with_row(table: pd.DataFrame, name: str, values: Mapping[str, Any]) -> pd.DataFrame:
    """The table with one more row, or with the row of that name replaced."""
    rows = {
        row: dict(zip(table.columns, cells, strict=True)) for row, cells in zip(table.index, table.values, strict=True)
    }
    rows[name] = dict(values)
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    cells = {column: [row.get(column, np.nan) for row in rows.values()] for column in columns}
    return pd.DataFrame(cells, index=list(rows))


def compared(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Changes in percent as text: of columns that end in a cutoff, so of values and not of their spread.

    Against a 0 every other value is "inf%" (or "-inf%") and another 0 is "nan%".
    """
    if name not in table.index:
        raise UnknownMetricError(
            f"no results for {name!r}", hint=f"results were added for {', '.join(map(repr, table.index)) or 'nobody'}"
        )
    columns = [c for c in table.columns if c[-1].isdigit() and pd.api.types.is_numeric_dtype(table[c])]
    values = table[columns].to_numpy(dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        changes = (values / values[list(table.index).index(name)] - 1) * 100
    cells = [
        [BASELINE_CELL if row == name else f"{round(float(change), 2)}%" for change in line]
        for row, line in zip(table.index, changes, strict=True)
    ]
    return pd.DataFrame(cells, index=table.index, columns=columns, dtype=object)
