"""Keras: a callback that evaluates a model's scores of all items at the end of each epoch."""

from __future__ import annotations

from typing import Any

import keras

import bridgeval
from bridgeval.integrations.tracked_results import list_values


class RankingCallback(keras.callbacks.Callback):  # type: ignore[misc]
    """Adds the metrics to the logs of every epoch, so that `History`, `EarlyStopping` and loggers see them.

    Args:
        features: the input of `model.predict`, a row for each user; it returns scores `[U, N]`.
        relevance: as in `evaluate`; rows and items are numbered from 0 unless `users=` and `items=` say otherwise.
        metrics: as in `evaluate`.
        users: the ids of the rows.
        items: the ids of the columns.
        prefix: put before the names, which are those of `encode_name`: `val_nDCG_at_10`.
        **options: more arguments of `evaluate`, e.g. `history=`, whose items are masked.

    Give it before the callbacks that read its values.
    """

    def __init__(
        self,
        features: Any,
        relevance: Any,
        metrics: Any = ("nDCG@10", "Recall@10"),
        *,
        users: Any = None,
        items: Any = None,
        prefix: str = "val_",
        **options: Any,
    ) -> None:
        super().__init__()
        self.features, self.relevance, self.metrics = features, relevance, metrics
        self.users, self.items, self.prefix, self.options = users, items, prefix, options

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Evaluates the model as it is now."""
        scores = bridgeval.Scores(self.model.predict(self.features, verbose=0), self.users, self.items)
        report = bridgeval.evaluate(scores, self.relevance, self.metrics, **{"progress": False, **self.options})
        if logs is not None:
            logs.update({f"{self.prefix}{name}": value for name, value in list_values(report).items()})
