"""Origin: the kind of frame that the lists came in, so that per-user values go back as that kind."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bridgeval.errors import BridgevalError
from bridgeval.io.columns import Chosen, find_columns
from bridgeval.io.files import is_path, read_schema
from bridgeval.io.frames import column_names, is_frame
from bridgeval.io.listings import is_series

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Origin:
    """Where lists came from.

    Attributes:
        user: the caller's column with the user id.
        kinds: package and class of the frame, e.g. "polars.DataFrame"; first a wrapper, then what it wraps.
    """

    user: str = "user"
    kinds: tuple[str, ...] = ()

    @staticmethod
    def of(value: Any, columns: Chosen | None = None) -> Origin:
        """The origin of recommendations; of objects without columns, pandas and "user".

        >>> Origin.of(pa.table({"customer_id": [1], "item": [7]}))
        Origin(user='customer_id', kinds=('pyarrow.Table',))
        """
        try:
            if is_path(value):
                return Origin(_find_user(read_schema(os.fspath(value)).names, columns))
            if is_frame(value) or is_series(value):
                return Origin(_find_user(column_names(value), columns), tuple(_list_kinds(value)))
        except BridgevalError:
            # A loader of another format reads it, which may have no such columns.
            pass
        return Origin()

    def restore(self, frame: pd.DataFrame) -> Any:
        """A frame of pandas with a column "user" as a frame of the caller's kind, with the caller's column."""
        renamed = frame.rename(columns={"user": self.user})
        restorers = [RESTORERS[kind] for kind in self.kinds if kind in RESTORERS]
        if not restorers:
            return renamed
        restored: Any = pa.Table.from_pandas(renamed, preserve_index=False).replace_schema_metadata(None)
        for restore in reversed(restorers):
            restored = restore(restored)
        return restored


def _find_user(names: list[str], columns: Chosen | None) -> str:
    return find_columns("recommendations", names, columns)["user"]


def _list_kinds(value: Any) -> list[str]:
    kind = type(value)
    name = f"{kind.__module__.partition('.')[0].lstrip('_')}.{kind.__name__}"
    return [name, *_list_kinds(value.to_native())] if name.startswith("narwhals.") else [name]


def _to_polars(table: pa.Table) -> Any:
    import polars as pl

    return pl.from_arrow(table)


def _to_duckdb(table: pa.Table) -> Any:
    import duckdb

    return duckdb.from_arrow(table)


def _to_dataset(table: pa.Table) -> Any:
    import datasets

    return datasets.Dataset(datasets.table.InMemoryTable(table))


def _to_narwhals(native: Any) -> Any:
    import narwhals as nw

    return nw.from_native(native)


# Kinds that are not here come back as pandas.
RESTORERS: Mapping[str, Callable[[Any], Any]] = {
    "pyarrow.Table": lambda table: table,
    "polars.DataFrame": _to_polars,
    "polars.LazyFrame": lambda table: _to_polars(table).lazy(),
    "duckdb.DuckDBPyRelation": _to_duckdb,
    "datasets.Dataset": _to_dataset,
    "datasets.IterableDataset": lambda table: _to_dataset(table).to_iterable_dataset(),
    "narwhals.DataFrame": _to_narwhals,
    "narwhals.LazyFrame": _to_narwhals,
}
