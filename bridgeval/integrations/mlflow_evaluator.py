"""MLflow's evaluator plugin: `mlflow.models.evaluate(..., evaluators="bridgeval")`, found by entry point."""

from __future__ import annotations

from typing import Any

import mlflow
from mlflow.models import EvaluationResult
from mlflow.models.evaluation import ModelEvaluator

from bridgeval.errors import ConfigError
from bridgeval.integrations.grouped_rows import evaluate_groups
from bridgeval.integrations.tracked_results import list_values


class BridgevalEvaluator(ModelEvaluator):  # type: ignore[misc]
    """Ranks the rows of a data set within groups.

    `evaluator_config` has `groups`, the name of a column of the data, and `metrics`, as in `evaluate`. Scores are the
    predictions, or what the model gives for the features without the column of groups.
    """

    @classmethod
    def can_evaluate(cls, *, model_type: Any, evaluator_config: Any, **others: Any) -> bool:
        """Whether MLflow may call it: it must be asked for by its settings."""
        return "groups" in (evaluator_config or {})

    def evaluate(
        self,
        *,
        model_type: Any,
        dataset: Any,
        run_id: str,
        evaluator_config: Any,
        model: Any = None,
        predictions: Any = None,
        **others: Any,
    ) -> Any:
        """Logs the numbers to the run and returns them."""
        settings = {"metrics": ["nDCG@10", "Recall@10"], **evaluator_config}
        column, data = settings["groups"], dataset.features_data
        if column not in data:
            raise ConfigError(
                f"the data has no column {column!r}", f"columns {', '.join(map(str, data))}", "name it as 'groups'"
            )
        scores = dataset.predictions_data if predictions is None else predictions
        if scores is None:
            scores = model.predict(data.drop(columns=column))
        report = evaluate_groups(dataset.labels_data, scores, data[column], settings["metrics"])
        values = list_values(report)
        mlflow.log_metrics(values, run_id=run_id)
        return EvaluationResult(metrics=values, artifacts={}, run_id=run_id)
