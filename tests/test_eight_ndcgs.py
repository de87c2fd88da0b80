"""The numbers in docs/eight-ndcgs.md are those that its figures show."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.test_docs import ROOT

PAGE = (ROOT / "docs" / "eight-ndcgs.md").read_text(encoding="utf-8")


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    from site_pages import figures

    return figures


def test_the_table_has_every_evaluator_beside_the_value_that_it_gives(figures):
    rows = re.findall(r"^\| (0\.\d{4}) \| (.+) \|$", PAGE, re.M)
    told = {float(value): re.sub(r" \(.*?\)", "", names).split(", ") for value, names in rows}
    groups = figures.group_ndcgs()
    assert told == groups
    assert "## Five users, ten values" in PAGE
    assert len(groups) == 10
    assert "fifty evaluators" in PAGE
    assert len({name for names in groups.values() for name in names}) == 50


def test_the_table_of_libraries_has_the_numbers_that_they_gave(figures):
    rows = re.findall(r"^\| ([a-z0-9 ]+) \| (\d+) \| (\d+) \| ([\d.]+) \((\w+)\) \| ([\d.]+) \((\w+)\) \|$", PAGE, re.M)
    assert [row[0] for row in rows] == list(figures.DATA_SETS.values())
    for row, data_set in zip(rows, figures.DATA_SETS, strict=True):
        values = figures.read_libraries(data_set)
        lowest, highest = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
        counts = str(len(values)), str(len({round(value, 4) for value in values.values()}))
        assert row[1:] == (*counts, f"{values[lowest]:.4f}", lowest, f"{values[highest]:.4f}", highest)


def test_the_definition_decides_who_wins_as_the_page_says(figures):
    values = figures.compare_systems()
    for name, cautious in (("nDCG@10", 0.0949), ("trec_eval:ndcg_cut@10", 0.1977)):
        assert f"({cautious} and 0.1575)" in PAGE
        assert round(values["cautious"][name], 4) == cautious
        assert round(values["popular"][name], 4) == 0.1575


def test_most_evaluators_agree_on_complete_lists(figures):
    data, systems = figures.make_systems()
    groups = figures.group_ndcgs(systems["popular"], data.truth, 10)
    assert "45 of the 50 evaluators above give the same value, 0.1575" in PAGE
    assert len(groups[0.1575]) == 45
    assert {name for value, names in groups.items() if value != 0.1575 for name in names} == {
        "rectools", "lenskit", "daisyrec", "ngcf", "transformers4rec"
    }  # fmt: skip
