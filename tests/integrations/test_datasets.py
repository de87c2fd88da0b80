"""Hugging Face data sets, in memory, in files and streamed: read as they are, and per-user values come back as one."""

from __future__ import annotations

import pandas as pd
import pytest

import bridgeval
from bridgeval.engine import streaming

pytestmark = pytest.mark.integration
# By score, user 0 is shown 11, 10; user 1 is shown 12; user 2 is shown 10, 11. Places of the relevant item: 2, 1, none.
ROWS = {"customer_id": [0, 0, 1, 2, 2], "item_id": [10, 11, 12, 11, 10], "score": [0.2, 0.9, 0.5, 0.1, 0.3]}
LISTS = {"customer_id": [0, 1, 2], "item_id": [[10, 11], [12], [11, 10]], "score": [[0.2, 0.9], [0.5], [0.1, 0.3]]}
TRUTH = {0: [10], 1: [12], 2: [13]}
VALUES = {0: 0.5, 1: 1.0, 2: 0.0}


def open_forms(folder):
    import datasets

    pd.DataFrame(ROWS).to_parquet(folder / "recs.parquet")
    files = {"path": "parquet", "data_files": str(folder / "recs.parquet"), "cache_dir": str(folder / "cache")}
    return {
        "in memory": datasets.Dataset.from_dict(ROWS),
        "lists": datasets.Dataset.from_dict(LISTS),
        "in files": datasets.load_dataset(**files, split="train"),
        "streamed": datasets.load_dataset(**files, split="train", streaming=True),
        "selected rows": datasets.Dataset.from_dict(ROWS).select([4, 3, 2, 1, 0]),
        "a format of torch": datasets.Dataset.from_dict(ROWS).with_format("torch"),
    }


FORMS = ("in memory", "lists", "in files", "streamed", "selected rows", "a format of torch")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("memory", [None, 200])
def test_every_form_gives_the_number_worked_out_by_hand(tmp_path, monkeypatch, form, memory):
    pieces = []
    read = streaming._Side._read_pieces
    monkeypatch.setattr(streaming._Side, "_read_pieces", lambda *given: pieces.append(1) or read(*given))
    report = bridgeval.evaluate(open_forms(tmp_path)[form], TRUTH, "MRR", memory=memory, per_user=True)
    assert report["MRR"] == 0.5
    # 200 bytes are less than the rows take, so they are streamed.
    assert bool(pieces) == (memory is not None)


@pytest.mark.parametrize("form", FORMS)
def test_per_user_values_come_back_as_a_data_set_with_the_column_of_the_caller(tmp_path, form):
    import datasets

    report = bridgeval.evaluate(open_forms(tmp_path)[form], TRUTH, ["MRR", "Recall@1"], per_user=True)
    long, wide = report.per_user("MRR"), report.per_user(wide=True)
    kind = datasets.IterableDataset if form == "streamed" else datasets.Dataset
    assert (type(long), type(wide)) == (kind, kind)
    assert {row["customer_id"]: row["value"] for row in long} == VALUES
    assert wide.column_names == ["customer_id", "MRR", "Recall@1"]


def test_the_relevance_and_the_history_may_be_data_sets():
    import datasets

    truth = datasets.Dataset.from_dict({"customer_id": [0, 1, 2], "item_id": [10, 12, 13]})
    history = datasets.Dataset.from_dict({"customer_id": [0], "item_id": [11]})
    shown = datasets.Dataset.from_dict(ROWS)
    report = bridgeval.evaluate(shown, truth, "MRR", history=history, mask_seen=True)
    # Without item 11, the relevant item of user 0 is first.
    assert report["MRR"] == pytest.approx(2 / 3)
