"""bridgeval gives RePlay's numbers, file by file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import replay_ncis
from tests.golden.compare import DATA, golden_files

FILES = [
    pytest.param(*file, id=file[2].stem) for file in golden_files(DATA / "replay") if not replay_ncis.reads(file[3])
]


@pytest.mark.parametrize(("toolkit", "reader", "path", "document"), FILES)
def test_no_number_differs(toolkit: str, reader: object, path: Path, document: object) -> None:
    compared = list(reader.comparisons(path, document))  # type: ignore[attr-defined]
    assert [one for one in compared if one.differs] == []
    assert any(not one.skipped for one in compared)
