"""Parameters of metrics and policies, checked against the types that their classes declare."""

from __future__ import annotations

import types
from dataclasses import MISSING, fields
from functools import cache
from numbers import Real
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from bridgeval.errors import BadParameterError, quote

PLAIN = (str, int, float, bool, type(None))
# Declared type -> the types of values, and the words for them.
KINDS: dict[Any, tuple[tuple[type, ...], str]] = {
    bool: ((bool,), "True or False"),
    int: ((int,), "a whole number"),
    float: ((int, float, Real), "a number"),
    str: ((str,), "text"),
    tuple: ((tuple, list), "a list"),
    type(None): ((type(None),), "None"),
}


def check_choices(owner: Any, name: str) -> None:
    """Raises BadParameterError for the first field of a dataclass whose value its declaration does not allow.

    Looked at are fields declared as `Literal`, as plain types and as classes of ours, not their defaults. A class whose
    name says little to users has an attribute `in_words`.
    """
    for parameter, (kinds, choices, words, default) in list_rules(type(owner)).items():  # type: ignore[arg-type]
        value = getattr(owner, parameter)
        if value is default:
            continue
        right = isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))
        if choices and not (right and value in choices):
            options = f"choose one of {', '.join(map(repr, choices))}"
            raise BadParameterError(f"{name} has no {parameter}={quote(value)}", hint=options)
        if not right:
            kept = "" if default is MISSING else f", or leave it out: it is {quote(default)} then"
            hint = f"give one{kept}"
            raise BadParameterError(f"{parameter} of {name} must be {words}", _tell(value), hint, argument=parameter)


@cache
def list_choices(owner: Any) -> dict[str, tuple[Any, ...]]:
    """The fields of a dataclass that are declared `Literal`, with their values."""
    return {name: choices for name, (_, choices, _, _) in list_rules(owner).items() if choices}


@cache
def list_rules(owner: Any) -> dict[str, tuple[tuple[type, ...], tuple[Any, ...], str, Any]]:
    """Field -> types of its values, its choices if it has some, both in words, and its default."""
    hints = get_type_hints(owner)
    found: dict[str, tuple[tuple[type, ...], tuple[Any, ...], str, Any]] = {}
    for one in fields(owner):
        hint = hints[one.name]
        if get_origin(hint) is Literal:
            found[one.name] = (PLAIN, get_args(hint), "", one.default)
            continue
        declared = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
        kinds = [known for kind in declared if (known := _read_kind(kind))]
        if len(kinds) == len(declared):
            allowed = tuple(kind for own, _ in kinds for kind in own)
            found[one.name] = (allowed, (), " or ".join(word for _, word in kinds), one.default)
    return found


def _read_kind(hint: Any) -> tuple[tuple[type, ...], str] | None:
    """The types that a declared one stands for; none if it is not known here."""
    plain = get_origin(hint) or hint
    if plain in KINDS:
        return KINDS[plain]
    ours = isinstance(plain, type) and plain.__module__.partition(".")[0] == __package__
    return ((plain,), getattr(plain, "in_words", f"a {plain.__name__}")) if ours else None


def _tell(value: Any) -> str:
    """A value as it was given; an object whose class says what it is, with that; a class as a class."""
    if isinstance(value, type):
        return f"the class {value.__name__}, not an object of it"
    words = getattr(value, "in_words", "")
    return f"{value}, {words}" if words else quote(value)
