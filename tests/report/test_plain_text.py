"""Text from data does nothing where it is shown: terminals, Markdown, LaTeX and spreadsheets."""

from __future__ import annotations

import csv
import io

import pytest

import bridgeval

# A label that clears a terminal, breaks a row, turns the direction of text and carries markup.
HOSTILE = "a\x1b[2J\nb\u202e|<script>\\input{x}"
SHOWN, TRUTH = {1: ["a", "b"], 2: ["c"]}, {1: ["b"], 2: ["a"]}


@pytest.fixture(scope="module")
def report():
    return bridgeval.evaluate(SHOWN, TRUTH, "MRR@2", by={1: HOSTILE, 2: "=1+1"})


@pytest.mark.parametrize("how", ["__str__", "to_markdown", "to_latex"])
def test_no_hidden_character_reaches_the_output(report, how):
    text = getattr(report, how)()
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert r"\x1b" in text or "x1b" in text


def test_markdown_has_no_markup_of_a_label(report):
    text = report.to_markdown()
    assert "<script" not in text
    # The row of the label is one line, with the cells of every other row.
    (row,) = [line for line in text.splitlines() if "script>" in line]
    header = next(line for line in text.splitlines() if line.startswith("|"))
    assert row.replace(r"\|", "").count("|") == header.count("|")


def test_latex_has_no_command_of_a_label(report):
    assert "\\input" not in report.to_latex()


def test_a_formula_is_text_in_a_spreadsheet(report):
    cells = [cell for row in csv.reader(io.StringIO(report.to_csv())) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@"))]
    assert any("=1+1" in cell for cell in cells)
