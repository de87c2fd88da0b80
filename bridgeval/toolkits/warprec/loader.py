"""The files that WarpRec writes, and their loader: recommendations, splits and per-user values.

Ids stay strings, also where they look like numbers; line ends may be CRLF. A first line with a number after the second
column is a row, any other is a header.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from bridgeval.errors import InputError
from bridgeval.plugin import (
    Ids,
    Rows,
    Source,
    TypedLoader,
    UserTable,
    find_columns,
    find_files,
    is_path,
    make_source,
    open_table,
)

TIME = r"\d{2}\.\d{2}\.\d{4}_\d{2}-\d{2}-\d{2}"
RECOMMENDATIONS = re.compile(rf"(?P<model>.+)_(?P<time>{TIME})")
PER_USER = re.compile(rf"(?P<model>.+)_k_(?P<k>\d+)_per_user_(?P<time>{TIME})")
# Arguments that may be files of `split/`.
SPLITS = ("relevance", "history", "prev_scores", "baseline")
SEPARATORS = ("\t", ",", ";", "|")


@dataclass(frozen=True)
class Recommendations:
    """The lists of one model, in the order of the file; `evaluate` accepts them.

    Attributes:
        model: the part of the file name before the time.
        rows: user, item and score; best first.
        filled: the number of rows left out because they scored -inf: train items that fill WarpRec's short lists.
    """

    model: str
    rows: Rows
    filled: int = 0


@dataclass(frozen=True)
class PerUserValues:
    """The values that WarpRec computed for each user.

    Attributes:
        model: the part of the file name before the cutoff.
        k: the cutoff.
        values: metric -> values by user; NaN where WarpRec gives none.
    """

    model: str
    k: int
    values: dict[str, UserTable]


class WrittenLoader(TypedLoader):
    """Recommendations that WarpRec wrote: the result of `read_recommendations` or, with `loader="warprec"`, a path.

    The relevance and the history may be paths of split files; ids are strings on both sides.
    """

    name = "warprec"
    reads = ((Recommendations, object),)

    def load(self, recommendations: Any, relevance: Any, /, **extras: Any) -> Source:
        written = read_recommendations(recommendations) if is_path(recommendations) else recommendations
        given = {"relevance": relevance, **extras}
        read = {
            name: read_split(value, extras.get("columns")) if name in SPLITS and is_path(value) else open_table(value)
            for name, value in given.items()
        }
        return make_source(written.rows, read.pop("relevance"), **read)


def read_recommendations(path: str | os.PathLike[str]) -> Recommendations:
    """A file of `recs/`: user, item, score; with a header or without, in rank order."""
    table = _read_table(path)
    if table.num_columns < 3 or not table.num_rows:
        raise InputError(
            f"{os.fspath(path)!r} holds no recommendations",
            f"{table.num_rows} rows of {table.num_columns} columns",
            "a file of recs/ has the columns user, item, rating and k rows for each user",
        )
    users, items, scores = (table.column(place) for place in range(3))
    numbers = _read_numbers(scores, path)
    kept = np.flatnonzero(numbers != -np.inf)
    rows = Rows(
        Ids.of(users, "user ids").take(kept),
        Ids.of(items, "item ids").take(kept),
        {"score": numbers[kept]},
        ranked=True,
    )
    name = RECOMMENDATIONS.fullmatch(Path(path).stem)
    return Recommendations(name["model"] if name else Path(path).stem, rows, len(numbers) - len(kept))


def read_split(path: str | os.PathLike[str], columns: Mapping[str, str | None] | None = None) -> pa.Table:
    """A file of `split/` (text or Parquet) with all its columns, the ids as strings.

    Args:
        path: the file.
        columns: part -> column name, if the header has names of its own.
    """
    table = _read_table(path)
    if table.column_names[0] == "0":
        names = ["user_id", "item_id", "rating", *table.column_names[3:]]
        table = table.rename_columns(names[: table.num_columns])
    parts = find_columns("relevance", table.column_names, columns)
    for part in ("user", "item"):
        at = table.column_names.index(parts[part])
        table = table.set_column(at, parts[part], table[parts[part]].cast(pa.large_string()))
    if "gain" in parts:
        at = table.column_names.index(parts["gain"])
        table = table.set_column(at, parts["gain"], pa.array(_read_numbers(table[parts["gain"]], path)))
        return table
    # A truth without ratings is refused if it has other numbers, so these must not stay text.
    for at, name in enumerate(table.column_names):
        if name not in parts.values():
            table = table.set_column(at, name, _convert_numbers(table[name]))
    return table


def read_per_user(path: str | os.PathLike[str]) -> PerUserValues:
    """A file of `evaluation/` with `save_per_user`: a line for each user, a column for each metric."""
    name = PER_USER.fullmatch(Path(path).stem)
    if name is None:
        raise InputError(
            f"{os.fspath(path)!r} is not named like per-user values",
            Path(path).name,
            "WarpRec names them <model>_k_<k>_per_user_<time>.tsv",
        )
    table = _read_table(path)
    users = Ids.of(table.column(0), "user ids")
    values = {
        metric: UserTable(users, _read_numbers(table[metric], path, empty=True)) for metric in table.column_names[1:]
    }
    return PerUserValues(name["model"], int(name["k"]), values)


def _read_table(path: str | os.PathLike[str]) -> pa.Table:
    """A table of strings; columns without a header are called 0, 1, 2, ..."""
    (file,) = find_files(os.fspath(path))
    with open(file, "rb") as stream:
        start = stream.readline()
    if start.startswith(b"PAR1"):
        return pq.read_table(file)
    first = start.decode("utf-8", "replace").rstrip("\r\n")
    separator = max(SEPARATORS, key=first.count)
    names = first.split(separator)
    if any(_is_number(name) for name in names[2:]):
        names, header_lines = [str(place) for place in range(len(names))], 0
    else:
        header_lines = 1
    options = pa_csv.ReadOptions(column_names=names, skip_rows=header_lines)
    strings = pa_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.large_string()))
    try:
        return pa_csv.read_csv(file, options, pa_csv.ParseOptions(delimiter=separator), strings)
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise InputError(
            f"{file!r} cannot be read", str(error).splitlines()[0], "is it a file that WarpRec wrote?"
        ) from error


def _convert_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text that is all numbers as float64; any other column as it is."""
    try:
        return pc.cast(column, pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return column


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_numbers(
    column: Any, path: str | os.PathLike[str], empty: bool = False
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A column as float64; with `empty`, an empty cell is NaN."""
    try:
        if empty:
            column = pc.if_else(pc.equal(column, ""), "nan", column)
        numbers = pc.cast(column, pa.float64()).to_numpy()
    except pa.ArrowInvalid as error:
        raise InputError(
            f"{os.fspath(path)!r} has a cell that is not a number", str(error).splitlines()[0], "write the file again"
        ) from error
    return np.asarray(numbers, dtype=np.float64)
