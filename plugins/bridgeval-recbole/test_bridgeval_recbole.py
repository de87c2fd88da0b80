from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from bridgeval_recbole import AtomicReader, Split, SplitLoader, TopkMetric, evaluate_split, ported
from click.testing import CliRunner

import bridgeval
from bridgeval.errors import InputError, MetricFailedError
from bridgeval.testing import check_loader, check_metric, world

ITEMS = """item_id:token	name:token_seq	year:token	price:float
7	Romance Drama	1995	2.5
8		2001	4
9	Drama	2020	1
"""


def write(path, rows, header="user_id:token\titem_id:token\trating:float"):
    path.write_text("\n".join([header, *("\t".join(map(str, row)) for row in rows)]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def split(tmp_path):
    folder = tmp_path / "tiny"
    folder.mkdir()
    write(folder / "tiny.train.inter", [(1, 7, 5), (2, 8, 1)])
    write(folder / "tiny.valid.inter", [(1, 9, 4)])
    write(folder / "tiny.test.inter", [(1, 8, 2), (2, 9, 5), (2, 7, 0)])
    return Split(folder)


RECS = pd.DataFrame({"user_id": [1, 1, 2, 2], "item_id": [8, 10, 8, 7], "score": [0.9, 0.8, 0.7, 0.6]})


def test_every_row_of_the_test_part_is_relevant(split):
    # User 1 has 8 at place 1 of one relevant item; user 2 has 7 at place 2, of two.
    report = bridgeval.evaluate(RECS, split, ["recbole:recall@2", "recbole:mrr@2"], mask_seen=False)
    assert report["recbole:recall@2"] == (1 + 0.5) / 2
    assert report["recbole:mrr@2"] == (1 + 0.5) / 2
    assert report.loader == "recbole"


def test_the_history_is_the_train_and_the_valid_part(split):
    # User 2 has 8 in the history, so that 7 moves to place 1.
    assert bridgeval.evaluate(RECS, split, "recbole:mrr@2", mask_seen=True)["recbole:mrr@2"] == 1
    # 7, 8 and 9 each have one of two users.
    assert bridgeval.evaluate({1: [9]}, split, "ARP@1", mask_seen=False)["ARP@1"] == 1


def test_it_keeps_the_laws(tmp_path):
    data = world("string", fractions=True)
    # RecBole counts every row of the test part, and its files hold no user without one.
    data = replace(data, relevance={user: dict.fromkeys(gains, 1) for user, gains in data.relevance.items()})
    folder = tmp_path / "world"
    folder.mkdir()
    rows = [(user, item, 1) for user, gains in data.relevance.items() for item in gains]
    write(folder / "world.test.inter", rows)
    write(
        folder / "world.train.inter", [(user, item, 1) for user, had in data.extras["history"].items() for item in had]
    )
    check_loader(SplitLoader(), data.recommendations, Split(folder), world=data, **data.extras)


def test_atomic_files_are_read_by_their_path(split, tmp_path):
    items = tmp_path / "tiny.item"
    items.write_text(ITEMS, encoding="utf-8")
    # By the test file alone ratings are gains, and 0 is not relevant: user 1 has it first, user 2 not at all.
    assert bridgeval.evaluate(RECS, split.find("test"), "MRR@2")["MRR@2"] == 0.5
    read = AtomicReader().read(str(items), "context").to_pydict()
    assert read == {"item_id": [7, 8, 9], "year": [1995, 2001, 2020], "price": [2.5, 4, 1]}
    features = AtomicReader().read(str(items), "item_features").to_pydict()
    assert features == {"item_id": [7, 7, 9], "feature": ["Romance", "Drama", "Drama"]}


def test_what_cannot_be_read_is_told(tmp_path):
    with pytest.raises(InputError, match=r"is no atomic file of RecBole.*a column 'item'"):
        AtomicReader().read(str(write(tmp_path / "a.inter", [(1, 2)], "user_id:token\titem")), "relevance")
    with pytest.raises(InputError, match=r"no train part.*RecBole calls it"):
        Split(tmp_path).find("train")
    with pytest.raises(InputError, match="0 columns of the type token_seq"):
        AtomicReader().read(str(write(tmp_path / "a.item", [(1, 2)], "item_id:token\tyear:token")), "item_features")


def test_the_command_prints_the_numbers_of_recbole(split, tmp_path):
    RECS.to_csv(tmp_path / "recs.csv", index=False)
    printed = (
        CliRunner().invoke(evaluate_split, [str(tmp_path / "recs.csv"), str(split.folder), "-m", "recall@2"]).output
    )
    assert "recbole:recall@2" in printed
    assert "0.7500" in printed


class FirstHits(TopkMetric):
    """The share of relevant items that were found by each cutoff, in the pattern of RecBole's own classes."""

    def __init__(self, config):
        super().__init__(config)

    def calculate_metric(self, dataobject):
        return self.topk_result("firsthits", self.metric_info(*self.used_info(dataobject)))

    def metric_info(self, pos_index, pos_len):
        return np.cumsum(pos_index, axis=1) / pos_len.reshape(-1, 1)


def test_a_metric_class_of_recbole_runs_after_its_import_line_is_changed(split):
    found = bridgeval.evaluate(RECS, split, [ported(FirstHits)(k=2), "recbole:recall@2"], mask_seen=False)
    assert found["FirstHits@2"] == found["recbole:recall@2"] == 0.75
    # Fewer than k items were shown: the last column is still that of place k.
    assert bridgeval.evaluate(RECS, split, ported(FirstHits)(k=5), mask_seen=False)["FirstHits@5"] == 0.75
    check_metric(ported(FirstHits)(k=5))


def test_a_metric_class_that_returns_another_shape_is_told():
    class Wrong(TopkMetric):
        def metric_info(self, pos_index, pos_len):
            return pos_index.sum(axis=1)

    with pytest.raises(MetricFailedError, match=r"Wrong.metric_info must return a value for each user and place"):
        bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, ported(Wrong)(k=1))
