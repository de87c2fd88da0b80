"""Lightning: a callback that evaluates the scores of validation and test batches as they come."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch.distributed

import bridgeval
from bridgeval.errors import InputError
from bridgeval.integrations.tracked_results import list_values

try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback


class RankingCallback(Callback):  # type: ignore[misc]
    """Logs metrics of every validation and test epoch, so that loggers, `EarlyStopping` and `ModelCheckpoint` see them.

    Scores stay where they are: on a GPU they are ranked there (`OnlineEvaluator`). With several processes each gets the
    metrics of all. Several data loaders are named as Lightning names them: `val_nDCG_at_10/dataloader_idx_1`.

    Args:
        metrics: as in `evaluate`.
        read: gets what `validation_step` or `test_step` returned, and the batch, and returns the arguments of
            `OnlineEvaluator.update`: (scores, truth) or (scores, truth, seen). Without it the step returns a mapping
            with "scores", "truth" and perhaps "seen".
        prefixes: put before the names of validation and of test, which are those of `encode_name`.
        **options: more arguments of `OnlineEvaluator`: `items=`, `catalogue=`, `history=`, ...
    """

    def __init__(
        self,
        metrics: Any = ("nDCG@10", "Recall@10"),
        *,
        read: Callable[[Any, Any], tuple[Any, ...]] | None = None,
        prefixes: tuple[str, str] = ("val_", "test_"),
        **options: Any,
    ) -> None:
        super().__init__()
        self._make = partial(bridgeval.OnlineEvaluator, metrics, **options)
        self._make()  # a wrong name is an error before the training
        self._read = read or _read_outputs
        self._prefixes = prefixes
        self._evaluators: dict[int, bridgeval.OnlineEvaluator] = {}

    def on_validation_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Forgets the epoch before."""
        self._evaluators = {}

    def on_validation_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Adds a batch."""
        if dataloader_idx not in self._evaluators:
            self._evaluators[dataloader_idx] = self._make()
        self._evaluators[dataloader_idx].update(*self._read(outputs, batch))

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Logs the metrics of the epoch."""
        self._log(trainer, pl_module, self._prefixes[0])

    on_test_epoch_start = on_validation_epoch_start
    on_test_batch_end = on_validation_batch_end

    def on_test_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Logs the metrics of the test."""
        self._log(trainer, pl_module, self._prefixes[1])

    def _log(self, trainer: Any, pl_module: Any, prefix: str) -> None:
        group = torch.distributed.group.WORLD if trainer.world_size > 1 else None
        for index, evaluator in sorted(self._evaluators.items()):
            values = list_values(evaluator.compute(group))
            several = f"/dataloader_idx_{index}" if len(self._evaluators) > 1 else ""
            named = {f"{prefix}{name}{several}": value for name, value in values.items()}
            pl_module.log_dict(named, batch_size=1, add_dataloader_idx=False)


def _read_outputs(outputs: Any, batch: Any) -> tuple[Any, ...]:
    if not hasattr(outputs, "keys") or not {"scores", "truth"} <= set(outputs.keys()):
        found = f"keys {', '.join(map(str, outputs.keys()))}" if hasattr(outputs, "keys") else type(outputs).__name__
        raise InputError(
            "the step must return the scores and the relevant items",
            found,
            'return {"scores": ..., "truth": ...}, or give {argument}, a function of outputs and batch',
            argument="read",
        )
    return outputs["scores"], outputs["truth"], outputs.get("seen")
