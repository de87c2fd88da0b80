"""Files as Arrow tables. The content decides the format: Parquet, CSV, TSV, JSON, TREC runs and qrels."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable, Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.json as pa_json

from bridgeval.errors import InputError
from bridgeval.io.columns import ITEM, USER, find_named, is_list
from bridgeval.io.json_mappings import tabulate_mapping
from bridgeval.io.list_columns import explode_lists, unnest_lists
from bridgeval.io.text_encodings import detect_charset

Kind = Literal[
    "parquet", "numpy", "json lines", "json mapping", "json array", "trec run", "trec qrels", "text", "binary"
]

PARQUET_MAGIC = b"PAR1"
NUMPY_MAGIC = b"\x93NUMPY"
UTF8_MARK = b"\xef\xbb\xbf"
CODECS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
TREC_COLUMNS = {
    "trec run": ("user_id", "_", "item_id", "_", "score", "_"),
    "trec qrels": ("user_id", "_", "item_id", "gain"),
}
SKIPPED = "_"
# One object whose first value is an object: a mapping, not a line with cells.
MAPPING = re.compile(rb'\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{')
HEAD = 1 << 16
# Arrow parses text in blocks of this size, and a line must fit one.
LONGEST_LINE = 1 << 20
COMPLETE = "is it Parquet, CSV or TSV, and complete?"


def is_path(value: Any) -> bool:
    """Whether a value is a path, as text or as an object."""
    return isinstance(value, str | os.PathLike)


def open_table(value: Any) -> Any:
    """Reads the table behind a path; returns anything else unchanged."""
    return read_table(os.fspath(value)) if is_path(value) else value


def read_table(path: str, names: Sequence[str] = (), text_ids: bool = False) -> pa.Table:
    """Reads the table in a file, in the files of a glob, or in a folder of Parquet files.

    Args:
        path: the files. They may be compressed by gzip, bzip2 or zstd.
        names: the columns in order, for text without a header; `_` skips a column.
        text_ids: whether user and item ids are read as text even where they look like numbers.
    """
    files = find_files(path)
    if _is_parquet(files[0]):
        table = unnest_lists(read_or_explain(path, lambda: open_parquet(files).to_table()))
    else:
        tables = [parse_table(_open(file), file, names, text_ids) for file in files]
        table = _concatenate(tables, files)
    return _cast_ids_to_text(table) if text_ids else table


def _open(file: str) -> pa.NativeFile:
    return read_or_explain(file, lambda: pa.OSFile(file), "check the path and its permissions")


def _concatenate(tables: Sequence[pa.Table], files: Sequence[str]) -> pa.Table:
    """The rows of all files. Of a part without rows nobody knows the types; others must agree."""
    parts = [(table, file) for table, file in zip(tables, files, strict=True) if len(table)] or [(tables[0], files[0])]
    first, own = parts[0]
    for table, file in parts[1:]:
        if other := next((field for field in table.schema if field not in first.schema), None):
            found = f"{other.name!r} of type {other.type} in {file!r}"
            raise InputError(f"{file!r} does not go on where {own!r} ends", found, "give parts of one table")
    # Columns that a part has more or less than another are no part of one table either.
    return read_or_explain(own, lambda: pa.concat_tables([table for table, _ in parts]))


def open_parquet(source: str | Sequence[str], **options: Any) -> Any:
    """Parquet files as a data set of Arrow."""
    # Imported here: it brings pandas along, 50 MB that a Spark worker has no use for.
    from pyarrow import dataset

    return dataset.dataset(source, format="parquet", **options)


def read_schema(path: str) -> pa.Schema:
    """The schema that `read_table` would give, from the start of the first file alone."""
    file = find_files(path)[0]
    if _is_parquet(file):
        schema = read_or_explain(path, lambda: open_parquet(file).schema)
        return unnest_lists(schema.empty_table()).schema
    head = read_head(file)
    kind = detect_kind(head)
    # Parquet that was compressed as a whole has its schema at the end; a mapping, and a line, are one value.
    if kind in ("parquet", "json mapping") or (kind == "json lines" and b"\n" not in head):
        return read_table(file).schema
    lines, newline, _ = head.rpartition(b"\n")
    return parse_table(pa.BufferReader(lines + newline), file).schema if newline else read_table(file).schema


def find_files(path: str) -> list[str]:
    """The files of a path or a glob; raises if there is none."""
    if has_magic(path) and not os.path.exists(path):
        found = sorted(glob(path, recursive=True))
    elif os.path.isdir(path):
        found = sorted(str(file) for file in Path(path).rglob("*.parquet"))
        if not found:
            raise InputError(f"{path!r} is a folder without Parquet files", hint="give a file, or a glob in quotes")
    else:
        found = [path] if os.path.exists(path) else []
    if not found:
        raise InputError("there is no file to read", f"{path!r}", "check the path; a folder must hold .parquet files")
    for file in found:
        # A pipe would wait for a writer.
        if not os.path.isfile(file):
            raise InputError(
                f"{file!r} is no file", f"one of {len(found)} of {path!r}", "give files, or a narrower glob"
            )
    empty = [file for file in found if not os.path.getsize(file)]
    if empty:
        raise InputError("the file is empty", f"{empty[0]!r} has 0 bytes", "write it again")
    return found


def parse_table(opened: pa.NativeFile, path: str, names: Sequence[str] = (), text_ids: bool = False) -> pa.Table:
    """The table in one open file; error messages call it `path`."""
    data = _decompress(opened, path)
    kind = detect_kind(data[:HEAD].to_pybytes())
    if kind == "parquet":
        from pyarrow import parquet

        return unnest_lists(read_or_explain(path, lambda: parquet.read_table(pa.BufferReader(data))))
    if kind == "numpy":
        raise InputError(f"{path!r} holds a matrix, not a table", "a .npy file", "read it with bridgeval.Scores")
    if kind == "binary":
        raise _not_a_table(path, data)
    if kind == "json mapping":
        return tabulate_mapping(data.to_pybytes(), path)
    if kind == "json array":
        raise InputError(
            f"{path!r} holds a JSON array, not JSON lines",
            f"it starts with {data[:20].to_pybytes()!r}",
            "write one object in each line, e.g. jq -c '.[]', or frame.to_json(path, orient='records', lines=True)",
        )
    if kind == "json lines":
        lines = data[len(UTF8_MARK) :] if data[: len(UTF8_MARK)].to_pybytes() == UTF8_MARK else data
        return read_or_explain(
            path, lambda: _explode(pa_json.read_json(pa.BufferReader(lines)), path), "one object in each line"
        )
    if kind in TREC_COLUMNS and not names:
        return read_or_explain(path, lambda: _parse_columns(_clean_trec(data), TREC_COLUMNS[kind], " ", True))
    hint = "name every column in order; _ leaves one out" if names else COMPLETE
    table = read_or_explain(path, lambda: _parse_text(data, path, names, text_ids), hint)
    check_text(table.schema, path)
    return null_empty_cells(table)


def detect_kind(head: bytes) -> Kind:
    r"""Detects the format from the first bytes of a file, after decompression.

    >>> detect_kind(b"user_id,item_id\n1,2\n"), detect_kind(b"q1 Q0 d7 1 0.93 bm25\n"), detect_kind(b"q1 0 d7 1\n")
    ('text', 'trec run', 'trec qrels')
    """
    if head.startswith(PARQUET_MAGIC):
        return "parquet"
    if head.startswith(NUMPY_MAGIC):
        return "numpy"
    if b"\0" in head or not _is_utf8(head):
        return "binary"
    text = head.removeprefix(UTF8_MARK).lstrip()
    if text.startswith(b"{"):
        return "json mapping" if MAPPING.match(text) else "json lines"
    if re.match(rb"\[\s*([\[{\]]|$)", text):
        return "json array"
    lines = [line for line in head.decode(errors="ignore").splitlines() if line.strip() and not line.startswith("#")]
    rows = [line.split() for line in (lines[:-1] if len(head) == HEAD else lines)[:20]]
    if rows and all(_is_run(row) for row in rows):
        return "trec run"
    if rows and all(len(row) == 4 and _is_number(row[1]) and _is_number(row[3]) for row in rows):
        return "trec qrels"
    return "text"


def read_head(path: str) -> bytes:
    """The first bytes of a file, decompressed."""
    with _open(find_files(path)[0]) as opened:
        codec = _detect_codec(opened.read(4))
        opened.seek(0)
        if codec is None:
            return opened.read(HEAD)
        return read_or_explain(path, lambda: pa.CompressedInputStream(opened, codec).read(HEAD), "is it cut short?")


def _is_parquet(file: str) -> bool:
    with open(file, "rb") as opened:
        return opened.read(4) == PARQUET_MAGIC


def _detect_codec(start: bytes) -> str | None:
    return next((codec for magic, codec in CODECS.items() if start.startswith(magic)), None)


def _decompress(opened: pa.NativeFile, path: str) -> pa.Buffer:
    data = opened.read_buffer()
    codec = _detect_codec(data[:4].to_pybytes())
    if codec is not None:
        packed = pa.BufferReader(data)
        unpack = lambda: pa.CompressedInputStream(packed, codec).read_buffer()  # noqa: E731
        data = read_or_explain(path, unpack, "is it cut short?")
    if not data.size:
        raise InputError("the file is empty", f"{path!r} holds 0 bytes", "write it again")
    return data


def _is_utf8(head: bytes) -> bool:
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.start > len(head) - 4
    return True


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_run(row: Sequence[str]) -> bool:
    """Whether these are cells of a TREC run. Tags with spaces, and columns after the tag, make more than six."""
    return (len(row) == 6 or (len(row) > 6 and row[1] == "Q0")) and _is_number(row[3]) and _is_number(row[4])


def _parse_text(data: pa.Buffer, path: str, names: Sequence[str], text_ids: bool) -> pa.Table:
    """A table with a header, or with `names`. The separator is detected from the first line."""
    first = data[:LONGEST_LINE].to_pybytes().split(b"\n", 1)[0].decode("utf-8-sig").rstrip("\r")
    separator = next((mark for mark in ("\t", ",", ";", "|") if mark in first), None)
    if separator is None:
        separator = " " if names and " " in first else ","
    cells = [cell.strip().strip('"') for cell in first.split(separator)]
    if names:
        return _parse_columns(data, names, separator, text_ids)
    if any(_is_number(cell) for cell in cells):
        raise InputError(
            f"{path!r} has no header",
            f"its first line is {first[:80]!r}",
            "name its columns in order: "
            f"pandas.read_csv(path, sep={separator!r}, names=['user_id', 'item_id', 'score'])"
            " in Python, --recs-columns or --truth-columns user,item,score as a command",
        )
    types = dict.fromkeys(_find_ids(cells) if text_ids else (), pa.string())
    return pa_csv.read_csv(
        pa.BufferReader(data),
        parse_options=pa_csv.ParseOptions(delimiter=separator),
        convert_options=pa_csv.ConvertOptions(column_types=types),
    )


def check_text(schema: pa.Schema, path: str) -> None:
    """Raises if text is not UTF-8 beyond the first bytes; Arrow then reads the column as bytes."""
    column = next((field.name for field in schema if pa.types.is_binary(field.type)), None)
    if column is not None:
        raise InputError(
            f"{path!r} is text, but not in UTF-8",
            f"bytes in the column {column!r} that are not",
            "write it again in UTF-8, or give a data frame: pandas.read_csv(path, encoding=...)",
        )


def null_empty_cells(rows: Any) -> Any:
    """Makes empty cells of text null, as empty cells of numbers are; takes a table or a record batch."""
    for at, field in enumerate(rows.schema):
        column = rows.column(at)
        if pa.types.is_string(field.type) and pc.min(pc.binary_length(column)).as_py() == 0:
            filled = pc.if_else(pc.equal(column, ""), pa.scalar(None, field.type), column)
            rows = rows.set_column(at, field, filled)
    return rows


def _parse_columns(data: pa.Buffer | bytes, names: Sequence[str], separator: str, text_ids: bool) -> pa.Table:
    """A table without a header; `names` are its columns in order."""
    unique = [f"{SKIPPED}{at}" if name == SKIPPED else name for at, name in enumerate(names)]
    kept = [name for name, given in zip(unique, names, strict=True) if given != SKIPPED]
    return pa_csv.read_csv(
        pa.BufferReader(data),
        read_options=pa_csv.ReadOptions(column_names=unique),
        parse_options=pa_csv.ParseOptions(delimiter=separator),
        convert_options=pa_csv.ConvertOptions(
            include_columns=kept,
            column_types=dict.fromkeys(_find_ids(kept) if text_ids else (), pa.string()),
        ),
    )


def _clean_trec(data: pa.Buffer) -> bytes:
    """The lines of a TREC file without comments (#), with one space between cells, and at most six of these."""
    text = re.sub(rb"(?m)^ | $", b"", re.sub(rb"[ \t\r]+", b" ", data.to_pybytes()))
    text = re.sub(rb"(?m)^#.*\n?", b"", text)
    return re.sub(rb"(?m)^((?:\S+ ){5}\S+) .*$", rb"\1", text)


def _explode(table: pa.Table, path: str) -> pa.Table:
    """The table with a row for each entry of its lists, if it has any; lists of results stay, empty ones too."""
    flat = unnest_lists(table)
    if flat is not table:
        return flat
    columns = dict(zip(table.column_names, table.columns, strict=True))
    if not any(is_list(column.type) for column in columns.values()):
        return table
    return pa.table(explode_lists(columns, "", repr(path))[0])


def _cast_ids_to_text(table: pa.Table) -> pa.Table:
    for name in _find_ids(table.column_names):
        if pa.types.is_integer(table.schema.field(name).type):
            table = table.set_column(table.column_names.index(name), name, table[name].cast(pa.string()))
    return table


def _find_ids(names: Sequence[str]) -> list[str]:
    """The columns with ids of users or items."""
    return find_named(names, (*USER, *ITEM))


def _not_a_table(path: str, data: pa.Buffer) -> InputError:
    charset = detect_charset(data[:HEAD].to_pybytes())
    if charset is not None:
        name, evidence = charset
        return InputError(
            f"{path!r} is text, but not in UTF-8",
            evidence,
            f"write it again in UTF-8, e.g. iconv -f {name} -t UTF-8 {path} > utf8.csv, or give a data frame: "
            f'pandas.read_csv({path!r}, encoding="{name}")',
        )
    zipped = data[:4].to_pybytes() == b"PK\x03\x04" or zipfile.is_zipfile(path)
    return InputError(
        f"{path!r} is not a table",
        "a ZIP archive" if zipped else f"binary data that starts with {data[:8].to_pybytes()!r}",
        "give Parquet, CSV, TSV, JSON, a TREC run or qrels; gzip, bzip2 and zstd are unpacked",
    )


def read_or_explain(path: str, read: Callable[[], Any], hint: str = COMPLETE) -> Any:
    """The result of `read`; if it fails, an error that names the path."""
    try:
        return read()
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        raise InputError(f"{path!r} cannot be read", lines[0], hint) from error
