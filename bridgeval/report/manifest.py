"""Manifest: the record of what made a report: versions, and hashes of the inputs."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping
from copy import copy
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from bridgeval.report.exports import Exports

    E = TypeVar("E", bound=Exports)

PACKAGES = ("torch", "numpy", "pyarrow", "pandas")
STDIN = "-"


def versions() -> dict[str, str]:
    """The versions of bridgeval, Python and the packages that compute."""
    from bridgeval import __version__

    return {"bridgeval": __version__, "python": platform.python_version()} | {name: version(name) for name in PACKAGES}


def add_inputs(reports: E, inputs: Mapping[str, Any]) -> E:
    """The same reports with hashes of the inputs (paths, frames, mappings) in their manifest."""
    named = copy(reports)
    described = {name: _describe(value) for name, value in inputs.items() if value is not None}
    # Report is frozen, Reports is not: this sets the field of either copy.
    object.__setattr__(named, "manifest", {**reports.manifest, "inputs": described})
    return named


def describe_file(path: str) -> dict[str, Any]:
    """Size and SHA-256 of the bytes of a file, or of all files of a glob or folder in order; none of standard input."""
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


def _describe(value: Any) -> dict[str, Any]:
    from bridgeval.io.files import is_path
    from bridgeval.tables.rows import is_frame, to_table

    if is_path(value):
        return {"path": os.fspath(value), **describe_file(os.fspath(value))}
    if not is_frame(value):
        text = repr(sorted(value.items(), key=lambda pair: repr(pair[0])) if isinstance(value, Mapping) else value)
        return {"kind": type(value).__name__, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    return {"kind": type(value).__name__, **_describe_table(to_table(value))}


def _describe_table(table: Any) -> dict[str, Any]:
    """Rows and SHA-256 of a table's content, written as an Arrow stream in one chunk."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    table = table.replace_schema_metadata(None).combine_chunks()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return {"rows": len(table), "sha256": hashlib.sha256(sink.getvalue()).hexdigest()}
