"""The numbers that the toolkits themselves produced, from the copies kept beside this file."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.golden import compare, replay
from tests.golden.marks import marked, places

# How many values are those of errors that a toolkit recorded; each is tested apart, in tests/toolkits.
SKIPPED = {"replay": 37}


@pytest.mark.parametrize("toolkit", list(compare.readers()))
def test_every_golden_value_of_a_toolkit_is_reproduced(toolkit, capsys, monkeypatch):
    monkeypatch.setattr(compare, "READERS", {toolkit: compare.READERS[toolkit]})
    assert compare.main([]) == 0, capsys.readouterr().err
    name, compared, differ, skipped = capsys.readouterr().out.split()
    assert (name, differ) == (toolkit, "differ=0")
    assert int(compared.removeprefix("compared=")) > 0
    assert toolkit not in SKIPPED or skipped == f"skipped={SKIPPED[toolkit]}"


def test_a_result_that_a_reader_leaves_out_is_told(monkeypatch, capsys):
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
