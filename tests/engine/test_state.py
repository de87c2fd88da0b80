"""States merge: any cut, any order, the same answer, also with infinite values."""

from __future__ import annotations

import math
import pickle
import statistics

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bridgeval.engine.state import Collected, ItemSums, Joint, Moments, Sums, Tally
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


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 0, 2]])
def test_an_infinite_value_makes_the_mean_infinite_in_any_order_of_merging(order):
    parts = [Moments.of(np.array(values)) for values in ([1.0, 3.0], [-math.inf], [2.0, math.nan])]
    first, second, third = (parts[at] for at in order)
    whole = first.merge(second).merge(third)
    assert (whole.mean, whole.count, whole.undefined) == (-math.inf, 4, 1)
    assert math.isnan(whole.deviation)


@pytest.mark.parametrize("center", [0.0, 1.0, -40.0, 1e9])
@pytest.mark.parametrize("undefined", [0, 3])
def test_squares_are_about_the_mean_however_far_it_is_from_zero(center, undefined):
    values = center + np.random.default_rng(7).normal(size=1001)
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    some = Moments.of(np.concatenate([values, np.full(undefined, math.nan)])[::-1])
    assert (some.count, some.undefined) == (1001, undefined)
    assert some.mean == pytest.approx(mean, rel=1e-14)
    assert some.squares == pytest.approx(squares, rel=1e-12)


def test_both_infinities_have_no_mean():
    assert math.isnan(Moments.of(np.array([math.inf])).merge(Moments.of(np.array([-math.inf]))).mean)


def test_a_tally_merges_sums_items_by_id_and_facts():
    one = Tally(Sums({"users": 2}), ItemSums(Ids.of(["a", "b"]), np.array([1.0, 0.0])), {"items": 9})
    two = Tally(Sums({"users": 1}), ItemSums(Ids.of(["b", "c"]), np.array([4.0, 5.0])), {"items": 9})
    for merged in (one.merge(two), two.merge(one), Tally().merge(one).merge(pickle.loads(pickle.dumps(two)))):
        assert merged.sums["users"] == 3
        assert dict(zip(merged.items.ids.tolist(), merged.items.values.tolist(), strict=True)) == {
            "a": 1,
            "b": 4,
            "c": 5,
        }
        assert merged.facts == {"items": 9}


def test_joint_states_merge_part_by_part():
    joint = Joint((Sums({"x": 1}), Sums({"y": 2}))).merge(Joint((Sums({"x": 3}), Sums())))
    assert (joint.parts[0]["x"], joint.parts[1]["y"]) == (4, 2)
