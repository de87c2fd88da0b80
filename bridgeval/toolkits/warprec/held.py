"""Objects that an author's metric holds: other metrics, and attributes that are no states."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from torch import Tensor, nn

from bridgeval.toolkits.warprec.bases import BaseMetric

# The attributes that every module has.
OF_MODULES = frozenset(vars(nn.Module()))


def find_metrics(held: Any, path: str = "") -> Iterator[tuple[str, BaseMetric]]:
    """A metric and all that it holds, in attributes, lists and dicts, each with its path.

    >>> outer, inner = BaseMetric(), BaseMetric()
    >>> outer.parts = [inner]
    >>> [path for path, _ in find_metrics(outer)]
    ['', 'parts.0.']
    """
    if isinstance(held, BaseMetric):
        yield path, held
    for name, one in _look_inside(held).items():
        yield from find_metrics(one, f"{path}{name}.")


def _look_inside(held: Any) -> dict[Any, Any]:
    if isinstance(held, nn.Module):
        plain = {name: value for name, value in vars(held).items() if name not in OF_MODULES}
        return {**plain, **dict(held.named_buffers(recurse=False)), **dict(held.named_children())}
    if isinstance(held, list | tuple):
        return dict(enumerate(held))
    return held if isinstance(held, dict) else {}


def find_changes(
    before: Any, after: Any, path: str = "", inside: frozenset[int] = frozenset(), found: bool = True
) -> Iterator[str]:
    """The attributes in which two instances that were made alike differ; states are left out.

    Args:
        before, after: the instances, or what both hold in the same place.
        path: that place.
        inside: the objects around it; an object that holds one of them is not gone through again.
        found: whether `find_metrics` gets there. States of metrics where it does not are plain attributes.

    >>> one, other = BaseMetric(), BaseMetric()
    >>> one.seen, other.seen = [], [3]
    >>> list(find_changes(one, other))
    ['seen']
    """
    if before is after or id(before) in inside:
        return
    here, there = _look_inside(before), _look_inside(after)
    if not here and not there and hasattr(before, "__dict__") and not isinstance(before, Tensor):
        here, there, found = vars(before), vars(after), False
    container = isinstance(before, list | tuple | dict)
    if type(before) is not type(after) or not (here or there) or (container and here.keys() != there.keys()):
        if not _is_equal(before, after):
            yield path
        return
    states = before.state_defaults if found and isinstance(before, BaseMetric) else {}
    for name in sorted((here.keys() | there.keys()).difference(states), key=str):
        place = f"{path}.{name}" if path else str(name)
        if name in here and name in there:
            yield from find_changes(here[name], there[name], place, inside | {id(before)}, found)
        else:
            yield place


def _is_equal(before: Any, after: Any) -> bool:
    if type(before) is not type(after):
        return False
    if isinstance(before, Tensor):
        before, after = before.detach().cpu().numpy(), after.detach().cpu().numpy()
    if isinstance(before, np.ndarray):
        return np.array_equal(before, after, equal_nan=before.dtype.kind == "f")
    # Objects of a class without a comparison of its own are not known to differ.
    compares = any("__eq__" in vars(one) for one in type(before).__mro__[:-1])
    return not compares or bool(before == after) or bool(before != before)
