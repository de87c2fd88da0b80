"""Ids stay exact, and codes follow their order."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from bridgeval.tables.encoding import encode_ids
from bridgeval.tables.ids import Ids

integers = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=30)
small = st.lists(st.integers(-50, 50), max_size=30)
texts = st.lists(st.text(max_size=5), max_size=30)


@given(st.one_of(st.tuples(integers, integers), st.tuples(small, small), st.tuples(texts, texts)))
def test_codes_index_one_sorted_vocabulary(columns):
    ids = [Ids.of(pa.array(c, pa.int64() if c and isinstance(c[0], int) else pa.string())) for c in columns]
    if not any(columns):
        return
    vocabulary, codes = encode_ids(ids)
    values = vocabulary.tolist()
    assert values == sorted(set(columns[0]) | set(columns[1]))
    for column, coded in zip(columns, codes, strict=True):
        assert [values[code] for code in coded] == column


@given(st.lists(st.lists(st.sampled_from(["a", "b", "a long name"]), max_size=6), min_size=1, max_size=5))
def test_text_in_several_chunks_is_encoded_as_in_one(pieces):
    whole = [name for piece in pieces for name in piece]
    in_pieces = Ids.of(pa.chunked_array(pieces, pa.large_string()))
    in_one = Ids.of(pa.array(whole, pa.large_string()))
    if whole:
        assert encode_ids([in_pieces])[1][0].tolist() == encode_ids([in_one])[1][0].tolist()
        last = np.array([len(whole) - 1])
        assert in_pieces.take(last).tolist() == whole[-1:]
        assert pickle.loads(pickle.dumps(in_pieces)).tolist() == in_pieces.tolist() == whole
    assert in_pieces.slice(1, 3).tolist() == whole[1:3]


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=30))
def test_ascending_columns_are_encoded_alike(values):
    rising = sorted(values)
    vocabulary, (codes, other) = encode_ids([Ids.of(rising), Ids.of(rising[:1])])
    again, (_, shuffled) = encode_ids([Ids.of(values[::-1] + rising), Ids.of(rising)])
    assert vocabulary.tolist() == again.tolist()
    assert codes.tolist() == shuffled.tolist()
    assert other.tolist() == [0]


@pytest.mark.parametrize("values", [[3, 1, 2**60], ["b", "a", "ü"]])
def test_positions_and_pickle(values):
    vocabulary = Ids.of(sorted(values))
    assert vocabulary.take(Ids.of(values).positions_in(vocabulary)).tolist() == values
    missing = [7] if isinstance(values[0], int) else ["zz"]
    assert Ids.of(missing).positions_in(vocabulary).tolist() == [-1]
    assert pickle.loads(pickle.dumps(vocabulary)).tolist() == sorted(values)


def test_categories_with_unused_and_repeated_values():
    coded = pa.DictionaryArray.from_arrays(pa.array([2, 0, 2], pa.int8()), pa.array(["c", "unused", "a"]))
    plain = Ids.of(["a", "c", "a"])
    vocabulary, (first, second) = encode_ids([Ids.of(coded), plain])
    assert [vocabulary.tolist()[code] for code in first] == ["a", "c", "a"]
    assert first.tolist() == second.tolist()


def test_integer_types_are_widened_not_changed():
    for kind in (np.int8, np.uint16, np.int32, np.uint64):
        assert Ids.of(np.array([1, 100], dtype=kind)).tolist() == [1, 100]
