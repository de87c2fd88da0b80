"""Columns that are missing, ambiguous, repeated or chosen with `columns=`."""

from __future__ import annotations

import pytest

from bridgeval.errors import (
    BadParameterError,
    InputError,
    MissingColumnError,
)
from tests.test_bad_input import RECS, evaluate


def test_a_missing_column_is_named_with_those_that_are_there():
    with pytest.raises(
        MissingColumnError, match=r"no column for the item; found: columns 'user_id', 'score'"
    ) as caught:
        evaluate(RECS[["user_id", "score"]])
    assert "columns={'item': ...}" in caught.value.hint


def test_two_candidates_for_a_column_are_an_error_that_lists_them():
    with pytest.raises(MissingColumnError, match="'user_id', 'query_id'"):
        evaluate(RECS.assign(query_id=1))


def test_columns_decide_between_candidates():
    odd = RECS.assign(query_id=[1, 1, 2], user_id=[9, 9, 9])
    assert evaluate(odd, columns={"user": "query_id"})["Recall@2"] == evaluate()["Recall@2"]


def test_an_unknown_part_in_columns_is_refused():
    with pytest.raises(BadParameterError, match="no part called 'customer'"):
        evaluate(columns={"customer": "user_id"})


@pytest.mark.parametrize("part", ["user", "score"])
def test_a_chosen_column_that_no_table_has_is_refused_even_if_another_would_fit(part):
    with pytest.raises(
        MissingColumnError, match=f"no table has the column 'mistyped', which was chosen for the {part}"
    ):
        evaluate(columns={part: "mistyped"})


def test_a_chosen_column_of_one_table_only_is_fine():
    assert dict(evaluate(RECS.rename(columns={"user_id": "buyer"}), columns={"user": "buyer"})) == dict(evaluate())


@pytest.mark.parametrize("columns", [["user_id"], "user_id"])
def test_columns_are_a_mapping(columns):
    with pytest.raises(BadParameterError, match="columns must be a mapping"):
        evaluate(columns=columns)


def test_a_column_that_comes_twice_is_refused():
    twice = RECS.rename(columns={"score": "item_id"})
    for columns in (None, {"item": "item_id"}):
        with pytest.raises(MissingColumnError, match="2 columns 'item_id'"):
            evaluate(twice, columns=columns)


def test_a_column_that_was_chosen_but_is_not_there():
    with pytest.raises(MissingColumnError, match="no column 'buyer' for the user"):
        evaluate(RECS.rename(columns={"user_id": "u"}), columns={"user": "buyer"})


def test_columns_without_names_are_listed_by_position():
    with pytest.raises(MissingColumnError, match="columns '0', '1', '2'"):
        evaluate(RECS.set_axis([0, 1, 2], axis=1))


def test_columns_by_name_do_not_pass_for_users():
    columns = {"user_id": [1, 1], "item_id": [10, 11]}
    with pytest.raises(InputError, match="the recommendations have columns by name"):
        evaluate(columns, columns)
