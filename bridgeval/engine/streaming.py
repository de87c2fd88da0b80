"""Files larger than memory: read in pieces, evaluated in chunks of whole users."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pa_dataset

from bridgeval.engine.inputs import Inputs
from bridgeval.engine.plan import Execution, Plan, States, fold
from bridgeval.errors import BadValueError
from bridgeval.io.chunks import Chunk, NotInOrderError, Stream, merge_streams, partition_streams
from bridgeval.io.columns import Role, find_columns
from bridgeval.io.datasets import BYTES_PER_ROW, read_batches, read_numbers_as_floats
from bridgeval.io.files import open_table
from bridgeval.tables.rows import find_first_null, read_table_rows

ROWS_PER_PIECE = 1 << 21


@dataclass(frozen=True)
class StreamedSource:
    """Two data sets on disk, of which a chunk is held at a time.

    Attributes:
        recommendations, relevance: read in pieces.
        paths: of both.
        given: the other arguments of `Inputs.of`; files among them are held in memory.
        offers: as of any source.
        size: bytes that both tables would take at once.
    """

    recommendations: pa_dataset.Dataset
    relevance: pa_dataset.Dataset
    paths: tuple[str, str]
    given: Mapping[str, Any] = field(default_factory=dict)
    offers: frozenset[str] = frozenset()
    size: int = 0
    label: str = ""

    def run(self, plan: Plan, how: Execution) -> States:
        rows = max(1, min(ROWS_PER_PIECE, how.budget // BYTES_PER_ROW // 4))
        shown = self._stream(self.recommendations, "recommendations", rows)
        relevant = self._stream(self.relevance, "relevance", rows)
        base = Inputs.of(shown.nothing(), relevant.nothing(), **{k: open_table(v) for k, v in self.given.items()})
        run = _Run(plan, how, base, self.given.get("columns"), self.size // BYTES_PER_ROW)
        try:
            return run.folded(merge_streams(shown, relevant))
        except NotInOrderError:
            watched = run.watched("spread")
            return run.folded(
                partition_streams(watched(shown), watched(relevant), math.ceil(2 * self.size / how.budget))
            )

    def _stream(self, dataset: pa_dataset.Dataset, role: Role, rows: int) -> Stream:
        parts = find_columns(role, dataset.schema.names, self.given.get("columns"))
        dataset = read_numbers_as_floats(
            dataset, [name for part, name in parts.items() if part not in ("user", "item")]
        )
        schema = pa.schema([dataset.schema.field(name) for name in parts.values()])
        pieces = partial(_pieces, dataset, schema.names, rows)
        return Stream(partial(_whole, pieces, role), parts["user"], schema)


@dataclass(frozen=True)
class _Run:
    """A plan on its way through the chunks."""

    plan: Plan
    how: Execution
    base: Inputs
    columns: Mapping[str, str] | None
    total: int

    def folded(self, chunks: Generator[Chunk]) -> States:
        """The states of all chunks; nothing is left on disk once all are done."""
        states, done = self.plan.start(), 0
        try:
            self.tell("evaluated", done)
            for shown, relevant in chunks:
                rows = read_table_rows(shown, "recommendations", self.columns)
                truth = read_table_rows(relevant, "relevance", self.columns)
                inputs = replace(self.base, recommendations=rows, relevance=truth)
                states = fold(self.plan, inputs.slates(self.plan.needs), self.base.context, self.how, states)
                done += len(shown) + len(relevant)
                self.tell("evaluated", done)
        finally:
            chunks.close()
        return states

    def tell(self, what: str, done: int) -> None:
        if self.how.rows is not None:
            self.how.rows(what, done, max(done, self.total))

    def watched(self, what: str) -> Callable[[Stream], Stream]:
        """Streams that tell together how many rows have been read of them."""
        done = 0

        def pieces(stream: Stream, start: int) -> Iterator[pa.Table]:
            nonlocal done
            for piece in stream.pieces(start):
                yield piece
                done += len(piece)
                self.tell(what, done)

        return lambda stream: replace(stream, pieces=partial(pieces, stream))


def _pieces(dataset: pa_dataset.Dataset, names: list[str], rows: int, start: int) -> Iterator[pa.Table]:
    """The data set from a row on, in tables that end at every multiple of `rows`."""
    held: list[pa.RecordBatch] = []
    room = rows - start % rows
    for batch in read_batches(dataset, start, names, min(rows, 1 << 17)):
        rest = batch
        while len(rest) >= room:
            yield pa.Table.from_batches([*held, rest.slice(0, room)])
            rest, held, room = rest.slice(room), [], rows
        if len(rest):
            held.append(rest)
            room -= len(rest)
    if held:
        yield pa.Table.from_batches(held)


def _whole(pieces: Callable[[int], Iterator[pa.Table]], role: Role, start: int) -> Iterator[pa.Table]:
    """The pieces; an error where a cell is missing, which says where in the data set."""
    row = start
    for piece in pieces(start):
        for name in piece.column_names:
            if piece[name].null_count:
                raise BadValueError(
                    f"the column {name!r} of the {role} has missing values (null)",
                    f"first at row {row + find_first_null(piece[name])}, counted from 0",
                    "drop these rows, or fill them",
                )
        row += len(piece)
        yield piece
