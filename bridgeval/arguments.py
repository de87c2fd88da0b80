"""Types at the door: the options of public functions, each with what it takes, in one table.

`checked` wraps a public function. An option of a wrong type, or out of range, is a BadParameterError that names it
before anything is read; without this, the first line deep inside that cannot use the value raises whatever it raises.
Data (recommendations, relevance, labels, ...) is not looked at here: loaders tell what is wrong with it. Text that
names data elsewhere, a URL, is opened here, once, for what is behind the door may read it several times.

To add an option, add its line to OPTIONS.
"""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar

from bridgeval.errors import BadParameterError, quote
from bridgeval.io.places import is_place, open_place

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Option:
    """The type and range of an option.

    Attributes:
        words: completes the sentence "... must be".
        accepts: whether a value can be used.
        hint: what to do.
    """

    words: str
    accepts: Callable[[Any], bool]
    hint: str = ""


def whole_number(low: int, high: int, hint: str) -> Option:
    """A whole number between two bounds; True and False are none."""

    def accepts(value: Any) -> bool:
        return isinstance(value, Integral) and not _is_flag(value) and low <= int(value) <= high

    return Option(f"a whole number from {low:,} to {high:,}", accepts, hint)


def number(low: float, high: float, hint: str) -> Option:
    """A number between two bounds, which it may not reach."""

    def accepts(value: Any) -> bool:
        return isinstance(value, Real) and not _is_flag(value) and low < float(value) < high

    bounds = f"between {low:g} and {high:g}" if math.isfinite(high) else f"above {low:g}"
    return Option(bounds, accepts, hint)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    # numpy's True is what a comparison of arrays gives.
    return type(value).__name__ in ("bool", "bool_")


def _is_columns(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        _is_text(part) and (column is None or _is_text(column)) for part, column in value.items()
    )


def _is_loader(value: Any) -> bool:
    return _is_text(value) or all(hasattr(value, name) for name in ("name", "load"))


def _is_path(value: Any) -> bool:
    return isinstance(value, str | os.PathLike) and not is_place(value) and "\0" not in str(os.fspath(value))


def _are_paths(value: Any) -> bool:
    # An iterator would be used up by a look at what it holds.
    several = isinstance(value, Iterable) and not isinstance(value, str | bytes)
    return _is_path(value) or (several and (not isinstance(value, list | tuple) or all(map(_is_path, value))))


def _is_budget(value: Any) -> bool:
    return _is_text(value) or (isinstance(value, Integral) and not _is_flag(value))


def _are_limits(value: Any) -> bool:
    return _is_text(value) or (isinstance(value, Iterable) and not isinstance(value, bytes))


# Beyond these a run would not end in a lifetime, or an array would not fit any memory.
MOST_RESAMPLES, MOST_SEED = 10**7, 2**64 - 1
TEXT = Option("text", _is_text)
FLAG = Option("True or False", _is_flag)
PATH = Option("a path of this machine", _is_path)
# Option -> what it takes; None is taken by every option whose default it is.
OPTIONS: Mapping[str, Option] = {
    "alpha": number(0, 1, "0.05 is a common value"),
    "batch_size": whole_number(1, 2**63 - 1, "leave it out"),
    "bootstrap": TEXT,
    "columns": Option("a mapping of parts to names of columns", _is_columns, 'give e.g. {"user": "customer"}'),
    "convention": Option("the name of a toolkit", _is_text, "`bridgeval list` names them"),
    "correction": TEXT,
    "count": whole_number(1, 20, "5 is the default"),
    "digits": whole_number(0, 17, "give the number of decimals that were printed"),
    "family": TEXT,
    "folder": PATH,
    "group": Option("a process group", lambda value: hasattr(value, "rank"), "torch.distributed makes them"),
    "halves": whole_number(1, MOST_RESAMPLES, "200 is the default"),
    "loader": Option("a loader or its name", _is_loader, "`bridgeval plugins` lists loaders"),
    "mask_seen": FLAG,
    "max_drop": Option("a limit or several", _are_limits, "give e.g. nDCG@10=1%"),
    "memory": Option("a whole number of bytes, or text", _is_budget, "give e.g. '2GB'"),
    "nearest": whole_number(0, 10**6, "3 is the default"),
    "negatives": whole_number(1, 2**31 - 1, "99 is usual"),
    "other_inputs": FLAG,
    "pairs": TEXT,
    "path": PATH,
    "per_user": FLAG,
    "power": number(0, 1, "0.8 is a common value"),
    "progress": Option("True, False or a function", lambda value: _is_flag(value) or callable(value)),
    "report": Option("a Report", lambda value: hasattr(value, "results"), "`evaluate` returns one"),
    "resamples": whole_number(1, MOST_RESAMPLES, "10,000 are common"),
    "seed": whole_number(0, MOST_SEED, "0 is the default"),
    "state": PATH,
    "states": Option("the path of a state file, or several", _are_paths, "evaluate(..., state=...) writes them"),
    "test": TEXT,
    "tolerance": number(0, math.inf, "give e.g. 0.0001"),
}


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """A public function whose options are checked against OPTIONS, and whose URLs are opened, before it runs.

    >>> @checked
    ... def draw(*, seed: int = 0) -> int:
    ...     return seed
    >>> draw(seed="x")
    Traceback (most recent call last):
        ...
    bridgeval.errors.BadParameterError: seed must be a whole number from 0 to 18,446,744,073,709,551,615; found: 'x'; hint: 0 is the default
    """  # noqa: E501
    signature = inspect.signature(function)
    optional = {name for name, parameter in signature.parameters.items() if parameter.default is None}
    spread = {name for name, parameter in signature.parameters.items() if parameter.kind is parameter.VAR_KEYWORD}

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        given = signature.bind(*args, **kwargs).arguments
        for name in spread:
            given |= given.pop(name, {})
        for name, value in given.items():
            # What goes on to another function may be None where that function's default is.
            if value is not None or (name in signature.parameters and name not in optional):
                check_option(name, value)
        opened: Any = [open_place(value) if type(value) is str else value for value in args]
        named: Any = {name: open_place(value) if type(value) is str else value for name, value in kwargs.items()}
        return function(*opened, **named)

    return call


def check_option(name: str, value: Any) -> None:
    """Raises BadParameterError if an option cannot be used; an option without a line in OPTIONS passes."""
    option = OPTIONS.get(name)
    if option is not None and not option.accepts(value):
        raise BadParameterError(f"{name} must be {option.words}", quote(value), option.hint, argument=name)
