"""verify: evaluates a recorded report again and compares. The manifest records what is needed for that."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from bridgeval.errors import InputError
from bridgeval.io.files import is_path
from bridgeval.io.frames import to_table
from bridgeval.io.outputs import is_inside
from bridgeval.io.places import hide_secrets, is_place
from bridgeval.report.manifest import HASHED_BY_ROW, STDIN, describe_file, describe_inputs, describe_table, versions

if TYPE_CHECKING:
    from bridgeval.config import Request

TOLERANCE = 1e-9
# Settings that say where results go, not what they are.
NOT_RECORDED = ("out", "report", "log", "store", "tags", "per_user", "state", "format", "inspect")


def record_request(request: Request, folder: str) -> dict[str, Any]:
    """The manifest of an evaluated request; paths in it are relative to `folder`, where the report will be."""
    settings = {name: value for name, value in request.changes().items() if name not in NOT_RECORDED}
    settings["metrics"] = list(request.metrics)
    for name, value in settings.items():
        if isinstance(value, str) and value in request.files.values():
            settings[name] = _relative(value, folder)
    if request.by:
        settings["by"] = [_relative(path, folder) for path in request.by]
    if request.context:
        settings["context"] = {name: _relative(path, folder) for name, path in request.context.items()}
    settings["recommendations"] = {name: _relative(path, folder) for name, path in request.recommendations.items()}
    beside = {"per_user": _relative(request.per_user, folder)} if request.per_user else {}
    return beside | {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "request": settings,
        "inputs": {
            role: {"path": _relative(path, folder), **_describe_file(request, path)}
            for role, path in request.files.items()
        },
        "seed": None,
    }


def describe_request(request: Request) -> dict[str, dict[str, Any]]:
    """Size and hashes of the truth and of the history: of the rows that were read, and of the files."""
    roles = [role for role in HASHED_BY_ROW if role in request.files]
    described = describe_inputs({role: request.tables[role] for role in roles}, request.columns)
    for role in roles:
        path = request.files[role]
        described[role] |= {} if path == STDIN else describe_inputs({role: request.locate(path)}, request.columns)[role]
    return described


@dataclass(frozen=True)
class Change:
    """A number, an input or a version that is not as recorded."""

    what: str
    recorded: str
    now: str


@dataclass(frozen=True)
class Verification:
    """The result of evaluating a report again.

    Attributes:
        values: how many numbers were compared.
        inputs: how many inputs were hashed.
        changes: numbers and inputs that are not as recorded; none means that the report is confirmed.
        versions: packages, those of plugins too, with another version, which alone is not a failure.
    """

    values: int
    inputs: int
    changes: tuple[Change, ...]
    versions: tuple[Change, ...]


def verify(
    document: Mapping[str, Any], folder: str, tolerance: float = TOLERANCE, allow_outside: bool = False
) -> Verification:
    """Evaluates a report of `to_json` again, and compares.

    Args:
        document: the parsed JSON.
        folder: the folder of the report; the paths in it are relative to it.
        tolerance: the relative difference up to which two numbers are the same.
        allow_outside: whether files outside of the folder are read even if they are not as recorded, and URLs.
    """
    from bridgeval.config import run
    from bridgeval.report import Reports

    manifest, request = document.get("manifest", {}), _read_request(document, folder)
    recorded_inputs = manifest.get("inputs", {})
    strange = [path for role, path in request.files.items() if not _may_read(path, folder, recorded_inputs.get(role))]
    if strange and not allow_outside:
        raise InputError(
            "the report names an input outside of its folder that is not, or no longer, the file it was made of",
            ", ".join(map(repr, strange[:3])) + (f" and {len(strange) - 3} more" if len(strange) > 3 else ""),
            "if you trust the report, add {argument} to read it all the same",
            argument="allow_outside",
            value=True,
        )
    changes = _find_changed_inputs(recorded_inputs, request)
    recorded = {_key(row): row for row in document["results"]}
    now = {_key(vars(row)): vars(row) for row in Reports(run(request).reports).rows()}
    for key in recorded | now:
        before, after = (rows[key]["value"] if key in rows else "missing" for rows in (recorded, now))
        if not _same(before, after, tolerance):
            changes.append(Change(" ".join(filter(None, key)), str(before), str(after)))
    old, new = manifest.get("versions", {}), versions()
    others = tuple(
        Change(name, old.get(name, "not installed"), new.get(name, "not installed"))
        for name in old | new
        if old and old.get(name) != new.get(name)
    )
    return Verification(len(recorded), len(request.files), tuple(changes), others)


def read_recorded_request(document: Mapping[str, Any], folder: str) -> Request:
    """The request that made a report; an InputError if one of its inputs has changed."""
    request = _read_request(document, folder)
    recorded = document["manifest"].get("inputs", {})
    changed = [one.what for one in _find_changed_inputs(recorded, request)]
    # The author of a report has read the files whose hashes it records; only such files are read from elsewhere.
    changed += [role for role, path in request.files.items() if role not in recorded and not is_inside(path, folder)]
    if changed:
        raise InputError(f"{', '.join(changed)} changed since")
    return request


def _may_read(path: str, folder: str, recorded: Mapping[str, Any] | None) -> bool:
    """Whether a path is in the folder of the report, or is a file of this machine with the hash that is recorded.

    Whoever recorded the hash of a file has read it, so that a report tells nothing by it. A URL would have to be asked.
    """
    if is_inside(path, folder):
        return True
    if recorded is None or is_place(path):
        return False
    return bool(describe_file(path).get("sha256") == recorded.get("sha256", ""))


def _read_request(document: Mapping[str, Any], folder: str) -> Request:
    from bridgeval.config import build_request, resolve_path

    manifest = document.get("manifest", {})
    if "request" not in manifest:
        raise InputError(
            "this report does not record how it was made",
            "no request in its manifest",
            "only reports that `bridgeval evaluate --format json` wrote can be verified",
        )
    if any(given.get("path") == STDIN for given in manifest.get("inputs", {}).values()):
        raise InputError(
            "this report was made from standard input, which is gone", hint="evaluate files to verify later"
        )
    report = os.path.join(folder, "report.json")
    # Nothing is written, whatever a manifest asks for that was not made here.
    asked = {name: value for name, value in manifest["request"].items() if name not in NOT_RECORDED}
    settings = {name: resolve_path(report, name, value) for name, value in asked.items()}
    return build_request(settings | {"inspect": False}, "the manifest")


def _key(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return row["system"], row["metric"], "" if row["slice"] == "all" else row["slice"]


def _same(before: Any, after: Any, tolerance: float) -> bool:
    if isinstance(before, str) or isinstance(after, str):
        return bool(before == after)
    if before is None or after is None or after != after:
        # JSON has no NaN: a recorded null is one.
        return before is None and (after is None or after != after)
    return bool(abs(before - after) <= tolerance * max(abs(before), abs(after), 1e-300))


def _describe_file(request: Request, path: str) -> dict[str, Any]:
    """Size and hash of a file, of what was downloaded, or of what a query gave."""
    found = request.locate(path)
    return describe_file(os.fspath(found)) if is_path(found) else describe_table(to_table(found))


def _find_changed_inputs(recorded: Mapping[str, Any], request: Request) -> list[Change]:
    now = {role: _describe_file(request, path)["sha256"] for role, path in request.files.items()}
    return [
        Change(role, f"sha256 {given.get('sha256', 'none')[:12]}", f"sha256 {now[role][:12]}")
        for role, given in recorded.items()
        if role in now and now[role] != given.get("sha256")
    ]


def _relative(path: str, folder: str) -> str:
    if is_place(path):
        return hide_secrets(path)
    return path if path == STDIN else os.path.relpath(path, folder or os.curdir)
