r"""State files: the merged states of a plan in one file of plain data.

    bridgeval-state 1 <sha256 of all that follows the first line>\n
    <header: JSON in one line>\n
    <body: the arrays, each compressed with zlib>

The header says what was evaluated (`terms`, `counts`, ...; see `bridgeval/saved_states.py`), and holds the states
(`states`, see `bridgeval/engine/state_codec.py`) and the size of each array, compressed and not (`arrays`). Nothing
of a file is used before its checksum agrees.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bridgeval.engine.plan import Plan, States
from bridgeval.engine.state_codec import Classes, Decoder, Encoder, find_classes, fits
from bridgeval.errors import BridgevalError, StateFileError
from bridgeval.io.outputs import find_obstacle, written_beside

MAGIC = b"bridgeval-state "
VERSION = 1
# Most of the gain of zlib at a third of its time.
LEVEL = 1

Path = str | os.PathLike[str]


def write_state_file(path: Path, plan: Plan, states: States, header: Mapping[str, Any]) -> None:
    """Writes the states of a plan; a file that is there is replaced as a whole, or stays as it is.

    Args:
        header: plain values of our own; `Encoded` stands for any value that the codec knows.
    """
    data = pack_states(plan, states, header)
    try:
        with written_beside(path) as beside, open(beside, "xb") as file:
            file.write(data)
    except OSError as error:
        raise _refuse_path(path, error) from error


def check_place(path: Path, inputs: Iterable[Any] = ()) -> None:
    """Raises StateFileError if a file cannot be written there; asked before an evaluation, which may take long.

    Args:
        inputs: of the evaluation; those that are paths may not be replaced.
    """
    wrong = "is a folder" if os.path.isdir(path) else find_obstacle(path, inputs)
    if wrong:
        raise StateFileError(f"the state file {os.fspath(path)!r} cannot be written", wrong, "choose another path")


def _refuse_path(path: Path, error: OSError) -> StateFileError:
    found = error.strerror or str(error)
    return StateFileError(f"the state file {os.fspath(path)!r} cannot be written", found, "choose another path")


@dataclass(frozen=True)
class Encoded:
    """A value of the header that is encoded as states are."""

    value: Any
    classes: Classes


def pack_states(plan: Plan, states: States, header: Mapping[str, Any]) -> bytes:
    """The content of a state file."""
    encoder = Encoder()
    coded = []
    for metric, state in zip(plan.metrics, states, strict=True):
        try:
            coded.append(encoder.encode(state, find_classes(metric)))
        except StateFileError as error:
            wrong = f"the state of {metric} cannot be written: {error.wrong}"
            raise StateFileError(wrong, error.found, error.hint) from error
    own = {
        name: encoder.encode(one.value, one.classes) if isinstance(one, Encoded) else one
        for name, one in header.items()
    }
    packed = [zlib.compress(array, LEVEL) for array in encoder.arrays]
    sizes = [[len(small), len(array)] for small, array in zip(packed, encoder.arrays, strict=True)]
    whole = json.dumps({**own, "states": coded, "arrays": sizes}, allow_nan=False).encode()
    content = b"\n".join([whole, b"".join(packed)])
    return MAGIC + f"{VERSION} {hashlib.sha256(content).hexdigest()}\n".encode() + content


@dataclass(frozen=True)
class StateFile:
    """A state file whose checksum agrees.

    Attributes:
        name: of the file, for messages.
        header: all but the arrays.
        body: the arrays.
    """

    name: str
    header: Mapping[str, Any]
    body: bytes

    @staticmethod
    def read(path: Path) -> StateFile:
        try:
            with open(path, "rb") as file:
                return StateFile.of(file.read(), os.fspath(path))
        except OSError as error:
            found = error.strerror or str(error)
            raise StateFileError(
                f"the state file {os.fspath(path)!r} cannot be read", found, "check the path"
            ) from error

    @staticmethod
    def of(data: bytes, name: str) -> StateFile:
        """Checks the content of a file: what it is, its version, its checksum."""
        first, _, content = data.partition(b"\n")
        if not first.startswith(MAGIC):
            raise StateFileError(
                f"{name!r} is not a state file",
                f"it begins with {data[:16]!r}" if data else "it is empty",
                "give files that evaluate(..., state=...) or `bridgeval evaluate --state` wrote",
            )
        version, _, checksum = first.removeprefix(MAGIC).partition(b" ")
        if version.isdigit() and len(version) < 10 and int(version) > VERSION:
            raise StateFileError(
                f"{name!r} was written by a newer version of bridgeval",
                f"format {int(version)}; this one reads up to {VERSION}",
                "upgrade bridgeval here, or write the file with this version",
            )
        if version != str(VERSION).encode() or hashlib.sha256(content).hexdigest().encode() != checksum:
            raise refuse_damaged(name, f"{len(data):,} bytes whose checksum is another one than recorded")
        header, _, body = content.partition(b"\n")
        try:
            return StateFile(name, dict(json.loads(header)), body)
        except (ValueError, TypeError, RecursionError) as error:
            raise refuse_damaged(name, f"a header that is not JSON: {error}") from error

    def get(self, key: str, hint: Any) -> Any:
        """A value of the header; raises StateFileError if it is not of this type."""
        value = self.header.get(key)
        if not fits(value, hint):
            raise refuse_damaged(self.name, f"{value!r:.80} as its {key!r}")
        return value

    @cached_property
    def _arrays(self) -> list[bytes]:
        arrays, start = [], 0
        for size, unpacked in self.get("arrays", list[list[int]]):
            stream = zlib.decompressobj()
            array = stream.decompress(self.body[start : start + size], unpacked) if unpacked else b""
            if len(array) != unpacked:
                raise ValueError(f"an array of {len(array)} bytes where there should be {unpacked}")
            arrays.append(array)
            start += size
        if start != len(self.body):
            raise ValueError(f"{len(self.body)} bytes of arrays where there should be {start}")
        return arrays

    def decode(self, node: Any, classes: Classes, what: str) -> Any:
        """A state, or a value that was written as `Encoded`; `what` is its name in messages."""
        try:
            return Decoder(self._arrays).decode(node, classes)
        except BridgevalError:
            raise
        # Whatever a class makes of values that do not fit, the file is to blame.
        except Exception as error:
            raise refuse_damaged(self.name, f"{what}: {type(error).__name__}: {error}") from error

    def read_states(self, plan: Plan) -> States:
        """The states of a plan; each is of the class that its metric starts with."""
        nodes = self.get("states", list[Any])
        if len(nodes) != len(plan.metrics):
            raise refuse_damaged(self.name, f"states of another number of metrics than {len(plan.metrics)}")
        states = []
        for metric, node in zip(plan.metrics, nodes, strict=True):
            state = self.decode(node, find_classes(metric), f"the state of {metric}")
            if type(state) is not type(metric.start()):
                raise refuse_damaged(self.name, f"a {type(state).__name__} as the state of {metric}")
            states.append(state)
        return tuple(states)


def refuse_damaged(name: str, found: str) -> StateFileError:
    """The error for a file that is not as it was written."""
    return StateFileError(f"the state file {name!r} is damaged", found, "write it again, or copy it again as it was")
