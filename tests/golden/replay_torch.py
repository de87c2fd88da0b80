"""RePlay's torch builder: values after one batch and after several, and their table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from bridgeval.toolkits import replay
from tests.golden.compare import Comparison, number
from tests.golden.replay_checks import same

TOLERANCE = 1e-5


def torch_builder(document: dict[str, Any]) -> Iterator[Comparison]:
    """`-torch/1`: values after one batch and after several, in order; the table of them."""
    tensors = [torch.tensor(document[name]) for name in ("predictions", "ground_truth", "train")]
    for variant, pairs in document["results_in_order"].items():
        parts = 1 if variant == "one_batch" else document["batches"]
        builder = replay.TorchMetricsBuilder(document["metrics"], document["top_k"], document["item_count"])
        for at in np.array_split(np.arange(len(tensors[0])), parts):
            builder.add_prediction(*(tensor[torch.from_numpy(at)] for tensor in tensors))
        ours = builder.get_metrics()
        yield same(f"{variant} keys", [key for key, _ in pairs], list(ours))
        for key, theirs in pairs:
            yield Comparison(f"{variant} {key}", number(theirs), ours[key], TOLERANCE)
    table, ours_table = document["metrics_to_df"], replay.metrics_to_df(ours)
    yield same("metrics_to_df index", table["index"], list(ours_table.index))
    yield same("metrics_to_df columns", table["columns"], list(ours_table.columns))
    for name, line in zip(table["index"], table["data"], strict=True):
        for k, theirs in zip(table["columns"], line, strict=True):
            yield Comparison(f"metrics_to_df {name}@{k}", number(theirs), ours_table.loc[name, k], TOLERANCE)
