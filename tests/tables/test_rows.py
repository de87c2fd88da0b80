"""Lists in the cells of a column, and sets in place of lists."""

from __future__ import annotations

import warnings

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bridgeval
from bridgeval.errors import BadValueError, InputError, UnorderedListsWarning

LISTS = {"user_id": [1, 2], "item_id": [[10, 11], [12]]}
KINDS = pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])


@KINDS
def test_lists_in_the_cells_are_ranked_as_they_come(frame):
    # User 1 is shown 10 first, which is relevant, user 2 is shown 12, which is not.
    assert bridgeval.evaluate(frame(LISTS), {1: [10], 2: [11]}, "Recall@1")["Recall@1"] == 0.5


@KINDS
def test_lists_of_items_and_of_scores_belong_together(frame):
    # By score user 1 is shown 11 first.
    shown = frame(LISTS | {"score": [[0.1, 0.9], [0.5]]})
    assert bridgeval.evaluate(shown, {1: [11], 2: [11]}, "Recall@1")["Recall@1"] == 0.5


@KINDS
def test_a_user_with_an_empty_list_was_asked_for(frame):
    shown = frame({"user_id": [1, 2], "item_id": pa.array([[10], []], pa.list_(pa.int64())).to_pylist()})
    metric = "Recall(users='listed')@1"
    # Both were asked for, as in a mapping; one of them has a hit.
    asked = bridgeval.evaluate({1: [10], 2: []}, {1: [10], 2: [11]}, metric)
    found = bridgeval.evaluate(shown, {1: [10], 2: [11]}, metric)
    assert dict(found) == dict(asked) == {'Recall(users="listed")@1': 0.5}
    assert found.population == asked.population


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"score": [0.1, 0.9]}, r"lists in the cells of a column.*frame.explode\('item_id'\)"),
        (
            {"score": [[0.1], [0.5]]},
            "the lists in 'item' and 'score' differ in length; found: 2 and 1 entries at row 0",
        ),
        ({"item_id": [[10, 11], None]}, "has 1 missing list"),
        ({"weight": [[0.1, 0.9], [0.5]]}, "neither a score nor a rank, but a number that may be one.*'weight'"),
    ],
    ids=["one score for a list", "lengths", "null", "unclaimed"],
)
def test_lists_that_do_not_fit_are_refused(more, message):
    with pytest.raises(InputError, match=message):
        bridgeval.evaluate(pd.DataFrame(LISTS | more), {1: [11], 2: [11]}, "Recall@1")


def test_cells_that_mix_lists_and_ids_are_to_be_exploded():
    frame = pd.DataFrame({"user_id": [1, 2], "item_id": [[10, 11], 12]})
    with pytest.raises(BadValueError, match=r"frame\.explode\('item_id'\)"):
        bridgeval.evaluate(frame, {1: [10]}, "Recall@1")


def test_sets_in_the_cells_are_no_ranking():
    frame = pd.DataFrame({"user_id": [1, 2], "item_id": [{10, 11}, {12}]})
    with pytest.raises(BadValueError, match="'item_id' has sets in its cells, which have no order"):
        bridgeval.evaluate(frame, {1: [10]}, "Recall@1")


def test_a_catalogue_of_lists_is_to_be_exploded():
    with pytest.raises(BadValueError, match=r"frame\.explode"):
        bridgeval.evaluate({1: [10]}, {1: [10]}, "Recall@1", catalogue=pd.DataFrame({"item_id": [[10, 11]]}))


def test_sets_are_no_ranking():
    shown = {1: {10, 11}, 2: [11], 3: frozenset({12})}
    with pytest.warns(UnorderedListsWarning, match="the recommendations have sets for 2 of 3 users") as caught:
        bridgeval.evaluate(shown, {1: {10}}, "Recall@2")
    assert [one.filename for one in caught] == [__file__]


def test_a_baseline_of_sets_is_no_ranking():
    with pytest.warns(UnorderedListsWarning, match="the baseline has sets for 1 of 1 users"):
        bridgeval.evaluate({1: [10]}, {1: {10}}, "Unexpectedness@1", baseline={1: {10, 11}})


@pytest.mark.parametrize("shown", [[10, 11], {(10, 0.9), (11, 0.5)}, {10: 0.9, 11: 0.5}, {10: 0.9, 11: 0.5}.keys()])
def test_lists_and_items_with_scores_have_an_order(shown):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bridgeval.evaluate({1: shown}, {1: {10}}, "Recall@1", history={1: {12}})["Recall@1"] == 1.0
