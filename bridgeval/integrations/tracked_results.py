"""Results as trackers store them: numbers by name, files, and the table of users."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bridgeval.integrations.metric_names import encode_name
from bridgeval.plugin import UserTable


def list_values(results: Any) -> dict[str, float]:
    """Name -> number, of a report, of several or of a comparison; undefined numbers are left out.

    Several systems give `system/nDCG_at_10`. A comparison adds `difference/system/baseline/nDCG_at_10`, and
    `p/...`, the adjusted p.

    >>> import bridgeval
    >>> list_values(bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, "Recall@1"))
    {'Recall_at_1': 1.0}
    """
    return {"/".join(map(encode_name, path)): value for path, value in _list_paths(results) if math.isfinite(value)}


def _list_paths(results: Any) -> Iterator[tuple[tuple[str, ...], float]]:
    for system, report in results.systems.items():
        for name, value in report.items():
            yield ((system, name) if system else (name,)), value
    for one in getattr(results, "differences", ()):
        yield ("difference", one.system, one.baseline, one.metric), one.difference
        yield ("p", one.system, one.baseline, one.metric), one.adjusted


def list_users(results: Any) -> Any:
    """A pandas frame (user, metric, k, value, system), whatever kind of frame the lists came in.

    None if the reports keep no values of users, or keep them in Spark.

    >>> import bridgeval, pyarrow as pa
    >>> shown = pa.table({"customer_id": ["ann"], "item_id": ["tea"]})
    >>> report = bridgeval.evaluate(shown, {"ann": ["tea"]}, "Recall@1", per_user=True)
    >>> list_users(report).values.tolist()
    [['ann', 'Recall@1', 1, 1.0, '']]
    """
    import pandas as pd

    frames = []
    for system, report in results.systems.items():
        kept = {(name, report.metrics[name].cutoff): table for name, table in report.collected.items()}
        if kept and all(isinstance(table, UserTable) for table in kept.values()):
            frames.append(UserTable.together(kept).assign(system=system))
    return pd.concat(frames, ignore_index=True) if frames else None


def write_files(results: Any, folder: str | Path) -> None:
    """Writes the page, `report.html`, and the numbers with their definitions and manifest, `report.json`."""
    results.to_html(Path(folder) / "report.html")
    results.to_json(Path(folder) / "report.json")


def is_wanted(option: bool | str) -> bool:
    """Whether an option is on; on the command line it is text.

    >>> is_wanted(True), is_wanted("no"), is_wanted("yes")
    (True, False, True)
    """
    return str(option).lower() not in ("false", "no", "0")
