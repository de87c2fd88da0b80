"""Data sets of RecBole that are split into train, valid and test, and their loader."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from bridgeval.errors import InputError
from bridgeval.plugin import DeferredSource, TypedLoader, file_source, is_frame, is_path
from bridgeval_recbole.atomic_files import AtomicReader


@dataclass(frozen=True)
class Split:
    """A folder NAME with `NAME.train.inter`, `NAME.test.inter` and perhaps `NAME.valid.inter`."""

    folder: str | Path

    def find(self, part):
        """The file of a part; None if there is no valid part."""
        folder = Path(self.folder)
        path = folder / f"{folder.resolve().name}.{part}.inter"
        if path.exists():
            return path
        if part == "valid":
            return None
        raise InputError(
            f"{str(folder)!r} has no {part} part",
            f"{sorted(one.name for one in folder.glob('*'))[:5] if folder.is_dir() else 'no folder'}",
            f"RecBole calls it {path.name!r} (benchmark_filename)",
        )

    def read(self, *parts):
        """The users and items of some parts, in one table."""
        found = [AtomicReader().read(str(path), "relevance") for path in map(self.find, parts) if path is not None]
        return pa.concat_tables([table.select(table.column_names[:2]) for table in found])


class SplitLoader(TypedLoader):
    """Recommendations in a frame, a file or a mapping; the relevance is the test part of a `Split`."""

    name = "recbole"
    reads = tuple((kind, Split) for kind in (is_frame, is_path, Mapping))

    def load(self, recommendations, relevance, /, **extras):
        # An empty mapping stands for rows: nothing is read before the needs of the metrics are known.
        given = {**extras, "history": {} if extras.get("history") is None else extras["history"]}
        offers = file_source(recommendations, {}, **given).offers

        def open_parts(needs):
            history = relevance.read("train", "valid") if extras.get("history") is None else extras["history"]
            return file_source(recommendations, relevance.read("test"), **{**extras, "history": history})

        return DeferredSource(offers, open_parts)
