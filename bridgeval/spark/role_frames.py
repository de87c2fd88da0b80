"""Each argument as a Spark frame (user, item, numbers), and all of them as one, tagged by role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import functions as F, types as T

from bridgeval.errors import BadValueError, MisalignedError, MissingColumnError
from bridgeval.io.columns import USER, Chosen, Role, find_columns, find_named
from bridgeval.io.files import open_table
from bridgeval.io.frames import is_spark_frame
from bridgeval.spark.array_frames import explode_arrays
from bridgeval.spark.task import TAG_BITS
from bridgeval.tables.encoding import encode_ids
from bridgeval.tables.groups import read_ids
from bridgeval.tables.ids import Ids
from bridgeval.tables.rows import Rows, read_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class TaggedFrame:
    """One argument of an evaluation, in Spark.

    Attributes:
        role: which argument it is; `baseline NAME` for one of several baselines.
        frame: columns user and item where it has them, and numbers called by their part.
        parts: part (`score`, `gain`, `rank`) -> Arrow type of the numbers.
    """

    role: str
    frame: DataFrame
    parts: Mapping[str, pa.DataType]

    def kind(self, side: str) -> str | None:
        """Whether its users, or items, are integers or strings; None where it has none."""
        if side not in self.frame.columns:
            return None
        return "integer" if isinstance(self.frame.schema[side].dataType, T.IntegralType) else "string"

    def rows(self, tag: int, types: Mapping[str, str], ranks: bool) -> DataFrame:
        """Columns user and item of these types, value, row and, where any frame has one, rank."""
        nothing = F.lit(None)
        number = next((part for part in self.parts if part != "rank"), None)
        place = F.monotonically_increasing_id().bitwiseOR(F.lit(tag << TAG_BITS))
        columns = [
            F.col("user").cast(types["user"]).alias("user"),
            (F.col("item") if "item" in self.frame.columns else nothing).cast(types["item"]).alias("item"),
            (F.col(number) if number else nothing).cast("double").alias("value"),
            place.alias("row"),
        ]
        if ranks:
            columns.append((F.col("rank") if "rank" in self.parts else nothing).cast("double").alias("rank"))
        return self.frame.select(columns)


def tag_frame(
    value: Any, role: Role, columns: Chosen | None, session: SparkSession, positions: Any = None
) -> TaggedFrame:
    """Reads an argument: a Spark frame as it is, anything else through the local readers.

    Args:
        value: the argument.
        role: which it is.
        columns: part -> column name, where the alias table is not enough.
        session: where local data go.
        positions: the items that the places of a score array stand for.
    """
    if not is_spark_frame(value):
        return _tag_rows(read_rows(open_table(value), role, columns), role, session)
    frame = explode_arrays(value, role, columns, positions)
    kinds = [field.dataType for field in frame.schema.fields]
    shown = role in ("recommendations", "baseline")
    # Items shown without a score or a rank are refused in any case.
    is_number = None if shown else (lambda place: _holds_numbers(kinds[place]))
    chosen = find_columns(role, frame.columns, columns, is_number)
    if shown and not {"score", "rank"} & set(chosen):
        raise MissingColumnError(
            f"the {role} have neither a score nor a rank, and rows of a Spark frame have no order",
            f"columns {', '.join(map(repr, frame.columns))}",
            "add a column 'score' or 'rank', or say which it is with {argument}",
            argument="columns",
            value={"score": ...},
        )
    fields = {part: frame.schema[name].dataType for part, name in chosen.items()}
    parts = {}
    for part, kind in fields.items():
        if part in ("user", "item"):
            _check_id(kind, f"{part} ids in the {role}")
        else:
            parts[part] = _number_type(kind, f"column {chosen[part]!r} of the {role}")
    return TaggedFrame(role, frame.select([F.col(f"`{name}`").alias(part) for part, name in chosen.items()]), parts)


def tag_users(value: Any, columns: Chosen | None, session: SparkSession) -> TaggedFrame:
    """The users that count under users="given"."""
    if not is_spark_frame(value):
        ids = read_ids(open_table(value), "users")
        return TaggedFrame("users", session.createDataFrame(pa.table({"user": ids.to_arrow()})), {})
    wanted = (columns or {}).get("user")
    found = [wanted] if wanted in value.columns else find_named(value.columns, USER)
    if len(found) != 1 and len(value.columns) != 1:
        raise MissingColumnError(
            "users must have one column with the user id", f"columns {value.columns}", f"rename it to {USER[0]!r}"
        )
    name = found[0] if len(found) == 1 else value.columns[0]
    _check_id(value.schema[name].dataType, "user ids in users")
    return TaggedFrame("users", value.select(F.col(f"`{name}`").alias("user")), {})


def unite_frames(frames: Sequence[TaggedFrame]) -> DataFrame:
    """All frames as one, tagged by their place; ids that are integers in one and strings in another are refused."""
    types = {side: _find_type(frames, side) for side in ("user", "item")}
    ranks = any("rank" in frame.parts for frame in frames)
    tagged_rows = (frame.rows(tag, types, ranks) for tag, frame in enumerate(frames))
    return reduce(lambda one, other: one.union(other), tagged_rows)


def _find_type(frames: Sequence[TaggedFrame], side: str) -> str:
    """The type that the ids of all frames fit; one that they share is kept, so that partitions by it are known."""
    kinds = {frame.role: kind for frame in frames if (kind := frame.kind(side)) is not None}
    if len(set(kinds.values())) > 1:
        raise MisalignedError(
            f"{side} ids are integers on one side and strings on the other, so nothing can match",
            ", ".join(f"{role}: {kind}" for role, kind in kinds.items()),
            f"cast one side, e.g. frame.withColumn('{side}_id', col('{side}_id').cast('string'))",
        )
    types = {frame.frame.schema[side].dataType.simpleString() for frame in frames if frame.role in kinds}
    if len(types) == 1:
        return types.pop()
    return "bigint" if "integer" in kinds.values() else "string"


def _tag_rows(rows: Rows, role: str, session: SparkSession) -> TaggedFrame:
    columns: dict[str, Any] = {"item": rows.items.to_arrow()}
    if rows.users is not None:
        columns = {"user": rows.users.to_arrow(), **columns}
    numbers = dict(rows.columns)
    if rows.ranked and "rank" not in numbers:
        numbers["rank"] = _number_rows(rows.owners)
    table = pa.table({**columns, **{part: pa.array(values) for part, values in numbers.items()}})
    parts = {part: table.schema.field(part).type for part in numbers}
    return TaggedFrame(role, session.createDataFrame(table), parts)


def _number_rows(users: Ids) -> npt.NDArray[np.float64]:
    """`[n]`: 1, 2, 3, ... for the rows of each user, in the order they came."""
    _, (codes,) = encode_ids([users])
    order = np.argsort(codes, kind="stable")
    numbers = np.empty(len(codes))
    numbers[order] = np.arange(1, len(codes) + 1)
    return numbers - np.searchsorted(codes[order], codes)


def _check_id(kind: T.DataType, what: str) -> None:
    if not isinstance(kind, T.IntegralType | T.StringType):
        raise BadValueError(
            f"{what} must be integers or strings",
            f"a column of type {kind.simpleString()}",
            "cast it to string or bigint",
        )


def _holds_numbers(kind: T.DataType) -> bool:
    return isinstance(kind, T.NumericType | T.BooleanType)


def _number_type(kind: T.DataType, what: str) -> pa.DataType:
    if isinstance(kind, T.FloatType):
        return pa.float32()
    if _holds_numbers(kind):
        return pa.float64()
    raise BadValueError(f"the {what} must hold numbers", f"type {kind.simpleString()}", "cast it to double")
