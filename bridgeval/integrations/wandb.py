"""W&B: results as values of a run, a table of users and an artifact."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import Any

from bridgeval.integrations.tracked_results import is_wanted, list_users, list_values, write_files


class WandbSink:
    """Writes to the active run; without one, to a run of its own, which it finishes."""

    name = "wandb"

    def write(
        self, results: Any, /, step: int | str | None = None, artifacts: bool | str = True, project: str | None = None
    ) -> None:
        """Logs the numbers, the table of users, and an artifact with the page and the JSON with the manifest.

        Args:
            results: a report, several or a comparison.
            step: of the run; None takes its next one.
            artifacts: whether to log more than the numbers.
            project: of the run, if none is active.
        """
        import wandb

        active = wandb.run
        run = active or wandb.init(project=project)
        logged: dict[str, Any] = dict(list_values(results))
        if is_wanted(artifacts):
            if (users := list_users(results)) is not None:
                # A column of W&B has one type; user ids may be numbers in one system and text in another.
                logged["per_user"] = wandb.Table(dataframe=users.assign(user=users["user"].astype(str)))
            artifact = wandb.Artifact("bridgeval-report", type="evaluation")
            with TemporaryDirectory() as folder:
                write_files(results, folder)
                # Files are copied to W&B's own folder here.
                artifact.add_dir(folder)
            run.log_artifact(artifact)
        run.log(logged, step=None if step is None else int(step))
        if active is None:
            run.finish()
