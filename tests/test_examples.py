"""find_examples: the users and items behind a number, against hand-worked cases and plain loops."""

from __future__ import annotations

import math
import random

import numpy as np
import pandas as pd
import pytest

import bridgeval
from bridgeval import Examples, find_examples
from bridgeval.errors import BadParameterError, InputError
from bridgeval.report.example_lists import show_id
from tests.report.conftest import Letters

TRUTH = {"ann": ["a", "b"], "bob": ["a"], "cat": ["c"], "dan": ["d", "e", "f"]}
OLD = {"ann": ["a", "x"], "bob": ["x", "a"], "cat": ["c", "x"], "dan": ["x", "y"]}
NEW = {"ann": ["x", "y"], "bob": ["a", "x"], "cat": ["c", "x"], "dan": ["d", "e"]}
HISTORY = {"ann": ["h", "g", "h"], "dan": ["g"]}


def reasons(found: Examples) -> dict[str, tuple[str, ...]]:
    return {one.user: one.why for one in found.users}


def test_the_worst_and_the_best_users_come_with_their_lists():
    # MRR@2 is 1, 1/2, 1 and 0; ann has two relevant items and cat one.
    found = find_examples({"old": OLD}, TRUTH, "MRR@2", count=2, history=HISTORY)
    assert reasons(found) == {"dan": ("worst",), "bob": ("worst",), "ann": ("best",), "cat": ("best",)}
    assert [one.values for one in found.users] == [(0.0,), (0.5,), (1.0,), (1.0,)]
    ann = found.users[2].lists[0]
    assert (ann.items, ann.hits, ann.relevant, ann.wanted) == (("a", "x"), (True, False), ("a", "b"), 2)
    assert (set(ann.history), ann.had) == ({"g", "h"}, 2)


def test_two_systems_show_who_gains_and_loses():
    found = find_examples({"old": OLD, "new": NEW}, TRUTH, "MRR@2", count=1)
    # dan gains 1, bob 1/2, ann loses 1; nobody else differs.
    assert reasons(found) == {
        "dan": ("worst for old", "best for new", "gains most: new over old"),
        "ann": ("best for old", "worst for new", "loses most: new over old"),
    }
    assert found.users[0].lists[0].hits == (False, False)
    assert found.users[0].lists[1].hits == (True, True)
    other = find_examples({"old": OLD, "new": NEW}, TRUTH, "MRR@2", count=1, baseline="new")
    assert other.systems == ("new", "old")
    assert "gains most: old over new" in reasons(other)["ann"]


def test_items_that_gain_and_lose_hits():
    found = find_examples({"old": OLD, "new": NEW}, TRUTH, "MRR@2", count=3)
    # "a" is a hit for ann and bob with the old system, for bob with the new one; "d" and "e" are hits of the new one.
    rows = [(one.why, one.item, one.relevant, one.shown, one.hits) for one in found.items]
    assert rows == [
        ("more hits: new over old", "d", 1, (0, 1), (0, 1)),
        ("more hits: new over old", "e", 1, (0, 1), (0, 1)),
        ("fewer hits: new over old", "a", 2, (2, 1), (2, 1)),
    ]


def test_lower_is_better_turns_worst_and_best():
    # Letters is the share of filled places, and fewer are better.
    found = find_examples({"s": {"ann": ["a", "b"], "bob": ["a"]}}, TRUTH, Letters(2), count=1, users=["ann", "bob"])
    assert reasons(found)["ann"] == ("worst",)


@pytest.mark.parametrize("batch_size", [None, 3])
def test_choices_are_those_of_plain_loops(batch_size):
    rng = random.Random(5)
    users, items = range(60), range(40)
    truth = {u: rng.sample(items, rng.randint(1, 6)) for u in users}
    lists = {name: {u: rng.sample(items, 8) for u in users} for name in ("one", "two")}
    found = find_examples(lists, truth, "Recall@5", count=4, batch_size=batch_size)

    def recall(name, user):
        return len({*lists[name][user][:5]} & {*truth[user]}) / len(truth[user])

    def choose(key):
        return sorted(users, key=lambda u: (key(u), -len(truth[u]), u))[:4]

    chosen = [
        ("worst for one", choose(lambda u: recall("one", u))),
        ("best for two", choose(lambda u: -recall("two", u))),
        ("loses most: two over one", choose(lambda u: recall("two", u) - recall("one", u))),
    ]
    for why, expected in chosen:
        assert {one.user for one in found.users if why in one.why} == {*expected}
    for one in found.users:
        for name, own, value in zip(found.systems, one.lists, one.values, strict=True):
            assert own.items == tuple(lists[name][one.user][:5])
            assert own.hits == tuple(item in truth[one.user] for item in own.items)
            assert value == pytest.approx(recall(name, one.user))
    for one in found.items:
        for name, shown, hits in zip(found.systems, one.shown, one.hits, strict=True):
            listing = [u for u in users if one.item in lists[name][u][:5]]
            assert (shown, hits) == (len(listing), sum(one.item in truth[u] for u in listing))
        assert one.relevant == sum(one.item in truth[u] for u in users)


def test_scores_seen_items_and_left_out_places_are_as_the_metric_sees_them():
    scores = bridgeval.Scores(np.array([[0.9, 0.8, 0.1]]), users=[7], items=[1, 2, 3])
    (one,) = find_examples({"s": scores}, {7: [2]}, "MRR@2", history={7: [1]}, count=1).users
    assert (one.lists[0].items, one.lists[0].history, one.why) == ((2, 3), (1,), ("worst", "best"))
    ranked = pd.DataFrame({"user_id": [7, 7], "item_id": [1, 2], "rank": [1, 3]})
    (one,) = find_examples({"s": ranked}, {7: [2]}, 'MRR(gaps="keep")@3', count=1).users
    assert (one.lists[0].items, one.lists[0].hits) == ((1, None, 2), (False, False, True))
    assert one.values == (pytest.approx(1 / 3),)


def test_the_numbers_of_users_systems_and_places_are_bounded():
    rng = random.Random(1)
    truth = {u: rng.sample(range(300), 40) for u in range(200)}
    lists = {f"s{n}": {u: rng.sample(range(300), 60) for u in range(200)} for n in range(8)}
    found = find_examples(lists, truth, "Recall@50", count=20, history={u: range(90) for u in range(200)})
    assert (len(found.users), len(found.systems), found.k) == (40, 6, 20)
    for one in found.users:
        for own in one.lists:
            assert (len(own.items), len(own.relevant), own.wanted, len(own.history), own.had) == (20, 30, 40, 30, 90)


def test_examples_are_rows_of_a_frame():
    frame = find_examples({"old": OLD}, TRUTH, "MRR@2", count=1).to_pandas()
    assert frame.to_dict("list") == {
        "user": ["dan", "dan", "ann", "ann"],
        "why": ["worst", "worst", "best", "best"],
        "system": ["old"] * 4,
        "value": [0.0, 0.0, 1.0, 1.0],
        "place": [1, 2, 1, 2],
        "item": ["x", "y", "a", "x"],
        "hit": [False, False, True, False],
    }
    hostile = find_examples({"=1": {"=2": ["=3"]}}, {"=2": ["=3"]}, "MRR@1").to_csv()
    assert "\n'=2,worst; best,'=1,1.0,1,'=3,True" in hostile


def test_a_user_whom_a_system_does_not_have_has_no_value_there():
    found = find_examples({"old": OLD, "new": {"ann": ["a"]}}, {"ann": ["a"]}, "MRR(users='shown')@2", count=1)
    bob = next(one for one in found.users if one.user != "ann")
    assert math.isnan(bob.values[1])
    assert bob.lists[1] is None


def test_what_cannot_be_looked_up_is_refused():
    with pytest.raises(BadParameterError, match="one metric with a value for each user"):
        find_examples({"old": OLD}, TRUTH, "Gini@2")
    with pytest.raises(BadParameterError, match="one metric"):
        find_examples({"old": OLD}, TRUTH, "MRR@1,2")
    with pytest.raises(BadParameterError, match="no system 'x'"):
        find_examples({"old": OLD}, TRUTH, "MRR@2", baseline="x")
    with pytest.raises(InputError, match="a mapping of name to recommendations"):
        find_examples(bridgeval.evaluate(OLD, TRUTH, "MRR@2"), TRUTH)
    with pytest.raises(BadParameterError, match="count must be"):
        find_examples({"old": OLD}, TRUTH, "MRR@2", count=0)


def test_ids_are_cut_and_hidden_characters_shown():
    assert show_id("a\u202eb") == "a\\u202eb"
    assert len(show_id("\n" * 500)) == 60
