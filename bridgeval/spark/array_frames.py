"""Frames with one row for each user: arrays of items, of (item, score) structs, of scores by position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F, types as T

from bridgeval.errors import InputError
from bridgeval.io.columns import ITEM, Chosen, begin_sentence, find_named
from bridgeval.tables.ids import Ids

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FLOATS = (T.FloatType, T.DoubleType, T.DecimalType)


def explode_arrays(frame: DataFrame, role: str, columns: Chosen | None = None, positions: Any = None) -> DataFrame:
    """A long frame of one with arrays; a frame that has one item in each row is given back as it is.

    Arrays beside the item (tags, reasons) belong to the row: exploding them would repeat rows, and drop those whose
    array is empty.

    An array of structs gives its fields. An array of ids gives `item`, ranked by place. An array (or ML vector) of
    numbers gives `score`, beside an array of ids or, alone, with the item that its place stands for.

    Args:
        frame: one row for each user.
        role: what the frame is, for messages.
        columns: part -> column name, where the caller chose one.
        positions: the item of each place; None takes the places 0, 1, ... themselves as ids.
    """
    frame = _convert_vectors(frame)
    arrays = {f.name: f.dataType.elementType for f in frame.schema.fields if isinstance(f.dataType, T.ArrayType)}
    scalars = [name for name in frame.columns if name not in arrays]
    chosen = (columns or {}).get("item")
    has_item = chosen in scalars if chosen in frame.columns else bool(find_named(scalars, ITEM))
    if not arrays or has_item:
        return frame
    others = [F.col(f"`{name}`") for name in scalars]
    structs = [name for name, kind in arrays.items() if isinstance(kind, T.StructType)]
    numbers = [name for name, kind in arrays.items() if isinstance(kind, FLOATS)]
    ids = [name for name in arrays if name not in structs and name not in numbers]
    if len(structs) > 1 or len(numbers) > 1 or len(ids) > 1 or (structs and len(arrays) > 1):
        raise InputError(
            f"{begin_sentence(role)} several array columns of one kind",
            f"{', '.join(arrays)}",
            "select the user and one array of (item, score) structs, or one of items and one of scores",
        )
    number = "gain" if role == "relevance" else "score"
    if structs:
        rows = frame.select(*others, F.posexplode(structs[0]).alias("place", "pair")).select(*others, "place", "pair.*")
        return rows.drop("place") if len(rows.columns) > len(others) + 2 else _add_rank(rows, role)
    if ids and numbers:
        pairs = F.arrays_zip(F.col(ids[0]).alias("item"), F.col(numbers[0]).alias(number))
        return frame.select(*others, F.inline(pairs))
    if ids:
        return _add_rank(frame.select(*others, F.posexplode(ids[0]).alias("place", "item")), role)
    rows = frame.select(*others, F.posexplode(numbers[0]).alias("place", number))
    if positions is None:
        return rows.withColumn("item", F.col("place").cast("long")).drop("place")
    items = Ids.of(positions, "item ids in the catalogue").to_arrow()
    table = pa.table({"place": pa.array(range(len(items)), pa.int32()), "item": items})
    return rows.join(F.broadcast(frame.sparkSession.createDataFrame(table)), "place", "left").drop("place")


def _add_rank(rows: DataFrame, role: str) -> DataFrame:
    """Turns the place in the array into the rank of shown items; relevant items have none."""
    shown = role in ("recommendations", "baseline")
    return (rows.withColumn("rank", F.col("place") + 1) if shown else rows).drop("place")


def _convert_vectors(frame: DataFrame) -> DataFrame:
    vectors = [f.name for f in frame.schema.fields if f.dataType.typeName() == "vectorudt"]
    if not vectors:
        return frame
    from pyspark.ml.functions import vector_to_array

    return frame.withColumns({name: vector_to_array(F.col(name)) for name in vectors})
