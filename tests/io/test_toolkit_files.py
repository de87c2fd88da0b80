"""Files and objects as other toolkits write them; each small one is written here in their form.

All hold the same lists: user 1 was shown 30 (score 0.9) and 10 (0.4), user 2 was shown 20 (0.8), user 3 nothing.
Relevant are 10 for user 1 and 20 for user 2, so MRR@2 is (1/2 + 1)/2 over these two.
"""

from __future__ import annotations

import json
from collections import namedtuple
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
import torch

import bridgeval
from bridgeval.errors import BadValueError, InputError, MissingColumnError
from bridgeval.io.files import read_schema, read_table
from bridgeval.toolkits.peers import read_cornac, read_elliot

TRUTH = {"1": {"10": 1}, "2": {"20": 1}}
MRR = 0.75


def evaluate(shown, truth, metric="MRR@2"):
    return bridgeval.evaluate(shown, truth, metric)[metric]


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


RUNS = {
    "comments and blank lines": (
        "# made by hand\n1 Q0 30 1 0.9 tag\n\n#1 Q0 99 1 9.9 tag\n1 Q0 10 2 0.4 tag\n2 Q0 20 1 0.8 tag\n"
    ),
    "tags with spaces": "1 Q0 30 1 0.9 my run\n1 Q0 10 2 0.4 my run\n2 Q0 20 1 0.8 my other run\n",
    "more columns": "1 Q0 30 1 0.9 tag 17 x\n1 Q0 10 2 0.4 tag 18 y\n2 Q0 20 1 0.8 tag 19 z\n",
    "a line longer than others": "1 Q0 30 1 0.9 tag\n1 Q0 10 2 0.4 tag note\n2 Q0 20 1 0.8 tag\n",
}


@pytest.mark.parametrize("run", RUNS)
def test_a_trec_run_is_read_with_comments_and_more_columns(tmp_path, run):
    path = write(tmp_path / "run", RUNS[run])
    assert evaluate(path, TRUTH) == MRR
    assert len(read_table(path)) == 3


def test_comments_in_qrels_are_no_rows(tmp_path):
    qrels = write(tmp_path / "qrels", "# topic iteration document grade\n1 0 10 1\n# 1 0 30 1\n2 0 20 1\n")
    shown = {"1": ["30", "10"], "2": ["20"]}
    assert evaluate(shown, qrels) == MRR


def test_a_header_that_begins_with_a_hash_is_not_taken_for_a_trec_file(tmp_path):
    path = write(tmp_path / "table.csv", "#user_id,item_id\n1,10\n")
    with pytest.raises(MissingColumnError, match="no column for the user"):
        evaluate(path, TRUTH)


MAPPING = {"1": {"30": 0.9, "10": 0.4}, "2": {"20": 0.8}, "3": {}}


@pytest.mark.parametrize("indent", [None, 2])
def test_a_mapping_in_json_is_read_as_ranx_and_beir_save_it(tmp_path, indent):
    run = write(tmp_path / "run.json", json.dumps(MAPPING, indent=indent))
    qrels = write(tmp_path / "qrels.json", json.dumps({"1": {"10": 1, "30": 0}, "2": {"20": 2}}, indent=indent))
    report = bridgeval.evaluate(run, qrels, ["MRR@2", 'Recall(users="listed")@2'])
    assert report["MRR@2"] == MRR
    # The user with an empty mapping is there too: recall 1, 1 and, without relevant items, 0.
    assert report['Recall(users="listed")@2'] == pytest.approx(2 / 3)
    assert read_schema(run).names == ["user_id", "item_id", "relevance"]


def test_predictions_of_mteb_are_those_of_their_subset_and_split(tmp_path):
    meta = {"mteb_model_meta": {"model_name": "some/model", "revision": "1"}}
    one = write(tmp_path / "Task_predictions.json", json.dumps({**meta, "default": {"test": MAPPING}}))
    assert evaluate(one, TRUTH) == MRR
    both = write(tmp_path / "Two_predictions.json", json.dumps({**meta, "en": {"test": MAPPING, "dev": MAPPING}}))
    with pytest.raises(InputError, match=r"2 subsets and splits, not of one; found: en/test, en/dev; hint: choose one"):
        evaluate(both, TRUTH)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"1": {"30": "high"}}', r'no mapping of user to item to number; found: \'1\': {"30": "high"}'),
        ('{"1": {"30": 0.9}, "2": ["20"]}', r"no mapping of user to item to number; found: '2'"),
        ('{"1": {"30": 0.9}', "cannot be read as JSON"),
        ('{"1": {"30": 0.9}}\n{"2": {"20": 0.8}}\n', "cannot be read as JSON"),
    ],
)
def test_json_that_is_no_mapping_of_numbers_is_refused(tmp_path, text, told):
    with pytest.raises(InputError, match=told):
        evaluate(write(tmp_path / "run.json", text), TRUTH)


def test_qrels_of_beir_have_their_gain_in_the_score(tmp_path):
    qrels = write(tmp_path / "test.tsv", "query-id\tcorpus-id\tscore\n1\t10\t1\n1\t30\t0\n2\t20\t1\n")
    assert evaluate({1: [30, 10], 2: [20]}, qrels) == MRR
    with pytest.raises(MissingColumnError, match="no gain, but a number that may be one"):
        evaluate({1: [30, 10], 2: [20]}, write(tmp_path / "other.tsv", "query_id\tdoc_id\tscore\n1\t10\t1\n"))


RESULTS = [
    {
        "query_id": "1",
        "query": "first",
        "results": [{"corpus_id": "30", "score": 0.9}, {"corpus_id": "10", "score": 0.4}],
    },
    {"query_id": "2", "query": "second", "results": [{"corpus_id": "20", "score": 0.8}]},
    {"query_id": "3", "query": "third", "results": []},
]


def test_predictions_of_sentence_transformers_are_lists_of_results(tmp_path):
    path = write(
        tmp_path / "Information-Retrieval_evaluation_predictions_cosine.jsonl",
        "".join(json.dumps(one) + "\n" for one in RESULTS),
    )
    report = bridgeval.evaluate(path, TRUTH, ["sentence_transformers:mrr@2", 'MRR(users="listed")@2'])
    assert report["sentence_transformers:mrr@2"] == MRR
    assert report['MRR(users="listed")@2'] == 0.5


def item_lists() -> pa.Table:
    """LensKit's native layout: a row for each list, its items in structs."""
    kind = pa.list_(pa.struct([("item_id", pa.int32()), ("score", pa.float32())]))
    lists = [[{"item_id": 30, "score": 0.9}, {"item_id": 10, "score": 0.4}], [{"item_id": 20, "score": 0.8}], []]
    return pa.table({"user_id": pa.array([1, 2, 3]), "items": pa.array(lists, kind)})


class ItemListCollection:
    """An object with the methods of LensKit's that are used."""

    def lists(self) -> list[object]:
        return []

    def to_arrow(self) -> pa.Table:
        return item_lists()


@pytest.mark.parametrize("memory", [None, 1000])
def test_item_lists_of_lenskit_are_read_from_parquet_and_as_objects(tmp_path, memory):
    pa_parquet.write_table(item_lists(), tmp_path / "recs.parquet", compression="zstd")
    truth = {1: [10], 2: [20]}
    for shown in (str(tmp_path / "recs.parquet"), item_lists(), ItemListCollection()):
        report = bridgeval.evaluate(shown, truth, ["lenskit:RecipRank@2", 'MRR(users="listed")@2'], memory=memory)
        assert report['MRR(users="listed")@2'] == 0.5


def test_lists_of_structs_that_were_cut_from_a_larger_table_are_read():
    longer = pa.concat_tables([item_lists(), item_lists()]).slice(1, 2)
    assert evaluate(longer, {1: [10], 2: [20]}) == 0.5


class Dataset:
    """An object with the attributes of Cornac's that are used; indices are in the order of the maps."""

    uid_map = {"bob": 0, "ann": 1}  # noqa: RUF012
    iid_map = {"tea": 0, "rum": 1, "gin": 2}  # noqa: RUF012
    uir_tuple = (np.array([1, 0]), np.array([2, 0]), np.array([4.0, 5.0]))


def test_a_data_set_of_cornac_is_a_truth_with_its_own_ids():
    report = bridgeval.evaluate({"ann": ["rum", "gin"], "bob": ["tea"]}, read_cornac(Dataset()), ["MRR@2", "DCG@2"])
    # ann has gin (4) at the second place, bob tea (5) at the first.
    assert report["MRR@2"] == 0.75
    assert report["DCG@2"] == pytest.approx((15 / np.log2(3) + 31) / 2)
    with pytest.raises(InputError, match="no data set of Cornac; found: an object of type dict"):
        read_cornac({})


Prediction = namedtuple("Prediction", "uid iid r_ui est details")
ScoredDoc = namedtuple("ScoredDoc", "query_id doc_id score")
Qrel = namedtuple("Qrel", "query_id doc_id relevance iteration")


def test_predictions_of_surprise_are_recommendations_and_truth():
    fine = {"was_impossible": False}
    predictions = [
        Prediction("ann", "tea", 4.0, 3.5, fine),
        Prediction("bob", "rum", 1.0, 2.5, {**fine, "reason": "x"}),
    ]
    report = bridgeval.evaluate(predictions, predictions, ["surprise:rmse", "surprise:mae"])
    # Errors of -0.5 and 1.5: squares 0.25 and 2.25.
    assert report["surprise:rmse"] == pytest.approx(np.sqrt(1.25))
    assert report["surprise:mae"] == 1.0
    frame = pd.DataFrame(predictions)
    assert dict(bridgeval.evaluate(frame, frame, "surprise:rmse")) == {"surprise:rmse": report["surprise:rmse"]}


def test_named_tuples_of_ir_measures_are_read():
    run = [ScoredDoc("1", "30", 0.9), ScoredDoc("1", "10", 0.4), ScoredDoc("2", "20", 0.8)]
    qrels = [Qrel("1", "10", 1, "0"), Qrel("1", "30", 0, "0"), Qrel("2", "20", 1, "0")]
    assert bridgeval.evaluate(run, qrels, "ir_measures:RR@2")["ir_measures:RR@2"] == MRR
    with pytest.raises(BadValueError, match="field 'doc_id' of the records must hold"):
        evaluate([*run, ScoredDoc("2", 7, 0.1)], qrels)


def test_arrays_of_implicit_and_tensors_of_recbole_are_told_apart_by_their_types():
    items, scores = np.array([[30, 10], [20, -1]]), np.array([[0.9, 0.4], [0.8, -3e38]], dtype=np.float32)
    truth = {0: [10], 1: [20]}
    assert evaluate((items, scores), truth) == MRR
    matrix = torch.full((2, 31), -1.0)
    matrix[0, 30], matrix[0, 10], matrix[1, 20] = 0.9, 0.4, 0.8
    assert evaluate(torch.topk(matrix, 2), truth) == MRR
    assert evaluate((np.array([5, 7]), *torch.topk(matrix, 2)), {5: [10], 7: [20]}) == MRR


def test_files_of_elliot_have_no_header_and_are_read_by_name(tmp_path):
    recs = write(tmp_path / "ItemKNN_nn$40.tsv", "1\t30\t0.9\n1\t10\t0.4\n2\t20\t0.8\n")
    test = write(tmp_path / "test.tsv", "1\t10\t4.0\t978300760\n2\t20\t5.0\t978302109\n")
    assert evaluate(read_elliot(recs), read_elliot(test, "rating")) == MRR
    assert evaluate(read_elliot(recs), read_cornac(test)) == MRR
    with pytest.raises(InputError, match="has no header"):
        evaluate(recs, TRUTH)


@pytest.mark.parametrize("line", ["user\titem\tscore", "1,30,0.9", "1\t30", "1\t30\t0.9\t1\t2"])
def test_other_files_are_no_files_of_elliot(tmp_path, line):
    with pytest.raises(InputError, match="no file of Elliot: user, item, score and perhaps a time"):
        read_elliot(write(tmp_path / "recs.tsv", f"{line}\n"))
