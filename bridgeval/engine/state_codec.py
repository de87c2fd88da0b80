"""Plain data of states: JSON values and arrays. No pickle, and no class is looked up by a name that a file has.

A value is a JSON value as it is (None, booleans, integers, finite floats, text, lists), or an object with one key that
says what it is: `{"tuple": [...]}`, `{"array": [dtype, shape, position]}`, `{"state": [class, fields]}`, ... Arrays
stand beside the JSON, as bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch

from bridgeval.engine.metric import Metric
from bridgeval.engine.state import Collected, ItemSums, Joint, Moments, Sums, Tally
from bridgeval.errors import StateFileError
from bridgeval.tables.context import Table
from bridgeval.tables.ids import Ids

# Name -> a class whose fields a file may hold.
Classes = Mapping[str, type[Any]]
BUILT_IN: Classes = {one.__name__: one for one in (Moments, Collected, Sums, ItemSums, Tally, Joint, Table)}
# Booleans, integers, floats.
NUMBERS = "biuf"


def find_classes(metric: Metric) -> Classes:
    """The classes that states of a metric are made of: those of `start()`, and those that its fields are declared as.

    >>> from bridgeval.metrics import RMSE
    >>> sorted(set(find_classes(RMSE())) - set(BUILT_IN))
    ['RowState']
    """
    found = dict(BUILT_IN)
    for kind in _walk_values(metric.start()):
        found |= {one.__name__: one for one in _walk_hints(kind)}  # type: ignore[arg-type]
    return found


def _walk_values(value: Any) -> Iterator[type[Any]]:
    if is_dataclass(value):
        yield type(value)
        for one in fields(value):
            yield from _walk_values(getattr(value, one.name))
    elif isinstance(value, Mapping | tuple | list):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _walk_values(one)
    elif hasattr(value, "merge"):
        yield type(value)


@cache
def _walk_hints(hint: Any) -> list[type[Any]]:
    """The dataclasses in a type, in the types of their fields, and so on."""
    found: dict[type[Any], None] = {}
    waiting = [hint]
    while waiting:
        one = waiting.pop()
        waiting += get_args(one)
        if isinstance(one, type) and (is_dataclass(one) or one is hint) and one not in found:
            found[one] = None
            waiting += _read_hints(one).values()
    return list(found)


@cache
def _read_hints(kind: type[Any]) -> Mapping[str, Any]:
    """Field -> its type; empty if the types cannot be found, e.g. because they are imported for type checkers only."""
    try:
        return get_type_hints(kind)
    except (NameError, TypeError):
        return {}


class Encoder:
    """Turns values into JSON values, and collects their arrays; equal arrays are kept once."""

    def __init__(self) -> None:
        self.arrays: list[bytes] = []
        self._positions: dict[bytes, int] = {}

    def encode(self, value: Any, classes: Classes = BUILT_IN) -> Any:
        """The JSON value; raises StateFileError if it has none."""
        match value:
            case np.generic():
                return self.encode(value.item(), classes)
            case None | bool() | int() | str():
                return value
            case float():
                return value if math.isfinite(value) else {"float": repr(value)}
            case list():
                return [self.encode(one, classes) for one in value]
            case tuple():
                return {"tuple": [self.encode(one, classes) for one in value]}
            case Mapping():
                return {"dict": [[self.encode(key, classes), self.encode(one, classes)] for key, one in value.items()]}
            case Ids():
                return {"ids": self._encode_ids(value)}
            case torch.Tensor():
                return {"tensor": self.encode(value.detach().cpu().numpy(), classes)}
            case np.ndarray() if value.dtype.kind == "O":
                return {"objects": [list(value.shape), [self.encode(one, classes) for one in value.flat]]}
            case np.ndarray() if value.dtype.kind in NUMBERS:
                return {"array": self._keep(value)}
        return self._encode_state(value, classes)

    def _encode_state(self, value: Any, classes: Classes) -> Any:
        name = type(value).__name__
        if hasattr(value, "to_plain"):
            plain = self.encode(value.to_plain(), classes)
            # Without `from_plain`, it is another state that stands for this one.
            return {"plain": [name, plain]} if hasattr(value, "from_plain") else plain
        if not is_dataclass(value) or classes.get(name) is not type(value):
            raise StateFileError(
                f"a value of type {name} cannot be written to a state file",
                f"{value!r:.80}",
                f"make {name} a dataclass of numbers, text, arrays, Ids, tuples and mappings that is declared as a "
                "field's type; or give it to_plain(), which returns such values, and a class method from_plain(values)",
            )
        values = {one.name: getattr(value, one.name) for one in fields(value)}
        return {"state": [name, {field: self.encode(one, classes) for field, one in values.items()}]}

    def _encode_ids(self, ids: Ids) -> list[Any]:
        if ids.is_integer:
            # Differences of sorted ids are small, and compress well. They wrap around, and back.
            return [self._keep(np.diff(ids.values, prepend=0))]
        texts = ids.to_arrow()
        _, offsets, data = texts.buffers()
        starts = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
        letters = np.frombuffer(data or b"", dtype=np.uint8)[starts[0] : starts[-1]]
        return [self._keep(np.diff(starts)), self._keep(letters)]

    def _keep(self, array: npt.NDArray[Any]) -> list[Any]:
        content = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        data = content.tobytes()
        position = self._positions.setdefault(hashlib.sha256(data).digest(), len(self.arrays))
        if position == len(self.arrays):
            self.arrays.append(data)
        return [content.dtype.str, list(array.shape), position]


class Decoder:
    """Turns JSON values back. Whatever is malformed raises ValueError, TypeError, KeyError or IndexError."""

    def __init__(self, arrays: Sequence[bytes]) -> None:
        self.arrays = arrays

    def decode(self, node: Any, classes: Classes = BUILT_IN) -> Any:
        if isinstance(node, list):
            return [self.decode(one, classes) for one in node]
        if not isinstance(node, dict):
            return node
        ((kind, content),) = node.items()
        match kind:
            case "float" if content in ("nan", "inf", "-inf"):
                return float(content)
            case "tuple":
                return tuple(self.decode(content, classes))
            case "dict":
                return {self.decode(key, classes): self.decode(one, classes) for key, one in content}
            case "ids":
                return self._decode_ids(*content)
            case "tensor":
                return torch.from_numpy(self.decode(content, classes))
            case "objects":
                shape, values = content
                return self._make_objects(shape, self.decode(values, classes))
            case "array":
                return self._read(*content)
            case "plain":
                name, plain = content
                return classes[name].from_plain(self.decode(plain, classes))
            case "state":
                name, values = content
                return self._decode_state(name, values, classes)
        raise ValueError(f"there is no kind {kind!r}")

    def _decode_state(self, name: str, values: Mapping[str, Any], classes: Classes) -> Any:
        kind, hints = classes[name], _read_hints(classes[name])  # type: ignore[arg-type]
        if [one.name for one in fields(kind)] != list(values):
            raise ValueError(f"{name} has other fields: {', '.join(values)}")
        found = {field: self.decode(one, classes) for field, one in values.items()}
        for field, value in found.items():
            if not fits(value, hints.get(field, Any)):
                raise ValueError(f"{field} of {name} cannot be {value!r:.80}")
        return kind(**found)

    def _decode_ids(self, first: Sequence[Any], letters: Sequence[Any] | None = None) -> Ids:
        counts = self._read(*first)
        if counts.dtype != np.int64 or counts.ndim != 1:
            raise ValueError("ids are not a column")
        if letters is None:
            return Ids(np.cumsum(counts))
        offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self._read(*letters))]
        texts = pa.Array.from_buffers(pa.large_string(), len(counts), buffers)
        texts.validate(full=True)
        return Ids(texts)

    @staticmethod
    def _make_objects(shape: Sequence[int], values: Sequence[Any]) -> npt.NDArray[Any]:
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array.reshape(shape)

    def _read(self, dtype: str, shape: Sequence[int], position: int) -> npt.NDArray[Any]:
        kind = np.dtype(dtype)
        if kind.kind not in NUMBERS or position < 0:
            raise ValueError(f"there are no arrays of {dtype}")
        # A copy can be written to.
        return np.frombuffer(self.arrays[position], dtype=kind).reshape(shape).astype(kind.newbyteorder("="))


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a declared type; types that say nothing fit everything.

    >>> fits((1, 2), tuple[int, ...]), fits({"a": "b"}, Mapping[str, int]), fits(None, int | None)
    (True, False, True)
    """
    kind: Any = get_origin(hint) or hint
    inner = get_args(hint)
    if kind in (Union, UnionType):
        return any(fits(value, one) for one in inner)
    if kind is Literal:
        return value in inner
    if kind is Any or not isinstance(kind, type):
        return True
    if kind in (int, float):
        return isinstance(value, int if kind is int else int | float) and not isinstance(value, bool)
    matches = isinstance(value, kind)
    if not matches or not inner:
        return matches
    if issubclass(kind, tuple):
        own = inner[:1] * len(value) if inner[-1] is ... else inner
        return len(own) == len(value) and all(map(fits, value, own))
    if issubclass(kind, list):
        return all(fits(one, inner[0]) for one in value)
    if issubclass(kind, Mapping):
        return all(fits(key, inner[0]) and fits(one, inner[1]) for key, one in value.items())
    return True


def fingerprint(value: Any, classes: Classes = BUILT_IN) -> str:
    """A hash of the content of a value.

    >>> fingerprint(Ids.of([1, 2])) == fingerprint(Ids.of([1, 2])), fingerprint((1,)) == fingerprint((1.0,))
    (True, False)
    """
    encoder = Encoder()
    whole = hashlib.sha256(json.dumps(encoder.encode(value, classes)).encode())
    for array in encoder.arrays:
        whole.update(hashlib.sha256(array).digest())
    return whole.hexdigest()
