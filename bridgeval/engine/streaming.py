"""Sources of files: read at once if memory allows, else in pieces and evaluated in chunks of whole users."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pa_dataset

from bridgeval.engine.inputs import Inputs, list_offers
from bridgeval.engine.plan import Execution, Plan, States, fold
from bridgeval.engine.source import DeferredSource, Source, make_source
from bridgeval.errors import BadValueError
from bridgeval.io.chunks import Chunk, NotInOrderError, Stream, merge_streams, partition_streams
from bridgeval.io.columns import Chosen, Role, find_columns, holds_numbers
from bridgeval.io.datasets import BYTES_PER_ROW, estimate_memory, open_dataset, read_batches, read_numbers_as_floats
from bridgeval.io.files import is_path, open_table, read_schema
from bridgeval.tables.rows import find_first_null, read_table_rows

ROWS_PER_PIECE = 1 << 21


def file_source(recommendations: Any, relevance: Any, **extras: Any) -> Source:
    """A source of frames and files.

    Args:
        extras: the other arguments of `Inputs.of`; each may be the path of a file.
    """
    given = {"recommendations": recommendations, "relevance": relevance, **extras}
    header = read_schema(os.fspath(recommendations)).empty_table() if is_path(recommendations) else recommendations
    offers = list_offers(header, **extras)
    at_once = DeferredSource(offers, lambda needs: make_source(**_open_tables(given)).open(needs))
    if not is_path(recommendations) or not is_path(relevance):
        return at_once
    paths = os.fspath(recommendations), os.fspath(relevance)
    shown, relevant = map(open_dataset, paths)
    if shown is None or relevant is None:
        return at_once
    size = estimate_memory(paths[0], shown) + estimate_memory(paths[1], relevant)
    return FileSource(at_once, shown, relevant, extras, size)


def _open_tables(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: open_table(value) for name, value in given.items()}


@dataclass(frozen=True)
class FileSource:
    """Two data sets on disk.

    Attributes:
        at_once: the source that holds both in memory.
        recommendations, relevance: read in pieces.
        extras: the other arguments of `Inputs.of`; files among them are held in memory.
        size: bytes that both tables would take in memory.
    """

    at_once: DeferredSource
    recommendations: pa_dataset.Dataset
    relevance: pa_dataset.Dataset
    extras: Mapping[str, Any]
    size: int
    label: str = ""

    @property
    def offers(self) -> frozenset[str]:
        return self.at_once.offers

    def run(self, plan: Plan, how: Execution) -> States:
        # Users that only the history, the baseline or a list of users has belong to no chunk.
        if self.size <= how.budget or plan.needs.users:
            return self.at_once.run(plan, how)
        rows = max(1, min(ROWS_PER_PIECE, how.budget // BYTES_PER_ROW // 4))
        shown = self._open_stream(self.recommendations, "recommendations", rows)
        relevant = self._open_stream(self.relevance, "relevance", rows)
        base = Inputs.of(shown.schema.empty_table(), relevant.schema.empty_table(), **_open_tables(self.extras))
        run = _Run(plan, how, base, self.extras.get("columns"), self.size // BYTES_PER_ROW)
        try:
            return run.fold(merge_streams(shown, relevant))
        except NotInOrderError:
            count = run.count_rows("partitioned")
            parts = math.ceil(2 * self.size / how.budget)
            return run.fold(partition_streams(count(shown), count(relevant), parts))

    def _open_stream(self, dataset: pa_dataset.Dataset, role: Role, rows: int) -> Stream:
        types = dataset.schema.types
        parts = find_columns(
            role, dataset.schema.names, self.extras.get("columns"), lambda place: holds_numbers(types[place])
        )
        numbers = [name for part, name in parts.items() if part not in ("user", "item")]
        dataset = read_numbers_as_floats(dataset, numbers)
        schema = pa.schema([dataset.schema.field(name) for name in parts.values()])
        return Stream(partial(_read_pieces, dataset, schema.names, rows, role), parts["user"], schema)


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


def _read_pieces(dataset: pa_dataset.Dataset, names: list[str], rows: int, role: Role) -> Iterator[pa.Table]:
    """The data set in tables of at least `rows` rows; raises if a cell is missing, and says where in the data set."""
    held: list[pa.RecordBatch] = []
    row = 0
    for batch in read_batches(dataset, names, min(rows, 1 << 17)):
        for name, column in zip(names, batch.columns, strict=True):
            if column.null_count:
                raise BadValueError(
                    f"the column {name!r} of the {role} has missing values (null)",
                    f"first at row {row + find_first_null(column)}, counted from 0",
                    "drop these rows, or fill them",
                )
        row += len(batch)
        held.append(batch)
        if sum(map(len, held)) >= rows:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)
