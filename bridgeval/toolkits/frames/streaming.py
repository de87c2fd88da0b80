"""Files larger than memory: read in pieces, evaluated in chunks of whole users."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pa_dataset

from bridgeval.data.chunks import Chunk, NotInOrderError, Stream, merged, spread
from bridgeval.data.columns import Role, columns_for
from bridgeval.data.datasets import BYTES_PER_ROW
from bridgeval.data.inputs import Inputs
from bridgeval.data.rows import rows_of_table
from bridgeval.data.slates import Slates
from bridgeval.engine.plan import Execution, Plan, States, fold

ROWS_PER_PIECE = 1 << 21


@dataclass(frozen=True)
class StreamedSource:
    """Two data sets on disk, of which a chunk is held at a time.

    Attributes:
        recommendations, relevance: read in pieces.
        given: the other arguments of `Inputs.of`, in memory.
        offers: as of any source.
        size: bytes that both tables would take at once.
    """

    recommendations: pa_dataset.Dataset
    relevance: pa_dataset.Dataset
    given: Mapping[str, Any] = field(default_factory=dict)
    offers: frozenset[str] = frozenset()
    size: int = 0
    label: str = ""

    def run(self, plan: Plan, how: Execution) -> States:
        rows = max(1, min(ROWS_PER_PIECE, how.memory // BYTES_PER_ROW // 4))
        shown = self._stream(self.recommendations, "recommendations", rows)
        relevant = self._stream(self.relevance, "relevance", rows)
        base = Inputs.of(shown.nothing(), relevant.nothing(), **self.given)
        try:
            return self._folded(plan, how, base, merged(shown, relevant))
        except NotInOrderError:
            parts = math.ceil(2 * self.size / how.memory)
            return self._folded(plan, how, base, spread(shown, relevant, parts))

    def _folded(self, plan: Plan, how: Execution, base: Inputs, chunks: Generator[Chunk]) -> States:
        columns = self.given.get("columns")

        def slates() -> Iterator[Slates]:
            for shown, relevant in chunks:
                rows = rows_of_table(shown, "recommendations", columns)
                truth = rows_of_table(relevant, "relevance", columns)
                yield from replace(base, recommendations=rows, relevance=truth).slates(plan.needs)

        try:
            return fold(plan, slates(), base.context, how)
        finally:
            chunks.close()

    def _stream(self, dataset: pa_dataset.Dataset, role: Role, rows: int) -> Stream:
        parts = columns_for(role, dataset.schema.names, self.given.get("columns"))
        schema = pa.schema([dataset.schema.field(name) for name in parts.values()])
        return Stream(partial(_pieces, dataset, schema.names, rows), parts["user"], schema)


def _pieces(dataset: pa_dataset.Dataset, names: list[str], rows: int) -> Iterator[pa.Table]:
    """The data set in tables of about `rows` rows, reading little ahead."""
    held: list[pa.RecordBatch] = []
    batches = dataset.to_batches(columns=names, batch_size=min(rows, 1 << 17), batch_readahead=4, fragment_readahead=1)
    for batch in batches:
        held.append(batch)
        if sum(map(len, held)) >= rows:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)
