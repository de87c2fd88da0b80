"""Reads golden files of WarpRec's metrics (schema bridgeval-golden/1) and asks bridgeval for the same numbers.

What WarpRec's evaluator saw is given as ranked rows: every column of its score tensor, masked and padded cells with a
score of -inf, and a rank, because the order among equal and masked cells is `torch.topk`'s choice, which files record.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import bridgeval
from bridgeval.engine.metric import literal
from bridgeval.tables.context import Table
from bridgeval.tables.ids import Ids
from tests.golden.compare import Comparison, number

TOLERANCE = 2e-5
WITHOUT_CUTOFF = {"AUC", "GAUC", "MAE", "MSE", "RMSE", "BiasDisparityBS"}
SORTS_ALL_COLUMNS = {"AUC", "GAUC", "LAUC"}
GROUPS = re.compile(r"(?:_UC(\d+))?_IC(\d+)$")


def reads(document: dict[str, Any]) -> bool:
    return document.get("schema") == "bridgeval-golden/1" and document.get("tool") == "warprec"


def comparisons(path: Path, document: dict[str, Any]) -> Iterator[Comparison]:
    asked = [
        (variant, entry["metric"], entry["params"], k, numbers)
        for variant, entry in document["expected"].items()
        for k, numbers in entry["by_k"].items()
    ]
    world = World(document)
    for sorts in (False, True):
        chosen = [one for one in asked if (one[1] in SORTS_ALL_COLUMNS) == sorts]
        names = [named(metric, params, k) for _, metric, params, k, numbers in chosen if "error" not in numbers]
        report = world.evaluate(names, sorts) if names else None
        for variant, metric, params, k, numbers in chosen:
            where = f"{path.stem} {variant} k={k}"
            if "error" in numbers:
                yield Comparison(where, skipped="recorded error")
            else:
                assert report is not None
                yield from _compared(where, numbers, report, named(metric, params, k))


def named(metric: str, params: dict[str, Any], k: str) -> str:
    """WarpRec's metric as it is asked for here."""
    given = ", ".join(f"{name}={literal(value)}" for name, value in params.items())
    head = f"warprec:{metric}({given})" if given else f"warprec:{metric}"
    return head if metric in WITHOUT_CUTOFF else f"{head}@{k}"


def _compared(where: str, theirs: dict[str, Any], report: bridgeval.Report, name: str) -> Iterator[Comparison]:
    result = report.results[name]
    if "mean" in theirs:
        yield Comparison(f"{where} mean", number(theirs["mean"]), result.value, TOLERANCE)
    if "per_user" in theirs:
        ours = report.collected[name].to_dict()
        for user, value in enumerate(theirs["per_user"]):
            yield Comparison(f"{where} user {user}", number(value), ours.get(user, np.nan), TOLERANCE)
    for key, value in theirs.get("extra", {}).items():
        found = GROUPS.search(key)
        part = ", ".join(group for group in found.groups() if group is not None) if found else key
        yield Comparison(f"{where} {key}", number(value), result.parts.get(part), TOLERANCE)


class World:
    """The data of one file as arguments of `evaluate`.

    Items are numbered by popularity, equal ones by the head that the file records, because WarpRec's own order among
    them is its sort's choice and ours is that of the ids.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.users, self.items = document["num_users"], document["num_items"]
        self.train = {(pair[0], pair[1]) for pair in document["train"]}
        self.scores = np.array(document["scores"], dtype=np.float32)
        popularity = np.bincount([item for _, item in self.train], minlength=self.items)
        heads = np.zeros(self.items, dtype=int)
        for head in (document.get("short_head") or {}).values():
            heads[head] += 1
        self.order = np.lexsort((np.arange(self.items), -heads, -popularity))
        self.id_of = np.argsort(self.order)

    def evaluate(self, names: list[str], whole_order: bool) -> bridgeval.Report:
        document = self.document
        features = np.array(document["item_features"], dtype=np.float64).reshape(self.items, -1)
        return bridgeval.evaluate(
            self._shown(whole_order),
            self._relevance(),
            names,
            history=self._table([(user, self.id_of[item]) for user, item in sorted(self.train)], "user", "item"),
            catalogue=np.arange(self.items),
            users=np.arange(self.users),
            item_groups=_groups(np.array(document["item_cluster"])[self.order]),
            user_groups=_groups(np.array(document["user_cluster"])),
            item_features=Table(Ids.of(np.arange(self.items)), features[self.order]),
            per_user=True,
        )

    def _shown(self, whole_order: bool) -> pa.Table:
        rows = []
        for user in self.document["evaluated_users"]:
            columns = self._columns(user)
            for rank, column in enumerate(self._ranked(user, columns, whole_order), start=1):
                item, score = columns[column]
                # Each padded cell is an item of its own that the catalogue does not have.
                id_ = self.id_of[item] if item < self.items else self.items + column
                rows.append((user, id_, score, rank))
        return self._table(rows, "user", "item", "score", "rank")

    def _columns(self, user: int) -> list[tuple[int, np.float32]]:
        """(item, score) of each cell of the user's row; padding has an item beyond the catalogue."""
        if self.document["mode"] == "sampled":
            items = self.document["candidates_as_permuted"][str(user)]
            return [(i, self.scores[user, i] if i < self.items else np.float32(-np.inf)) for i in items]
        masks = self.document["drive"] != "step_unmasked"
        return [
            (item, np.float32(-np.inf) if masks and (user, item) in self.train else self.scores[user, item])
            for item in range(self.items)
        ]

    def _ranked(self, user: int, columns: list[tuple[int, np.float32]], whole_order: bool) -> list[int]:
        """The cells best first, as the file records it, then by score."""
        by_score = sorted(range(len(columns)), key=lambda column: -columns[column][1])
        recorded = self.document.get("full_sort_order")
        if whole_order and recorded:
            return list(recorded[str(user)])
        cells = defaultdict(list)
        for column, (item, _) in enumerate(columns):
            cells[item].append(column)
        first = [] if whole_order else [cells[i].pop(0) for i in self.document["topk_items_at_max_k"][str(user)]]
        taken = set(first)
        return first + [column for column in by_score if column not in taken]

    def _relevance(self) -> pa.Table:
        rows = []
        for user in self.document["evaluated_users"]:
            truth = self.document["ground_truth"].get(str(user), [])
            if self.document["mode"] == "sampled":
                truth = [(item, 1.0) for item in self.document["positives"][str(user)]]
            # A row of gain 0 says that the user was evaluated though nothing is relevant.
            rows += [(user, self.id_of[item], float(gain)) for item, gain in truth] or [(user, 0, 0.0)]
        return self._table(rows, "user", "item", "gain")

    @staticmethod
    def _table(rows: list[tuple[Any, ...]], *names: str) -> pa.Table:
        return pa.table({name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)})


def _groups(clusters: np.ndarray) -> Table:
    """Cluster 0 is nobody's; the others keep their numbers, those without a member included."""
    return Table(Ids.of(np.arange(len(clusters))), clusters.astype(np.int64), tuple(range(1, int(clusters.max()) + 1)))
