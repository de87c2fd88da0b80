"""Chunks: two tables too large for memory, cut so that every user's rows are together and whole.

Tables that come in the order of their users are merged as they come. Others are first spread over temporary files by a
hash of the user.
"""

from __future__ import annotations

import bisect
import tempfile
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Chunk = tuple[pa.Table, pa.Table]


class NotInOrderError(Exception):
    """A table turned out not to come in the order of its users. Never reaches a user of the library."""


@dataclass(frozen=True)
class Stream:
    """A table in pieces.

    Attributes:
        pieces: opens the table anew and yields it in order, from a row on. Where pieces end does not depend on that
            row, so that a run that goes on makes the chunks of one that was never interrupted.
        user: the column with the user id.
        schema: of the pieces.
    """

    pieces: Callable[[int], Iterable[pa.Table]]
    user: str
    schema: pa.Schema

    def nothing(self) -> pa.Table:
        return self.schema.empty_table()


def merge_streams(shown: Stream, relevant: Stream, done: tuple[int, int] = (0, 0)) -> Generator[Chunk]:
    """Chunks of two streams in the order of their users; raises NotInOrderError where one is not.

    Args:
        done: rows of each stream that whole chunks were made of before.
    """
    wanted = _Cursor(relevant, done[1])
    carried = shown.nothing()
    for piece in shown.pieces(done[0]):
        table = pa.concat_tables([carried, piece])
        users = table[shown.user]
        _check_order(users)
        start_of_last = pc.index(users, users[-1]).as_py() if len(table) else 0
        carried = table.slice(start_of_last)
        if start_of_last:
            yield table.slice(0, start_of_last), wanted.below(users[-1].as_py())
    yield carried, wanted.rest()


class _Cursor:
    """Reads a stream up to one user after another."""

    def __init__(self, stream: Stream, start: int) -> None:
        self._stream = stream
        self._pieces = iter(stream.pieces(start))
        self._held = stream.nothing()

    def below(self, user: Any) -> pa.Table:
        """The rows of users before this one."""
        while not len(self._held) or self._held[self._stream.user][-1].as_py() < user:
            piece = next(self._pieces, None)
            if piece is None:
                break
            self._held = pa.concat_tables([self._held, piece])
            _check_order(self._held[self._stream.user])
        column = self._held[self._stream.user]
        end = bisect.bisect_left(range(len(column)), user, key=lambda row: column[row].as_py())
        taken, self._held = self._held.slice(0, end), self._held.slice(end)
        return taken

    def rest(self) -> pa.Table:
        taken = pa.concat_tables([self._held, *self._pieces])
        _check_order(taken[self._stream.user])
        return taken


def _check_order(users: pa.ChunkedArray) -> None:
    if len(users) > 1 and not pc.all(pc.less_equal(users.slice(0, len(users) - 1), users.slice(1))).as_py():
        raise NotInOrderError


def partition_streams(shown: Stream, relevant: Stream, parts: int, done: int = 0) -> Generator[Chunk]:
    """Chunks by a hash of the user, through temporary files that are gone when the iterator is closed.

    Args:
        parts: how many chunks there are.
        done: how many of them are not wanted, the first ones.
    """
    with tempfile.TemporaryDirectory(prefix="bridgeval-") as folder:
        for name, stream in (("shown", shown), ("relevant", relevant)):
            _write_parts(stream, range(done, parts), Path(folder) / name)
        for part in range(done, parts):
            yield _read_part(Path(folder) / "shown", part), _read_part(Path(folder) / "relevant", part)


def _write_parts(stream: Stream, parts: range, folder: Path) -> None:
    folder.mkdir()
    schema = pa.schema([(f.name, _plain(f.type)) for f in stream.schema])
    with ExitStack() as stack:
        files = [stack.enter_context(pa.OSFile(str(folder / f"{part}.arrow"), "wb")) for part in parts]
        writers = [stack.enter_context(pa.ipc.new_file(file, schema)) for file in files]
        for piece in stream.pieces(0):
            table = piece.cast(schema)
            part_of = assign_parts(table[stream.user], parts.stop)
            # numpy sorts integers of 16 bits by counting.
            table = table.take(pa.array(np.argsort(part_of.astype(np.uint16), kind="stable")))
            ends = np.cumsum(np.bincount(part_of, minlength=parts.stop))
            for writer, part in zip(writers, parts, strict=True):
                start, end = ends[part - 1] if part else 0, ends[part]
                if end > start:
                    writer.write_table(table.slice(start, end - start))


def assign_parts(users: pa.ChunkedArray, parts: int) -> npt.NDArray[np.int32]:
    """Which part each user belongs to: the same in every table, run and process."""
    from pandas.util import hash_array

    if pa.types.is_integer(users.type):
        hashes = hash_array(users.to_numpy().astype(np.int64))
    else:
        coded = users.combine_chunks().dictionary_encode()
        distinct = hash_array(coded.dictionary.to_numpy(zero_copy_only=False), categorize=False)
        hashes = distinct[coded.indices.to_numpy(zero_copy_only=False)]
    return (hashes % np.uint64(parts)).astype(np.int32)


def _read_part(folder: Path, part: int) -> pa.Table:
    with pa.memory_map(str(folder / f"{part}.arrow")) as file:
        return pa.ipc.open_file(file).read_all()


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
