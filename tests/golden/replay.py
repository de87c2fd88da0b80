"""Golden files of RePlay. The layout, which is the file's `format`, decides who reads it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bridgeval.toolkits import replay
from tests.golden import replay_ncis
from tests.golden.compare import Comparison
from tests.golden.marks import Place
from tests.golden.replay_experimental import old_calls, old_tables
from tests.golden.replay_tables import tables
from tests.golden.replay_torch import torch_builder
from tests.golden.replay_values import values_by_engine

FORMAT = "bridgeval-golden-replay"
# Keys under which a file has what RePlay was given, or names of rows and columns; all other numbers are its results.
INPUTS = {
    *("format", "name", "tags", "source", "note", "columns", "index", "metrics", "metrics_in_order", "added_in_order"),
    *("recs", "truth", "train", "base_recs", "base_recs_2", "categories", "ground_truth_users", "users"),
    *("ks", "k", "alpha", "top_k", "item_count", "batches", "predictions", "ground_truth"),
    *("prev", "prev_policy", "threshold", "activation"),
}


def reads(document: dict[str, Any]) -> bool:
    return _layout(str(document.get("format", ""))) in LAYOUTS


def is_output(place: Place) -> bool:
    """Of enriched rows (user, items, weights, truth) the weights; of results in order all but the users."""
    if "enriched" in place:
        return place[place.index("enriched") + 2] == 2
    if "results_in_order" in place:
        _, _, _, *of_user = place[place.index("results_in_order") + 1 :]
        return not of_user or of_user[-1] == 1
    return not INPUTS & set(place)


def comparisons(path: Path, document: dict[str, Any]) -> Iterator[Comparison]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", replay.MetricDuplicatesWarning)
        yield from LAYOUTS[_layout(document["format"])](document)


def _layout(layout: str) -> str:
    return layout.removeprefix(FORMAT).partition("/")[0] if layout.startswith(FORMAT) else "?"


LAYOUTS: dict[str, Callable[[dict[str, Any]], Iterator[Comparison]]] = {
    "": values_by_engine,
    "-tables": tables,
    "-torch": torch_builder,
    "-old": old_calls,
    "-old-tables": old_tables,
    "-ncis": replay_ncis.comparisons,
    "-ncis-edges": replay_ncis.comparisons,
}
