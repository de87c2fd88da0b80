"""The drop-in for RePlay's TorchMetricsBuilder."""

from __future__ import annotations

import math

import pytest
import torch

from bridgeval.errors import BadParameterError, MisalignedError, NeedError
from bridgeval.toolkits.replay import MetricDuplicatesWarning, TorchMetricsBuilder, metrics_to_df


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
