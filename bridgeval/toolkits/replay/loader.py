"""Frames of every kind as Rows, and the rules that RePlay follows for each kind."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from bridgeval.errors import InputError, MissingColumnError, NoLoaderError
from bridgeval.plugin import (
    Ids,
    Inputs,
    Over,
    Role,
    Rows,
    Ties,
    encode_ids,
    is_frame,
    read_numbers,
    read_rows,
    to_table,
)

# The columns of `replay.experimental`: part -> name.
COLUMNS = {"user": "user_idx", "item": "item_idx", "score": "relevance"}
PAIRS = {"user": "user_idx", "item": "item_idx"}
NO_IDS = Ids(np.zeros(0, dtype=np.int64))


@dataclass(frozen=True)
class FrameRules:
    """RePlay's rules for one kind of frame: its numbers depend a little on the library that computes them.

    Attributes:
        name: the kind.
        ties: the order of equal scores.
        coverage_ties: the order of equal scores for Coverage.
        truth_duplicates: whether repeated truth rows count each time.
        median: the definition of the median.
        lone_half_width: the half width of the confidence interval of a single value.
        rounds_deviation: whether the standard deviation is rounded to float32.
    """

    name: str
    ties: Ties = "item_descending"
    coverage_ties: Ties = "item_descending"
    truth_duplicates: Literal["first", "all"] = "all"
    median: Over = "median"
    lone_half_width: float = math.nan
    rounds_deviation: bool = False


PANDAS = FrameRules("pandas")
POLARS = FrameRules("polars", coverage_ties="given", lone_half_width=0.0)
DICT = FrameRules("dict", ties="given", coverage_ties="given")
SPARK = FrameRules("spark", truth_duplicates="first", median="lower_median", lone_half_width=0.0, rounds_deviation=True)
_BY_MODULE = {"pandas": PANDAS, "polars": POLARS, "pyspark": SPARK}


def choose_rules(*frames: Any) -> FrameRules:
    """The rules of the one kind that all frames have; other frames that speak Arrow follow those of pandas."""
    rules = [_rules(frame) for frame in frames if frame is not None]
    if len(set(rules)) != 1:
        raise InputError(
            "all data frames must have the same type",
            ", ".join(type(frame).__name__ for frame in frames if frame is not None),
            "convert them to one kind of frame",
        )
    return rules[0]


def _rules(frame: Any) -> FrameRules:
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


def read_inputs(
    recommendations: Any,
    ground_truth: Any = None,
    users: Any = None,
    columns: Mapping[str, str] = COLUMNS,
    category: str | None = None,
    baselines: Mapping[str, Any] | None = None,
    **others: Any,
) -> Inputs:
    """Reads RePlay's arguments.

    Args:
        recommendations: a frame with user, item and score, or a mapping.
        ground_truth: a frame with user and item, or a mapping; None where no metric asks for it.
        users: the users that count, if they are listed.
        columns: part ("user", "item", "score") -> name of the column.
        category: name of the recommendations' column with categories.
        baselines: other systems' recommendations by name.
        others: "history", "baseline" or "prev_scores"; None for what is not given.
    """
    pairs = {"user": columns["user"], "item": columns["item"]}
    parts: dict[Role, Mapping[str, str]] = {"history": pairs, "baseline": columns, "prev_scores": columns}
    prev_scores = others.get("prev_scores")
    # The previous policy may score items alone.
    if not isinstance(prev_scores, Rows | Mapping | None) and columns["user"] not in column_names(prev_scores):
        parts["prev_scores"] = {"item": columns["item"], "score": columns["score"]}
    given: dict[str, Any] = {
        role: read_frame(others[role], role, parts[role]) for role in parts if others.get(role) is not None
    }
    shown = read_frame(recommendations, "recommendations", columns, category)
    return Inputs(
        shown,
        Rows(NO_IDS, NO_IDS) if ground_truth is None else read_frame(ground_truth, "relevance", pairs),
        users=None if users is None else read_users(users),
        baselines={name: read_frame(frame, "baseline", columns) for name, frame in (baselines or {}).items()},
        # The coverage of no recommendations is 0, but without any user there is no batch to count the train items in.
        more_users=() if len(shown) or "history" not in given else (given["history"].owners,),
        **given,
    )


def read_frame(frame: Any, role: Role, columns: Mapping[str, str] = COLUMNS, category: str | None = None) -> Rows:
    """Rows of a frame of any kind.

    Args:
        frame: a frame, a mapping by user, or Rows, which are returned as they are.
        role: the argument it was given for.
        columns: part ("user", "item", "score") -> name of the column; other columns are not read.
        category: the name of a column with the category of each row.
    """
    if isinstance(frame, Rows | Mapping):
        return read_rows(frame, role)
    wanted = list(columns.values()) + ([category] if category is not None else [])
    table = read_table(frame, wanted, role)
    if not table.num_rows:
        # The columns of an empty frame may have any type.
        return Rows(NO_IDS, NO_IDS, {"score": np.zeros(0)} if "score" in columns else {})
    numbers = {
        part: read_numbers(table[name], f"column {name!r} of the {role}")
        for part, name in columns.items()
        if part not in ("user", "item")
    }
    if category is not None:
        numbers["category"] = _encode_categories(table[category])
    users = Ids.of(table[columns["user"]], f"user ids in the {role}") if "user" in columns else None
    return Rows(users, Ids.of(table[columns["item"]], f"item ids in the {role}"), numbers)


def read_users(users: Any) -> Ids:
    """Sorted ids of a frame with `user_idx`, or of a sequence."""
    if isinstance(users, Ids):
        return users
    if isinstance(users, list) and not users:
        return NO_IDS
    if hasattr(users, "columns") or hasattr(users, "column_names"):
        users = read_table(users, [COLUMNS["user"]], "ground_truth_users")[COLUMNS["user"]]
    return encode_ids([Ids.of(users, "user ids in ground_truth_users")])[0]


def read_table(frame: Any, wanted: list[str], what: str) -> pa.Table:
    """Some columns of a frame as an Arrow table; Spark frames are collected."""
    names = column_names(frame)
    for name in wanted:
        if name not in names:
            raise MissingColumnError(
                f"there is no column {name!r} in the {what}",
                f"columns {', '.join(map(repr, names)) or 'none'}",
                "rename one, or pass its name, e.g. query_column=",
            )
    chosen = list(dict.fromkeys(wanted))
    selected = frame.select(chosen) if isinstance(frame, pa.Table) else frame[chosen]
    return selected.toArrow() if _rules(frame) is SPARK else to_table(selected)


def column_names(frame: Any) -> list[str]:
    return list(frame.column_names if isinstance(frame, pa.Table) else frame.columns)


def _encode_categories(column: pa.ChunkedArray) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Categories of any type as numbers from 0, -1 where there is none."""
    indices = column.combine_chunks().dictionary_encode().indices
    return indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.float64)
