"""Bad input never gives a number: each case gets the error, or the behavior, that the design states."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bridgeval
from bridgeval.errors import (
    BadParameterError,
    BadValueError,
    BridgevalError,
    DuplicateRowsWarning,
    InputError,
    MisalignedError,
    NoLoaderError,
    NoUserInCommonWarning,
    SpecError,
)

RECS = pd.DataFrame({"user_id": [1, 1, 2], "item_id": [10, 11, 10], "score": [0.9, 0.8, 0.7]})
TRUTH = pd.DataFrame({"user_id": [1, 2], "item_id": [11, 12]})


def evaluate(recs=RECS, truth=TRUTH, metrics="Recall@2", **arguments):
    return bridgeval.evaluate(recs, truth, metrics, **arguments)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_text_scores_are_refused(frame):
    with pytest.raises(BadValueError, match="must hold numbers"):
        evaluate(frame({"user_id": [1], "item_id": [10], "score": ["high"]}))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("kind", ["pandas", "polars", "mapping"])
def test_nan_and_plus_infinity_as_score_are_refused(bad, kind):
    rows = {"user_id": [1, 1], "item_id": [10, 11], "score": [0.5, bad]}
    recs = {
        "pandas": pd.DataFrame(rows),
        "polars": pl.DataFrame(rows),
        "mapping": {1: [(10, 0.5), (11, bad)]},
    }[kind]
    with pytest.raises(BadValueError, match=r"NaN|inf"):
        evaluate(recs, {1: [10]})


def test_bad_scores_are_counted_and_three_are_shown():
    recs = pl.DataFrame({"user_id": [1] * 5, "item_id": range(5), "score": [0.5, *[math.nan] * 4]})
    with pytest.raises(BadValueError, match=r"4 row\(s\) with a NaN score") as caught:
        evaluate(recs, {1: [1]})
    assert caught.value.found.count("user 1") == 3


def test_minus_infinity_means_masked():
    recs = RECS.assign(score=[0.9, -math.inf, 0.7])
    report = evaluate(recs)
    assert report["Recall@2"] == 0
    assert report.population.masked == 1


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_gains_must_be_finite(bad):
    with pytest.raises(BadValueError, match="NaN"):
        evaluate(truth={1: {11: bad}})


def test_null_ids_are_counted():
    recs = pl.DataFrame({"user_id": [1, None, None], "item_id": [1, 2, 3], "score": [1.0, 2.0, 3.0]})
    with pytest.raises(BadValueError, match="2 of the user ids in the recommendations are missing"):
        evaluate(recs)


def test_float_ids_are_refused_with_a_hint():
    with pytest.raises(BadValueError, match="floats are not exact as ids"):
        evaluate(RECS.astype({"item_id": "float64"}))


@pytest.mark.parametrize("recs", [{1: [10], "two": [11]}, RECS.astype(object).assign(user_id=[1, "two", 3])])
def test_mixed_ids_are_refused(recs):
    with pytest.raises(BadValueError, match="int, str"):
        evaluate(recs, {1: [10]})


@pytest.mark.parametrize("values", [[1, 2, "high"], [1j, 2j, 3j]])
def test_ranks_that_are_no_numbers_are_refused(values):
    with pytest.raises(BadValueError, match="the column 'rank' must hold"):
        evaluate(RECS.assign(rank=values))


@pytest.mark.parametrize("column", ["user_id", "item_id"])
def test_integer_ids_against_string_ids_are_an_error_not_a_zero(column):
    with pytest.raises(MisalignedError, match=r"integers on one side and strings on the other"):
        evaluate(truth=TRUTH.astype({column: str}))


def test_a_catalogue_of_other_ids_is_named():
    with pytest.raises(MisalignedError, match=r"item ids of the catalogue .* are strings .*frame\['item_id'\]"):
        evaluate(catalogue=["a", "b"], metrics="ItemCoverage@2")


@pytest.mark.parametrize("recs", [RECS.iloc[:0], {}], ids=["frame", "mapping"])
def test_no_recommendations_score_zero(recs):
    report = evaluate(recs)
    assert report["Recall@2"] == 0
    assert report.population.shown_nothing == 2


def test_an_empty_frame_needs_no_types():
    report = evaluate(pd.DataFrame(columns=["user_id", "item_id", "score"]))
    assert report["Recall@2"] == 0
    assert report.population.shown_nothing == 2


def test_no_relevance_counts_nobody():
    with pytest.raises(InputError, match="no user could be scored for Recall@2"):
        evaluate(truth=TRUTH.iloc[:0])


def test_empty_inputs_on_both_sides_count_nobody():
    with pytest.raises(InputError, match="no user to evaluate"):
        evaluate(RECS.iloc[:0], TRUTH.iloc[:0])


def test_only_gains_of_zero_count_nobody_and_say_so():
    with pytest.raises(InputError, match="2 no relevant item"):
        evaluate(truth=TRUTH.assign(relevance=0))


def test_a_user_without_relevant_items_is_left_out_and_counted():
    report = evaluate(truth=pd.DataFrame({"user_id": [1, 2], "item_id": [11, 12], "relevance": [1, 0]}))
    assert report["Recall@2"] == 1
    assert report.population.counted == 1
    assert dict(report.population.left_out) == {"no relevant item": 1}


def test_users_on_one_side_only_are_counted_correctly():
    report = evaluate({1: [10], 3: [10]}, {1: [10], 2: [10]})
    assert report["Recall@2"] == 0.5
    assert report.population.users == 3
    assert report.population.shown_nothing == 1
    assert dict(report.population.left_out) == {"no relevance given": 1}


@pytest.mark.parametrize("cutoff", ["0", "-1", "1.5", "ten", ""])
def test_a_cutoff_is_a_whole_number_from_one_up(cutoff):
    with pytest.raises(SpecError, match="cutoff"):
        evaluate(metrics=f"Recall@{cutoff}")


def test_a_cutoff_beyond_the_list_is_fine():
    report = evaluate(metrics="Precision@10")
    assert report["Precision@10"] == pytest.approx(0.05)
    assert report.population.short_lists == 2


def test_duplicate_rows_keep_the_best_and_warn_once_with_the_count():
    recs = pd.DataFrame({"user_id": [1] * 4, "item_id": [10, 11, 10, 10], "score": [0.1, 0.5, 0.9, 0.2]})
    with pytest.warns(DuplicateRowsWarning, match="2 repeated") as caught:
        report = bridgeval.evaluate(recs, {1: [10]}, ["MRR@2", "Recall@2", "nDCG@2"])
    assert len(caught) == 1
    assert report["MRR@2"] == 1
    assert report.population.repeated_shown == 2


@pytest.mark.parametrize(
    ("metrics", "fate"),
    [
        (["Recall@2"], "the best one counts"),
        (["replay:Recall@2"], "each keeps its place"),
        (["replay:Recall@2", "Recall@2"], "by metric, each keeps its place or the best one counts"),
    ],
    ids=["native", "replay", "both"],
)
def test_the_warning_of_repeated_rows_says_how_the_metrics_treat_them(metrics, fate):
    said = f"1 repeated (user, item) rows in the recommendations; {fate}"
    with pytest.warns(DuplicateRowsWarning) as caught:
        report = bridgeval.evaluate({1: [(10, 0.9), (11, 0.5), (10, 0.3)]}, {1: [10]}, metrics)
    assert str(caught[0].message) == said
    assert said in str(report).splitlines()


def test_duplicate_relevance_counts_once_with_the_highest_gain():
    report = evaluate(truth=[{1: [(11, 1.0), (11, 3.0), (12, 3.0)]}][0], metrics=["Recall@2", "nDCG@2"])
    assert report["Recall@2"] == 0.5
    assert report.population.repeated_relevant == 1


@pytest.mark.parametrize("thing", [42, "no/such/file.parquet", object(), None])
def test_what_cannot_be_read_says_so(thing):
    with pytest.raises(BridgevalError) as caught:
        evaluate(thing)
    assert isinstance(caught.value, NoLoaderError | InputError)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("recs", "truth", "hint"),
    [
        ([1, 2, 3], TRUTH, "rows belong in a data frame"),
        (np.eye(3), TRUTH, "bridgeval.Scores"),
        (RECS, None, "give the relevance too"),
        (RECS, TRUTH["item_id"], "give data frames"),
        (pl.from_pandas(RECS)["item_id"], TRUTH, "give data frames"),
    ],
    ids=["list", "matrix", "nothing", "series", "polars series"],
)
def test_input_that_no_loader_reads_is_refused_with_a_hint(recs, truth, hint):
    with pytest.raises(NoLoaderError) as caught:
        bridgeval.evaluate(recs, truth, "Recall@2")
    assert hint in caught.value.hint


def test_a_user_with_something_that_is_no_list():
    with pytest.raises(InputError, match="user 1 is not a list"):
        evaluate({1: 5})


def test_pairs_and_items_mixed():
    with pytest.raises(InputError, match="the recommendations mix "):
        evaluate({1: [(10, 0.5), 11]})


@pytest.mark.parametrize("metrics", [[], None])
def test_no_metric_at_all(metrics):
    with pytest.raises(SpecError, match="no metric was asked for"):
        evaluate(metrics=metrics)


@pytest.mark.parametrize("metrics", [bridgeval.metrics.Recall, max, 5])
def test_an_object_that_is_no_metric_is_refused(metrics):
    with pytest.raises(SpecError, match="a metric is a name or a metric object"):
        evaluate(metrics=metrics)


def test_ranks_from_zero_and_repeated_ranks_are_refused():
    with pytest.raises(BadValueError, match="from 1 up"):
        evaluate(RECS.assign(rank=[0, 1, 1]))
    with pytest.raises(BadValueError, match="occur twice"):
        evaluate(RECS.assign(rank=[1, 1, 1]))


@pytest.mark.parametrize("size", [0, 1.5, "10"])
def test_a_batch_size_is_a_whole_number_from_one_up(size):
    with pytest.raises(BadParameterError, match="batch_size"):
        evaluate(batch_size=size)
    evaluate(batch_size=np.int64(2))


@pytest.mark.parametrize("given", [5, []])
@pytest.mark.parametrize("argument", ["catalogue", "users"])
def test_arguments_without_ids_are_refused(argument, given):
    with pytest.raises(InputError, match=rf"{argument} cannot be read|there are no ids in .*{argument}"):
        evaluate(**{argument: given})


def test_an_unknown_loader_lists_those_there_are():
    with pytest.raises(NoLoaderError, match="frames"):
        evaluate(loader="nosuch")


def test_huge_unsigned_ids_are_refused_not_wrapped():
    recs = RECS.assign(item_id=np.array([2**63, 1, 2], dtype=np.uint64))
    with pytest.raises(BadValueError, match="64 bits"):
        evaluate(recs)


def test_sides_without_common_users_give_a_warning():
    shown = {"Ann": {"tea": 0.9}, "Bob": {"rum": 0.5}}
    with pytest.warns(NoUserInCommonWarning, match="none of the 1 users .* while 2 others") as caught:
        bridgeval.evaluate(shown, {"ann": {"tea"}}, "Recall@2")
    assert caught[0].filename == __file__
    bridgeval.evaluate(shown, {"Ann": {"rum"}}, "Recall@2")


@pytest.mark.parametrize("big", [2**70, -(2**64), 2**63])
def test_an_id_beyond_64_bits_is_refused_with_what_to_do(big):
    recs = pd.DataFrame({"user_id": [big, 1], "item_id": [10, 11]})
    for given in ({big: [10]}, {1: [big]}, recs):
        with pytest.raises(BadValueError, match=rf"must fit in 64 bits.*{big}.*strings"):
            evaluate(given)


def test_a_column_of_lists_is_read_and_not_made_text():
    truth = pd.DataFrame({"user_id": [1, 2], "item_id": [[11, 12], [10]]})
    # User 1 wants 11 and 12 and is shown 11; user 2 wants 10 and is shown it: (1/2 + 1) / 2.
    assert evaluate(truth=truth)["Recall@2"] == 0.75


def test_a_file_without_a_header_says_what_to_do_in_python(tmp_path):
    (tmp_path / "bare.tsv").write_text("1\t10\t0.5\n")
    with pytest.raises(InputError, match=r"pandas\.read_csv\(path, sep='\\t', names=\['user_id'"):
        evaluate(str(tmp_path / "bare.tsv"))


@pytest.mark.parametrize(
    "by",
    [
        pd.DataFrame({"user_id": [1, 2], "genres": [["a", "b"], ["c"]]}),
        pl.DataFrame({"item_id": [10, 11], "genres": [["a", "b"], ["c"]]}),
        {1: ["a", "b"], 2: ["c"]},
    ],
    ids=["pandas", "polars", "mapping"],
)
def test_lists_as_labels_of_slices_are_refused(by):
    with pytest.raises(BadValueError, match=r"are lists, but each (user|item) has one label of a kind"):
        evaluate(by=by)
