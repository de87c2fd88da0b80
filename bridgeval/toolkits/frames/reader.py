"""The reader of tables in files."""

from __future__ import annotations

from typing import Any

from bridgeval.plugin import read_table


class TableReader:
    """Reads Parquet, CSV, TSV, JSON lines, TREC runs and qrels; the content decides which of them a file is.

    It also reads files that no reader claims by their suffix.
    """

    name = "table"
    suffixes = (
        *(".parquet", ".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".trec", ".run", ".qrels"),
        *(".gz", ".bz2", ".zst"),
    )

    def read(self, path: str, role: str, /, **options: Any) -> Any:
        return read_table(path, **options)
