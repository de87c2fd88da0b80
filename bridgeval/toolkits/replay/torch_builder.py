"""Drop-in for RePlay's TorchMetricsBuilder: evaluates the predictions of a training loop, batch after batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import numpy.typing as npt
from torch import Tensor

from bridgeval.errors import BadParameterError, MisalignedError, NeedError
from bridgeval.plugin import Ids, Inputs, Rows
from bridgeval.toolkits.replay.bases import sort_cutoffs
from bridgeval.toolkits.replay.calls import compute
from bridgeval.toolkits.replay.conventions import REPLAY

if TYPE_CHECKING:
    import pandas as pd

Matrix = npt.NDArray[np.int64]
MetricName = Literal["recall", "precision", "ndcg", "map", "mrr", "novelty", "coverage"]

DEFAULT_METRICS: list[MetricName] = ["map", "ndcg", "recall"]
DEFAULT_KS: list[int] = [1, 5, 10, 20]

# The builder's names, in the order of its results: lines of the convention, and parameters that the builder changes.
_LINES: Mapping[MetricName, tuple[str, Mapping[str, Any]]] = {
    "recall": ("Recall", {"repeated": "each"}),
    "precision": ("Precision", {"repeated": "each"}),
    "ndcg": ("NDCG", {}),
    "map": ("MAP", {}),
    "mrr": ("MRR", {}),
    "novelty": ("Novelty", {"divide_by": "k", "repeated": "each"}),
    "coverage": ("Coverage", {"known": "catalogue"}),
}
_OF_TRAIN = {"novelty", "coverage"}


class TorchMetricsBuilder:
    """Collects predictions and gives the metrics of all of them, in float64.

    Every row counts, those without truth with 0. Repeated predictions and repeated truth count each time. A negative
    prediction, the padding of a short list, keeps its place and is in neither the truth nor the train data.

    Args:
        metrics: of recall, precision, ndcg, map, mrr, novelty, coverage.
        top_k: the cutoffs.
        item_count: coverage leaves out items from this number up; None leaves out none.

    >>> import torch
    >>> builder = TorchMetricsBuilder(["recall", "mrr"], [1, 2])
    >>> builder.add_prediction(torch.tensor([[7, 8]]), torch.tensor([[8, -1]]))
    >>> builder.get_metrics()
    {'recall@1': 0.0, 'mrr@1': 0.0, 'recall@2': 1.0, 'mrr@2': 0.5}
    """

    def __init__(
        self,
        metrics: Sequence[MetricName] = DEFAULT_METRICS,
        top_k: Sequence[int] | int = DEFAULT_KS,
        item_count: int | None = None,
    ) -> None:
        unknown = [name for name in metrics if name not in _LINES]
        if unknown:
            raise BadParameterError(
                f"the builder has no metric {unknown[0]!r}", hint=f"its metrics are {', '.join(_LINES)}"
            )
        self.item_count = item_count
        self._metrics: list[MetricName] = [name for name in _LINES if name in metrics]
        self._top_k = sort_cutoffs(top_k, "TorchMetricsBuilder")
        self.reset()

    @property
    def max_k(self) -> int:
        """The largest cutoff."""
        return self._top_k[-1]

    def reset(self) -> None:
        """Forgets what was added."""
        self._predictions: list[Matrix] = []
        self._truth: list[Matrix] = []
        self._train: list[Matrix] = []

    def add_prediction(self, predictions: Tensor, ground_truth: Tensor, train: Tensor | None = None) -> None:
        """Adds a batch.

        Args:
            predictions: `[B, n]` items, best first, padded with negative numbers.
            ground_truth: `[B, m]` relevant items, padded with negative numbers.
            train: `[B, t]` items of the train data, padded with negative numbers; for novelty and coverage.
        """
        if train is None and _OF_TRAIN & set(self._metrics):
            raise NeedError("novelty and coverage need the train items", hint="give train=")
        rows = [len(one) for one in (predictions, ground_truth, train) if one is not None]
        if len(set(rows)) > 1:
            raise MisalignedError("predictions, ground_truth and train must have the same number of rows", f"{rows}")
        self._predictions.append(_read_matrix(predictions))
        self._truth.append(_read_matrix(ground_truth))
        if train is not None:
            self._train.append(_read_matrix(train))

    def get_metrics(self) -> dict[str, float]:
        """Values by name and cutoff: for each cutoff all metrics but coverage, then coverage."""
        if not self._predictions:
            raise NeedError("no prediction was added", hint="call add_prediction for every batch")
        asked = {
            f"{name}@{k}": REPLAY.metrics[_LINES[name][0]](k=k, **{"users": "shown", **_LINES[name][1]})
            for names in ([n for n in self._metrics if n != "coverage"], [n for n in self._metrics if n == "coverage"])
            for k in self._top_k
            for name in names
        }
        shown = replace(_read_rows(self._predictions, with_padding=True), ranked=True)
        inputs = Inputs(shown, _read_rows(self._truth))
        if self._train:
            history = _read_rows(self._train)
            items = np.unique(history.items.to_numpy())
            counted = items if self.item_count is None else items[items < self.item_count]
            inputs = replace(inputs, history=history, catalogue=Ids(counted))
        results = compute(asked.values(), inputs)
        return {key: cast(float, results[metric].value) for key, metric in asked.items()}


def metrics_to_df(metrics: Mapping[str, float]) -> pd.DataFrame:
    """A table of "name@k" values: names as rows, cutoffs as columns."""
    import pandas as pd

    split = [(*key.rsplit("@", 1), value) for key, value in metrics.items()]
    long = pd.DataFrame(split, columns=["metric", "k", "value"]).astype({"k": int})
    table = long.pivot(index="metric", columns="k", values="value")
    table.index.name = None
    return table


def _read_matrix(tensor: Tensor) -> Matrix:
    return tensor.detach().cpu().numpy().astype(np.int64)


def _read_rows(batches: Sequence[Matrix], with_padding: bool = False) -> Rows:
    """(row of all batches, item) of the numbers in the order of the rows; negative ones are padding."""
    users, items = [], []
    before = 0
    for batch in batches:
        row, column = np.nonzero((batch >= 0) | with_padding)
        item = batch[row, column]
        users.append(row + before)
        # Each padded place of a row is another item, so that padding is not taken for repeated predictions.
        items.append(np.where(item < 0, -1 - column, item))
        before += len(batch)
    return Rows(Ids(np.concatenate(users)), Ids(np.concatenate(items)))
