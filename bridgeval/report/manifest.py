"""Manifest: the record of what made a report: versions, and hashes of the inputs, which can be compared."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping
from copy import copy
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from bridgeval.report.exports import Exports

    E = TypeVar("E", bound=Exports)

PACKAGES = ("torch", "numpy", "pyarrow", "pandas")
STDIN = "-"
# Role of an input -> its size and hashes.
Described = Mapping[str, Mapping[str, Any]]
# Inputs whose rows are hashed whatever their order -> the parts that they have.
HASHED_BY_ROW: Mapping[str, tuple[str, ...]] = {"relevance": ("user", "item", "gain"), "history": ("user", "item")}
# Role -> its name in sentences.
NAMES = {"relevance": "truth", "history": "history"}


def versions() -> dict[str, str]:
    """The versions of bridgeval, Python, the packages that compute, and the packages of plugins that are loaded."""
    from bridgeval import __version__, plugins

    own = {"bridgeval": __version__, "python": platform.python_version()} | {name: version(name) for name in PACKAGES}
    strangers = [info.distribution for info in plugins.installed().infos if info.is_used]
    return own | {package: number for package, _, number in (one.rpartition(" ") for one in strangers) if package}


def add_inputs(reports: E, inputs: Mapping[str, Any], columns: Mapping[str, Any] | None = None) -> E:
    """The same reports with hashes of the inputs (paths, frames, mappings) in their manifest."""
    named = copy(reports)
    # Report is frozen, Reports is not: this sets the field of either copy.
    object.__setattr__(named, "manifest", {**reports.manifest, "inputs": describe_inputs(inputs, columns)})
    return named


def describe_inputs(inputs: Mapping[str, Any], columns: Mapping[str, Any] | None = None) -> dict[str, dict[str, Any]]:
    """Size and hash of each input that is there.

    A path has the hash of its bytes, and the columns chosen in it; a frame or a mapping one of its content. Of the
    relevance and the history in memory there is also `content`, a hash of the rows as they are read, in any order; of
    frames in Spark, which have no other hash, the recommendations have it too.

    Args:
        inputs: by argument of `evaluate`.
        columns: as in `evaluate`.
    """
    return {role: _describe(value, role, columns or {}) for role, value in inputs.items() if value is not None}


def explain_unknown_truth(then: Described, now: Described) -> list[str]:
    """A sentence if it cannot be said whether the truth is the same."""
    if "relevance" not in then:
        return ["The truth was not compared: the baseline does not record its own; see save_baseline."]
    if "relevance" not in now:
        return ["The truth was not compared with the baseline's: none was given."]
    if _is_same(then, now, "relevance") is None:
        return ["The truth was not compared: the baseline has the hash of a file, or of rows, and now it is otherwise."]
    return []


def find_changed_inputs(then: Described, now: Described) -> list[tuple[str, str]]:
    """(what is another one, what both are) of each input that is not the same, or that only one side has."""
    return [
        (f"another {NAMES[role]}", f"{NAMES[role]}: {_tell(then, role)} then, {_tell(now, role)} now")
        for role in HASHED_BY_ROW
        if _is_same(then, now, role) is False
    ]


def _is_same(then: Described, now: Described, role: str) -> bool | None:
    """Whether an input is the same on both sides; None if that cannot be said."""
    if role not in then or role not in now:
        return role not in then and role not in now
    first, second = then[role], now[role]
    if "content" in first and "content" in second:
        return bool(first["content"] == second["content"])
    if "path" in first and "path" in second and "sha256" in first and "sha256" in second:
        return all(first.get(key) == second.get(key) for key in ("sha256", "columns"))
    return None


def _tell(inputs: Described, role: str) -> str:
    """An input in a few words: its path or kind, its rows, the beginning of its hash."""
    if role not in inputs:
        return "none"
    found = inputs[role]
    rows = f"{found['rows']:,} rows" if "rows" in found else ""
    digest = str(found.get("content") or found.get("sha256", ""))[:8]
    chosen = f"columns {dict(found['columns'])}" if "columns" in found else ""
    about = ", ".join(filter(None, [str(found.get("path", "")), rows, chosen, f"hash {digest}" if digest else ""]))
    return about or str(found.get("kind", "unknown"))


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


def _describe(value: Any, role: str, columns: Mapping[str, Any]) -> dict[str, Any]:
    from bridgeval.io.files import is_path
    from bridgeval.io.frames import is_frame, is_spark_frame, to_table

    chosen = {part: columns[part] for part in HASHED_BY_ROW.get(role, ()) if part in columns}
    if is_path(value):
        path = os.fspath(value)
        # A download says where it came from.
        return {"path": getattr(value, "url", path), **describe_file(path), **({"columns": chosen} if chosen else {})}
    kind = {"kind": type(value).__name__}
    if is_spark_frame(value):
        return kind | _describe_spark_frame(value, role, columns)
    if is_frame(value):
        return kind | describe_table(to_table(value)) | _describe_content(value, role, chosen)
    text = repr(sorted(value.items(), key=lambda pair: repr(pair[0])) if isinstance(value, Mapping) else value)
    content = _describe_content(value, role, chosen) if isinstance(value, Mapping) else {}
    return kind | {"sha256": hashlib.sha256(text.encode()).hexdigest()} | content


def _describe_content(value: Any, role: str, columns: Mapping[str, Any]) -> dict[str, Any]:
    from bridgeval.tables.row_hash import hash_rows
    from bridgeval.tables.rows import read_rows

    if role not in HASHED_BY_ROW:
        return {}
    rows = read_rows(value, cast("Any", role), columns)
    return {"rows": len(rows), "content": hash_rows(rows)}


def _describe_spark_frame(frame: Any, role: str, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Rows and content, in a pass over the rows on the executors."""
    from bridgeval.tables.row_hash import hash_spark_frame

    if role not in (*HASHED_BY_ROW, "recommendations"):
        return {}
    found = hash_spark_frame(frame, cast("Any", role), columns)
    return {} if found is None else {"rows": found.rows, "content": found.hexdigest}


def describe_table(table: Any) -> dict[str, Any]:
    """Rows and SHA-256 of a table's content, written as an Arrow stream in one chunk."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    table = table.replace_schema_metadata(None).combine_chunks()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return {"rows": len(table), "sha256": hashlib.sha256(sink.getvalue()).hexdigest()}
