"""TensorBoard: results as scalars, users' values as histograms, the table and the manifest as text."""

from __future__ import annotations

from typing import Any

from bridgeval.integrations.metric_names import encode_name
from bridgeval.integrations.tracked_results import is_wanted, list_values


class TensorboardSink:
    """Writes an event file with the writer of torch."""

    name = "tensorboard"

    def write(self, results: Any, /, path: Any = None, step: int | str = 0, artifacts: bool | str = True) -> None:
        """Writes scalars; with artifacts also a histogram of the users' values, the table and the manifest.

        Args:
            results: a report, several or a comparison.
            path: the folder of event files; None takes torch's own, `runs/`.
            step: of all values.
            artifacts: whether to write more than the numbers.
        """
        from torch.utils.tensorboard import SummaryWriter

        at = int(step)
        with SummaryWriter(path) as writer:
            for name, value in list_values(results).items():
                writer.add_scalar(name, value, at)
            if is_wanted(artifacts):
                writer.add_text("bridgeval/table", results.to_markdown(), at)
                writer.add_text("bridgeval/report", f"```json\n{results.to_json()}\n```", at)
                for system, report in results.systems.items():
                    for name, table in report.collected.items():
                        tag = "/".join(filter(None, ["per_user", encode_name(system), encode_name(name)]))
                        writer.add_histogram(tag, table.values[table.values == table.values], at)
