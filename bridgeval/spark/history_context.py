"""Context of a history in Spark: counted on the executors, one row for each item to the driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from bridgeval.engine.needs import Needs
from bridgeval.spark.executors import send_errors
from bridgeval.spark.task import ROWS_AT_ONCE, join_whole_users
from bridgeval.tables.context import Context, Table
from bridgeval.tables.encoding import encode_ids
from bridgeval.tables.history import History
from bridgeval.tables.ids import Ids
from bridgeval.tables.rows import Rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def add_history(context: Context, history: DataFrame, needs: Needs) -> Context:
    """Adds what metrics need of a frame (user, item): the catalogue if none was given, popularity."""
    catalogue = context.catalogue
    if "item popularity" not in needs.context:
        unknown = catalogue is None and "catalogue" in needs.context
        return replace(context, catalogue=read_items(history)) if unknown else context
    popularity, users, pairs = count_popularity(history)
    return replace(
        context,
        catalogue=popularity.ids if catalogue is None else catalogue,
        items={**context.items, "popularity": popularity},
        history_users=users,
        history_pairs=pairs,
    )


def read_items(history: DataFrame) -> Ids:
    """The sorted items of a frame (user, item)."""
    return encode_ids([Ids.of(history.select("item").distinct().toArrow()["item"], "item ids in the history")])[0]


def count_popularity(history: DataFrame) -> tuple[Table, int, int]:
    """The number of users of each item; then the number of users and of distinct pairs. One shuffle by user."""
    item_type = history.schema["item"].dataType.simpleString()
    by_user = history.select("user", "item").repartition("user").sortWithinPartitions("user")
    parts = by_user.mapInArrow(_count, f"item {item_type}, users long, pairs long")
    counts = parts.groupBy("item").agg(F.sum("users").alias("users"), F.sum("pairs").alias("pairs")).toArrow()
    # The row without an item counts users, so that one job gives both.
    no_item = np.asarray(counts["item"].is_null())
    items = Ids.of(counts["item"].drop_null(), "item ids in the history")
    numbers = counts["pairs"].to_numpy()[~no_item]
    vocabulary, (codes,) = encode_ids([items])
    values = np.zeros(len(vocabulary))
    values[codes] = numbers
    users = int(counts["users"].to_numpy()[no_item].sum())
    return Table(vocabulary, values), users, int(numbers.sum())


def _count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return send_errors(_count_chunks(batches))


def _count_chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for chunk in join_whole_users(batches, ROWS_AT_ONCE):
        users = Ids.of(chunk["user"], "user ids in the history")
        items = Ids.of(chunk["item"], "item ids in the history")
        counted = History.of(Rows(users, items))
        table = counted.popularity
        kind = chunk.schema.field("item").type
        ids: Any = pa.concat_arrays([table.ids.to_arrow().cast(kind), pa.nulls(1, kind)])
        yield pa.record_batch(
            {
                "item": ids,
                "users": pa.array([0] * len(table.ids) + [len(counted.users)], pa.int64()),
                "pairs": pa.array([*table.values.astype(np.int64), 0], pa.int64()),
            }
        )
