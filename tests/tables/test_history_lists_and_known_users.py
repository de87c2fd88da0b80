"""What each user has in the history, as a third list; and who "known" users are."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import bridgeval
from bridgeval.batch.batch import batches
from bridgeval.engine.inputs import Inputs
from bridgeval.engine.needs import Needs
from bridgeval.errors import NeedError

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
