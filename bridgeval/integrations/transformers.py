"""Hugging Face Trainer: `compute_metrics` for models that score every item."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bridgeval
from bridgeval.errors import MisalignedError
from bridgeval.integrations.tracked_results import list_values


def make_compute_metrics(metrics: Any, **options: Any) -> Callable[[Any], dict[str, float]]:
    """A function for `Trainer(compute_metrics=)`. Predictions are scores `[B, N]`; each row is a user.

    Args:
        metrics: as in `evaluate`.
        **options: more arguments of `evaluate`; rows and items are numbered from 0.

    Labels are the numbers of relevant items, `[B]` or `[B, m]` padded with negative numbers such as -100; or flags or
    gains of all items, boolean or floating `[B, N]`. Values are named as by `encode_name`; Trainer puts `eval_` before
    them.
    """

    def compute_metrics(prediction: Any) -> dict[str, float]:
        outputs = prediction.predictions
        scores = outputs[0] if isinstance(outputs, tuple) else outputs
        truth = _read_labels(prediction.label_ids, scores.shape)
        report = bridgeval.evaluate(bridgeval.Scores(scores), truth, metrics, **{"progress": False, **options})
        return list_values(report)

    return compute_metrics


def _read_labels(labels: Any, shape: tuple[int, ...]) -> Any:
    """A table of the relevant items."""
    import numpy as np
    import pyarrow as pa

    given = np.asarray(labels)
    if len(shape) != 2 or len(given) != shape[0]:
        raise MisalignedError(
            "predictions must be scores of all items, with labels for each row",
            f"predictions of shape {tuple(shape)}, labels of shape {given.shape}",
            "let the model return logits [B, N]",
        )
    if given.dtype.kind in "iu":
        cells = given.reshape(len(given), -1)
        rows, places = np.nonzero(cells >= 0)
        return pa.table({"user_id": rows, "item_id": cells[rows, places].astype(np.int64)})
    rows, items = np.nonzero(given)
    return pa.table({"user_id": rows, "item_id": items, "gain": given[rows, items].astype(np.float64)})
