"""Rows grouped by user and encoded ids, against plain sorting."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from bridgeval.tables import grouping
from bridgeval.tables.encoding import encode_ids
from bridgeval.tables.grouping import Grouping, group_by_user, group_codes, sort_by_code
from bridgeval.tables.ids import Ids
from bridgeval.tables.pair_column import PairColumn
from bridgeval.tables.rows import Rows

COLUMNS = st.lists(st.lists(st.integers(-3, 12), max_size=30), min_size=1, max_size=3)


def as_ids(column: list[int], kind: str) -> Ids:
    if kind == "integers":
        return Ids.of(np.array(column, dtype=np.int64))
    if kind == "far apart":
        return Ids.of(np.array(column, dtype=np.int64) * (1 << 40))
    texts = pa.array([f"{n + 3:02d}" for n in column], pa.large_string())
    return Ids.of(texts.dictionary_encode() if kind == "categories" else texts)


@pytest.fixture
def small_columns_are_long(monkeypatch):
    monkeypatch.setattr(grouping, "PEEK", 4)


@pytest.mark.parametrize("kind", ["integers", "far apart", "strings", "categories"])
@pytest.mark.parametrize("in_order", [False, True])
def test_encoding_keeps_ids_and_their_order(kind, in_order, small_columns_are_long):
    @settings(max_examples=60, deadline=None)
    @given(COLUMNS)
    def law(columns):
        columns = [sorted(column) if in_order else column for column in columns]
        wanted = [as_ids(column, kind) for column in columns]
        vocabulary, codes = encode_ids(wanted)
        assert vocabulary.tolist() == sorted({one for column in wanted for one in column.tolist()})
        assert [vocabulary.take(code).tolist() for code in codes] == [column.tolist() for column in wanted]
        users, groupings = group_by_user(wanted)
        assert users.tolist() == vocabulary.tolist()
        for by_user, code in zip(groupings, codes, strict=True):
            order = np.argsort(code, kind="stable")
            rows = np.arange(len(code), dtype=np.int32)
            items, columns = by_user.group(rows, {"score": rows * 0.5, "row": rows})
            assert items.tolist() == columns["row"].tolist() == order.tolist()
            assert columns["score"].tolist() == (order * 0.5).tolist()
            assert np.diff(by_user.offsets).tolist() == np.bincount(code, minlength=len(users)).tolist()

    law()


@pytest.mark.parametrize("rows", [[], [0], [3, 1, 3, 0, 1]])
def test_an_order_is_stable(rows):
    codes = np.array(rows, dtype=np.int32)
    assert sort_by_code(codes).tolist() == np.argsort(codes, kind="stable").tolist()


def test_rows_that_come_grouped_are_not_copied():
    scores, items = np.array([0.5, 0.4, 0.9]), np.array([4, 2, 4], dtype=np.int32)
    same_items, columns = group_codes(np.array([0, 0, 1], dtype=np.int32), 2).group(items, {"score": scores})
    assert same_items is items
    assert columns["score"] is scores


def test_codes_that_no_user_has_are_refused():
    with pytest.raises(ValueError, match="exceeds"):
        Grouping(np.array([0, 1, 2]), np.array([2, 0])).group(np.array([4, 2]), {})


@pytest.mark.parametrize("in_order", [False, True])
def test_offsets_have_64_bits(in_order):
    owners = np.array([0, 1, 2] if in_order else [2, 0, 1], dtype=np.int32)
    assert group_codes(owners, 3).offsets.dtype == np.int64


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=20))
def test_pairs_are_found_in_the_first_row_that_has_them(pairs):
    users, items = Ids.of(np.arange(6)), Ids.of(np.arange(6))
    columns = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    rows = Rows(Ids(columns[:, 0]), Ids(columns[:, 1]), {"row": np.arange(len(pairs), dtype=np.float64)})
    column = PairColumn.of(users, items, rows, "row")
    everyone, everything = np.divmod(np.arange(36), 6)
    expected = [pairs.index((u, i)) if (u, i) in pairs else -1 for u in range(6) for i in range(6)]
    assert np.nan_to_num(column.look_up(everyone, everything), nan=-1).tolist() == expected
    three, all_items = np.arange(3)[:, None], np.arange(6)
    some = column.part(2, 5).look_up(three, all_items)
    assert np.nan_to_num(some, nan=-1).flatten().tolist() == expected[12:30]
    seen = replace(column, values=None).part(2, 5).look_up(three, all_items)
    assert seen.flatten().tolist() == [row >= 0 for row in expected[12:30]]
