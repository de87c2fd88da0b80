"""Each oddity is found, and its effect is what a recomputation gives."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import bridgeval
from bridgeval.inspection import Inspection


def keys(found: Inspection) -> set[str]:
    return {finding.key for finding in found.alarming}


def ndcg(order: tuple[str, ...], gains: dict[str, float], k: int) -> float:
    """With exponential gain, by loops."""
    got = sum((2 ** gains.get(item, 0.0) - 1) / math.log2(place + 2) for place, item in enumerate(order[:k]))
    ideal = sorted((2**gain - 1 for gain in gains.values()), reverse=True)
    return got / sum(gain / math.log2(place + 2) for place, gain in enumerate(ideal[:k]))


def orders(scores: dict[str, float]) -> list[tuple[str, ...]]:
    """Every order that the scores allow."""
    items = sorted(scores)
    return [o for o in itertools.permutations(items) if all(scores[a] >= scores[b] for a, b in itertools.pairwise(o))]


def test_tie_bounds_are_the_least_and_the_most_over_all_orders() -> None:
    draw = random.Random(3)
    lists, truth = {}, {}
    for user in range(6):
        items = draw.sample("abcdefgh", 6)
        lists[user] = {item: draw.choice([0.1, 0.2, 0.3]) for item in items}
        truth[user] = {item: float(draw.choice([1, 2, 3])) for item in draw.sample("abcdefgh", 3)}
    every = {user: [ndcg(order, truth[user], 3) for order in orders(lists[user])] for user in lists}
    low = np.mean([min(values) for values in every.values()])
    high = np.mean([max(values) for values in every.values()])
    found = bridgeval.inspect(lists, truth, "nDCG@3")["ties"]
    assert found.level == "alarm"
    assert f"nDCG@3 lies between {low:.4f} and {high:.4f}" in found.effect
    # By hand: how many lists have the third and fourth highest score in common.
    tied = [sorted(scores.values(), reverse=True) for scores in lists.values()]
    assert found.count == sum(scores[2] == scores[3] for scores in tied)


def test_scores_without_ties_and_lists_without_scores_raise_no_alarm() -> None:
    assert bridgeval.inspect({1: {"a": 2.0, "b": 1.0}}, {1: ["a"]}, "MRR@1")["ties"].level == "fine"
    assert "ties" not in {finding.key for finding in bridgeval.inspect({1: ["a", "b"]}, {1: ["a"]}).findings}


def test_users_on_one_side_only_are_counted_with_their_effect() -> None:
    found = bridgeval.inspect({1: ["a"], 9: ["a"]}, {1: ["a"], 2: ["a"]}, "MRR@1")
    assert found.users == {"recommended to": 2, "with relevance": 2, "in both": 1}
    # User 2 scores 0: (1 + 0) / 2; over those on both sides 1.
    effect = "they score 0; MRR@1 is 0.5000, and 1.0000 over the users of both sides"
    assert found["users without lists"].effect == effect
    assert found["users without relevance"].count == 1


def test_nobody_in_common_is_an_alarm_that_guesses_the_cause() -> None:
    found = bridgeval.inspect({"U1": ["a"], "U2": ["a"]}, {"u1 ": ["a"], "u2": ["a"]}, "MRR@1")
    assert "2 would match without blanks, case" in found["users in common"].effect
    found = bridgeval.inspect({1: ["0017"]}, {1: ["17"]}, "MRR@1")
    assert "1 would match without blanks, case" in found["items in common"].effect


def test_ids_of_the_other_type_stop_it() -> None:
    recs = pd.DataFrame({"user_id": [1, 2], "item_id": ["a", "b"]})
    truth = pd.DataFrame({"user_id": ["1", "2"], "item_id": ["a", "x"]})
    found = bridgeval.inspect(recs, truth)
    assert found.value is None
    assert found["id types"].level == "stop"
    assert "read as text, 2 users and 1 items would match" in found["id types"].effect


def test_missing_values_are_counted_and_the_rest_is_inspected() -> None:
    recs = pa.table({"user_id": [1, 1, 2], "item_id": ["a", "b", "a"], "score": [0.5, float("nan"), None]})
    found = bridgeval.inspect(recs, {1: ["a"]}, "MRR@1")
    assert found["missing values"].what == "2 of 3 rows of the recommendations have no value in 'score' (null or NaN)"
    assert found.value == 1.0


def test_short_lists_and_repeats() -> None:
    recs = pd.DataFrame({"user_id": [1, 1, 1], "item_id": ["a", "b", "b"], "score": [3.0, 2.0, 1.0]})
    found = bridgeval.inspect(recs, {1: ["a", "b"]}, "Precision@3")
    assert found["short lists"].what == "1 of 1 lists are shorter than 3"
    assert found["repeated recommendations"].count == 1
    assert {"short lists", "repeated recommendations"} <= keys(found)


def test_seen_and_unknown_items() -> None:
    found = bridgeval.inspect({1: ["old", "new", "odd"]}, {1: ["new"]}, "MRR@2", history={1: ["old"], 2: ["new"]})
    assert found["seen items"].effect.startswith("without them MRR@2 would be 1.0000; each takes a place")
    found = bridgeval.inspect({1: ["odd"]}, {1: ["cold"]}, "MRR@1", history={2: ["new"]})
    assert found["unknown items shown"].count == 1
    assert found["unknown items relevant"].count == 1


def test_scores_that_rise_look_like_ranks() -> None:
    lists = {user: {f"i{place}": float(place) for place in range(5)} for user in range(5)}
    assert "rising scores" in keys(bridgeval.inspect(lists, {0: ["i0"]}))


def test_gains_of_zero_and_masked_rows_are_noted() -> None:
    found = bridgeval.inspect({1: {"a": -math.inf, "b": 1.0}}, {1: {"b": 1.0, "a": 0.0}, 2: {"b": 0.0}}, "MRR@1")
    assert found["rows not relevant"].effect == "they are not relevant; 1 users have no other and do not count"
    assert found["masked rows"].count == 1


def test_what_cannot_be_read_is_a_finding() -> None:
    found = bridgeval.inspect(pd.DataFrame({"x": [1]}), {1: ["a"]})
    assert (found.value, found["unreadable"].level) == (None, "stop")


@pytest.mark.parametrize("show", [str, repr, Inspection._repr_html_])
def test_it_shows_itself(show: object) -> None:
    found = bridgeval.inspect({"<b>": ["a"]}, {"<i>": ["a"]}, "MRR@1")
    text = show(found)  # type: ignore[operator]
    assert "none of the 1 users with relevant items was shown anything" in text
    assert ("&lt;b&gt;" in text) == (show is Inspection._repr_html_)


def test_a_plain_dictionary_comes_out() -> None:
    found = bridgeval.inspect({1: ["a"]}, {1: ["a"]}, "MRR@1").to_dict()
    assert found["headline"] == "MRR@1"
    assert found["findings"][0]["level"] in ("stop", "alarm", "note", "fine")
