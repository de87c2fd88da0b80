"""Pictures of a study: a bar chart and a box plot for each metric, drawn to files without a display."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from bridgeval.plugin import written_beside

if TYPE_CHECKING:
    import pandas as pd


def draw(folds: pd.DataFrame, metrics: list[str], folder: Path) -> list[Path]:
    """Draws `bar-<metric>.png` and, with more than one fold, `box-<metric>.png`; returns the files.

    Args:
        folds: a row for each experiment and fold.
        metrics: its columns to draw.
        folder: created if it does not exist.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for metric in metrics:
        by_experiment = {str(name): part[metric].to_numpy() for name, part in folds.groupby("experiment", sort=False)}
        kinds = ["bar", "box"] if max(map(len, by_experiment.values())) > 1 else ["bar"]
        for kind in kinds:
            figure = Figure(figsize=(max(4.0, 1.2 * len(by_experiment) + 2), 4.0), layout="constrained")
            FigureCanvasAgg(figure)
            axes = figure.add_subplot()
            places = list(range(1, len(by_experiment) + 1))
            if kind == "bar":
                axes.bar(places, [values.mean() for values in by_experiment.values()])
                axes.set_ylabel("mean over folds")
            else:
                axes.boxplot(list(by_experiment.values()), positions=places)
                axes.set_ylabel("folds")
            axes.set_xticks(places, list(by_experiment))
            axes.set_title(metric)
            path = folder / f"{kind}-{_make_file_name(metric)}.png"
            with written_beside(path) as beside:
                figure.savefig(beside, dpi=120, format="png")
            written.append(path)
    return written


def _make_file_name(metric: str) -> str:
    """Makes a file name of a metric's name.

    >>> _make_file_name('librec:psp(protected="new")@10')
    'librec-psp-protected-new-10'
    """
    return re.sub(r"[^\w.]+", "-", metric).strip("-")
