"""Reports in JSON, read again: what `to_json` wrote, checked as a whole before any part of it is used."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bridgeval.errors import InputError
from bridgeval.io.documents import read_json


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class _Number(_Part):
    system: str
    metric: str
    k: int | None
    slice: str
    value: float | None
    low: float | None
    high: float | None
    users: int | None


class _Definition(_Part):
    native: str


class _Input(_Part):
    path: str | None = None
    sha256: str = ""
    content: str = ""
    rows: int = 0
    columns: dict[str, str | None] = Field(default_factory=dict)


class _Saved(_Part):
    created: str
    system: str
    tags: list[str]
    label: str


class _Manifest(_Part):
    versions: dict[str, str] = Field(default_factory=dict)
    request: dict[str, Any] = Field(default_factory=dict)
    inputs: dict[str, _Input] = Field(default_factory=dict)
    per_user: str | None = None
    run: _Saved | None = None


class _Report(_Part):
    results: list[_Number]
    definitions: dict[str, _Definition] = Field(default_factory=dict)
    manifest: _Manifest


def read_report(path: str | os.PathLike[str], hint: str, argument: str = "") -> dict[str, Any]:
    """The document of a report; an InputError says which part of it is not as `to_json` writes it."""
    try:
        document = read_json(path, hint)
    except InputError as error:
        raise InputError(f"{os.fspath(path)!r} is not a report", error.found, hint, argument=argument) from error
    return check_report(document, os.fspath(path), hint, argument)


def check_report(document: Any, name: str, hint: str, argument: str = "") -> dict[str, Any]:
    """The same document, if it is one of a report.

    >>> check_report({"results": []}, "report.json", "write it again")
    Traceback (most recent call last):
        ...
    bridgeval.errors.InputError: 'report.json' is not a report; found: manifest: Field required; hint: write it again
    """
    try:
        _Report.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        found = f"{where}: {first['msg']}" if where else first["msg"]
        raise InputError(f"{name!r} is not a report", found, hint, argument=argument) from None
    return dict(document)


def is_run(document: Any) -> bool:
    """Whether a value may be the document of a run in a folder of runs."""
    manifest = document.get("manifest") if isinstance(document, Mapping) else None
    return isinstance(manifest, Mapping) and "run" in manifest
