"""States that metrics over everyone's lists add up, and values that are infinite."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from bridgeval.engine.state import ItemSums, Joint, Moments, Sums, Tally
from bridgeval.tables.ids import Ids


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 0, 2]])
def test_an_infinite_value_makes_the_mean_infinite_in_any_order_of_merging(order):
    parts = [Moments.of(np.array(values)) for values in ([1.0, 3.0], [-math.inf], [2.0, math.nan])]
    first, second, third = (parts[at] for at in order)
    whole = first.merge(second).merge(third)
    assert (whole.mean, whole.count, whole.undefined) == (-math.inf, 4, 1)
    assert math.isnan(whole.deviation)


@pytest.mark.parametrize("center", [0.0, 1.0, -40.0, 1e9])
@pytest.mark.parametrize("undefined", [0, 3])
def test_squares_are_those_about_the_mean_however_far_it_is_from_nought(center, undefined):
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


def test_joint_states_merge_side_by_side():
    joint = Joint((Sums({"x": 1}), Sums({"y": 2}))).merge(Joint((Sums({"x": 3}), Sums())))
    assert (joint.parts[0]["x"], joint.parts[1]["y"]) == (4, 2)
