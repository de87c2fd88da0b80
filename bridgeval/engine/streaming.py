"""Sources of files and frames: read at once if memory allows, else in pieces, evaluated in chunks of whole users."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from bridgeval.engine.inputs import Inputs, list_offers
from bridgeval.engine.plan import Execution, Plan, States, fold
from bridgeval.engine.source import DeferredSource, Source, make_source
from bridgeval.errors import BadValueError
from bridgeval.io.chunks import Chunk, NotInOrderError, Stream, merge_streams, partition_streams
from bridgeval.io.columns import Chosen, Role
from bridgeval.io.datasets import BYTES_PER_ROW, open_file_table
from bridgeval.io.files import open_table, read_schema
from bridgeval.io.frames import open_lazy
from bridgeval.io.lazy_frames import HeldTable, LazyFrame, count_entries
from bridgeval.tables.ids import check_same_kind
from bridgeval.tables.rows import find_first_null, find_parts, read_table_rows, tabulate

ROWS_PER_PIECE = 1 << 21
ROWS_PER_BATCH = 1 << 17
# Whatever the budget: pieces of fewer rows, or more parts, would cost more in themselves than what they hold.
LEAST_ROWS = 1 << 10
MOST_PARTS = 1 << 12


def file_source(recommendations: Any, relevance: Any, **extras: Any) -> Source:
    """A source of frames and files.

    Args:
        extras: the other arguments of `Inputs.of`; each may be the path of a file.
    """
    given = {"recommendations": recommendations, "relevance": relevance, **extras}
    paths = {name for name, value in given.items() if isinstance(value, str | os.PathLike)}
    lazy = {name: _open_lazily(given[name]) for name in ("recommendations", "relevance")}
    if not paths and not any(lazy.values()):
        return make_source(recommendations, relevance, **extras)
    in_file = "recommendations" in paths
    header = read_schema(os.fspath(recommendations)).empty_table() if in_file else recommendations
    offers = list_offers(header, **extras)
    at_once = DeferredSource(offers, lambda needs: make_source(**_open_tables(given)).open(needs))
    # A format that is read as a whole, and two tables in memory, are not streamed.
    if not any(lazy.values()) or any(lazy[name] is None for name in lazy.keys() & paths):
        return at_once
    return StreamedSource(at_once, recommendations, relevance, extras)


def _open_lazily(value: Any) -> LazyFrame | None:
    """The rows of files and of lazy frames; None for tables in memory and for formats that are read as a whole."""
    return open_file_table(os.fspath(value)) if isinstance(value, str | os.PathLike) else open_lazy(value)


def _open_tables(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: open_table(value) for name, value in given.items()}


@dataclass(frozen=True)
class StreamedSource:
    """Recommendations and relevance of which at least one need not be held in memory.

    Attributes:
        at_once: the source that holds both.
        recommendations, relevance: paths and lazy frames are read in pieces, objects in memory are held.
        extras: the other arguments of `Inputs.of`; files and lazy frames among them are held in memory.
    """

    at_once: DeferredSource
    recommendations: Any
    relevance: Any
    extras: Mapping[str, Any]
    label: str = ""

    @property
    def offers(self) -> frozenset[str]:
        return self.at_once.offers

    def run(self, plan: Plan, how: Execution) -> States:
        columns = self.extras.get("columns")
        # Users that only the history, the baseline or a list of users has belong to no chunk.
        if plan.needs.users:
            return self.at_once.run(plan, how)
        sides = (
            _Side.of(self.recommendations, "recommendations", columns),
            _Side.of(self.relevance, "relevance", columns),
        )
        size = sum(side.entries for side in sides) * BYTES_PER_ROW
        if size <= how.budget:
            return self.at_once.run(plan, how)
        _check_heads(sides, columns)
        shown, relevant = (side.open_stream(how.budget) for side in sides)
        base = Inputs.of(shown.schema.empty_table(), relevant.schema.empty_table(), **_open_tables(self.extras))
        run = _Run(plan, how, base, columns, sum(side.rows for side in sides))
        try:
            return run.fold(merge_streams(shown, relevant))
        except NotInOrderError:
            count = run.count_rows("partitioned")
            parts = min(MOST_PARTS, math.ceil(2 * size / how.budget))
            return run.fold(partition_streams(count(shown), count(relevant), parts))


@dataclass(frozen=True)
class _Side:
    """One of the two tables.

    Attributes:
        parts: part -> column.
        rows: its rows, counted or estimated.
        entries: the entries of its lists, if a row is a list; else its rows.
    """

    frame: LazyFrame
    role: Role
    parts: Mapping[str, str]
    rows: int
    entries: int

    @staticmethod
    def of(value: Any, role: Role, columns: Chosen | None) -> _Side:
        frame = _open_lazily(value) or HeldTable(tabulate(value, role, columns))
        parts = find_parts(frame, role, columns)
        return _Side(frame, role, parts, *frame.count(parts["item"]))

    def read_head(self) -> pa.Table:
        """The first rows."""
        names = list(self.parts.values())
        first = next(iter(self.frame.read_batches(names, LEAST_ROWS)), None)
        kinds = pa.schema([self.frame.schema.field(name) for name in names])
        return kinds.empty_table() if first is None else pa.Table.from_batches([first.slice(0, 3)])

    def open_stream(self, budget: int) -> Stream:
        frame = self.frame.with_floats([name for part, name in self.parts.items() if part not in ("user", "item")])
        schema = pa.schema([(name, _decode_type(frame.schema.field(name).type)) for name in self.parts.values()])
        return Stream(partial(self._read_pieces, frame, schema, budget), self.parts["user"], schema)

    def _read_pieces(self, frame: LazyFrame, schema: pa.Schema, budget: int) -> Iterator[pa.Table]:
        """The rows in tables of a share of the budget; raises if a cell is missing, and says where."""
        wanted = min(ROWS_PER_PIECE, max(LEAST_ROWS, budget // BYTES_PER_ROW // 4))
        batch_rows = min(wanted, ROWS_PER_BATCH) // max(1, round(self.entries / max(1, self.rows)))
        held: list[pa.RecordBatch] = []
        row = entries = 0
        for batch in frame.read_batches(schema.names, max(1, batch_rows)):
            for name, column in zip(schema.names, batch.columns, strict=True):
                if column.null_count:
                    own = next(part for part, column in self.parts.items() if column == name)
                    ids = own in ("user", "item")
                    raise BadValueError(
                        f"{own} ids in the {self.role} are missing (null)"
                        if ids
                        else f"the column {name!r} of the {self.role} has missing value(s) (null or NaN)",
                        f"first at row {row + find_first_null(column)}, counted from 0",
                        "drop these rows, or fill them",
                    )
            row += len(batch)
            entries += count_entries(batch, self.parts["item"])
            held.append(batch)
            if entries >= wanted:
                yield pa.Table.from_batches(held).cast(schema)
                held, entries = [], 0
        if held:
            yield pa.Table.from_batches(held).cast(schema)


def _check_heads(sides: Iterable[_Side], columns: Chosen | None) -> None:
    """Raises what reading at once would raise about types of columns: a chunk may have rows of one side alone."""
    shown, relevant = (read_table_rows(side.read_head(), side.role, columns) for side in sides)
    check_same_kind(shown.owners, relevant.owners, "user ids")
    check_same_kind(shown.items, relevant.items, "item ids")


def _decode_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values; dictionaries differ from piece to piece, and few functions of Arrow take views."""
    if pa.types.is_dictionary(kind):
        return _decode_type(kind.value_type)
    return pa.large_string() if pa.types.is_string_view(kind) else kind


@dataclass(frozen=True)
class _Run:
    """A plan that is folded over chunks.

    Attributes:
        base: all inputs but the recommendations and the relevance.
        total: an estimate of the rows of both tables.
    """

    plan: Plan
    how: Execution
    base: Inputs
    columns: Chosen | None
    total: int

    def fold(self, chunks: Generator[Chunk]) -> States:
        """Folds the plan over all chunks, then closes them, so that nothing is left on disk."""
        states, done = self.plan.start(), 0
        try:
            self.report_rows("evaluated", done)
            for shown, relevant in chunks:
                rows = read_table_rows(shown, "recommendations", self.columns)
                truth = read_table_rows(relevant, "relevance", self.columns)
                inputs = replace(self.base, recommendations=rows, relevance=truth)
                states = fold(self.plan, inputs.slates(self.plan.needs), self.base.context, self.how, states)
                done += len(shown) + len(relevant)
                self.report_rows("evaluated", done)
        finally:
            chunks.close()
        return states

    def report_rows(self, what: str, done: int) -> None:
        if self.how.rows is not None:
            self.how.rows(what, done, max(done, self.total))

    def count_rows(self, what: str) -> Callable[[Stream], Stream]:
        """Streams that report together how many of their rows have been read."""
        done = 0

        def read(stream: Stream) -> Iterator[pa.Table]:
            nonlocal done
            for piece in stream.pieces():
                yield piece
                done += len(piece)
                self.report_rows(what, done)

        return lambda stream: replace(stream, pieces=partial(read, stream))
