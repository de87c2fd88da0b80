"""Frames of any kind that speaks Arrow (pandas, polars, pyarrow, duckdb), and Parquet, CSV and TSV files."""

from __future__ import annotations

from collections.abc import Iterable

from bridgeval.plugin import Loader, hookimpl
from bridgeval.toolkits.frames.loader import FramesLoader


@hookimpl
def bridgeval_loaders() -> Iterable[Loader]:
    return [FramesLoader()]
