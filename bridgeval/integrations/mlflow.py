"""MLflow: results as metrics, a table of users and artifacts of a run."""

from __future__ import annotations

from contextlib import nullcontext
from tempfile import TemporaryDirectory
from typing import Any

from bridgeval.integrations.tracked_results import is_wanted, list_users, list_values, write_files


class MlflowSink:
    """Writes to the active run; without one, to a run of its own."""

    name = "mlflow"

    def write(
        self, results: Any, /, step: int | str = 0, artifacts: bool | str = True, run_name: str | None = None
    ) -> None:
        """Logs the numbers, and as artifacts in `bridgeval/` the page, the JSON with the manifest, the table of users.

        Args:
            results: a report, several or a comparison.
            step: of the metrics.
            artifacts: whether to log more than the numbers.
            run_name: of the run, if none is active.
        """
        import mlflow

        with nullcontext() if mlflow.active_run() else mlflow.start_run(run_name=run_name):
            mlflow.log_metrics(list_values(results), step=int(step))
            if is_wanted(artifacts):
                with TemporaryDirectory() as folder:
                    write_files(results, folder)
                    mlflow.log_artifacts(folder, "bridgeval")
                if (users := list_users(results)) is not None:
                    mlflow.log_table(users, "bridgeval/per_user.json")
