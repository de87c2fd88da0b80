"""The sample is the same each time, and skewed as real ones are."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

import bridgeval
from bridgeval.demo import sample


def test_the_sample_is_the_same_each_time() -> None:
    first, second = sample(), sample()
    assert first.train.equals(second.train)
    assert first.systems["neighbors"].equals(second.systems["neighbors"])
    assert not first.train.equals(sample(seed=1).train)


def test_few_items_sell_a_lot() -> None:
    counts = np.sort(pc.value_counts(sample().train["item_id"]).field("counts").to_numpy())[::-1]
    assert counts[: len(counts) // 5].sum() > 0.45 * counts.sum()
    assert counts[0] > 10 * np.median(counts)


def test_recommenders_show_nothing_that_was_bought() -> None:
    made = sample()
    for recommendations in made.systems.values():
        found = bridgeval.inspect(recommendations, made.truth, history=made.train)
        assert found["seen items"].level == "fine"


def test_neighbors_know_more_than_popularity() -> None:
    made = sample()
    values = {name: bridgeval.evaluate(lists, made.truth, "nDCG@10")["nDCG@10"] for name, lists in made.systems.items()}
    assert values["neighbors"] > 1.1 * values["popular"]
