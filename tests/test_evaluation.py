"""One small world through every kind of input gives one report."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

import bridgeval
from bridgeval.errors import NeedError, UnknownMetricError

SHOWN = {"ann": [("tea", 0.9), ("rum", 0.8), ("gin", 0.8)], "bob": [("gin", 1.5)], "cy": [("tea", 0.1)]}
RELEVANT = {"ann": {"rum": 1.0, "gin": 3.0}, "bob": {"tea": 2.0}, "dan": {"tea": 1.0}}
METRICS = ["nDCG@1,2,3", "Recall@2", "MAP@3", "MRR@3", "F1@2"]

SHOWN_ROWS = [(user, item, score) for user, rows in SHOWN.items() for item, score in rows]
RELEVANT_ROWS = [(user, item, gain) for user, rows in RELEVANT.items() for item, gain in rows.items()]


def frame(rows, names):
    return pd.DataFrame(rows, columns=names)


RECS = frame(SHOWN_ROWS, ["user_id", "item_id", "score"])
TRUTH = frame(RELEVANT_ROWS, ["user_id", "item_id", "relevance"])
EXPECTED = bridgeval.evaluate(SHOWN, RELEVANT, METRICS)


def same(report):
    assert dict(report) == dict(EXPECTED)
    assert report.population == EXPECTED.population


def test_worked_by_hand():
    # ann: tea 0.9, then rum and gin tie at 0.8: rum before gin (item descending). Hits at 2 and 3; bob and dan: none.
    assert EXPECTED["MRR@3"] == pytest.approx((1 / 2 + 0 + 0) / 3)
    assert EXPECTED["Recall@2"] == pytest.approx((1 / 2 + 0 + 0) / 3)


@pytest.mark.parametrize(
    "convert",
    [
        lambda f: f,
        pl.from_pandas,
        lambda f: pl.from_pandas(f).with_columns(pl.col("user_id", "item_id").cast(pl.Categorical)),
        lambda f: f.astype({"user_id": "category", "item_id": "category"}),
        pa.Table.from_pandas,
        lambda f: pa.Table.from_pandas(f).to_reader(),
        lambda f: duckdb.sql("select * from f"),
        lambda f: f.sample(frac=1, random_state=1),
        lambda f: f.set_index("user_id", drop=False),
    ],
    ids=["pandas", "polars", "categorical", "category", "arrow", "reader", "duckdb", "shuffled", "index"],
)
def test_every_kind_of_frame(convert):
    same(bridgeval.evaluate(convert(RECS), convert(TRUTH), METRICS))


@pytest.mark.parametrize("names", [
    ("query_id", "item_id", "rating", "rating"),
    ("user_idx", "item_idx", "relevance", "relevance"),
    ("userID", "itemID", "prediction", "rating"),
    ("q_id", "doc_id", "score", "rel"),
    ("user", "item", "score", "gain"),
])  # fmt: skip
def test_every_schema_in_use(names):
    user, item, score, gain = names
    same(bridgeval.evaluate(frame(SHOWN_ROWS, [user, item, score]), frame(RELEVANT_ROWS, [user, item, gain]), METRICS))


def test_other_columns_are_not_touched():
    same(bridgeval.evaluate(RECS.assign(note=object(), when=pd.Timestamp("2020-01-01")), TRUTH, METRICS))


def test_one_side_a_frame_and_the_other_a_mapping():
    same(bridgeval.evaluate(RECS, RELEVANT, METRICS))
    same(bridgeval.evaluate(SHOWN, TRUTH, METRICS))


def test_a_rank_beats_a_score():
    ranked = RECS.assign(rank=[1, 2, 3, 1, 1], score=-RECS["score"])
    report = bridgeval.evaluate(ranked, TRUTH, METRICS)
    assert dict(report) == dict(EXPECTED)


@pytest.mark.parametrize("kind", ["parquet", "csv", "tsv", "csv.gz", "glob", "folder"])
def test_files(tmp_path, kind):
    paths = []
    for name, table in (("recs", RECS), ("truth", TRUTH)):
        path = tmp_path / f"{name}.{kind}"
        if kind == "parquet":
            table.to_parquet(path)
        elif kind.startswith("csv"):
            table.to_csv(path, index=False)
        elif kind == "tsv":
            table.to_csv(path, index=False, sep="\t")
        else:
            (tmp_path / name).mkdir()
            for part, rows in enumerate((table.iloc[:2], table.iloc[2:])):
                rows.to_parquet(tmp_path / name / f"{part}.parquet")
            path = tmp_path / name if kind == "folder" else f"{tmp_path / name}/*.parquet"
        paths.append(path)
    same(bridgeval.evaluate(*paths, METRICS))


@pytest.mark.parametrize(
    "convert",
    [
        dict,
        lambda rows: np.array([(item, number) for item, number in rows], dtype=object),
        lambda rows: [list(row) for row in rows],
        tuple,
    ],
    ids=["mapping", "array of pairs", "lists", "tuple"],
)
def test_every_form_of_mapping(convert):
    same(bridgeval.evaluate({u: convert(r) for u, r in SHOWN.items()}, RELEVANT, METRICS))


@pytest.mark.parametrize("convert", [list, np.array, torch.tensor, tuple])
def test_lists_of_items_are_ranked_as_they_stand(convert):
    report = bridgeval.evaluate({1: convert([30, 10, 20])}, {1: convert([10])}, "MRR@3")
    assert report["MRR@3"] == 0.5


def test_integer_pairs_in_a_float_tensor_stay_exact():
    shown = {1: torch.tensor([[30.0, 0.9], [10.0, 0.8]])}
    assert bridgeval.evaluate(shown, {1: [10]}, "MRR@3")["MRR@3"] == 0.5


def test_big_integers_stay_exact():
    shown = {2**60 + 1: [2**61 + 1, 2**61 + 2]}
    report = bridgeval.evaluate(shown, {2**60 + 1: [2**61 + 2]}, "MRR@2", per_user=True)
    assert report["MRR@2"] == 0.5
    assert report.per_user("MRR@2")["user"].tolist() == [2**60 + 1]


def test_per_user_values_come_back_with_the_ids_as_they_came():
    report = bridgeval.evaluate(SHOWN, RELEVANT, METRICS, per_user=True)
    table = report.per_user("mrr@3")
    assert table["user"].tolist() == ["ann", "bob", "dan"]
    assert table["value"].tolist() == [0.5, 0.0, 0.0]
    assert table["value"].mean() == report["MRR@3"]


def test_per_user_values_must_be_asked_for():
    with pytest.raises(UnknownMetricError, match="per_user=True"):
        EXPECTED.per_user("MRR@3")


def test_summaries():
    shown = {u: ["hit"] if u % 3 else ["miss"] for u in range(10)}
    relevant = {u: ["hit"] for u in range(10)}
    report = bridgeval.evaluate(
        shown,
        relevant,
        [f'HitRate(over="{over}")@1' for over in ("mean", "median", "lower_median", "half_width")],
    )
    # values: 0 for users 0, 3, 6, 9, else 1: mean 0.6, s^2 = (4 * 0.36 + 6 * 0.16) / 9 = 0.2667
    mean, median, lower, half = report.values()
    assert (mean, median, lower) == (0.6, 1.0, 1.0)
    assert half == pytest.approx(1.959963984540054 * (0.8 / 3) ** 0.5 / 10**0.5)


def test_even_medians():
    shown, relevant = {1: ["hit"], 2: ["miss"]}, {1: ["hit"], 2: ["hit"]}
    report = bridgeval.evaluate(shown, relevant, ['HitRate(over="median")@1', 'HitRate(over="lower_median")@1'])
    assert list(report.values()) == [0.5, 0.0]


def test_a_python_metric_gets_each_user_once_with_ids_and_scores():
    from dataclasses import dataclass

    seen = {}

    @dataclass(frozen=True)
    class Spy(bridgeval.ListMetric):
        name = "Spy"

        def value(self, slate):
            seen[slate.user] = (slate.items, slate.scores, sorted(zip(slate.relevant, slate.gains, strict=True)))
            return float(len(slate.items))

    report = bridgeval.evaluate(SHOWN, RELEVANT, [Spy(), "Recall@1"])
    assert report["Spy"] == pytest.approx((3 + 1 + 0) / 3)
    assert seen["ann"] == (["tea", "rum", "gin"], [0.9, 0.8, 0.8], [("gin", 3.0), ("rum", 1.0)])
    assert seen["dan"] == ([], [], [("tea", 1.0)])


def test_a_failing_python_metric_names_metric_and_user():
    from dataclasses import dataclass

    from bridgeval.errors import MetricFailedError

    @dataclass(frozen=True)
    class Broken(bridgeval.ListMetric):
        name = "Broken"

        def value(self, slate):
            return 1 / len(slate.items)

    with pytest.raises(MetricFailedError, match=r"Broken failed for user 'dan'.*ZeroDivisionError"):
        bridgeval.evaluate(SHOWN, RELEVANT, Broken())


def test_needs_are_checked_before_data_is_read():
    class Unreadable:
        columns = ("user_id", "item_id", "score")

        def __arrow_c_stream__(self, requested_schema=None):
            raise AssertionError("the data was read")

    with pytest.raises(NeedError, match="AUC needs the catalogue"):
        bridgeval.evaluate(Unreadable(), TRUTH, "AUC")


def test_equal_metrics_are_computed_once():
    from bridgeval.engine.plan import Plan

    asked = [*bridgeval.parse("irspack:recall@5"), *bridgeval.parse('Recall(ties="item_ascending")@5')]
    assert len(Plan.of(asked).metrics) == 1
    report = bridgeval.evaluate(SHOWN, RELEVANT, asked)
    assert len(report) == 2


def test_progress_counts_every_user():
    done = []
    bridgeval.evaluate(SHOWN, RELEVANT, "MRR@1", batch_size=3, progress=done.append)
    assert sum(done) == 4


def test_users_with_an_empty_list_are_counted_whatever_their_order():
    shown, relevant = {9: [1], 5: [], 1: [], 2: [2]}, {1: [1], 9: [1], 7: [2]}
    # Listed are 9 (one hit of 2 places), 5, 1 and 2 (none).
    found = bridgeval.evaluate(shown, relevant, 'Precision(users="listed")@2')
    assert dict(found) == {'Precision(users="listed")@2': 0.5 / 4}
