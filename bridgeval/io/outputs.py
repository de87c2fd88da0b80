"""Outputs: a file is written beside its place and moved there, so that it is whole or absent.

Whether it can be written is looked at before the work that it is the result of.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from glob import glob
from typing import Any

from bridgeval.errors import BadParameterError, ConfigError, quote
from bridgeval.io.places import is_place

# A report, its page and the values of some thousand users take less.
LEAST_ROOM = 1 << 20


@contextmanager
def written_beside(path: str | os.PathLike[str]) -> Generator[str]:
    """The path of a new file in the same folder, which replaces `path` when the block ends without an exception.

    Whatever ends the block, the new file does not stay behind, and the old one survives a failure. What is no ordinary
    file, such as a terminal or a pipe, is written to as it is.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with written_beside(f"{folder}/numbers.txt") as beside:
    ...         _ = pathlib.Path(beside).write_text("1")
    ...     os.listdir(folder)
    ['numbers.txt']
    """
    if not isinstance(path, str | os.PathLike):
        raise BadParameterError("a file is written to a path", quote(path), "give e.g. 'report.json'", argument="path")
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        yield os.fspath(path)
        return
    if obstacle := find_obstacle(path):
        raise ConfigError(f"{os.fspath(path)!r} cannot be written", obstacle, "choose another path", argument="path")
    folder, name = os.path.split(target)
    beside = os.path.join(folder, f".{name}.{uuid.uuid4().hex}")
    try:
        yield beside
        with open(beside, "rb+") as file:
            os.fsync(file.fileno())
        if os.path.exists(target):
            os.chmod(beside, os.stat(target).st_mode & 0o7777)
        os.replace(beside, target)
    finally:
        with suppress(FileNotFoundError):
            os.remove(beside)


def check_outputs(outputs: Mapping[str, str | None], inputs: Iterable[Any] = ()) -> None:
    """Raises ConfigError if an output cannot be written, would replace an input, or is also another output.

    Args:
        outputs: argument -> path; None where nothing was asked for.
        inputs: paths, also globs and folders; other objects are left alone.
    """
    read = list(inputs)
    taken: dict[str, str] = {}
    for argument, path in outputs.items():
        if path is None:
            continue
        obstacle = find_obstacle(path, read)
        target = os.path.realpath(path)
        if not obstacle and target in taken and not _is_stream(path):
            obstacle = f"{taken[target]} is written there too"
        if obstacle:
            raise ConfigError(
                f"{path!r} cannot be written", obstacle, "choose another path for {argument}", argument=argument
            )
        taken[target] = argument


def find_obstacle(path: str | os.PathLike[str], inputs: Iterable[Any] = ()) -> str:
    """Why a file, or a folder of files, cannot be written there; empty if it can."""
    if _is_stream(path):
        return ""
    target = os.path.realpath(path)
    folder = target if os.path.isdir(target) else os.path.dirname(target)
    if not os.path.isdir(folder):
        return f"there is no folder {folder!r}"
    if not os.access(folder, os.W_OK | os.X_OK) or (os.path.exists(target) and not os.access(target, os.W_OK)):
        return "permission denied"
    if shutil.disk_usage(folder).free < LEAST_ROOM:
        return f"no space left in {folder!r}"
    if os.path.isfile(target) and any(_holds(one, target) for one in inputs):
        return "it is an input, which would be replaced"
    return ""


def _is_stream(path: str | os.PathLike[str]) -> bool:
    """Whether it is there and neither file nor folder: a terminal, a pipe."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def _holds(given: Any, target: str) -> bool:
    """Whether the files of an input are, or include, this one."""
    if not isinstance(given, str | os.PathLike):
        return False
    found = [os.fspath(given)] if os.path.exists(given) else glob(os.fspath(given), recursive=True)
    # Of a folder, the Parquet files are read.
    return any(
        real == target or (target.startswith(real + os.sep) and target.endswith(".parquet"))
        for real in map(os.path.realpath, found)
    )


def is_inside(path: str | os.PathLike[str], folder: str | os.PathLike[str]) -> bool:
    """Whether a path, or a glob, is in a folder, wherever links lead; a URL and what no file can be called are in none.

    >>> is_inside("data/a.csv", "data"), is_inside("data/../b.csv", "data")
    (True, False)
    """
    if is_place(path) or "\0" in os.fspath(path):
        return False
    root = os.path.realpath(folder or os.curdir)
    return os.path.realpath(path).startswith(root.rstrip(os.sep) + os.sep)
