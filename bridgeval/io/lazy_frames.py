"""Lazy frames: columns that need not be held at once, because they can be read in batches, and again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import pyarrow as pa
import pyarrow.compute as pc

from bridgeval.io.columns import is_list

# Rows of a data set that tell how long its lists are.
SAMPLE = 100
ROWS_PER_BATCH = 1 << 16


class LazyFrame(Protocol):
    """Rows that are read in batches."""

    @property
    def schema(self) -> pa.Schema: ...

    @property
    def names(self) -> list[str]: ...

    def type_at(self, place: int) -> pa.DataType: ...

    def count(self, item: str) -> tuple[int, int]:
        """Rows, and entries of a column: those of its lists, if it has lists. May be an estimate."""
        ...

    def read_batches(self, names: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Some of the columns in the order of the rows, in batches of about `rows` rows."""
        ...

    def with_floats(self, names: Sequence[str]) -> LazyFrame:
        """The same, told that these columns hold numbers. It matters where the first rows decide about types."""
        ...


class Schematic:
    """A frame whose types are known without its rows."""

    schema: pa.Schema

    @property
    def names(self) -> list[str]:
        return list(self.schema.names)

    def type_at(self, place: int) -> pa.DataType:
        return self.schema.types[place]

    def with_floats(self, names: Sequence[str]) -> Self:
        return self


def count_entries(rows: pa.Table | pa.RecordBatch, name: str) -> int:
    """The number of rows, or of the entries of all lists if the column has lists."""
    if not is_list(rows.schema.field(name).type):
        return len(rows)
    return int(pc.sum(pc.list_value_length(rows.column(name))).as_py() or 0)


@dataclass(frozen=True)
class PolarsLazyFrame(Schematic):
    """A query of polars. It runs whenever it is read; the streaming engine gives batches."""

    value: Any

    @cached_property
    def _query(self) -> Any:
        """The query with text in place of categories, whose codes differ between batches."""
        import polars as pl

        return self.value.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))

    @cached_property
    def schema(self) -> pa.Schema:
        import polars as pl

        return pl.DataFrame(schema=self._query.collect_schema()).to_arrow().schema

    def read(self, names: Sequence[str]) -> pa.Table:
        return self._query.select(list(names)).collect(engine="streaming").to_arrow()

    def count(self, item: str) -> tuple[int, int]:
        import polars as pl

        entries = pl.col(item).list.len().sum() if is_list(self.schema.field(item).type) else pl.len()
        counts = self._query.select(pl.len().alias("rows"), entries.alias("entries")).collect(engine="streaming")
        return counts["rows"][0], counts["entries"][0]

    def read_batches(self, names: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        batches = self._query.select(names).collect_batches(
            chunk_size=rows, maintain_order=True, lazy=True, engine="streaming"
        )
        for frame in batches:
            yield from frame.to_arrow().to_batches()


@dataclass(frozen=True)
class HuggingFaceDataset(Schematic):
    """A data set of Hugging Face: in files that are mapped to memory, or streamed."""

    value: Any

    @cached_property
    def schema(self) -> pa.Schema:
        if self.value.features is not None:
            return self.value.features.arrow_schema.remove_metadata()
        # Streamed, and its types have not been told.
        return next(iter(self.value.with_format("arrow").iter(batch_size=SAMPLE))).schema.remove_metadata()

    def _tables(self, names: Sequence[str], rows: int) -> Iterable[pa.Table]:
        chosen = self.value.select_columns(list(names)).with_format("arrow").iter(batch_size=rows)
        return (table.select(list(names)).replace_schema_metadata(None) for table in chosen)

    def read(self, names: Sequence[str]) -> pa.Table:
        empty = self.schema.empty_table().select(list(names))
        return pa.concat_tables([empty, *self._tables(names, ROWS_PER_BATCH)])

    def count(self, item: str) -> tuple[int, int]:
        rows = getattr(self.value, "num_rows", None)
        if rows is None:
            rows = sum(map(len, self._tables([item], ROWS_PER_BATCH)))
        if not rows or not is_list(self.schema.field(item).type):
            return rows, rows
        head = next(iter(self._tables([item], SAMPLE)))
        return rows, rows * count_entries(head, item) // len(head)

    def read_batches(self, names: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        for table in self._tables(names, rows):
            yield from table.to_batches()


@dataclass(frozen=True)
class HeldTable(Schematic):
    """A table in memory, for evaluation beside one that is not."""

    table: pa.Table

    @property
    def schema(self) -> pa.Schema:
        return self.table.schema

    def count(self, item: str) -> tuple[int, int]:
        return len(self.table), count_entries(self.table, item)

    def read_batches(self, names: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        yield from self.table.select(names).to_batches(max_chunksize=rows)
