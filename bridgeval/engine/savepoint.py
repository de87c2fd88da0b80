"""Savepoint: the states of a run that is not over yet, in a file."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

import bridgeval
from bridgeval.engine.codec import Codec
from bridgeval.engine.plan import Plan, States
from bridgeval.errors import SavepointError

# Saving may take this share of the time; states that hold a value of every user take long to write.
SHARE_OF_TIME = 0.1


@dataclass(frozen=True)
class Place:
    """How far a streamed run has come, and how it cuts the data.

    Attributes:
        way: "merged" as the rows come, or "spread" over parts by a hash of the user.
        rows: of a piece that is read at once.
        parts: that users are spread over.
        chunks, shown, relevant: chunks done, and the rows in them.
    """

    way: Literal["merged", "spread"]
    rows: int
    parts: int
    chunks: int = 0
    shown: int = 0
    relevant: int = 0

    def after(self, shown: int, relevant: int) -> Place:
        """The place after one more chunk of so many rows."""
        return replace(self, chunks=self.chunks + 1, shown=self.shown + shown, relevant=self.relevant + relevant)


class Savepoint:
    """A file that a run writes its states to after every chunk, and that a later run goes on from.

    The file says what it belongs to, and is refused where that has changed. It holds no code and no pickle.
    """

    def __init__(self, path: Path, plan: Plan, origin: Mapping[str, Any]) -> None:
        """`origin` tells the data of one run from that of another; JSON values."""
        self._path = path
        self._codec = Codec.of(plan.start())
        metrics = list(map(repr, plan.metrics))
        self._belongs_to = {"bridgeval": bridgeval.__version__, "metrics": metrics, **origin}
        self._free_at = 0.0

    def read(self) -> tuple[Place, States] | None:
        """Where a run stopped; None where there is nothing to go on from."""
        if not self._path.exists():
            return None
        try:
            with pa.OSFile(str(self._path)) as file:
                table = pa.ipc.open_file(file).read_all()
            head = json.loads(table.schema.metadata[b"bridgeval"])
            differing = self._differing(head["belongs to"])
            if not differing:
                arrays = [column[0].values for column in table.columns]
                return Place(**head["place"]), self._codec.decoded(head["states"], arrays)
        except (pa.ArrowException, OSError, LookupError, TypeError, ValueError, AttributeError) as error:
            raise SavepointError(
                f"{str(self._path)!r} holds no saved states",
                f"{type(error).__name__}: {str(error).splitlines()[0]}",
                "delete it to begin anew, or give resume another path",
            ) from error
        name, then, now = differing
        raise SavepointError(
            f"{str(self._path)!r} was saved by another evaluation: the {name} differ",
            f"{_short(then)} then, {_short(now)} now",
            "repeat that evaluation, delete the file to begin anew, or give resume another path",
        )

    def save(self, place: Place, states: States) -> None:
        """Writes, unless writing has been taking too much of the time."""
        start = time.monotonic()
        if start >= self._free_at:
            self._write(place, states)
            now = time.monotonic()
            self._free_at = now + (now - start) / SHARE_OF_TIME

    def _write(self, place: Place, states: States) -> None:
        arrays: list[pa.Array] = []
        tree = self._codec.encoded(states, arrays)
        head = {"belongs to": self._belongs_to, "place": asdict(place), "states": tree}
        columns = [pa.LargeListArray.from_arrays([0, len(array)], array) for array in arrays]
        schema = pa.schema([(str(n), column.type) for n, column in enumerate(columns)], {"bridgeval": json.dumps(head)})
        # Written beside and moved: a file is whole, or not there.
        beside = self._path.with_name(self._path.name + ".part")
        with pa.OSFile(str(beside), "wb") as file, pa.ipc.new_file(file, schema) as writer:
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
        os.replace(beside, self._path)

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)

    def _differing(self, saved: Mapping[str, Any]) -> tuple[str, Any, Any] | None:
        """The first thing that is not as it was: its name, what it was and what it is."""
        differing = (name for name, now in self._belongs_to.items() if saved.get(name) != now)
        name = next(differing, None)
        return None if name is None else (name, saved.get(name), self._belongs_to[name])


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) < 200 else f"{text[:200]}..."
