"""The numbers that the toolkits themselves produced, from the copies kept beside this file."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.golden import compare


@pytest.mark.parametrize("toolkit", list(compare.readers()))
def test_every_golden_value_of_a_toolkit_is_reproduced(toolkit, capsys, monkeypatch):
    monkeypatch.setattr(compare, "READERS", {toolkit: compare.READERS[toolkit]})
    assert compare.main([]) == 0, capsys.readouterr().err
    name, compared, differ, *_ = capsys.readouterr().out.split()
    assert (name, differ) == (toolkit, "differ=0")
    assert int(compared.removeprefix("compared=")) > 0


def test_numbers_outside_are_counted_apart_and_their_reasons_are_printed_when_asked(capsys, monkeypatch, tmp_path):
    (tmp_path / "case.json").write_text("{}")
    found = [
        compare.Comparison("a", 1.0, 1.0),
        compare.Comparison("b", skipped="recorded error"),
        compare.Comparison("c", outside="refused here"),
        compare.Comparison("d", outside="refused here"),
    ]
    reader = SimpleNamespace(reads=lambda document: True, comparisons=lambda path, document: found)
    monkeypatch.setattr(compare, "readers", lambda: {"theirs": reader})
    assert compare.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == "theirs compared=1 differ=0 skipped=1 outside=2\n"
    assert compare.main(["--verbose", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "  outside 2: refused here"


def test_a_number_cannot_be_skipped_for_a_reason_of_our_own():
    assert compare.Comparison("a", skipped="inconvenient").differs
    assert compare.Comparison("a", skipped="inconvenient", outside="and more").differs
