"""Places: text that names data elsewhere, a URL or a query of DuckDB, and the local file or relation behind it.

A URL is downloaded once, when a public function is called with it, to a temporary file that is deleted with the last
reference to it. The path of a local file is no place.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from bridgeval.errors import InputError, MissingDependencyError

# Scheme -> the package that fsspec needs for it. No other scheme is read: some lead to files of this machine.
PACKAGES = {
    "s3": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "az": "adlfs",
    "abfs": "adlfs",
    "hf": "huggingface_hub",
    "http": "aiohttp",
    "https": "aiohttp",
    "memory": "fsspec",
}
WEB = ("http", "https")
DUCKDB = "duckdb:"
URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
PIECE = 1 << 20
SECONDS_WITHOUT_AN_ANSWER = 60


class Download:
    """A URL, and the local copy, which is deleted together with this object; as a path it is the copy.

    Args:
        url: without passwords and keys.
        copies: the files, all in one folder of their own.
    """

    def __init__(self, url: str, copies: list[str]) -> None:
        folder = os.path.dirname(copies[0])
        self.url = url
        # Several files are a glob.
        self.path = copies[0] if len(copies) == 1 else os.path.join(glob.escape(folder), "*")
        weakref.finalize(self, shutil.rmtree, folder, True)

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return repr(self.url)


def is_place(value: object) -> bool:
    """Whether it is text with the scheme of a URL, or a query of DuckDB.

    >>> [is_place(text) for text in ("s3://bucket/recs.parquet", "duckdb:shop.db#recs", "recs.parquet", "C:/recs.csv")]
    [True, True, False, False]
    """
    return isinstance(value, str) and (value.startswith(DUCKDB) or URL.match(value) is not None)


def open_place(value: Any) -> Any:
    """The local copy of a URL, or the relation of a query; anything else is returned as it is."""
    if not is_place(value):
        return value
    if value.startswith(DUCKDB):
        from bridgeval.io.duckdb_queries import open_query

        return open_query(value.removeprefix(DUCKDB))
    return download(value)


def hide_secrets(text: str) -> str:
    """A URL without user, password and query, which may hold keys; other text as it is.

    >>> hide_secrets("https://ann:word@host/recs.csv?key=1"), hide_secrets("recs.csv")
    ('https://host/recs.csv', 'recs.csv')
    """
    if not URL.match(text):
        return text
    parts = urlsplit(text)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def download(url: str) -> Download:
    """Downloads the file of a URL; from a store, also the files of a glob, or the Parquet files of a folder."""
    shown, scheme = hide_secrets(url), url.partition("://")[0].lower()
    if scheme not in PACKAGES or "::" in url:
        raise InputError(
            f"{shown!r} is not a URL that is read",
            f"the scheme {scheme!r}",
            f"{', '.join(PACKAGES)} are; or give a path",
        )
    system = _open_system(scheme, shown)
    folder = tempfile.mkdtemp(prefix="bridgeval-")
    try:
        copies = list(_copy_files(system, url, scheme, folder))
        if not copies:
            hint = "give a file, a glob, or a folder with .parquet files"
            raise InputError(f"there is no file at {shown!r}", hint=hint)
        return Download(shown, copies)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        # Every package has exceptions of its own: of the network, of permissions, of what is not there.
        if isinstance(error, InputError) or not isinstance(error, Exception):
            raise
        told = str(error).replace(url, shown).splitlines() or [""]
        raise InputError(
            f"{shown!r} cannot be read", f"{type(error).__name__}: {told[0]}", "check the URL and your permissions"
        ) from error


def _open_system(scheme: str, shown: str) -> Any:
    """The file system of fsspec; nothing is kept of earlier listings."""
    try:
        import fsspec

        settings: Mapping[str, Any] = {}
        if scheme in WEB:
            import aiohttp

            wait = aiohttp.ClientTimeout(
                total=None, sock_connect=SECONDS_WITHOUT_AN_ANSWER, sock_read=SECONDS_WITHOUT_AN_ANSWER
            )
            settings = {"client_kwargs": {"timeout": wait}}
        return fsspec.filesystem(scheme, skip_instance_cache=True, use_listings_cache=False, **settings)
    except ImportError as error:
        raise MissingDependencyError(
            f"{shown!r} needs a package that is not installed",
            str(error).splitlines()[0],
            f"pip install fsspec {PACKAGES[scheme]}, or download it and give its path",
        ) from error


def _copy_files(system: Any, url: str, scheme: str, folder: str) -> Iterator[str]:
    """Copies every file to the folder, and gives the paths of the copies, in the order of the files."""
    room = shutil.disk_usage(folder).free // 2
    # A web server is asked once; from a store, blocks of a file are.
    options = {"block_size": 0} if scheme in WEB else {}
    for number, remote in enumerate(_list_files(system, url, scheme)):
        path = os.path.join(folder, f"{number:06d}-{_name_copy(remote)}")
        with system.open(remote, "rb", **options) as opened:
            room -= _copy(opened, path, room, hide_secrets(url))
        yield path


def _list_files(system: Any, url: str, scheme: str) -> Iterator[str]:
    if scheme in WEB:
        yield url
    elif glob.has_magic(url):
        yield from sorted(system.glob(url))
    elif system.isdir(url):
        yield from sorted(file for file in system.find(url) if file.endswith(".parquet"))
    else:
        yield url


def _name_copy(remote: str) -> str:
    """The last part of a path, whose suffix may tell the format; letters that a file system obeys are replaced."""
    return re.sub(r"[^\w.=-]", "_", PurePosixPath(urlsplit(remote).path or remote).name)[-100:]


def _copy(opened: Any, path: str, room: int, shown: str) -> int:
    """Copies an open file, and returns its bytes; an error if it has more than there is room for."""
    size = 0
    with open(path, "wb") as copy:
        while piece := opened.read(PIECE):
            size += len(piece)
            if size > room:
                raise InputError(
                    f"{shown!r} is too large for the folder of temporary files",
                    f"more than {room:,} bytes, half of what is free in {tempfile.gettempdir()!r}",
                    "set TMPDIR to a folder on a larger disk, or download it and give its path",
                )
            copy.write(piece)
    return size
