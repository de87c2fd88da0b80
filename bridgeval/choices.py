"""Parameters that take one of a few values, declared as `Literal`."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from bridgeval.errors import BadParameterError


def check_choices(owner: Any, name: str) -> None:
    """Raises BadParameterError for the first field of a dataclass that is declared `Literal` and has another value."""
    for parameter, choices in list_choices(type(owner)).items():  # type: ignore[arg-type]
        value = getattr(owner, parameter)
        if value not in choices:
            raise BadParameterError(
                f"{name} has no {parameter}={value!r}", hint=f"choose one of {', '.join(map(repr, choices))}"
            )


@cache
def list_choices(owner: Any) -> dict[str, tuple[Any, ...]]:
    """The fields of a dataclass that are declared `Literal`, with their values."""
    hints = get_type_hints(owner)
    return {f.name: get_args(hints[f.name]) for f in fields(owner) if get_origin(hints[f.name]) is Literal}
