"""Frames of other libraries as Arrow columns. No library is imported to ask whether an object is one of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from bridgeval.errors import BadValueError, NoLoaderError
from bridgeval.io.columns import ITEM, USER, find_named
from bridgeval.io.lazy_frames import HuggingFaceDataset, LazyFrame, PolarsLazyFrame, Schematic
from bridgeval.io.list_columns import unnest_lists
from bridgeval.io.listings import is_arrays, is_series, is_sparse, name_series, tabulate_arrays, tabulate_matrix
from bridgeval.io.records import RecordsFrame, is_records

# Rows of a pandas column that tell its type.
SAMPLE = 100


class Columns(Protocol):
    """Named columns with types."""

    @property
    def names(self) -> list[str]: ...

    def type_at(self, place: int) -> pa.DataType: ...


class Frame(Columns, Protocol):
    """Columns of which nothing is read before `read`."""

    def read(self, names: Sequence[str]) -> Mapping[str, pa.Array] | pa.Table:
        """Some of the columns."""
        ...


def is_spark_frame(value: object) -> bool:
    """Whether it is a Spark frame, classic or connect; does not import pyspark.

    >>> is_spark_frame({"ann": ["tea"]})
    False
    """
    kind = type(value)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")


def is_frame(value: object) -> bool:
    """Whether it has named columns, as the frames of pandas, polars, pyarrow, duckdb, narwhals and Hugging Face have.

    So have collections of item lists with a method `to_arrow`, as those of LensKit.

    Any other frame that speaks the Arrow PyCapsule protocol is one too, except for those of Spark: they would collect
    every row to this process.
    """
    for test, _ in FRAMES:  # noqa: SIM110  (asked of every argument: no generator for each)
        if test(value):
            return True
    return False


def is_listing(value: object) -> bool:
    """Whether it holds lists without column names.

    That is a pandas Series of lists by user, or of numbers by user and item; arrays (items, scores) `[U, K]` whose
    rows are the users 0, 1, ..., or (users, items, scores) with the id of each row; or a list of named tuples.
    """
    return is_series(value) or is_arrays(value) or is_records(value)


def find_frame(value: Any, openers: Sequence[Opener] | None = None) -> Frame | None:
    """Opens any of these objects; reads no more than names and types. None for any other object.

    Args:
        openers: FRAMES for objects that have named columns; None for those that hold lists too.
    """
    for test, opener in OPENERS if openers is None else openers:
        if test(value):
            return opener(value)
    return None


def open_frame(value: Any) -> Frame:
    """Opens any of these objects; an error for any other object."""
    frame = find_frame(value)
    if frame is None:
        raise NoLoaderError(
            "this is no frame",
            f"an object of type {type(value).__name__}",
            "give a frame of pandas, polars, Arrow, duckdb, narwhals or Hugging Face",
        )
    return frame


def open_lazy(value: Any) -> LazyFrame | None:
    """Opens a frame that can be read in batches without holding it; None for any other object."""
    frame = find_frame(value, FRAMES)
    return frame if isinstance(frame, PolarsLazyFrame | HuggingFaceDataset) else None


def column_names(value: Any) -> list[str]:
    """The names of the columns, without reading them."""
    return open_frame(value).names


def to_table(value: Any) -> pa.Table:
    """Converts any frame to an Arrow table."""
    if isinstance(value, pa.Table):
        return value
    frame = open_frame(value)
    columns = frame.read(frame.names)
    return columns if isinstance(columns, pa.Table) else pa.table(dict(columns))


@dataclass(frozen=True)
class ArrowFrame:
    """Anything with `__arrow_c_stream__`: frames of pyarrow, polars and others."""

    value: Any

    @cached_property
    def names(self) -> list[str]:
        names = getattr(self.value, "column_names", None) or getattr(self.value, "columns", None)
        if names is None:
            names = getattr(getattr(self.value, "schema", None), "names", None)
        if names is None or not all(isinstance(name, str) for name in names):
            return list(self._table.column_names)
        return list(names)

    @cached_property
    def _table(self) -> pa.Table:
        return pa.table(self.value)

    @cached_property
    def _types(self) -> list[pa.DataType]:
        schema = getattr(self.value, "schema", None)
        if not isinstance(schema, pa.Schema):
            # polars gives its types without its rows.
            schema = pa.table(self.value.limit(0)).schema if hasattr(self.value, "limit") else self._table.schema
        return list(schema.types)

    def type_at(self, place: int) -> pa.DataType:
        return self._types[place]

    def read(self, names: Sequence[str]) -> pa.Table:
        # polars would convert every column; pyarrow gives them as they are.
        if hasattr(self.value, "get_column"):
            return pa.table(self.value.select(list(names)))
        return self._table.select(list(names))


@dataclass(frozen=True)
class DuckDBRelation(Schematic):
    """A relation of DuckDB: a table or a query. It is not streamed: a connection gives one result at a time."""

    value: Any

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.table(self.value.limit(0)).schema

    def read(self, names: Sequence[str]) -> pa.Table:
        import duckdb

        return pa.table(self.value.select(*map(duckdb.ColumnExpression, names)))


@dataclass(frozen=True)
class PandasFrame:
    """A frame of pandas. The levels of its index that are named as users or items are columns, if no column is.

    If neither a column nor a level is named so, every other level that has a name may be chosen.
    """

    value: Any

    @cached_property
    def names(self) -> list[str]:
        names = list(map(str, self.value.columns.tolist()))
        index = self.value.index
        if index.name is None and index.nlevels == 1:
            return names
        levels = [name for name in index.names if isinstance(name, str)]
        others = [name for name in levels if not find_named([name], (*USER, *ITEM))]
        wanted = [find_named(levels, known) or others for known in (USER, ITEM) if not find_named(names, known)]
        return names + list(dict.fromkeys(level for found in wanted for level in found))

    def type_at(self, place: int) -> pa.DataType:
        try:
            return read_series(self._column(place).iloc[:SAMPLE]).type
        except BadValueError:
            return pa.null()

    def _column(self, place: int) -> Any:
        if place < self.value.shape[1]:
            return self.value.iloc[:, place]
        name = self.names[place]
        return self.value.index.get_level_values(name).to_series(name=name)

    def read(self, names: Sequence[str]) -> dict[str, pa.Array]:
        return {name: read_series(self._column(self.names.index(name))) for name in names}


def read_series(series: Any) -> pa.Array:
    """A column of pandas. Plain numbers share their memory, NaN included; other types are converted."""
    plain = isinstance(series.dtype, np.dtype) and series.dtype.kind in "iuf"
    if plain:
        return pa.array(series.to_numpy())
    if len(series) and isinstance(series.iloc[0], set | frozenset):
        raise BadValueError(
            f"the column {series.name!r} has sets in its cells, which have no order",
            f"{series.iloc[0]!r}",
            f"give lists, best first, or rows: frame.explode({series.name!r})",
        )
    try:
        return pa.array(series, from_pandas=True)
    except UnicodeEncodeError as error:
        raise explain_surrogate(error, f"values of the column {series.name!r}") from error
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        refuse_large(series, f"integers of the column {series.name!r}")
        kinds = sorted({type(value).__name__ for value in series})
        nested = {"list", "tuple", "set", "frozenset", "ndarray"} & set(kinds)
        raise BadValueError(
            f"the column {series.name!r} must hold integers, strings or numbers, all of one type",
            f"values of type {', '.join(kinds)}",
            explode_hint([series.name]) if nested else f"convert it, e.g. frame[{series.name!r}].astype(str)",
        ) from error


def refuse_large(values: Iterable[Any], what: str) -> None:
    """Raises if an integer among the values is too large for int64.

    >>> refuse_large([1, 2**70], "user ids")
    Traceback (most recent call last):
    bridgeval.errors.BadValueError: user ids must fit in 64 bits with a sign; found: 1180591620717411303424; ...
    """
    large = next((value for value in values if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63), None)
    if large is not None:
        raise BadValueError(
            f"{what} must fit in 64 bits with a sign", f"{large}", "convert them to strings, on all sides"
        )


def explain_surrogate(error: UnicodeEncodeError, what: str) -> BadValueError:
    """The error for text that is no text: halves of a pair of surrogates."""
    return BadValueError(
        f"{what} hold text that cannot be written as UTF-8",
        f"{error.object!r:.80}",
        "mend the text where it is read: half of a surrogate pair is no character",
    )


def explode_hint(names: Sequence[str]) -> str:
    """The way to make rows of lists in pandas and polars."""
    return f"give every item a row of its own: frame.explode({(names[0] if len(names) == 1 else names)!r})"


def _is_pandas(value: object) -> bool:
    # Asked by type: a pandas frame searches its columns for every attribute that it does not have.
    return hasattr(type(value), "iloc") and hasattr(type(value), "iterrows")


def _is_of(package: str, names: tuple[str, ...], value: object) -> bool:
    """Whether a class of these names in a package, or one derived from it, made the object."""
    for kind in type(value).__mro__:
        # The module of a compiled class may begin with an underscore.
        if kind.__name__ in names and kind.__module__.partition(".")[0].lstrip("_") == package:
            return True
    return False


def _speaks_arrow(value: object) -> bool:
    one_column = type(value).__name__ in ("Series", "ChunkedArray")
    return hasattr(value, "__arrow_c_stream__") and not one_column and not is_spark_frame(value)


def _open_narwhals(value: Any) -> Frame:
    """The frame that narwhals wraps; of libraries that are not known here, what narwhals collects."""
    native = value.to_native()
    return open_frame(native if is_frame(native) else value.lazy().collect())


def _open_arrow(value: Any) -> Frame:
    return ArrowFrame(unnest_lists(value) if isinstance(value, pa.Table) else value)


def _makes_arrow(value: object) -> bool:
    """Whether it is a collection of lists with a method that makes an Arrow table of them."""
    return hasattr(type(value), "to_arrow") and hasattr(type(value), "lists")


Opener = tuple[Callable[[Any], bool], Callable[[Any], Frame]]
# Asked in order: a test of the object, and the function that opens it.
FRAMES: tuple[Opener, ...] = (
    (_is_pandas, PandasFrame),
    (partial(_is_of, "narwhals", ("DataFrame", "LazyFrame")), _open_narwhals),
    (partial(_is_of, "polars", ("LazyFrame",)), PolarsLazyFrame),
    (partial(_is_of, "duckdb", ("DuckDBPyRelation",)), DuckDBRelation),
    (partial(_is_of, "datasets", ("Dataset", "IterableDataset")), HuggingFaceDataset),
    (_speaks_arrow, _open_arrow),
    (_makes_arrow, lambda value: _open_arrow(value.to_arrow())),
)
OPENERS: tuple[Opener, ...] = (
    *FRAMES,
    (is_series, lambda value: PandasFrame(name_series(value))),
    (is_arrays, lambda value: ArrowFrame(tabulate_arrays(value))),
    (is_records, RecordsFrame),
    (is_sparse, lambda value: ArrowFrame(tabulate_matrix(value))),
)
