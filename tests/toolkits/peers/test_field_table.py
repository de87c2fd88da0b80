"""The table of the field says what is installed, and what libraries were measured to give."""

from __future__ import annotations

import re

import pytest

from bridgeval.plugins import load_plugins
from tests.toolkits.peers.field_table import END, KINDS, PAGE, build_table, collect_names, replace_table
from tests.toolkits.peers.test_conventions import ROWS


@pytest.fixture(scope="module")
def table() -> str:
    return build_table()


def test_the_page_holds_the_table_of_what_is_installed(table):
    page = PAGE.read_text(encoding="utf-8")
    assert replace_table(page, table) == page, "run python -m tests.toolkits.peers.field_table"
    assert page.count(END) == 1


def test_every_evaluator_with_one_of_the_six_metrics_has_a_row(table):
    rows = {re.match(r"\| `([^`]+)` ", line)[1]: line for line in table.splitlines()[2:]}
    assert set(rows) == set(collect_names(load_plugins(entry_points=())))
    assert {"bridgeval", "ranx", "trec_eval", "rectools", "lenskit", "replay", "warprec", "librec"} <= set(rows)
    assert all(line.count(" | ") == len(KINDS) + 1 for line in rows.values())


def test_the_numbers_are_those_that_were_measured(table):
    """Expected are the numbers of the libraries, see the fixture."""
    rows = {re.match(r"\| `([^`]+)` ", line)[1]: line.split(" | ") for line in table.splitlines()[2:]}
    for name, measured in ROWS:
        toolkit, colon, own = name.removesuffix("@5").partition(":")
        if colon and "(" not in own:
            assert any(f"{measured:.4f}" in cell for cell in rows[toolkit][1:7]), name


def test_what_makes_a_difference_is_bold(table):
    (row,) = [line for line in table.splitlines() if line.startswith("| `rectools` ")]
    assert '**`ideal="k"`**' in row
    # There are no ties in the fixture.
    assert '`ties="given"`' in row
    assert "**`ties" not in row
