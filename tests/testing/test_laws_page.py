"""docs/laws.md tells every law."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridgeval.testing.convention_laws import CONVENTION_LAWS
from bridgeval.testing.law import Law
from bridgeval.testing.loader_laws import LOADER_LAWS
from bridgeval.testing.metric_laws import METRIC_LAWS

PAGE = Path(__file__).parents[2] / "docs" / "laws.md"


@pytest.mark.parametrize(
    ("heading", "laws"),
    [
        ("## Laws of metrics", METRIC_LAWS),
        ("## Laws of loaders", LOADER_LAWS),
        ("## Laws of conventions", CONVENTION_LAWS),
    ],
)
def test_the_page_has_a_row_for_every_law_in_order(heading: str, laws: tuple[Law, ...]) -> None:
    section = PAGE.read_text(encoding="utf-8").split(heading)[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    assert rows == [f"| {law.name} | {' '.join((law.keep.__doc__ or '').split())} | {law.cause} |" for law in laws]
