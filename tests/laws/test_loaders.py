"""One small world through every loader gives one report."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
import torch

from bridgeval import Scores, plugins
from bridgeval.loading import choose_loader
from bridgeval.tables.ids import Ids
from bridgeval.tables.rows import Rows
from bridgeval.testing import World, check_loader, world
from bridgeval.toolkits.librec import Fold
from bridgeval.toolkits.warprec.loader import Recommendations


def rows(table: Mapping[Any, Any], *names: str) -> dict[str, list[Any]]:
    """Columns of a mapping user -> item -> number, user -> (item, number) pairs, or user -> items."""
    flat = [
        (user, *pair) if isinstance(pair, tuple) else (user, pair)
        for user, entry in table.items()
        for pair in (entry.items() if isinstance(entry, Mapping) else entry)
    ]
    return {name: [row[at] for row in flat] for at, name in enumerate(names)}


def frames(data: World, make: Callable[[dict[str, list[Any]]], Any]) -> tuple[Any, Any, dict[str, Any]]:
    """The world in frames: long ones for pairs, mappings by id for the rest."""
    extras = dict(data.extras)
    extras["history"] = make(rows(extras["history"], "user_id", "item_id"))
    extras["prev_scores"] = make(rows(extras["prev_scores"], "user_id", "item_id", "score"))
    extras["baseline"] = make(rows(extras["baseline"], "user_id", "item_id"))
    return (
        make(rows(data.recommendations, "user_id", "item_id", "score")),
        make(rows(data.relevance, "user_id", "item_id", "gain")),
        extras,
    )


def files(data: World, folder: Any, kind: str) -> tuple[Any, Any, dict[str, Any]]:
    recommendations, relevance, _ = frames(data, pa.table)
    paths = []
    for name, table in (("recommendations", recommendations), ("relevance", relevance)):
        path = folder / f"{name}.{kind}"
        if kind == "parquet":
            pq.write_table(table, path)
        else:
            table.to_pandas().to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
        paths.append(str(path))
    return *paths, {}


def scores(data: World, make: Callable[[Any], Any]) -> tuple[Any, Any, dict[str, Any]]:
    """The world as scores of all items that it shows; what a user was not shown is not stored, or -inf."""
    users = list(data.recommendations)
    items = sorted({item for pairs in data.recommendations.values() for item, _ in pairs}, reverse=True)
    best: dict[tuple[int, int], float] = {}
    for row, user in enumerate(users):
        for item, score in data.recommendations[user]:
            cell = row, items.index(item)
            best[cell] = max(score, best.get(cell, score))
    places = tuple(zip(*best, strict=True))
    sparse = scipy.sparse.csr_matrix((list(best.values()), places), shape=(len(users), len(items)))
    return Scores(make(sparse), users, items), data.relevance, dict(data.extras)


def dense(sparse: Any) -> Any:
    values = np.full(sparse.shape, -np.inf)
    cells = sparse.tocoo()
    values[cells.row, cells.col] = cells.data
    return values


def written(data: World) -> tuple[Any, Any, dict[str, Any]]:
    """The world as it stands in a file of WarpRec's: best first, each item once, without those at -inf."""
    shown = []
    for user, pairs in data.recommendations.items():
        best = {item: max(s for i, s in pairs if i == item) for item, _ in pairs}
        order = sorted(best, key=lambda item: (best[item], item), reverse=True)
        shown += [(user, item, best[item]) for item in order if best[item] != -np.inf]
    users, items, numbers = zip(*shown, strict=True)
    rows = Rows(Ids.of(users), Ids.of(items), {"score": np.array(numbers)}, ranked=True)
    return Recommendations("model", rows), data.relevance, dict(data.extras)


def librec(data: World, folder: Any) -> tuple[Any, Any, dict[str, Any]]:
    """Text files: no masked and no repeated rows, each user's best first, as LibRec writes them."""
    lines = []
    for user, pairs in data.recommendations.items():
        best: dict[Any, float] = {}
        for item, score in pairs:
            best[item] = max(score, best.get(item, -math.inf))
        shown = sorted(((score, item) for item, score in best.items() if score > -math.inf), reverse=True)
        lines += [f"{user},{item},{score}\n" for score, item in shown]
    (folder / "out-1.txt").write_text("".join(lines))
    ratings = [(user, item, gain) for user, gains in data.relevance.items() for item, gain in gains.items()]
    (folder / "test.txt").write_text("".join(f"{user}\t{item}\t{gain}\n" for user, item, gain in ratings))
    return Fold(folder / "out-1.txt", folder / "test.txt"), None, {}


# Loader -> the forms that it reads the world in.
FORMS: dict[str, dict[str, Callable[[World, Any], tuple[Any, Any, dict[str, Any]]]]] = {
    "mapping": {"mappings": lambda data, folder: (data.recommendations, data.relevance, dict(data.extras))},
    "frames": {
        "pandas": lambda data, folder: frames(data, pd.DataFrame),
        "polars": lambda data, folder: frames(data, pl.DataFrame),
        "arrow": lambda data, folder: frames(data, pa.table),
        "parquet": lambda data, folder: files(data, folder, "parquet"),
        "csv": lambda data, folder: files(data, folder, "csv"),
        "tsv": lambda data, folder: files(data, folder, "tsv"),
    },
    "scores": {
        "sparse": lambda data, folder: scores(data, lambda sparse: sparse),
        "array": lambda data, folder: scores(data, dense),
        "tensor": lambda data, folder: scores(data, lambda sparse: torch.from_numpy(dense(sparse))),
    },
    "warprec": {"recommendations": lambda data, folder: written(data)},
    "librec": {"files": librec},
}
TEXT_IDS_ONLY = {"librec"}
TRIED = [
    (loader, form, ids)
    for loader, forms in FORMS.items()
    for form in forms
    for ids in ("integer", "string")
    if ids == "string" or loader not in TEXT_IDS_ONLY
]


@pytest.mark.parametrize(("loader", "form", "ids"), TRIED, ids=["-".join(one) for one in TRIED])
def test_a_loader_keeps_the_laws(loader, form, ids, tmp_path):
    data = world(ids, fractions=True)
    recommendations, relevance, extras = FORMS[loader][form](data, tmp_path)
    check_loader(plugins.installed().loaders[loader], recommendations, relevance, world=data, **extras)
    assert choose_loader(plugins.installed(), recommendations, relevance).name == loader


def test_every_built_in_loader_is_tried():
    in_a_session_of_its_own = {"spark"}
    assert set(plugins.load_plugins(entry_points=()).loaders) == set(FORMS) | in_a_session_of_its_own
