"""States merge: any cut, any order, the same answer."""

from __future__ import annotations

import pickle
import statistics

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bridgeval.engine.state import Collected, ItemSums, Moments, Sums
from bridgeval.metrics import nDCG
from bridgeval.tables.ids import Ids

numbers = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40)


@given(values=numbers, cut=st.integers(0, 40))
def test_moments_of_two_parts_are_those_of_the_whole(values, cut):
    whole = np.array(values)
    merged = Moments.of(whole[:cut]).merge(Moments.of(whole[cut:]))
    assert merged.count == len(values)
    assert merged.mean == pytest.approx(statistics.fmean(values), rel=1e-9, abs=1e-6)
    assert merged.deviation == pytest.approx(statistics.stdev(values), rel=1e-6, abs=1e-3)


@given(values=numbers)
def test_an_empty_state_is_neutral(values):
    state = Moments.of(np.array(values))
    assert Moments().merge(state) == state == state.merge(Moments())


def test_undefined_values_are_counted_apart():
    state = Moments.of(np.array([1.0, np.nan, 3.0])).merge(Moments.of(np.array([np.nan])))
    assert (state.count, state.mean, state.undefined) == (2, 2.0, 2)


def test_collected_values_come_back_in_user_order_however_they_arrived():
    first = Collected(((Ids.of(["c", "a"]), np.array([3.0, 1.0])),))
    second = Collected(((Ids.of(["b"]), np.array([2.0])),))
    for state in (first.merge(second), second.merge(first)):
        assert state.table().to_dict() == {"a": 1.0, "b": 2.0, "c": 3.0}
        assert state.table().users.tolist() == ["a", "b", "c"]


def test_sums_add_names_that_only_one_side_has():
    assert Sums({"a": 1}).merge(Sums({"b": np.array([1, 2])}))["a"] == 1


def test_item_sums_merge_by_id_and_drop_zeros_when_sent():
    first = ItemSums(Ids.of(["a", "c", "d"]), np.array([1.0, 2.0, 0.0]))
    second = ItemSums(Ids.of(["b", "c"]), np.array([5.0, 7.0]))
    merged = first.merge(second)
    assert dict(zip(merged.ids.tolist(), merged.values.tolist(), strict=True)) == {"a": 1, "b": 5, "c": 9, "d": 0}
    sent = pickle.loads(pickle.dumps(merged))
    assert sent.ids.tolist() == ["a", "b", "c"]
    assert ItemSums().merge(sent) is sent


def test_metrics_that_are_equal_hash_alike_also_after_a_pickle():
    metric = nDCG(10, gain="linear")
    received = pickle.loads(pickle.dumps(metric))
    assert received == metric
    assert hash(received) == hash(metric) == hash(nDCG(10, gain="linear")) != hash(nDCG(5, gain="linear"))


def test_moments_of_infinite_values_have_no_spread():
    state = Moments.of(np.array([1.0, np.inf])).merge(Moments.of(np.array([2.0])))
    assert (state.count, state.mean) == (3, np.inf)
    assert np.isnan(state.deviation)
