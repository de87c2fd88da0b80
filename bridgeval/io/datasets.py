"""Data sets: files that can be read in batches, and the memory that their tables would take."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv as pa_csv

from bridgeval.errors import BadParameterError, InputError
from bridgeval.io.columns import ITEM, find_named, is_list
from bridgeval.io.files import check_text, detect_kind, find_files, null_empty_cells, open_parquet, read_or_explain
from bridgeval.io.lazy_frames import LazyFrame, Schematic
from bridgeval.io.list_columns import find_nested

if TYPE_CHECKING:
    import pyarrow.dataset as pa_dataset

# Memory of a row during the evaluation: its columns, its codes, and their copies grouped by user.
BYTES_PER_ROW = 120
# A line of text is rarely shorter than this.
BYTES_PER_LINE = 12
# Bytes of text that are parsed at a time.
BLOCK = 1 << 20
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def open_dataset(path: str) -> pa_dataset.Dataset | None:
    """Opens the Parquet, CSV or TSV files of a path as a data set; None for forms that are read as a whole."""
    files = find_files(path)
    with open(files[0], "rb") as opened:
        head = opened.readline(1 << 16)
    if head.startswith(b"PAR1"):
        partitioned = "hive" if os.path.isdir(path) else None
        source = path if partitioned else files
        found = read_or_explain(path, lambda: open_parquet(source, partitioning=partitioned))
        return None if find_nested(found.schema) else found
    separator = next((mark for mark in ("\t", ",", ";") if mark.encode() in head), None)
    if separator is None or detect_kind(head) != "text" or not re.match(rb"[\w\"]", head.removeprefix(b"\xef\xbb\xbf")):
        return None
    import pyarrow.dataset as pa_dataset

    text = pa_dataset.CsvFileFormat(pa_csv.ParseOptions(delimiter=separator))
    # Of a part without rows nobody knows the types.
    for file in files:
        dataset = read_or_explain(path, partial(pa_dataset.dataset, file, format=text))
        if not all(pa.types.is_null(field.type) for field in dataset.schema):
            break
    check_text(dataset.schema, path)
    return read_or_explain(path, lambda: pa_dataset.dataset(files, dataset.schema, text))


def read_batches(dataset: pa_dataset.Dataset, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
    """Reads a data set in order, in batches of about `rows` rows."""
    for piece in read_or_explain(dataset.files[0], lambda: _list_pieces(dataset)):
        try:
            yield from _scan(piece, dataset, columns, rows)
        except (pa.ArrowException, OSError) as error:
            turned = "conversion error" in str(error)
            raise InputError(
                f"{piece.path!r} cannot be read to its end",
                str(error).splitlines()[0],
                "its first rows have numbers there; correct it, or raise {argument} so that it is read in one piece"
                if turned
                else "is it complete?",
                argument="memory",
            ) from error


def _list_pieces(dataset: pa_dataset.Dataset) -> list[pa_dataset.Fragment]:
    """Row groups one by one, because a scan of the whole file reads ahead by up to a gigabyte; files of text."""
    if dataset.format.default_extname != "parquet":
        return list(dataset.get_fragments())
    return [group for fragment in dataset.get_fragments() for group in fragment.split_by_row_group()]


def _scan(
    piece: pa_dataset.Fragment, dataset: pa_dataset.Dataset, columns: list[str], rows: int
) -> Iterator[pa.RecordBatch]:
    if dataset.format.default_extname == "parquet":
        return piece.to_batches(schema=dataset.schema, columns=columns, batch_size=rows)
    # A scan of text reads ahead to the end of the file, despite its options; this reader, about forty blocks.
    wanted = pa_csv.ConvertOptions(column_types=dataset.schema, include_columns=columns, include_missing_columns=True)
    blocks = pa_csv.ReadOptions(block_size=BLOCK)
    text = pa_csv.open_csv(piece.path, blocks, dataset.format.parse_options, wanted)
    return map(null_empty_cells, text)


def read_numbers_as_floats(dataset: pa_dataset.Dataset, names: Collection[str]) -> pa_dataset.Dataset:
    """Reads number columns of text as floats: Arrow infers integers if the first rows have no decimals."""
    if dataset.format.default_extname == "parquet":
        return dataset
    fields = [
        f.with_type(pa.float64()) if f.name in names and pa.types.is_integer(f.type) else f for f in dataset.schema
    ]
    import pyarrow.dataset as pa_dataset

    return pa_dataset.dataset(dataset.files, pa.schema(fields), dataset.format)


@dataclass(frozen=True)
class FileTable(Schematic):
    """The rows of Parquet, CSV or TSV files."""

    dataset: pa_dataset.Dataset

    @property
    def schema(self) -> pa.Schema:
        return self.dataset.schema

    def count(self, item: str) -> tuple[int, int]:
        """Exact for Parquet, estimated from the size of text."""
        if self.dataset.format.default_extname != "parquet":
            rows = sum(map(os.path.getsize, self.dataset.files)) // BYTES_PER_LINE
            return rows, rows
        path = self.dataset.files[0]
        rows = read_or_explain(path, lambda: int(self.dataset.count_rows()))
        listed = is_list(self.schema.field(item).type)
        return rows, read_or_explain(path, lambda: self._count_entries(item)) if listed else rows

    def _count_entries(self, item: str) -> int:
        """The entries of a column of lists, from the metadata of the files; an empty list counts 1."""
        return sum(
            group.column(place).num_values
            for fragment in self.dataset.get_fragments()
            for group in (fragment.metadata.row_group(at) for at in range(fragment.metadata.num_row_groups))
            for place in range(group.num_columns)
            if group.column(place).path_in_schema.split(".")[0] == item
        )

    def read_batches(self, names: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        return read_batches(self.dataset, names, rows)

    def with_floats(self, names: Sequence[str]) -> FileTable:
        return FileTable(read_numbers_as_floats(self.dataset, names))


def open_file_table(path: str) -> FileTable | None:
    """The rows of the files of a path, to be read in batches; None for formats that are read as a whole."""
    dataset = open_dataset(path)
    return None if dataset is None else FileTable(dataset)


def estimate_memory(frame: LazyFrame) -> int:
    """Bytes that evaluating a table in one piece would take, estimated without reading it."""
    items = find_named(frame.schema.names, ITEM)
    return frame.count(items[0] if items else frame.schema.names[0])[1] * BYTES_PER_ROW


def parse_bytes(memory: int | str | None) -> int:
    """A budget in bytes: a number, or text such as "2GB"; None is a quarter of what is free.

    >>> parse_bytes("1.5 GB"), parse_bytes(1000)
    (1500000000, 1000)
    """
    if memory is None:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4 * 10**9
        return max(free // 4, 10**8)
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([kmgt]?)i?b?\s*", str(memory), re.IGNORECASE)
    budget = float(found[1]) * UNITS[found[2].lower()] if found else 0
    if not 1 <= budget < 2**63:
        raise BadParameterError(
            "memory must be a number of bytes", f"{memory!r}", "e.g. {argument}", argument="memory", value="2GB"
        )
    return int(budget)
