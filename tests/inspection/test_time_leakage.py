"""A truth that precedes the training is told, wherever both have times."""

from __future__ import annotations

import datetime

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bridgeval
from bridgeval.errors import LeakageWarning

TRAIN = {"user_id": [1, 1, 2, 2, 3], "item_id": [1, 2, 1, 2, 1], "timestamp": [10, 20, 10, 20, 10]}
# User 1 has a row before and one after the last training row, user 2 one before, user 3 one at the same time.
TRUTH = {"user_id": [1, 1, 2, 3], "item_id": [3, 4, 3, 3], "timestamp": [15, 30, 5, 10]}
TOLD = "2 of 4 relevant rows (50%), of 2 of 3 users, are earlier than the last training row of their user"
LISTS = {1: [3, 5], 2: [5, 3], 3: [3]}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("times", ["numbers", "dates", "instants"])
def test_rows_before_the_last_training_row_of_their_user_are_counted(frame, times):
    kinds = {
        "numbers": float,
        "dates": lambda day: datetime.date(2020, 1, day),
        "instants": lambda day: datetime.datetime(2020, 1, day),
    }
    train, truth = ({**one, "timestamp": [kinds[times](t) for t in one["timestamp"]]} for one in (TRAIN, TRUTH))
    with pytest.warns(LeakageWarning) as caught:
        bridgeval.evaluate(LISTS, frame(truth), "Recall@2", history=frame(train))
    assert [str(one.message).partition(":")[0] for one in caught] == [TOLD]
    assert caught[0].filename == __file__
    assert bridgeval.inspect(LISTS, frame(truth), history=frame(train))["early truth"].what == TOLD


@pytest.mark.parametrize("times", [[25, 30, 25, 15], ["b", "c", "a", "a"]])
def test_a_split_by_time_and_times_as_text_are_no_alarm(times):
    found = bridgeval.inspect(LISTS, pa.table({**TRUTH, "timestamp": times}), history=pa.table(TRAIN))
    assert "early truth" not in {finding.key for finding in found.findings}


def test_a_history_without_times_is_no_alarm():
    found = bridgeval.inspect(LISTS, pa.table(TRUTH), history={1: [1]})
    assert "early truth" not in {finding.key for finding in found.findings}


def test_files_are_compared_by_the_inspection(tmp_path):
    for name, table in (("truth", TRUTH), ("train", TRAIN)):
        pd.DataFrame(table).to_csv(tmp_path / f"{name}.csv", index=False)
    found = bridgeval.inspect(LISTS, tmp_path / "truth.csv", history=tmp_path / "train.csv")
    assert found["early truth"].what == TOLD
