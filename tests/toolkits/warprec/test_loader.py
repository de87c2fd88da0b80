"""Files that WarpRec wrote: 40 users, 48 items, its own recommendations, split and per-user values."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

import bridgeval
from bridgeval.errors import InputError, MisalignedError, MissingColumnError
from bridgeval.toolkits.warprec import read_per_user, read_recommendations, read_split

WRITTEN = Path(__file__).parent / "written"
TIME = "16.11.2026_02-03-18"
MODEL_A = WRITTEN / "recs" / f"ModelA_{TIME}.tsv"
MODEL_B = WRITTEN / "recs" / f"ModelB_{TIME}.csv"
TRAIN, TEST = WRITTEN / "split" / "train.tsv", WRITTEN / "split" / "test.tsv"


def lists_in(path: Path, separator: str, header: bool) -> dict[str, list[str]]:
    """By Python's own reader: the items of each user in file order, without those at -inf."""
    found: dict[str, list[str]] = {}
    with path.open(newline="") as opened:
        rows = list(csv.reader(opened, delimiter=separator))[1 if header else 0 :]
    for user, item, score in rows:
        if float(score) != -math.inf:
            found.setdefault(user, []).append(item)
    return found


@pytest.mark.parametrize(
    ("path", "model", "separator", "header"), [(MODEL_A, "ModelA", "\t", True), (MODEL_B, "ModelB", ",", False)]
)
def test_recommendations_are_read_with_and_without_a_header(path, model, separator, header):
    read = read_recommendations(path)
    found: dict[str, list[str]] = {}
    for user, item in zip(read.rows.owners.tolist(), read.rows.items.tolist(), strict=True):
        found.setdefault(user, []).append(item)
    assert found == lists_in(path, separator, header)
    assert read.model == model
    assert read.filled + len(read.rows) == len(path.read_bytes().splitlines()) - header
    assert b"\r\n" in path.read_bytes()


def test_the_order_of_the_file_is_the_ranking(tmp_path):
    path = tmp_path / "My_Model_01.02.2026_00-00-00.tsv"
    path.write_bytes(
        b"user_id\titem_id\trating\r\n1\t007\t0.5\r\n1\t7\t0.5\r\n1\t8\t0.9\r\n2\tNA\t1e-3\r\n2\t9\t-inf\r\n"
    )
    read = read_recommendations(path)
    assert read.model == "My_Model"
    assert read.rows.items.tolist() == ["007", "7", "8", "NA"]
    assert read.filled == 1
    report = bridgeval.evaluate(read, {"1": ["007"], "2": ["9"]}, "MRR@2")
    assert report["MRR@2"] == 0.5


def known_test_rows():
    """The test rows as WarpRec evaluates them: no ids that the train set lacks, repeated ratings added up."""
    train = read_split(TRAIN).to_pandas()
    test = read_split(TEST).to_pandas()
    known = test[test.user_id.isin(train.user_id) & test.item_id.isin(train.item_id)]
    return known.groupby(["user_id", "item_id"], as_index=False)["rating"].sum()


def test_the_numbers_of_warprec_come_out_of_its_own_files():
    theirs = read_per_user(WRITTEN / "evaluation" / f"ModelA_k_10_per_user_{TIME}.tsv")
    assert (theirs.model, theirs.k) == ("ModelA", 10)
    report = bridgeval.evaluate(
        MODEL_A,
        known_test_rows(),
        ["Precision@10", 'nDCG(gain="shifted")@10', "MAP@10"],
        history=TRAIN,
        loader="warprec",
        per_user=True,
    )
    for ours, name in (("Precision@10", "Precision"), ('nDCG(gain="shifted")@10', "nDCG"), ("MAP@10", "MAP")):
        table = theirs.values[name].to_dict()
        counted = report.collected[ours].to_dict()
        assert {user for user, value in table.items() if not math.isnan(value)} == set(counted)
        assert counted == pytest.approx({user: table[user] for user in counted}, abs=2e-6)


def test_empty_cells_of_per_user_values_are_not_a_number():
    values = read_per_user(WRITTEN / "evaluation" / f"ModelA_k_5_per_user_{TIME}.tsv").values
    assert set(values) == {"Precision", "nDCG", "MAP", "F1"}
    empty = [
        line.split("\t")[0]
        for line in (WRITTEN / "evaluation" / f"ModelA_k_5_per_user_{TIME}.tsv").read_text().splitlines()
        if "\t\t" in line
    ]
    undefined = [user for user, value in values["nDCG"].to_dict().items() if math.isnan(value)]
    assert empty == undefined
    assert undefined
    assert not np.isnan(values["F1"].values).any()


def test_a_split_keeps_ids_as_strings_and_ratings_as_numbers(tmp_path):
    table = read_split(TEST)
    assert table.column_names == ["user_id", "item_id", "rating", "timestamp"]
    assert table["rating"].to_pylist()[:3] == [1.0, 2.0, 1.0]
    bare = tmp_path / "test.tsv"
    bare.write_text("01\t5\t3\n")
    assert read_split(bare).to_pylist() == [{"user_id": "01", "item_id": "5", "rating": 3.0}]


def test_a_number_of_a_split_that_may_be_the_rating_is_asked_for(tmp_path):
    split, recs = tmp_path / "test.tsv", tmp_path / "M_01.02.2026_00-00-00.tsv"
    split.write_text("user_id\titem_id\tweight\n1\t7\t0\n1\t8\t1\n")
    recs.write_text("user_id\titem_id\trating\n1\t8\t0.5\n")

    def recall(**columns):
        given = {"loader": "warprec", "history": split, "columns": columns}
        return bridgeval.evaluate(recs, split, "Recall@1", **given)["Recall@1"]

    with pytest.raises(MissingColumnError, match="the relevance has no gain, but a number that may be one"):
        recall()
    # The list has 8: the one relevant item by weight, one of two where every row counts.
    assert recall(gain="weight") == 1.0
    assert recall(gain=None) == 0.5


def test_integer_ids_in_a_frame_do_not_match_the_strings_of_a_file(tmp_path):
    path = tmp_path / "M_01.02.2026_00-00-00.tsv"
    path.write_text("user_id\titem_id\trating\n1\t7\t0.5\n")
    with pytest.raises(MisalignedError, match="integers"):
        bridgeval.evaluate(read_recommendations(path), {1: [7]}, "MRR@2")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"user_id\titem_id\trating\r\n", "holds no recommendations"),
        (b"u\ti\t1.0\nu\tj\tx\n", "not a number"),
        (b"", "empty"),
    ],
)
def test_files_that_hold_no_lists_are_refused(tmp_path, content, message):
    path = tmp_path / "M_01.02.2026_00-00-00.tsv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_recommendations(path)


def test_a_name_without_cutoff_is_not_one_of_per_user_values():
    with pytest.raises(InputError, match="not named like per-user values"):
        read_per_user(MODEL_A)
