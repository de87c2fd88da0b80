"""The numbers that the toolkits themselves produced, from the copies kept beside this file."""

from __future__ import annotations

import json
from collections import Counter
from types import SimpleNamespace

import pytest

from tests.golden import compare, replay
from tests.golden.marks import marked, places

# How many values are those of errors that a toolkit recorded; each is tested apart, in tests/toolkits.
SKIPPED = {"replay": 37}


# Every number of librec is accounted for in test_librec.py, of each peer in test_peers.py.
@pytest.mark.parametrize("toolkit", sorted(set(compare.readers()) - {"librec", "peers"}))
def test_every_golden_value_of_a_toolkit_is_reproduced(toolkit, capsys, monkeypatch):
    monkeypatch.setattr(compare, "READERS", {toolkit: compare.READERS[toolkit]})
    assert compare.main([]) == 0, capsys.readouterr().err
    name, compared, differ, skipped, *_ = capsys.readouterr().out.split()
    assert (name, differ) == (toolkit, "differ=0")
    assert int(compared.removeprefix("compared=")) > 0
    assert toolkit not in SKIPPED or skipped == f"skipped={SKIPPED[toolkit]}"


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


def test_a_result_that_a_reader_leaves_out_is_reported(monkeypatch, capsys):
    monkeypatch.setattr(compare, "READERS", {"replay": compare.READERS["replay"]})
    whole = replay.torch_builder
    monkeypatch.setitem(replay.LAYOUTS, "-torch", lambda document: list(whole(document))[:-1])
    path = compare.DATA / "replay" / "new_torch_builder.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    (left_out,) = [one for one in compare.checked(replay, path, document) if one.differs]
    assert left_out.where == "('metrics_to_df', 'data', 6, 2) was never compared"


@pytest.mark.parametrize("name", ["new_dups", "new_single_user", "new_ties", "new_tiny"])
def test_every_value_of_replay_is_compared_on_every_engine(name):
    document = json.loads((compare.DATA / "replay" / f"{name}.json").read_text(encoding="utf-8"))
    expected = places(marked(document["expected"], replay.is_output))
    read = Counter()
    for comparison in replay.values_by_engine(marked(document, replay.is_output)):
        if hasattr(comparison.theirs, "place") or comparison.skipped:
            read[comparison.where.split()[0]] += 1
    assert read == dict.fromkeys(("pandas", "polars", "dict", "spark"), len(expected))
