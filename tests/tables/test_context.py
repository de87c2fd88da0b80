"""The context: tables read in parallel with the history, and looked up by id."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import bridgeval
from bridgeval import parallel
from bridgeval.errors import BadValueError, MisalignedError
from bridgeval.metrics.blocks.popularity import find_head
from bridgeval.tables.context import Context, Table
from bridgeval.tables.ids import Ids

SHOWN = {"x": {"a": 3.0, "b": 2.0}, "y": {"b": 4.0, "c": 1.0}}
RELEVANT = {"x": ["b"], "y": ["a", "c"]}
WORLD = {
    "history": {"x": ["c"], "y": ["a", "b"], "z": ["c"]},
    "item_groups": {"a": "old", "b": "new", "c": "new"},
    "user_groups": {"x": "p", "y": "q"},
    "item_features": {"a": ["jazz"], "b": ["jazz", "rock"], "c": []},
}
ASKED = ["RSP@2", "UserMADRanking@2", "SRecall@1,2", "ARP@1", "BiasDisparityBD@2"]


@pytest.fixture
def in_threads(monkeypatch, two_threads):
    monkeypatch.setattr(parallel, "ROWS_FOR_THREADS", 1)


def test_values_are_the_same_whether_tables_are_read_in_parallel_or_in_turn(request):
    in_turn = dict(bridgeval.evaluate(SHOWN, RELEVANT, ASKED, **WORLD))
    request.getfixturevalue("in_threads")
    np.testing.assert_equal(dict(bridgeval.evaluate(SHOWN, RELEVANT, ASKED, **WORLD)), in_turn)


def test_a_table_that_is_wrong_is_an_error_although_another_thread_reads_it(in_threads):
    twice = pd.DataFrame({"item_id": ["a", "a"], "group": [1, 2]})
    with pytest.raises(BadValueError, match="item_groups"):
        bridgeval.evaluate(SHOWN, RELEVANT, "RSP@2", **{**WORLD, "item_groups": twice})


@pytest.mark.parametrize("ids", [["a", "b", "c"], ["b", "c", "d"], ["a"], []])
def test_values_are_found_by_id_not_by_place(ids):
    table = Table(Ids.of(["a", "b", "c"]), np.array([5.0, 6.0, 7.0]), default=-1)
    expected = [{"a": 5.0, "b": 6.0, "c": 7.0}.get(one, -1) for one in ids]
    assert table.aligned(Ids.of(ids)).tolist() == expected


def test_a_table_that_cannot_be_written_to_is_read_without_a_warning(recwarn):
    codes = np.array([1, 2])
    codes.setflags(write=False)
    groups = Table(Ids.of(["x", "y"]), codes, labels=("p", "q"))
    report = bridgeval.evaluate(SHOWN, RELEVANT, "UserMADRating@2", user_groups=groups)
    assert report["UserMADRating@2"] == 2.5 - 2.5
    assert report.results["UserMADRating@2"].parts == {"p": 2.5, "q": 2.5}
    assert not recwarn.list


def test_ids_of_another_kind_are_not_looked_up():
    with pytest.raises(MisalignedError):
        Table(Ids.of(["1", "2"]), np.array([5.0, 6.0])).aligned(Ids.of([1, 2]))


@pytest.mark.parametrize("unit", [1.0, 0.25, 1e5], ids=["whole", "fractions", "large"])
def test_the_head_is_the_shortest_prefix_by_popularity_then_by_id(unit):
    counts = np.array([3, 1, 4, 1, 5, 4, 2, 4]) * unit
    ids = Ids.of(np.arange(len(counts)))
    order = sorted(range(len(counts)), key=lambda at: (-counts[at], at))
    for share in (0.0, 0.3, 0.5, 0.8, 1.0):
        size = 1
        while size < len(order) and counts[order[:size]].sum() <= share * counts.sum():
            size += 1
        head = find_head(Context(items={"popularity": Table(ids, counts)}), share).values
        assert np.flatnonzero(head).tolist() == sorted(order[:size])
