"""Columns that are missing, ambiguous, repeated or chosen with `columns=`."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bridgeval
from bridgeval.errors import BadParameterError, InputError, MissingColumnError
from bridgeval.io.columns import GAIN, ITEM, RANK, SCORE, UNRELATED, USER, find_columns
from tests.test_bad_input import RECS, TRUTH, evaluate


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


def test_a_chosen_column_is_refused_for_arrays_too_which_have_none():
    arrays = np.array([[1, 2]]), np.array([[0.9, 0.4]])
    for shown, truth in ((arrays, {0: [2]}), ({0: [1, 2]}, arrays)):
        with pytest.raises(MissingColumnError, match="no table has the column 'buyer'"):
            bridgeval.evaluate(shown, truth, "Recall@2", columns={"user": "buyer"})
    relevance = pd.DataFrame({"buyer": [0], "item_id": [2]})
    assert bridgeval.evaluate(arrays, relevance, "Recall@2", columns={"user": "buyer"})["Recall@2"] == 1


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


# --- Numbers that nobody claims -----------------------------------------------------------------------------


def as_pandas(columns, *_):
    return pd.DataFrame(columns)


def as_polars(columns, *_):
    return pl.DataFrame(columns)


def as_arrow(columns, *_):
    return pa.table(columns)


def as_stream(columns, *_):
    return pa.table(columns).to_reader()


def as_duckdb(columns, *_):
    return duckdb.arrow(pa.table(columns))


def as_parquet(columns, folder, _):
    pq.write_table(pa.table(columns), path := folder / f"{len(list(folder.iterdir()))}.parquet")
    return path


def as_csv(columns, folder, _):
    pd.DataFrame(columns).to_csv(path := folder / f"{len(list(folder.iterdir()))}.csv", index=False)
    return path


def as_json_lines(columns, folder, _):
    path = folder / f"{len(list(folder.iterdir()))}.jsonl"
    pd.DataFrame(columns).to_json(path, orient="records", lines=True)
    return path


def as_spark(columns, _, request):
    return request.getfixturevalue("spark").createDataFrame(pa.table(columns))


LOCAL = [
    pytest.param(form, options, id=f"{form.__name__}{' streamed' * bool(options)}")
    for form, options in [
        (as_pandas, {}),
        (as_polars, {}),
        (as_arrow, {}),
        (as_stream, {}),
        (as_duckdb, {}),
        (as_parquet, {}),
        (as_csv, {}),
        (as_json_lines, {}),
        (as_parquet, {"memory": 1}),
        (as_csv, {"memory": 1}),
    ]
]
FORMS = [*LOCAL, pytest.param(as_spark, {}, marks=pytest.mark.spark, id="as_spark")]


@pytest.mark.parametrize(("form", "options"), FORMS)
def test_a_number_that_may_be_the_score_is_asked_for(form, options, tmp_path, request):
    def recall(**columns):
        shown = form({"user_id": [1, 1], "item_id": [10, 11], "weight": [1, 2]}, tmp_path, request)
        truth = form({"user_id": [1], "item_id": [11]}, tmp_path, request)
        return bridgeval.evaluate(shown, truth, "Recall@1", columns=columns, **options)["Recall@1"]

    with pytest.raises(MissingColumnError, match=r"the recommendations have neither a score nor a rank.*'weight'"):
        recall()
    # The weight puts the relevant item first; taken for a rank, or in the order of the rows, it is second.
    assert recall(score="weight") == 1.0
    assert recall(rank="weight") == 0.0
    if form is as_spark:
        with pytest.raises(MissingColumnError, match="rows of a Spark frame have no order"):
            recall(score=None)
    else:
        assert recall(score=None) == 0.0


@pytest.mark.parametrize(("form", "options"), FORMS)
@pytest.mark.parametrize("name", ["count", "score", "weight", "value"])
def test_a_number_that_may_be_the_gain_is_asked_for(form, options, name, tmp_path, request):
    def recall(**columns):
        counted = {"user_id": [1, 1], "item_id": [10, 11], name: [0, 1]}
        shown = form({"user_id": [1, 1], "item_id": [10, 11], "rank": [2, 1]}, tmp_path, request)
        truth = form(counted, tmp_path, request)
        return bridgeval.evaluate(shown, truth, "Recall@1", columns=columns, **options)["Recall@1"]

    with pytest.raises(MissingColumnError, match=f"the relevance has no gain, but a number.*found: '{name}'") as caught:
        recall()
    assert f"columns={{'gain': '{name}'}}, or columns={{'gain': None}} to count every row as 1" in caught.value.hint
    # 11 stands first. It is the only relevant item by the numbers, one of two where every row counts.
    assert recall(gain=name) == 1.0
    assert recall(gain=None) == 0.5


def test_the_error_names_every_number_and_suggests_the_first():
    odd = RECS.rename(columns={"score": "a"}).assign(title="x", b=1, c=True)
    with pytest.raises(MissingColumnError, match="numbers that may be one; found: 'a', 'b', 'c'") as caught:
        evaluate(odd)
    assert caught.value.hint == (
        "say which it is with columns={'score': 'a'}, or columns={'score': None} to read the rows as ranked in the "
        "order they come"
    )


@pytest.mark.parametrize("values", [[True, False], [1, None], [2.5, 1], pd.array([1, None], dtype="Int64")])
def test_booleans_and_objects_that_hold_numbers_are_asked_for(values):
    with pytest.raises(MissingColumnError, match="'mark'"):
        evaluate(truth=TRUTH.assign(mark=pd.Series(values, dtype=getattr(values, "dtype", object))))


@pytest.mark.parametrize("values", [["1", "2"], ["a", 1], [None, None], [{}, {}]])
def test_text_and_mixtures_are_not(values):
    assert dict(evaluate(truth=TRUTH.assign(mark=pd.Series(values, dtype=object)))) == dict(evaluate())


@pytest.mark.parametrize("name", ["timestamp", "Unnamed: 0", "index", "__index_level_0__", "fold", "iteration"])
def test_times_indexes_and_labels_are_no_score_and_no_gain(name):
    ranked = RECS.drop(columns="score")
    assert dict(evaluate(ranked.assign(**{name: 1}), TRUTH.assign(**{name: 1}))) == dict(evaluate(ranked))


def test_the_numbers_of_a_history_are_ignored():
    history = pd.DataFrame({"user_id": [1], "item_id": [10], "count": [3]})
    assert evaluate(history=history, metrics="Novelty@2")


def test_the_numbers_of_a_baseline_are_not():
    with pytest.raises(MissingColumnError, match=r"the baseline has neither a score nor a rank.*'weight'"):
        evaluate(baseline=RECS.rename(columns={"score": "weight"}), metrics="Unexpectedness@2")


@pytest.mark.parametrize("name", ["pred", "y_pred", "prob", "logit", "est", "Prediction", "score:float"])
def test_obvious_scores_are_found(name):
    # 11 has the higher number, though its row is the second: Recall@1 is 1, not 0.
    shown = pd.DataFrame({"user_id": [1, 1], "item_id": [10, 11], name: [0.1, 0.9]})
    assert evaluate(shown, {1: [11]}, "Recall@1")["Recall@1"] == 1.0


@pytest.mark.parametrize("name", ["position", "place", "Rank"])
def test_obvious_ranks_are_found(name):
    shown = pd.DataFrame({"user_id": [1, 1], "item_id": [10, 11], name: [2, 1]})
    assert evaluate(shown, {1: [11]}, "Recall@1")["Recall@1"] == 1.0


@pytest.mark.parametrize("name", ["click", "clicked", "target", "is_relevant", "y_true", "rating:float"])
def test_obvious_gains_are_found(name):
    # 12 is not relevant, so the one relevant item of user 1 is found.
    truth = pd.DataFrame({"user_id": [1, 1], "item_id": [10, 12], name: [1, 0]})
    assert evaluate({1: [10]}, truth, "Recall@1")["Recall@1"] == 1.0


@pytest.mark.parametrize("user", ["session_id", "customerId", "user_id:token"])
@pytest.mark.parametrize("item", ["movieId", "product_id", "item_id:token"])
def test_names_of_common_data_sets_are_known(user, item):
    names = {"user_id": user, "item_id": item}
    assert dict(evaluate(RECS.rename(columns=names), TRUTH.rename(columns=names))) == dict(evaluate())


def test_an_atomic_file_of_recbole_is_read(tmp_path):
    path = tmp_path / "data.inter"
    path.write_text("user_id:token\titem_id:token\trating:float\ttimestamp:float\n1\t10\t4\t9e8\n1\t11\t0\t9e8\n")
    assert bridgeval.evaluate({1: [10]}, path, "Recall@1", loader="frames")["Recall@1"] == 1.0


def test_a_part_that_is_left_out_is_not_looked_for():
    # By rank 10 is first, by score 11.
    both = pd.DataFrame({"user_id": [1, 1], "item_id": [10, 11], "rank": [1, 2], "score": [0.1, 0.9]})
    assert evaluate(both, {1: [11]}, "Recall@1")["Recall@1"] == 0.0
    assert evaluate(both, {1: [11]}, "Recall@1", columns={"rank": None})["Recall@1"] == 1.0
    # Without either the rows count in their order, and the numbers left out are not asked for.
    falling = both.iloc[::-1]
    assert evaluate(falling, {1: [11]}, "Recall@1", columns={"rank": None, "score": None})["Recall@1"] == 1.0
    ranks = falling.drop(columns="score")
    assert evaluate(ranks, {1: [11]}, "Recall@1", columns={"rank": None})["Recall@1"] == 1.0


def test_a_position_beside_a_score_does_not_outrank_it():
    # A log has the position at which an item was shown; the score is that of the system to be evaluated.
    logged = pd.DataFrame({"user_id": [1, 1], "item_id": [10, 11], "position": [1, 2], "score": [0.1, 0.9]})
    assert evaluate(logged, {1: [11]}, "Recall@1")["Recall@1"] == 1.0
    assert evaluate(logged, {1: [11]}, "Recall@1", columns={"rank": "position"})["Recall@1"] == 0.0


@pytest.mark.parametrize("part", ["user", "item"])
def test_users_and_items_cannot_be_left_out(part):
    with pytest.raises(BadParameterError, match=f"every table needs the {part}"):
        evaluate(columns={part: None})


def test_the_scores_of_a_previous_policy_cannot_be_left_out():
    assert find_columns("prev_scores", ["item_id", "score"], {"score": None}) == {"item": "item_id", "score": "score"}


def test_every_known_name_is_documented():
    text = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
    names = {*USER, *ITEM, *SCORE, *RANK, *GAIN, *UNRELATED}
    assert [name for name in names if f"`{name}`" not in text] == []
