"""Chunks: two tables larger than memory, cut so that all rows of a user are in one chunk.

Tables sorted by user are merged as they are read. Others are first partitioned by a hash of the user, into two
temporary files that have no name: whatever ends the process, they are gone.
"""

from __future__ import annotations

import bisect
import tempfile
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Chunk = tuple[pa.Table, pa.Table]


class NotInOrderError(Exception):
    """A table turned out not to be sorted by user. Never reaches a user of the library."""


@dataclass(frozen=True)
class Stream:
    """A table in pieces.

    Attributes:
        pieces: opens the table again and yields its pieces in order.
        user: the column with the user id.
        schema: of the pieces.
    """

    pieces: Callable[[], Iterable[pa.Table]]
    user: str
    schema: pa.Schema


def merge_streams(shown: Stream, relevant: Stream) -> Generator[Chunk]:
    """Chunks of two streams that are sorted by user; raises NotInOrderError if one is not."""
    wanted = _Cursor(relevant)
    carried = shown.schema.empty_table()
    for piece in shown.pieces():
        table = pa.concat_tables([carried, piece])
        users = table[shown.user]
        _check_order(users)
        start_of_last = pc.index(users, users[-1]).as_py() if len(table) else 0
        carried = table.slice(start_of_last)
        if start_of_last:
            yield table.slice(0, start_of_last), wanted.take_below(users[-1].as_py())
    yield carried, wanted.take_rest()


class _Cursor:
    """Reads a stream up to one user after another."""

    def __init__(self, stream: Stream) -> None:
        self._user = stream.user
        self._pieces = iter(stream.pieces())
        self._held = stream.schema.empty_table()

    def take_below(self, user: Any) -> pa.Table:
        """The rows of users before this one."""
        while not len(self._held) or self._held[self._user][-1].as_py() < user:
            piece = next(self._pieces, None)
            if piece is None:
                break
            self._held = pa.concat_tables([self._held, piece])
            _check_order(self._held[self._user])
        column = self._held[self._user]
        end = bisect.bisect_left(range(len(column)), user, key=lambda row: column[row].as_py())
        taken, self._held = self._held.slice(0, end), self._held.slice(end)
        return taken

    def take_rest(self) -> pa.Table:
        taken = pa.concat_tables([self._held, *self._pieces])
        _check_order(taken[self._user])
        return taken


def _check_order(users: pa.ChunkedArray) -> None:
    if len(users) > 1 and not pc.all(pc.less_equal(users.slice(0, len(users) - 1), users.slice(1))).as_py():
        raise NotInOrderError


def partition_streams(shown: Stream, relevant: Stream, parts: int) -> Generator[Chunk]:
    """So many chunks by a hash of the user, in temporary files that are gone when the generator is closed."""
    with tempfile.TemporaryFile() as first, tempfile.TemporaryFile() as second:
        sides = [_write_parts(shown, parts, first), _write_parts(relevant, parts, second)]
        for part in range(parts):
            yield sides[0].read(part), sides[1].read(part)


@dataclass(frozen=True)
class _Parts:
    """A table in parts. All are in one file: one for each part would be more than a process may open.

    Attributes:
        reader: of the file, in Arrow's format, whose batches can be read in any order.
        places: the batches of each part.
    """

    reader: Any
    places: list[list[int]]

    def read(self, part: int) -> pa.Table:
        batches = [self.reader.get_batch(place) for place in self.places[part]]
        return pa.Table.from_batches(batches, self.reader.schema)


def _write_parts(stream: Stream, parts: int, file: IO[bytes]) -> _Parts:
    places: list[list[int]] = [[] for _ in range(parts)]
    written = 0
    with pa.ipc.new_file(pa.PythonFile(file, "w"), stream.schema) as writer:
        for piece in stream.pieces():
            part_of = assign_parts(piece[stream.user], parts)
            order = np.argsort(part_of.astype(np.min_scalar_type(parts)), kind="stable")
            table = piece.take(pa.array(order))
            present, starts = np.unique(part_of[order], return_index=True)
            for part, (start, end) in zip(present, pairwise([*starts.tolist(), len(table)]), strict=True):
                for batch in table.slice(start, end - start).combine_chunks().to_batches():
                    writer.write_batch(batch)
                    places[part].append(written)
                    written += 1
    file.flush()
    return _Parts(pa.ipc.open_file(pa.PythonFile(file, "r")), places)


def assign_parts(users: pa.ChunkedArray, parts: int) -> npt.NDArray[np.int32]:
    """`[n]`: the part that each user belongs to, the same in every table, run and process."""
    from pandas.util import hash_array

    if pa.types.is_integer(users.type):
        hashes = hash_array(users.to_numpy().astype(np.int64))
    else:
        coded = users.combine_chunks().dictionary_encode()
        distinct = hash_array(coded.dictionary.to_numpy(zero_copy_only=False), categorize=False)
        hashes = distinct[coded.indices.to_numpy(zero_copy_only=False)]
    return (hashes % np.uint64(parts)).astype(np.int32)
