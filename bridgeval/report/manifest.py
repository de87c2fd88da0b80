"""Manifest: what made a report. Hashes of the inputs, versions, the request, so that it can be made again."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeVar

from bridgeval.errors import InputError

if TYPE_CHECKING:
    from bridgeval.config import Request
    from bridgeval.report.exports import Exports

    E = TypeVar("E", bound=Exports)

PACKAGES = ("torch", "numpy", "pyarrow", "pandas")
STDIN = "-"
TOLERANCE = 1e-9


def versions() -> dict[str, str]:
    """What computed it."""
    import bridgeval

    return {"bridgeval": bridgeval.__version__, "python": platform.python_version()} | {
        name: version(name) for name in PACKAGES
    }


def manifest_of(request: Request, folder: str) -> dict[str, Any]:
    """The manifest of an evaluated request; paths in it are relative to `folder`, where the report will be."""
    settings = request.model_dump(exclude_defaults=True, mode="json") | {"metrics": list(request.metrics)}
    for name in ("out", "report", "per_user", "format", "inspect"):
        settings.pop(name, None)
    for name, value in settings.items():
        if isinstance(value, str) and value in request.files.values():
            settings[name] = _relative(value, folder)
    if request.by:
        settings["by"] = [_relative(path, folder) for path in request.by]
    settings["recommendations"] = {name: _relative(path, folder) for name, path in request.recommendations.items()}
    beside = {"per_user": _relative(request.per_user, folder)} if request.per_user else {}
    return beside | {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "request": settings,
        "inputs": {role: {"path": _relative(path, folder), **digest_of(path)} for role, path in request.files.items()},
        "seed": None,
    }


def with_inputs(reports: E, inputs: Mapping[str, Any]) -> E:
    """The same reports, their manifest naming what was evaluated: paths and frames, hashed."""
    named = copy(reports)
    described = {name: _described(value) for name, value in inputs.items() if value is not None}
    object.__setattr__(named, "manifest", {**reports.manifest, "inputs": described})
    return named


def digest_of(path: str) -> dict[str, Any]:
    """Size and SHA-256 of the bytes of a file, or of all files of a glob or folder in order."""
    from bridgeval.io.files import find_files

    if path == STDIN:
        return {}
    whole = hashlib.sha256()
    size = 0
    files = find_files(path)
    for file in files:
        with open(file, "rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").digest()
        size += os.path.getsize(file)
        whole.update(digest)
    return {"bytes": size, "sha256": digest.hex() if len(files) == 1 else whole.hexdigest()}


@dataclass(frozen=True)
class Difference:
    """One thing that a recomputation found to be otherwise."""

    what: str
    recorded: str
    now: str


@dataclass(frozen=True)
class Verification:
    """What came of recomputing a report.

    Attributes:
        values: how many numbers were compared.
        inputs: how many inputs were hashed.
        differences: numbers and inputs that are not as recorded; none means the report stands.
        versions: packages whose version is another, which by itself is no difference.
    """

    values: int
    inputs: int
    differences: tuple[Difference, ...]
    versions: tuple[Difference, ...]


def verify(document: Mapping[str, Any], folder: str, tolerance: float = TOLERANCE) -> Verification:
    """Recomputes a report that `to_json` wrote.

    Args:
        document: the parsed JSON.
        folder: where it lies; the paths in it are relative to it.
        tolerance: the relative difference up to which two numbers are the same.
    """
    from bridgeval.config import run
    from bridgeval.report.exports import Reports

    manifest, request = document.get("manifest", {}), _recorded(document, folder)
    differences = list(_changed_inputs(manifest["inputs"], request.files))
    recorded = {_key(row): row for row in document["results"]}
    now = {_key(vars(row)): vars(row) for row in Reports(run(request).reports).rows()}
    for key in recorded | now:
        before, after = (rows[key]["value"] if key in rows else "missing" for rows in (recorded, now))
        if not _same(before, after, tolerance):
            differences.append(Difference(" ".join(filter(None, key)), str(before), str(after)))
    old, new = manifest.get("versions", {}), versions()
    changed = tuple(Difference(name, old[name], new[name]) for name in new if name in old and old[name] != new[name])
    return Verification(len(recorded), len(request.files), tuple(differences), changed)


def recorded_request(document: Mapping[str, Any], folder: str) -> Request:
    """The request that made a report, where all that it read is still as it was; InputError says what is not."""
    request = _recorded(document, folder)
    changed = _changed_inputs(document["manifest"]["inputs"], request.files)
    if changed:
        raise InputError(f"{', '.join(one.what for one in changed)} changed since")
    return request


def _recorded(document: Mapping[str, Any], folder: str) -> Request:
    from bridgeval.config import request_of

    manifest = document.get("manifest", {})
    if "request" not in manifest:
        raise InputError(
            "this report does not say how to make it again",
            "no request in its manifest",
            "only reports that `bridgeval evaluate --format json` wrote can be verified",
        )
    if any(given.get("path") == STDIN for given in manifest["inputs"].values()):
        raise InputError(
            "this report was made from standard input, which is gone", hint="evaluate files to verify later"
        )
    return request_of(_resolved(manifest["request"], folder) | {"inspect": False}, "the manifest")


def _key(row: Mapping[str, Any]) -> tuple[str, str, str]:
    whole = "" if row["slice"] == "all" else row["slice"]
    return row["system"], row["metric"], whole


def _same(before: Any, after: Any, tolerance: float) -> bool:
    if isinstance(before, str) or isinstance(after, str):
        return bool(before == after)
    if before is None or after is None or after != after:
        return before is None and (after is None or after != after)
    return bool(abs(before - after) <= tolerance * max(abs(before), abs(after), 1e-300))


def _changed_inputs(recorded: Mapping[str, Any], files: Mapping[str, str]) -> list[Difference]:
    now = {role: digest_of(path)["sha256"] for role, path in files.items()}
    return [
        Difference(role, f"sha256 {given['sha256'][:12]}", f"sha256 {now[role][:12]}")
        for role, given in recorded.items()
        if role in now and now[role] != given["sha256"]
    ]


def _resolved(settings: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Settings whose paths lead from here."""
    from bridgeval.config import beside

    return {name: beside(os.path.join(folder, "report.json"), name, value) for name, value in settings.items()}


def _relative(path: str, folder: str) -> str:
    return path if path == STDIN else os.path.relpath(path, folder or os.curdir)


def _described(value: Any) -> dict[str, Any]:
    from bridgeval.io.files import is_path
    from bridgeval.tables.rows import is_frame, to_table

    if is_path(value):
        return {"path": os.fspath(value), **digest_of(os.fspath(value))}
    if not is_frame(value):
        text = repr(sorted(value.items(), key=lambda pair: repr(pair[0])) if isinstance(value, Mapping) else value)
        return {"kind": type(value).__name__, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    return {"kind": type(value).__name__, **_table_digest(to_table(value))}


def _table_digest(table: Any) -> dict[str, Any]:
    """Rows and SHA-256 of a table's content, written as an Arrow stream in one piece."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    table = table.replace_schema_metadata(None).combine_chunks()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return {"rows": len(table), "sha256": hashlib.sha256(sink.getvalue()).hexdigest()}
