"""Codec: states as plain data and back, for files that may be read without trust.

A state becomes a tree of JSON values and a list of Arrow arrays. Nothing in a file names code to run: decoding makes
plain values, arrays, ids, and the dataclasses that the states of a given plan are made of, no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, get_args, get_type_hints

import numpy as np
import pyarrow as pa
import torch

from bridgeval.data.context import Table
from bridgeval.data.ids import Ids
from bridgeval.errors import BadValueError

Tree = Any
PLAIN = (bool, int, float, str, type(None))
SEQUENCES: Mapping[str, type] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


@dataclass(frozen=True)
class Codec:
    """Encodes and decodes values made of plain values, containers, arrays, ids and known dataclasses.

    Attributes:
        classes: name -> dataclass that may be met.

    >>> from bridgeval.engine.state import Moments
    >>> codec = Codec.of([Moments()])
    >>> arrays = []
    >>> tree = codec.encoded(Moments(2, 0.5), arrays)
    >>> codec.decoded(tree, arrays)
    Moments(count=2, mean=0.5, squares=0.0, undefined=0)
    """

    classes: Mapping[str, type] = field(default_factory=dict)

    @staticmethod
    def of(examples: Iterable[Any]) -> Codec:
        """A codec for values like these: their classes, those that their fields are declared to hold, and `Table`."""
        found: dict[str, type] = {_name(Table): Table}
        for example in examples:
            _collect(example, found)
        return Codec(found)

    def encoded(self, value: Any, arrays: list[pa.Array]) -> Tree:
        """The tree of a value; arrays are added to `arrays`, and stand in the tree by number."""
        kind = type(value)
        if kind in PLAIN:
            return value
        if isinstance(value, np.number | np.bool_):
            return value.item()
        if kind is np.ndarray and value.dtype.kind in "biuf":
            arrays.append(pa.array(value.ravel()))
            return {"array": len(arrays) - 1, "shape": list(value.shape)}
        if isinstance(value, torch.Tensor):
            return {"tensor": self.encoded(value.detach().cpu().numpy(), arrays)}
        if kind is Ids:
            arrays.append(value.to_arrow())
            return {"ids": len(arrays) - 1}
        for name, sequence in SEQUENCES.items():
            if kind is sequence:
                return {name: [self.encoded(one, arrays) for one in value]}
        if kind is dict:
            return {"dict": [[self.encoded(key, arrays), self.encoded(one, arrays)] for key, one in value.items()]}
        if self.classes.get(_name(kind)) is kind:
            held = {f.name: self.encoded(getattr(value, f.name), arrays) for f in fields(value) if f.init}
            return {"class": _name(kind), "fields": held}
        raise BadValueError("a state cannot be saved", f"it holds a {_name(kind)}", "run without resume")

    def decoded(self, tree: Tree, arrays: list[pa.Array]) -> Any:
        """The value of a tree; raises BadValueError for a tree that no value has."""
        try:
            return self._decoded(tree, arrays)
        except (LookupError, TypeError, ValueError, AttributeError, pa.ArrowException) as error:
            raise BadValueError("saved states cannot be read", f"{type(error).__name__}: {error}") from error

    def _decoded(self, tree: Tree, arrays: list[pa.Array]) -> Any:
        if type(tree) in PLAIN:
            return tree
        kind = next(iter(tree), "nothing")
        if kind == "array":
            # A copy: arrays in states are numpy's own, and may be written to.
            return arrays[tree["array"]].to_numpy(zero_copy_only=False).copy().reshape(tree["shape"])
        if kind == "tensor":
            return torch.from_numpy(self._decoded(tree["tensor"], arrays))
        if kind == "ids":
            return Ids.of(arrays[tree["ids"]])
        if kind in SEQUENCES:
            return SEQUENCES[kind](self._decoded(one, arrays) for one in tree[kind])
        if kind == "dict":
            return {self._decoded(key, arrays): self._decoded(one, arrays) for key, one in tree["dict"]}
        return self.classes[tree["class"]](**{name: self._decoded(one, arrays) for name, one in tree["fields"].items()})


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _collect(value: Any, found: dict[str, type]) -> None:
    """Adds the dataclasses that a value is made of."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple | list):
        for one in value:
            _collect(one, found)
    elif is_dataclass(value):
        _collect_declared(type(value), found)
        for one in fields(value):
            _collect(getattr(value, one.name), found)


def _collect_declared(hint: Any, found: dict[str, type]) -> None:
    """Adds the dataclasses that a type hint allows."""
    for part in get_args(hint):
        _collect_declared(part, found)
    if isinstance(hint, type) and is_dataclass(hint) and hint is not Ids and _name(hint) not in found:
        found[_name(hint)] = hint
        for declared in get_type_hints(hint).values():
            _collect_declared(declared, found)
