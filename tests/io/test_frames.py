"""One small world in every form that is read; all forms give the same numbers."""

from __future__ import annotations

import subprocess
import sys

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
import torch

import bridgeval
from bridgeval.engine import streaming
from bridgeval.errors import InputError, MissingColumnError, NoLoaderError

# Users 0, 1 and 2. By score, user 0 is shown 11, 10; user 1 is shown 12; user 2 is shown 10, 11.
RECS = pd.DataFrame({"user_id": [0, 0, 1, 2, 2], "item_id": [10, 11, 12, 11, 10], "score": [0.2, 0.9, 0.5, 0.1, 0.3]})
TRUTH = pd.DataFrame({"user_id": [0, 1, 2], "item_id": [10, 12, 13], "gain": [1.0, 1.0, 1.0]})
# Places of the relevant item: 2, 1, none.
MRR = (1 / 2 + 1 + 0) / 3
VALUES = [0.5, 1.0, 0.0]
LISTED = {"user_id": [0, 1, 2], "item_id": [[10, 11], [12], [11, 10]], "score": [[0.2, 0.9], [0.5], [0.1, 0.3]]}


def matrix(frame, number):
    return sp.coo_array((frame[number], (frame["user_id"], frame["item_id"])), shape=(3, 14))


ARRAYS = np.array([[10, 11], [12, -1], [11, 10]]), np.array([[0.2, 0.9], [0.5, 0.0], [0.1, 0.3]])
FRAMES = {
    "pandas": RECS,
    "pandas, ids in the index": RECS.set_index(["user_id", "item_id"]),
    "pandas, user in the index": RECS.set_index("user_id"),
    "pandas, lists": pd.DataFrame(LISTED),
    "pandas, lists by user": pd.DataFrame(LISTED).set_index("user_id"),
    "polars": pl.from_pandas(RECS),
    "polars, lazy": pl.from_pandas(RECS).lazy(),
    "polars, lists": pl.DataFrame(LISTED),
    "polars, lazy lists": pl.LazyFrame(LISTED),
    "arrow": pa.Table.from_pandas(RECS),
    "arrow, lists": pa.table(LISTED),
    "duckdb": duckdb.from_df(RECS),
    "duckdb, lists": duckdb.from_arrow(pa.table(LISTED)),
    "narwhals": nw.from_native(RECS),
    "narwhals over polars": nw.from_native(pl.from_pandas(RECS)),
    "narwhals, lazy": nw.from_native(pl.from_pandas(RECS).lazy()),
    "narwhals over duckdb": nw.from_native(duckdb.from_df(RECS)),
}
LISTINGS = {
    "series by user and item": RECS.set_index(["user_id", "item_id"])["score"],
    "series without names": RECS.set_index(["user_id", "item_id"])["score"].rename_axis([None, None]).rename(None),
    "series of lists": pd.Series([[11, 10], [12], [10, 11]], index=[0, 1, 2]),
    "arrays": ARRAYS,
    "arrays with users": (np.array([0, 1, 2]), *ARRAYS),
    "tensors": tuple(map(torch.tensor, ARRAYS)),
    "sparse matrix": matrix(RECS, "score"),
    "sparse rows": matrix(RECS, "score").tocsr(),
}
TRUTHS = {
    "pandas": TRUTH,
    "mapping": {0: [10], 1: [12], 2: [13]},
    "lazy": pl.from_pandas(TRUTH).lazy(),
    "series of lists": pd.Series([[10], [12], [13]]),
    "sparse matrix": matrix(TRUTH, "gain"),
    "sparse booleans": matrix(TRUTH, "gain").astype(bool),
    "lists": pl.DataFrame({"user_id": [0, 1, 2], "item_id": [[10], [12], [13]], "gain": [[1], [1], [1]]}),
}


@pytest.mark.parametrize("shown", [*FRAMES, *LISTINGS])
def test_every_form_of_recommendations_gives_the_number_worked_out_by_hand(shown):
    report = bridgeval.evaluate({**FRAMES, **LISTINGS}[shown], TRUTH, "MRR@2")
    assert report["MRR@2"] == MRR
    assert report.population.lists == ({"given": 3} if shown == "series of lists" else {"score": 3})


class Once:
    """A stream of Arrow without column names, which can be read once."""

    def __init__(self, frame):
        self.tables = [pa.Table.from_pandas(frame)]

    def __arrow_c_stream__(self, requested_schema=None):
        return self.tables.pop().__arrow_c_stream__(requested_schema)


def test_a_stream_that_can_be_read_once_is_enough():
    assert bridgeval.evaluate(Once(RECS), Once(TRUTH), "MRR@2")["MRR@2"] == MRR


@pytest.mark.parametrize("shown", ["pandas", "mapping", "lazy", "sparse matrix"])
@pytest.mark.parametrize("truth", TRUTHS)
def test_every_form_of_relevance_too(shown, truth):
    forms = {"pandas": RECS, "mapping": {0: [11, 10], 1: [12], 2: [10, 11]}, "lazy": FRAMES["polars, lazy"]}
    assert bridgeval.evaluate(forms.get(shown, LISTINGS["sparse matrix"]), TRUTHS[truth], "MRR@2")["MRR@2"] == MRR


@pytest.mark.parametrize("form", ["polars, lazy", "duckdb", "narwhals, lazy", "polars, lazy lists"])
def test_the_other_arguments_are_read_too(form):
    history = FRAMES[form]
    expected = bridgeval.evaluate(RECS, TRUTH, ["Novelty@2", "Unexpectedness@2"], history=RECS, baseline=RECS)
    assert dict(
        bridgeval.evaluate(RECS, TRUTH, ["Novelty@2", "Unexpectedness@2"], history=history, baseline=history)
    ) == dict(expected)


def test_cells_of_a_sparse_truth_are_gains():
    graded = sp.csr_array(np.array([[0, 1.0, 3.0]]))
    report = bridgeval.evaluate({0: [1, 2]}, graded, "DCG@2")
    # 2^1 - 1 at the first place, 2^3 - 1 at the second, discounted by log2(3).
    assert report["DCG@2"] == pytest.approx(1 + 7 / np.log2(3))


def test_items_below_zero_fill_places_and_uneven_arrays_are_refused():
    nothing = np.array([[-1, -1], [12, -1], [10, -1]]), np.zeros((3, 2))
    assert bridgeval.evaluate(nothing, TRUTH, "MRR@2").population.shown_nothing == 1
    with pytest.raises(InputError, match=r"equal shapes.*\(3, 2\) and \(3, 1\)"):
        bridgeval.evaluate((ARRAYS[0], ARRAYS[1][:, :1]), TRUTH, "MRR@2")


def test_a_column_beats_a_level_of_the_index():
    frame = RECS.assign(user=RECS["user_id"]).drop(columns="user_id").set_index(pd.Index([9] * 5, name="user_id"))
    assert bridgeval.evaluate(frame, TRUTH, "MRR@2")["MRR@2"] == MRR


@pytest.mark.parametrize("form", ["a frame", "a Series"])
def test_levels_of_an_index_can_be_chosen(form):
    indexed = RECS.rename(columns={"user_id": "who", "item_id": "what"}).set_index(["who", "what"])
    shown = indexed if form == "a frame" else indexed["score"]
    with pytest.raises(MissingColumnError, match="'who', 'what'"):
        bridgeval.evaluate(shown, TRUTH, "MRR")
    report = bridgeval.evaluate(shown, TRUTH, "MRR", columns={"user": "who", "item": "what"}, per_user=True)
    assert report["MRR"] == MRR
    assert list(report.per_user().columns) == ["who", "metric", "k", "value"]


def test_a_series_without_lists_is_no_listing():
    with pytest.raises(NoLoaderError):
        bridgeval.evaluate(RECS["item_id"], TRUTH, "MRR@2")


STREAMED = ["polars, lazy", "polars, lazy lists", "narwhals, lazy"]


@pytest.fixture
def pieces(monkeypatch):
    """Streams everything, in pieces of a row; says how it was done."""
    ways = []
    monkeypatch.setattr(streaming, "ROWS_PER_PIECE", 1)
    for name in ("merge_streams", "partition_streams"):
        real = getattr(streaming, name)
        monkeypatch.setattr(streaming, name, lambda *a, n=name, r=real: (ways.append(n), r(*a))[1])
    return ways


@pytest.mark.parametrize("shown", STREAMED)
@pytest.mark.parametrize("truth", ["pandas", "mapping", "lazy", "lists", "sparse matrix"])
@pytest.mark.parametrize("metrics", [["MRR@2", "Recall(users='shown')@2"]])
def test_streaming_a_lazy_frame_equals_reading_it_at_once(shown, truth, metrics, pieces):
    held = bridgeval.evaluate(RECS, TRUTH, metrics)
    streamed = bridgeval.evaluate(FRAMES[shown], TRUTHS[truth], metrics, memory=100)
    assert pieces == ["merge_streams"]
    assert dict(streamed) == pytest.approx(dict(held), abs=1e-12)
    assert streamed.population == held.population


def test_a_lazy_frame_that_is_not_sorted_by_user_is_partitioned(pieces):
    shuffled = pl.from_pandas(RECS.sample(frac=1, random_state=1)).lazy()
    assert bridgeval.evaluate(shuffled, TRUTH, "MRR@2", memory=100)["MRR@2"] == MRR
    assert pieces == ["merge_streams", "partition_streams"]


def test_an_empty_list_is_streamed_too(pieces):
    shown = pl.LazyFrame({"user_id": [0, 1], "item_id": [[10], []]}, schema_overrides={"item_id": pl.List(pl.Int64)})
    metric = "Recall(users='shown')@1"
    streamed = bridgeval.evaluate(shown, {0: [10], 1: [11], 2: []}, metric, memory=100)
    assert streamed.population == bridgeval.evaluate({0: [10], 1: []}, {0: [10], 1: [11], 2: []}, metric).population
    assert pieces == ["merge_streams"]


def test_lists_in_parquet_are_streamed(tmp_path, pieces):
    pq.write_table(pa.table(LISTED), tmp_path / "recs.parquet", row_group_size=1)
    TRUTH.to_parquet(tmp_path / "truth.parquet")
    assert (
        bridgeval.evaluate(tmp_path / "recs.parquet", tmp_path / "truth.parquet", "MRR@2", memory=100)["MRR@2"] == MRR
    )
    assert pieces == ["merge_streams"]
    assert bridgeval.evaluate(tmp_path / "recs.parquet", TRUTH, "MRR@2")["MRR@2"] == MRR


def test_categories_of_a_lazy_frame_are_text(pieces):
    texts = {"user_id": [f"u{user}" for user in RECS["user_id"]], "item_id": [f"i{item}" for item in RECS["item_id"]]}
    shown = pl.LazyFrame(texts | {"score": RECS["score"].tolist()}).cast({"user_id": pl.Categorical})
    truth = {"u0": ["i10"], "u1": ["i12"], "u2": ["i13"]}
    assert bridgeval.evaluate(shown, truth, "MRR@2", memory=100)["MRR@2"] == MRR
    assert pieces == ["merge_streams"]


def test_a_missing_cell_of_a_lazy_frame_is_an_error_with_its_row(pieces):
    shown = pl.LazyFrame({"user_id": [0, 1], "item_id": [10, None]})
    with pytest.raises(InputError, match=r"item ids in the recommendations is missing.*row 1"):
        bridgeval.evaluate(shown, TRUTH, "MRR@2", memory=100)


def test_columns_of_a_lazy_frame_can_be_chosen():
    shown = pl.from_pandas(RECS.rename(columns={"score": "utility"})).lazy()
    with pytest.raises(MissingColumnError, match="'utility'"):
        bridgeval.evaluate(shown, TRUTH, "MRR@2")
    assert bridgeval.evaluate(shown, TRUTH, "MRR@2", columns={"score": "utility"})["MRR@2"] == MRR


BACK = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "polars, lazy": pl.LazyFrame,
    "arrow": pa.Table,
    "duckdb": duckdb.DuckDBPyRelation,
    "narwhals over polars": nw.DataFrame,
    "narwhals, lazy": nw.LazyFrame,
}


@pytest.mark.parametrize("form", BACK)
@pytest.mark.parametrize("wide", [False, True])
def test_per_user_values_come_back_as_the_kind_that_went_in(form, wide):
    report = bridgeval.evaluate(FRAMES[form], TRUTH, ["MRR@2", "Recall@1"], per_user=True)
    values = report.per_user(wide=wide)
    assert isinstance(values, BACK[form])
    frame = nw.from_native(values).lazy().collect().to_pandas()
    if wide:
        # Only user 1 has a hit at the first place.
        assert frame.to_dict("list") == {"user_id": [0, 1, 2], "MRR@2": VALUES, "Recall@1": [0.0, 1.0, 0.0]}
    else:
        assert frame.columns.tolist() == ["user_id", "metric", "k", "value"]
        assert frame["value"].tolist() == [*VALUES, 0.0, 1.0, 0.0]
        assert frame["k"].tolist() == [2] * 3 + [1] * 3


def test_per_user_values_have_the_column_of_the_caller(tmp_path):
    named = RECS.rename(columns={"user_id": "who"})
    report = bridgeval.evaluate(named, TRUTH, "MRR@2", columns={"user": "who"}, per_user=True)
    assert report.per_user("MRR@2")["who"].tolist() == [0, 1, 2]
    RECS.rename(columns={"user_id": "customer_id"}).to_csv(tmp_path / "recs.csv", index=False)
    report = bridgeval.evaluate(tmp_path / "recs.csv", TRUTH, "MRR@2", per_user=True)
    assert report.per_user().columns.tolist() == ["customer_id", "metric", "k", "value"]


def test_a_metric_that_leaves_users_out_is_nan_in_the_wide_form():
    report = bridgeval.evaluate({1: [7]}, {1: [7], 2: [8]}, ["MRR@1", "MRR(users='shown')@1"], per_user=True)
    values = report.per_user(wide=True)
    assert values["MRR@1"].tolist() == [1.0, 0.0]
    assert values['MRR(users="shown")@1'].isna().tolist() == [False, True]


def test_saved_values_with_the_column_of_the_caller_are_a_baseline(tmp_path):
    report = bridgeval.evaluate(RECS, TRUTH, "MRR@2", per_user=True)
    report.per_user().to_parquet(tmp_path / "old.parquet")
    gate = bridgeval.check(RECS, TRUTH, baseline=tmp_path / "old.parquet", max_drop="MRR@2=0.1")
    assert gate.holds


def test_asking_imports_no_library():
    code = (
        "import sys, bridgeval; bridgeval.evaluate({1: [2]}, {1: [2]}, 'MRR@1')\n"
        "print([name for name in ('polars', 'duckdb', 'narwhals', 'datasets', 'fsspec') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"
