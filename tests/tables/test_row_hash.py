"""Hashes of rows: the same for the same rows in any order and form, another for any other rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from bridgeval.tables.row_hash import hash_rows
from bridgeval.tables.rows import read_rows

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 3)), min_size=1, max_size=12)


def hash_of(rows, text=False, order=None):
    frame = pd.DataFrame(rows, columns=["user_id", "item_id", "gain"])
    frame = frame if order is None else frame.iloc[order]
    return hash_rows(read_rows(frame.astype({"user_id": str, "item_id": str}) if text else frame, "relevance"))


@given(ROWS, ROWS, st.booleans(), st.randoms())
def test_two_tables_have_one_hash_if_they_have_the_same_rows_in_any_order(first, second, text, draw):
    order = list(range(len(first)))
    draw.shuffle(order)
    assert hash_of(first, text, order) == hash_of(first, text)
    assert (hash_of(first, text) == hash_of(second, text)) == (sorted(first) == sorted(second))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([(1, 2, 1)], [(2, 1, 1)]),
        ([(1, 1, 1), (2, 2, 1)], [(1, 2, 1), (2, 1, 1)]),
        ([(1, 1, 1), (1, 2, 3)], [(1, 1, 3), (1, 2, 1)]),
        ([(1, 1, 1)], [(1, 1, 1), (1, 1, 1)]),
    ],
    ids=["user and item exchanged", "items exchanged", "gains exchanged", "repeated"],
)
def test_rows_that_differ_by_an_exchange_or_a_repeat_have_other_hashes(first, second):
    assert hash_of(first) != hash_of(second)


def test_text_and_integers_differ_and_so_do_users_with_an_empty_list():
    assert hash_of([(1, 1, 1)]) != hash_of([(1, 1, 1)], text=True)
    with_empty = read_rows({1: ["a"], 2: []}, "relevance")
    assert hash_rows(with_empty) != hash_rows(read_rows({1: ["a"]}, "relevance"))


def test_no_gain_is_a_gain_of_1_and_precision_of_the_column_does_not_matter():
    frame = pd.DataFrame({"user_id": [1, 2], "item_id": ["a", "b"]})
    plain = hash_rows(read_rows(frame, "relevance"))
    for kind in (np.int8, np.float32, np.float64):
        assert hash_rows(read_rows(frame.assign(gain=np.ones(2, kind)), "relevance")) == plain
