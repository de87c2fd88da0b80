"""RePlay's engines: its numbers depend a little on the kind of frame. Each kind's rules, and its rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from bridgeval.errors import InputError, MissingColumnError, NoLoaderError
from bridgeval.plugin import Ids, Over, Role, Rows, Ties, begin_sentence, is_frame, read_numbers, read_rows, to_table


@dataclass(frozen=True)
class Engine:
    """How RePlay treats one kind of frame.

    Attributes:
        name: the kind.
        ties: what decides between equal scores.
        coverage_ties: the same for Coverage.
        truth_duplicates: whether repeated truth rows are counted.
        median: which median.
        lone_half_width: the half width of the interval of one value.
        rounds_deviation: whether the standard deviation is rounded to float32.
    """

    name: str
    ties: Ties = "item_descending"
    coverage_ties: Ties = "item_descending"
    truth_duplicates: Literal["first", "all"] = "all"
    median: Over = "median"
    lone_half_width: float = math.nan
    rounds_deviation: bool = False


PANDAS = Engine("pandas")
POLARS = Engine("polars", coverage_ties="given", lone_half_width=0.0)
DICT = Engine("dict", ties="given", coverage_ties="given")
SPARK = Engine("spark", truth_duplicates="first", median="lower_median", lone_half_width=0.0, rounds_deviation=True)
_BY_MODULE = {"pandas": PANDAS, "polars": POLARS, "pyspark": SPARK}


def engine_of(*frames: Any) -> Engine:
    """The one engine of all frames that are given; other frames that speak Arrow follow the rules of pandas."""
    engines = [_engine(frame) for frame in frames if frame is not None]
    if len(set(engines)) != 1:
        raise InputError(
            "all data frames must have the same type",
            ", ".join(type(frame).__name__ for frame in frames if frame is not None),
            "convert them to one kind of frame",
        )
    return engines[0]


def _engine(frame: Any) -> Engine:
    if isinstance(frame, Mapping):
        return DICT
    module = type(frame).__module__.partition(".")[0]
    if module not in _BY_MODULE and not is_frame(frame):
        raise NoLoaderError(
            "these data cannot be read",
            f"an object of type {type(frame).__name__}",
            "give pandas, polars, Spark or Arrow frames, or mappings by user",
        )
    return _BY_MODULE.get(module, PANDAS)


def rows(frame: Any, role: Role, columns: Mapping[str, str], category: str | None = None) -> Rows:
    """Rows of a frame of any kind.

    Args:
        frame: a frame, a mapping by user, or Rows, which are left alone.
        role: what it is.
        columns: part ("user", "item", "score") -> name of the column; parts not named are not read.
        category: the name of a column with the category of each row.
    """
    if isinstance(frame, Rows | Mapping):
        return read_rows(frame, role)
    wanted = list(columns.values()) + ([category] if category is not None else [])
    table = table_of(frame, wanted, role)
    if not table.num_rows:
        nothing = Ids(np.zeros(0, dtype=np.int64))
        return Rows(nothing, nothing, {"score": np.zeros(0)} if "score" in columns else {})
    numbers = {
        part: read_numbers(table[name], f"column {name!r} of the {role}")
        for part, name in columns.items()
        if part not in ("user", "item")
    }
    if category is not None:
        numbers["category"] = _codes(table[category])
    users = Ids.of(table[columns["user"]], f"user ids in the {role}") if "user" in columns else None
    items = Ids.of(table[columns["item"]], f"item ids in the {role}")
    return Rows(users, items, numbers)


def table_of(frame: Any, wanted: list[str], what: str) -> pa.Table:
    """Some columns of a frame as an Arrow table; Spark frames are collected."""
    names = column_names(frame)
    for name in wanted:
        if name not in names:
            raise MissingColumnError(
                f"{begin_sentence(what)} no column {name!r}",
                f"columns {', '.join(map(repr, names)) or 'none'}",
                "rename one, or say what it is called",
            )
    chosen = list(dict.fromkeys(wanted))
    selected = frame.select(chosen) if isinstance(frame, pa.Table) else frame[chosen]
    return selected.toArrow() if _engine(frame) is SPARK else to_table(selected)


def column_names(frame: Any) -> list[str]:
    return list(frame.column_names if isinstance(frame, pa.Table) else frame.columns)


def _codes(column: pa.ChunkedArray) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Categories of any type as numbers from 0, -1 where there is none."""
    indices = column.combine_chunks().dictionary_encode().indices
    return indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.float64)
