"""Streaming is reading at once: the same numbers, and the same errors, for every type of id and every schema."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

import bridgeval
from bridgeval.errors import BridgevalError
from tests.fuzz.harness import require, target
from tests.fuzz.readers import draw_rows, spoil_cells, to_table

TYPES = [
    pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32(), pa.uint64(), pa.string(), pa.large_string(),
    pa.string_view(), pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.int8(), pa.int64()), pa.binary(),
    pa.float64(), pa.decimal128(20, 0), pa.timestamp("s"), pa.date32(), pa.bool_(), pa.null(), pa.list_(pa.int64()),
]  # fmt: skip


def cast(column: Any, kind: pa.DataType) -> Any:
    """A column of numbers in another type."""
    if pa.types.is_null(kind):
        return pa.nulls(len(column))
    if pa.types.is_list(kind):
        return pa.array([[one] for one in column.to_pylist()], kind)
    if pa.types.is_dictionary(kind):
        return column.cast(kind.value_type).combine_chunks().dictionary_encode()
    if pa.types.is_date32(kind):
        return column.cast(pa.int32()).cast(kind)
    if pa.types.is_binary(kind) or pa.types.is_string_view(kind):
        return column.cast(pa.string()).cast(kind)
    return column.cast(kind)


def tell(action: Any) -> tuple[str, Any]:
    """The numbers, or the error without what depends on how far was read: counts, rows and examples."""
    try:
        found = action()
    except BridgevalError as error:
        words = re.sub(r"^[\d,]+ of the |\d+ (?=missing)|\b(is|are)\b", "", error.wrong)
        return type(error).__name__, words
    return "report", {name: round(value, 9) for name, value in found.items()} | {"users": found.population.counted}


@target
def streams(rng: Random, folder: Path) -> None:
    """Two files of random types, evaluated in both ways."""
    paths = []
    ids = rng.choice([TYPES, TYPES, TYPES[:12]])
    kinds = [rng.choice(ids), rng.choice(ids)]
    for role, number in (("recs", "score"), ("truth", "relevance")):
        rows = draw_rows(rng, users=rng.choice([3, 30]))
        as_text = rng.random() < 0.3
        if as_text and rng.random() < 0.3:
            rows = spoil_cells(rows, rng)
        try:
            table = to_table(rows, number)
        except (pa.ArrowException, OverflowError, TypeError):
            as_text, table = False, to_table(draw_rows(rng), number)
        if as_text:
            path = folder / f"{role}.csv"
            try:
                pa_csv.write_csv(table, path)
            except pa.ArrowException:
                pa_csv.write_csv(to_table(draw_rows(rng), number), path)
        else:
            if rng.random() < 0.3:
                kinds = [rng.choice(ids), rng.choice(ids)]
            for place in (0, 1):
                if rng.random() < 0.9:
                    table = table.set_column(place, table.column_names[place], cast(table[place], kinds[place]))
            if rng.random() < 0.2:
                table = table.set_column(
                    2,
                    number,
                    rng.choice([table[2].cast(pa.float32()), table[2].cast(pa.string()), pa.nulls(len(table))]),
                )
            if rng.random() < 0.1:
                table = table.rename_columns(
                    rng.choice([["u", "i", number], ["user_id", "user_id", number], ["user_id", "item_id", "odd"]])
                )
            if rng.random() < 0.1:
                table = table.slice(0, 0)
            path = folder / f"{role}.parquet"
            pa_parquet.write_table(table, path, row_group_size=rng.choice([1, 7, 1000]))
        paths.append(path)
    metrics = ["nDCG@3", "Recall@2", "MAP@5"]
    once = tell(lambda: bridgeval.evaluate(*paths, metrics))
    streamed = tell(lambda: bridgeval.evaluate(*paths, metrics, memory=1))
    # Of two faults either may come first: the first rows show types, a missing cell shows when its row is read.
    two_faults = "report" not in (once[0], streamed[0]) and "missing" in f"{once[1]}{streamed[1]}"
    require(once == streamed or two_faults, f"at once {once}, streamed {streamed}")
