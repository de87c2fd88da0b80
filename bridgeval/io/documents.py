"""Documents: JSON, YAML and TOML files of moderate size and depth; anything else in a file is an error."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bridgeval.errors import BridgevalError, InputError

# A report with all its slices has some megabytes.
MOST_BYTES = 1 << 28
# A config has some lines. A few lines of YAML whose aliases repeat each other can stand for billions of values.
MOST_VALUES, MOST_DEPTH = 100_000, 30
Kind = type[BridgevalError]


def parse_json(text: bytes, name: str, hint: str = "is it complete?", kind: Kind = InputError) -> Any:
    """The value of a JSON text.

    Args:
        text: in UTF-8, with or without a byte order mark.
        name: of the file, for messages.
        hint: what to do about an error.
        kind: of an error.
    """
    return _parse(lambda: json.loads(text.decode("utf-8-sig")), name, "JSON", hint, kind)


def read_json(path: str | os.PathLike[str], hint: str = "is it complete?", kind: Kind = InputError) -> Any:
    """The value of a JSON file."""
    return parse_json(_read(path, MOST_BYTES, hint, kind), os.fspath(path), hint, kind)


def read_settings(path: str, hint: str, kind: Kind) -> Any:
    """The value of a TOML file, which ends with .toml, or of a YAML file."""
    import yaml

    text = _read(path, MOST_BYTES >> 8, hint, kind)
    if path.endswith(".toml"):
        value = _parse(lambda: tomllib.loads(text.decode("utf-8-sig")), path, "TOML", hint, kind)
    else:
        value = _parse(lambda: yaml.safe_load(text.decode("utf-8-sig")), path, "YAML", hint, kind, yaml.YAMLError)
    if _count(value, 0, MOST_VALUES) <= 0:
        found = f"more than {MOST_VALUES:,} values, or more than {MOST_DEPTH} levels"
        raise kind(f"{path!r} is too large for settings", found, hint)
    return value


def _read(path: str | os.PathLike[str], limit: int, hint: str, kind: Kind) -> bytes:
    name = os.fspath(path)
    # A pipe would wait for a writer.
    if not os.path.isfile(path):
        raise kind(f"{name!r} cannot be read", "no file", "check the path")
    if os.path.getsize(path) > limit:
        raise kind(f"{name!r} is too large", f"{os.path.getsize(path):,} bytes, at most {limit:,} are read", hint)
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise kind(f"{name!r} cannot be read", error.strerror or str(error), "check the path") from error


def _parse(
    read: Callable[[], Any], name: str, form: str, hint: str, kind: Kind, own: type[Exception] = ValueError
) -> Any:
    try:
        return read()
    # ValueError: wrong syntax, bytes that are no UTF-8, dates such as 2026-02-31, numbers with thousands of digits.
    except (ValueError, RecursionError, own) as error:
        found = "nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())
        raise kind(f"{name!r} cannot be read as {form}", found, hint) from error


def _count(value: Any, depth: int, left: int) -> int:
    """How many values may still come after these; 0 or less if there were too many, or too deep ones."""
    if depth > MOST_DEPTH:
        return 0
    held = [*value, *value.values()] if isinstance(value, dict) else value
    left -= 1
    for one in held if isinstance(held, list | tuple | set) else ():
        if left <= 0:
            break
        left = _count(one, depth + 1, left)
    return left
