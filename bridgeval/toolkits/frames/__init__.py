"""Frames of any kind that speaks Arrow (pandas, polars, pyarrow, duckdb), and Parquet, CSV and TSV files."""

from __future__ import annotations

from collections.abc import Iterable

from bridgeval.plugin import Loader, Reader, hookimpl
from bridgeval.toolkits.frames.loader import FramesLoader
from bridgeval.toolkits.frames.reader import TableReader


@hookimpl
def bridgeval_loaders() -> Iterable[Loader]:
    return [FramesLoader()]


@hookimpl
def bridgeval_readers() -> Iterable[Reader]:
    return [TableReader()]
