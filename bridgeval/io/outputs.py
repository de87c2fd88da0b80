"""Outputs: a file is written beside its place and moved there, so that it is whole or absent."""

from __future__ import annotations

import os
import uuid
from collections.abc import Generator
from contextlib import contextmanager, suppress


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
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        yield os.fspath(path)
        return
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
