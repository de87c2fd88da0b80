"""Lists in the cells of a column, and sets in place of lists."""

from __future__ import annotations

import warnings

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bridgeval
from bridgeval.errors import BadValueError, UnorderedListsWarning

LISTS = {"user_id": [1, 2], "item_id": [[10, 11], [12]]}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_a_column_of_lists_is_to_be_exploded(frame):
    with pytest.raises(BadValueError, match="the recommendations have lists in the cells") as caught:
        bridgeval.evaluate(frame(LISTS), {1: [10], 2: [11]}, "Recall@1")
    assert caught.value.hint == "give every item a row of its own: frame.explode('item_id')"
    # Following the hint: user 1 is shown 10 first, which is relevant, user 2 is shown 12, which is not.
    for kind in (pd.DataFrame, pl.DataFrame):
        assert bridgeval.evaluate(kind(LISTS).explode("item_id"), {1: [10], 2: [11]}, "Recall@1")["Recall@1"] == 0.5


def test_lists_of_items_and_of_scores_are_exploded_together():
    frame = pd.DataFrame(LISTS | {"score": [[0.1, 0.9], [0.5]]})
    with pytest.raises(BadValueError) as caught:
        bridgeval.evaluate(frame, {1: [11], 2: [11]}, "Recall@1")
    assert "frame.explode(['item_id', 'score'])" in caught.value.hint
    # By score user 1 is shown 11 first.
    exploded = frame.explode(["item_id", "score"])
    assert bridgeval.evaluate(exploded, {1: [11], 2: [11]}, "Recall@1")["Recall@1"] == 0.5


@pytest.mark.parametrize("cells", [[[10, 11], 12], [{10, 11}, {12}]], ids=["lists and ids", "sets"])
def test_cells_that_arrow_cannot_read_are_to_be_exploded_too(cells):
    frame = pd.DataFrame({"user_id": [1, 2], "item_id": cells})
    with pytest.raises(BadValueError, match=r"frame\.explode\('item_id'\)"):
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
