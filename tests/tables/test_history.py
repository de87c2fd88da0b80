"""The history: seen items, popularity, lists of each user and known users, against plain Python sets."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings, strategies as st

import bridgeval
from bridgeval.batch.batch import batches
from bridgeval.batch.ranking import Ranking
from bridgeval.engine.blocks import Blocks, Ranked, ShownColumn
from bridgeval.engine.inputs import Inputs
from bridgeval.engine.lookup import Lookup
from bridgeval.engine.needs import Needs
from bridgeval.errors import MisalignedError, NeedError
from bridgeval.tables.history import History
from bridgeval.tables.ids import Ids
from bridgeval.tables.rows import Rows

PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 7)), max_size=25)
SEEN = Needs(pairs=frozenset({"seen"}))
WITH_LISTS = Needs(pairs=frozenset({"seen"}), lists=frozenset({"history lists"}))


def frame(pairs, texts):
    columns = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    users, items = columns[:, 0], columns[:, 1]
    if texts:
        return pa.table({"user_id": [f"u{user}" for user in users], "item_id": [f"i{item}" for item in items]})
    return pa.table({"user_id": users, "item_id": items})


def number(one):
    return int(str(one).lstrip("ui"))


@settings(max_examples=120, deadline=None)
@given(
    shown=PAIRS.filter(bool),
    history=PAIRS.filter(bool),
    texts=st.booleans(),
    needs=st.sampled_from([SEEN, WITH_LISTS]),
    batch_size=st.sampled_from([1, 2, None]),
    duplicates=st.sampled_from(["best", "all"]),
)
def test_seen_items_are_those_of_the_history(shown, history, texts, needs, batch_size, duplicates):
    inputs = Inputs.of(frame(shown, texts), frame([(9, 9)], texts), history=frame(history, texts))
    (slates,) = inputs.slates(needs)
    had = {user: {item for owner, item in history if owner == user} for user in range(10)}
    assert slates.user_columns["history_count"].tolist() == [len(had[number(user)]) for user in slates.users.tolist()]
    items = [number(item) for item in slates.items.tolist()]
    for batch in batches(slates, torch.device("cpu"), batch_size):
        users = [number(user) for user in slates.users.slice(batch.start, batch.stop).tolist()]
        policy = Ranking(duplicates=duplicates)
        blocks = Blocks(batch, Lookup(inputs.context, slates, batch.device), 6)
        ranked = blocks[Ranked(policy)]
        for cells, column in (
            (batch.shown, batch.shown.column("seen")),
            (ranked, blocks[ShownColumn("seen", policy)]),
        ):
            expected = [
                [items[item] in had[user] for item, valid in zip(row, flags, strict=True) if valid]
                for user, row, flags in zip(users, cells.items.tolist(), cells.valid.tolist(), strict=True)
            ]
            assert [column[row][cells.valid[row]].tolist() for row in range(len(users))] == expected
        if needs is WITH_LISTS:
            lists = [
                [items[item] for item in row[flags].tolist()]
                for row, flags in zip(batch.history.items, batch.history.valid, strict=True)
            ]
            assert lists == [sorted(had[user]) for user in users]


@settings(max_examples=60, deadline=None)
@given(PAIRS)
def test_popularity_counts_users_and_each_pair_once(pairs):
    columns = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    history = History.of(Rows(Ids(columns[:, 0]), Ids(columns[:, 1])))
    users_of = {item: {user for user, other in pairs if other == item} for _, item in pairs}
    assert dict(zip(history.items.tolist(), history.popularity.values.tolist(), strict=True)) == {
        item: len(users) for item, users in users_of.items()
    }
    assert (history.users.tolist(), history.pairs) == (sorted({user for user, _ in pairs}), len(set(pairs)))


def test_an_empty_history_has_seen_nothing():
    nothing = pa.table({"user_id": pa.array([], pa.int64()), "item_id": pa.array([], pa.int64())})
    lists = pa.table({"user_id": [1, 1], "item_id": [7, 8]})
    assert bridgeval.evaluate(lists, lists, "Novelty@2", history=nothing)["Novelty@2"] == 1


def test_a_history_of_other_ids_is_an_error():
    with pytest.raises(MisalignedError, match="integers on one side"):
        bridgeval.evaluate({1: [7]}, {1: [7]}, "Novelty@2", history={"1": ["7"]})


SHOWN, RELEVANT = {"ann": ["a"], "bob": ["b"]}, {"ann": ["a"], "cal": ["c"]}
HISTORY = {"ann": ["z", "c", "z"], "dan": ["y"]}


def slates(**given):
    inputs = Inputs.of(SHOWN, RELEVANT, **given)
    (only,) = inputs.slates(Needs(lists=frozenset({"history lists"}), users=frozenset({"all users"})))
    return only, inputs


def test_history_lists_hold_each_item_once_even_if_no_list_has_it():
    made, _ = slates(history=HISTORY, users=["ann", "bob", "cal"])
    lists = {
        user: made.items.take(made.history.items[start:stop]).tolist()
        for user, start, stop in zip(
            made.users.tolist(), made.history.offsets[:-1], made.history.offsets[1:], strict=True
        )
    }
    assert lists == {"ann": ["c", "z"], "bob": [], "cal": []}


def test_without_a_need_there_are_no_history_lists_and_the_vocabulary_stays_small():
    (made,) = Inputs.of(SHOWN, RELEVANT, history=HISTORY).slates(Needs())
    assert made.history is None
    assert made.items.tolist() == ["a", "b", "c"]
    (batch,) = batches(made, torch.device("cpu"))
    with pytest.raises(NeedError, match="history="):
        _ = batch.history


@pytest.mark.parametrize(
    ("given", "known", "count"),
    [
        ({"users": ["ann", "eve"], "history": HISTORY}, ["ann", "eve"], 2),
        ({"history": HISTORY}, ["ann", "dan"], 2),
        ({}, ["ann", "bob", "cal"], 0),
    ],
    ids=["those given", "else those of the history", "else all that either side names"],
)
def test_known_users_are(given, known, count):
    made, inputs = slates(**given)
    assert np.array(made.users.tolist())[made.user_columns["in_known"]].tolist() == known
    assert inputs.context.known_users == count


@pytest.mark.parametrize(("users", "counted"), [("truth", 3), ("relevant", 1), ("known", 2)])
def test_who_counts_is_a_parameter_of_metrics_over_all_lists_too(users, counted):
    shown, relevant = {1: ["a"], 2: ["a"], 3: ["a"]}, {1: {"a": 1}, 2: {"a": 0}, 3: {"a": -1}}
    name = f'UserCoverage(users="{users}")@1'
    assert bridgeval.evaluate(shown, relevant, name, users=[1, 3])[name] == counted
