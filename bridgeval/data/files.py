"""Files: Parquet, CSV and TSV, one or many, as Arrow tables."""

from __future__ import annotations

import os
from collections.abc import Callable
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.dataset as pa_dataset

from bridgeval.errors import InputError

PARQUET_MAGIC = b"PAR1"


def is_path(value: Any) -> bool:
    return isinstance(value, str | os.PathLike)


def table_at(path: str) -> pa.Table:
    """The table in a file, in the files of a glob, or in a folder of Parquet files."""
    files = files_at(path)
    if _is_parquet(files[0]):
        return _read(path, lambda: pa_dataset.dataset(files, format="parquet").to_table())
    return _read(path, lambda: pa.concat_tables([_text_table(file) for file in files]))


def schema_at(path: str) -> pa.Schema:
    """The columns of what `table_at` would give, from the first file's header alone."""
    file = files_at(path)[0]
    if _is_parquet(file):
        return _read(path, lambda: pa_dataset.dataset(file, format="parquet").schema)
    return _read(path, lambda: pa_csv.open_csv(file, parse_options=_parse_options(file)).schema)


def files_at(path: str) -> list[str]:
    """The files that a path or a glob stands for; an error where there is none."""
    if has_magic(path) and not os.path.exists(path):
        found = sorted(glob(path, recursive=True))
    elif os.path.isdir(path):
        found = sorted(str(file) for file in Path(path).rglob("*.parquet"))
    else:
        found = [path] if os.path.exists(path) else []
    if not found:
        raise InputError("there is no file to read", f"{path!r}", "check the path; a folder must hold .parquet files")
    empty = [file for file in found if not os.path.getsize(file)]
    if empty:
        raise InputError("the file is empty", f"{empty[0]!r} has 0 bytes", "write it again")
    return found


def _is_parquet(file: str) -> bool:
    with open(file, "rb") as opened:
        return opened.read(4) == PARQUET_MAGIC


def _text_table(file: str) -> pa.Table:
    return pa_csv.read_csv(file, parse_options=_parse_options(file))


def _parse_options(file: str) -> pa_csv.ParseOptions:
    """The separator is the tab where the header has one, else the comma, else the semicolon."""
    with pa.input_stream(file, compression="detect") as opened:
        header = opened.read(1 << 16).split(b"\n", 1)[0]
    separator = "\t" if b"\t" in header else ";" if b";" in header and b"," not in header else ","
    return pa_csv.ParseOptions(delimiter=separator)


def _read(path: str, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except (pa.ArrowInvalid, OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path!r} cannot be read", str(error).splitlines()[0], "is it Parquet, CSV or TSV?"
        ) from error
