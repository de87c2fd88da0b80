"""Missing values: rows without an id or a number. `evaluate` rejects them; an inspection counts them and continues."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bridgeval.errors import BridgevalError
from bridgeval.inspection.findings import Finding
from bridgeval.io.columns import Role, find_columns
from bridgeval.io.files import is_path, read_table
from bridgeval.tables.rows import is_frame, to_table


def without_missing(value: Any, role: Role, columns: Mapping[str, str] | None, found: list[Finding]) -> Any:
    """The rows of a frame or file that are complete; what was missing is added to `found`."""
    try:
        if is_path(value):
            value = read_table(os.fspath(value))
        if not is_frame(value):
            return value
        table = to_table(value)
        missing = {name: _missing(table[name]) for name in find_columns(role, table.column_names, columns).values()}
    except BridgevalError:
        # The loader raises a better error.
        return value
    counts = {name: pc.sum(flags).as_py() or 0 for name, flags in missing.items()}
    for name, count in counts.items():
        if count:
            what = f"{count:,} of {len(table):,} rows of the {role} have no value in {name!r} (null or NaN)"
            found.append(
                Finding("missing values", "stop", what, "`evaluate` rejects them; the other rows were inspected", count)
            )
    if not any(counts.values()):
        return value
    return table.filter(pc.invert(reduce(pc.or_, missing.values())))


def _missing(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.is_null(column, nan_is_null=True)
