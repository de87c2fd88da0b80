"""Small data in RePlay's shapes, in every kind of frame."""

from __future__ import annotations

import random
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa

NEW = ["query_id", "item_id", "rating"]
OLD = ["user_idx", "item_idx", "relevance"]


def world(seed: int = 0, users: int = 12, items: int = 30) -> dict[str, list[list[Any]]]:
    """Rows of recs, truth, train and base; some users lack a side."""
    draw = random.Random(seed)

    def lists(first: int, last: int, length: int) -> list[list[Any]]:
        return [
            [user, item, draw.random()]
            for user in range(first, last)
            for item in draw.sample(range(items), draw.randint(1, length))
        ]

    return {
        "recs": lists(2, users, 8),
        "truth": lists(0, users - 1, 5),
        "train": lists(1, users + 1, 9),
        "base": lists(3, users + 2, 8),
    }


def frame(rows: list[list[Any]], columns: list[str] = NEW, kind: str = "pandas") -> Any:
    made = pd.DataFrame(rows, columns=columns[: len(rows[0])])
    return {"pandas": lambda: made, "polars": lambda: pl.from_pandas(made), "arrow": lambda: pa.table(made)}[kind]()


def lists_and_truth(rows: dict[str, list[list[Any]]], kind: str) -> tuple[Any, Any]:
    """Recommendations and truth of a world."""
    if kind == "dict":
        return pairs(rows["recs"]), items(rows["truth"])
    return frame(rows["recs"], NEW, kind), frame(rows["truth"], NEW, kind)


def pairs(rows: list[list[Any]]) -> dict[Any, list[tuple[Any, float]]]:
    lists: dict[Any, list[tuple[Any, float]]] = {}
    for user, item, score in rows:
        lists.setdefault(user, []).append((item, score))
    return lists


def items(rows: list[list[Any]]) -> dict[Any, list[Any]]:
    return {user: [item for item, _ in shown] for user, shown in pairs(rows).items()}
