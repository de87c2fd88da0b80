"""The drop-in for RePlay's TorchMetricsBuilder."""

from __future__ import annotations

import math
from typing import get_args

import pytest
import torch

from bridgeval.errors import BadParameterError, MisalignedError, NeedError
from bridgeval.toolkits.replay import (
    DEFAULT_KS,
    DEFAULT_METRICS,
    MetricDuplicatesWarning,
    MetricName,
    TorchMetricsBuilder,
    metrics_to_df,
)


def test_batches_add_up_and_reset_forgets() -> None:
    draw = torch.Generator().manual_seed(0)
    predictions = torch.stack([torch.randperm(30, generator=draw)[:5] for _ in range(9)])
    truth = torch.stack([torch.randperm(36, generator=draw)[:4] - 6 for _ in range(9)])
    whole, parts = (TorchMetricsBuilder(["recall", "ndcg", "map", "mrr", "precision"], [5, 1]) for _ in range(2))
    parts.add_prediction(predictions, truth)
    parts.reset()
    whole.add_prediction(predictions, truth)
    for at in (slice(0, 2), slice(2, 9)):
        parts.add_prediction(predictions[at], truth[at])
    assert parts.get_metrics() == pytest.approx(whole.get_metrics())
    assert whole.max_k == 5
    hits = [[float(p in t) for p in row] for row, t in zip(predictions.tolist(), truth.tolist(), strict=True)]
    counts = [max(1, sum(item >= 0 for item in row)) for row in truth.tolist()]
    assert whole.get_metrics()["precision@5"] == pytest.approx(sum(map(sum, hits)) / 45)
    expected = sum(sum(row) / n for row, n in zip(hits, counts, strict=True)) / 9
    assert whole.get_metrics()["recall@5"] == pytest.approx(expected)


def test_rows_without_truth_count_with_zero() -> None:
    builder = TorchMetricsBuilder(["recall"], 1)
    builder.add_prediction(torch.tensor([[3], [4]]), torch.tensor([[3], [-1]]))
    assert builder.get_metrics() == {"recall@1": 0.5}


def test_novelty_and_coverage_are_of_the_train_items() -> None:
    builder = TorchMetricsBuilder(["coverage", "novelty"], [1, 2], item_count=10)
    train = torch.tensor([[3, 5, -2], [6, 8, 9]])
    builder.add_prediction(torch.tensor([[3, 7], [4, 5]]), torch.tensor([[3], [4]]), train)
    assert builder.get_metrics() == {
        "novelty@1": 0.5,
        "novelty@2": 0.75,
        "coverage@1": 1 / 5,
        "coverage@2": 2 / 5,
    }


def test_padded_predictions_are_neither_hits_nor_old() -> None:
    """RePlay gives 0.75: of four places three hold no train item, one of them the padding."""
    builder = TorchMetricsBuilder(["novelty"], 2)
    builder.add_prediction(
        torch.tensor([[3, -1], [4, 5]]), torch.tensor([[3], [4]]), torch.tensor([[3, 5, -2], [6, 8, 9]])
    )
    assert builder.get_metrics() == {"novelty@2": 0.75}


def test_padding_inside_at_the_end_and_of_a_whole_row_comes_out_as_in_replay() -> None:
    """Expected values are RePlay's; items 9 and 12 of the train data are beyond its item_count."""
    builder = TorchMetricsBuilder(list(get_args(MetricName)), [1, 2, 3], item_count=9)
    predictions = torch.tensor([[3, -1, 4], [-1, -1, -1], [8, 6, -1]])
    truth = torch.tensor([[4, 3, -4], [5, -4, -4], [-4, -4, -4]])
    train = torch.tensor([[3, 9, -2], [5, 8, 12], [6, -2, -2]])
    for row in range(3):
        builder.add_prediction(predictions[row : row + 1], truth[row : row + 1], train[row : row + 1])
    expected = {
        "recall": [1 / 6, 1 / 6, 1 / 3],
        "precision": [1 / 3, 1 / 6, 2 / 9],
        "ndcg": [1 / 3, 0.2043823997, 0.3065736095],
        "map": [1 / 3, 1 / 6, 0.2777777778],
        "mrr": [1 / 3, 1 / 3, 1 / 3],
        "novelty": [2 / 3, 2 / 3, 7 / 9],
        "coverage": [1 / 2, 3 / 4, 3 / 4],
    }
    by_key = {f"{name}@{k}": value for name, values in expected.items() for k, value in enumerate(values, start=1)}
    assert builder.get_metrics() == pytest.approx(by_key, abs=1e-6)


def test_lists_shorter_than_k_come_out_as_in_replay() -> None:
    """RePlay's values; its ndcg and map fail on such lists."""
    builder = TorchMetricsBuilder(["recall", "precision", "mrr", "novelty"], [1, 3])
    builder.add_prediction(torch.tensor([[3], [4]]), torch.tensor([[3, -1], [5, 4]]), torch.tensor([[3, -2], [6, 8]]))
    expected = {"recall": (0.75, 0.75), "precision": (1.0, 1 / 3), "mrr": (1.0, 1.0), "novelty": (0.5, 1 / 6)}
    by_key = {
        f"{name}@{k}": value for name, values in expected.items() for k, value in zip((1, 3), values, strict=True)
    }
    assert builder.get_metrics() == pytest.approx(by_key)


def test_coverage_counts_items_below_item_count() -> None:
    builder = TorchMetricsBuilder(["coverage"], 1)
    builder.add_prediction(torch.tensor([[3], [7]]), torch.tensor([[3], [4]]), torch.tensor([[3, 5], [7, 9]]))
    assert builder.get_metrics() == {"coverage@1": 2 / 4}
    builder.item_count = 7
    # Of 3 and 5, the items of the train data below 7, item 3 is shown.
    assert builder.get_metrics() == {"coverage@1": 1 / 2}


def test_the_defaults_are_those_of_replay() -> None:
    assert (DEFAULT_METRICS, DEFAULT_KS) == (["map", "ndcg", "recall"], [1, 5, 10, 20])
    builder = TorchMetricsBuilder()
    builder.add_prediction(torch.tensor([[3]]), torch.tensor([[3]]))
    assert list(builder.get_metrics()) == [f"{name}@{k}" for k in DEFAULT_KS for name in ("recall", "ndcg", "map")]


def test_the_table_has_cutoffs_as_columns() -> None:
    table = metrics_to_df({"recall@5": 0.5, "map@5": 0.25, "recall@10": 0.75, "map@10": 0.5})
    assert list(table.index) == ["map", "recall"]
    assert list(table.columns) == [5, 10]
    assert table.columns.name == "k"
    assert table.to_numpy().tolist() == [[0.25, 0.5], [0.5, 0.75]]


def test_questions_without_an_answer_are_refused() -> None:
    with pytest.raises(BadParameterError, match="no metric 'hitrate'"):
        TorchMetricsBuilder(["hitrate"])
    builder = TorchMetricsBuilder(["coverage"])
    with pytest.raises(NeedError, match="train="):
        builder.add_prediction(torch.tensor([[1]]), torch.tensor([[1]]))
    with pytest.raises(NeedError, match="no prediction"):
        builder.get_metrics()
    with pytest.raises(MisalignedError, match="same number of rows"):
        TorchMetricsBuilder().add_prediction(torch.tensor([[1], [2]]), torch.tensor([[1]]))


def test_repeated_predictions_and_truth_count_each_time() -> None:
    builder = TorchMetricsBuilder(["recall", "precision", "novelty"], [3])
    shown, truth, train = [[4, 4, 5], [6, 7, 7]], [[4, -1], [7, 7]], [[4], [7]]
    builder.add_prediction(torch.tensor(shown), torch.tensor(truth), torch.tensor(train))
    with pytest.warns(MetricDuplicatesWarning, match="2 repeated"):
        found = builder.get_metrics()
    # Two hits of one relevant item, and two hits of a row that names its item twice.
    assert found == pytest.approx({"recall@3": (2 / 1 + 2 / 2) / 2, "precision@3": 2 / 3, "novelty@3": 1 / 3})


def test_duplicates_come_out_as_by_loops() -> None:
    draw = torch.Generator().manual_seed(5)
    predictions = torch.randint(0, 8, (30, 6), generator=draw)
    truth = torch.randint(-6, 8, (30, 7), generator=draw).clamp(min=-1)
    builder = TorchMetricsBuilder(["recall", "precision", "ndcg", "map", "mrr"], [1, 3, 6])
    builder.add_prediction(predictions, truth)
    with pytest.warns(MetricDuplicatesWarning):
        found = builder.get_metrics()
    for k in (1, 3, 6):
        sums = dict.fromkeys(("recall", "precision", "ndcg", "map", "mrr"), 0.0)
        for row, wanted in zip(predictions.tolist(), truth.tolist(), strict=True):
            hits = [place for place, item in enumerate(row[:k], start=1) if item in wanted]
            count = max(1, sum(item >= 0 for item in wanted))
            sums["recall"] += len(hits) / count
            sums["precision"] += len(hits) / k
            ideal = sum(1 / math.log2(place + 1) for place in range(1, min(count, k) + 1))
            sums["ndcg"] += sum(1 / math.log2(place + 1) for place in hits) / ideal
            sums["map"] += sum(at / place for at, place in enumerate(hits, start=1)) / min(count, k)
            sums["mrr"] += 1 / hits[0] if hits else 0.0
        for name, value in sums.items():
            assert found[f"{name}@{k}"] == pytest.approx(value / 30), (name, k)
