"""Candidates: the items that each user's ranking may hold, for evaluation on a sample of the catalogue."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from bridgeval.arguments import checked
from bridgeval.errors import BadParameterError, InputError
from bridgeval.io.documents import parse_json
from bridgeval.io.files import is_path, read_table
from bridgeval.io.outputs import written_beside
from bridgeval.tables.encoding import encode_ids, sort_unique
from bridgeval.tables.grouping import group_codes
from bridgeval.tables.groups import read_ids
from bridgeval.tables.history import History
from bridgeval.tables.ids import Codes, Ids
from bridgeval.tables.pair_column import Positions
from bridgeval.tables.rows import Rows, read_rows

Strategy = Literal["uniform", "popularity"]
Shorter = Literal["error", "allow"]

METADATA = b"bridgeval.candidates"
HOW_TO_SAVE = "give a file that Candidates.save wrote"
USERS_PER_CHUNK = 1 << 14
# Draws of a seen or repeated item are rejected, which is fast while few are. After so many rounds the rest is drawn
# from the items that are left.
ROUNDS = 6


@dataclass(frozen=True, eq=False)
class Candidates:
    """A list of items for each user (CSR), in random order.

    Attributes:
        users: `[U]`.
        offsets: `[U + 1]`; user u's items are `offsets[u]:offsets[u + 1]`.
        items: `[n]` codes into `vocabulary`.
        vocabulary: `[V]` sorted item ids.
        negatives: how many irrelevant items were sampled for each user; 0 if nothing was sampled.
        strategy, seed: how they were sampled.
    """

    users: Ids
    offsets: npt.NDArray[np.int64]
    items: Codes
    vocabulary: Ids
    negatives: int = 0
    strategy: Strategy = "uniform"
    seed: int = 0

    @staticmethod
    def of_grid(grid: Any, users: Ids) -> Candidates:
        """Candidates from `[U, C]` ids; None and negative numbers are padding."""
        rows = [list(row) for row in grid] if not isinstance(grid, np.ndarray) else grid.tolist()
        kept = [[item for item in row if not (item is None or (isinstance(item, int) and item < 0))] for row in rows]
        if [row[: len(keep)] for row, keep in zip(rows, kept, strict=True)] != kept:
            raise InputError(
                "padding stands before an item in the candidates", hint="put padding at the end of each row"
            )
        flat = [item for row in kept for item in row]
        offsets = np.zeros(len(kept) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in kept], out=offsets[1:])
        vocabulary, (items,) = encode_ids([Ids.of(flat, "candidates") if flat else Ids(np.zeros(0, dtype=np.int64))])
        return Candidates(users, offsets, items, vocabulary)

    def __len__(self) -> int:
        return len(self.users)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        return np.diff(self.offsets)

    @property
    def label(self) -> str:
        """The mark of numbers that were computed from them."""
        return f"sampled n={self.negatives}" if self.negatives else ""

    @cached_property
    def rows(self) -> tuple[Ids, Positions]:
        """The users sorted, and the row of each."""
        users, (codes,) = encode_ids([self.users])
        row_of = np.empty(len(codes), dtype=np.int64)
        row_of[codes] = np.arange(len(codes))
        return users, row_of

    def to_dict(self) -> dict[Any, list[Any]]:
        """User -> items."""
        ids = self.vocabulary.take(self.items).tolist()
        ends = self.offsets.tolist()
        return {user: ids[ends[at] : ends[at + 1]] for at, user in enumerate(self.users.tolist())}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a Parquet file (user, item) with the parameters in its metadata."""
        owners = np.repeat(np.arange(len(self)), self.lengths)
        table = pa.table(
            {"user": self.users.take(owners).to_arrow(), "item": self.vocabulary.take(self.items).to_arrow()}
        )
        parameters = {"negatives": self.negatives, "strategy": self.strategy, "seed": self.seed}
        with written_beside(path) as beside:
            pq.write_table(table.replace_schema_metadata({METADATA: json.dumps(parameters)}), beside)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Candidates:
        """Reads what `save` wrote."""
        table = read_table(os.fspath(path))
        written = (table.schema.metadata or {}).get(METADATA)
        if written is None:
            raise InputError(
                f"{os.fspath(path)!r} holds no candidates",
                f"columns {table.column_names} without the parameters of the sampling",
                HOW_TO_SAVE,
            )
        parameters = parse_json(written, os.fspath(path), HOW_TO_SAVE)
        if not _are_parameters(parameters) or not {"user", "item"} <= set(table.column_names):
            found = f"columns {table.column_names}, parameters {parameters!r:.200}"
            raise InputError(f"{os.fspath(path)!r} holds no candidates", found, HOW_TO_SAVE)
        users, (owners,) = encode_ids([Ids.of(table["user"], "user ids")])
        vocabulary, (items,) = encode_ids([Ids.of(table["item"], "item ids")])
        return _group(users, owners, items, vocabulary, **parameters)


def _are_parameters(value: Any) -> bool:
    """Whether these are the parameters of a sampling."""
    return (
        isinstance(value, dict)
        and {*value} == {"negatives", "strategy", "seed"}
        and all(type(value[name]) is int and value[name] >= 0 for name in ("negatives", "seed"))
        and value["strategy"] in get_args(Strategy)
    )


def _group(users: Ids, owners: Codes, items: Codes, vocabulary: Ids, **parameters: Any) -> Candidates:
    by_user = group_codes(owners, len(users))
    return Candidates(users, by_user.offsets, by_user.group(items, {})[0], vocabulary, **parameters)


@checked
def sample_candidates(
    relevance: Any,
    history: Any = None,
    catalogue: Any = None,
    negatives: int = 99,
    strategy: Strategy = "uniform",
    *,
    seed: int = 0,
    shorter: Shorter = "error",
) -> Candidates:
    """Samples candidates: for each user with relevance the relevant items and some that the user never met, shuffled.

    Items are drawn without replacement, each draw proportional to the weights of the items that are left, so "uniform"
    gives every set of unseen items the same chance. Equal arguments give equal candidates, whatever model they are for.

    Args:
        relevance: a frame, a mapping or a file, as for `evaluate`. All its items become candidates.
        history: training interactions; what a user has there is not sampled for that user.
        catalogue: the items to sample from; None takes those of the history and the relevance.
        negatives: how many to sample for each user.
        strategy: "uniform", or "popularity": weighted by the number of users who have the item in the history.
        seed: of the sampling and of the order.
        shorter: what to do if fewer items are left than asked for: "error", or "allow" a shorter list.

    >>> chosen = sample_candidates({"ann": ["a"]}, {"ann": ["b"]}, list("abcdef"), negatives=3, seed=1)
    >>> len(chosen.to_dict()["ann"]), "a" in chosen.to_dict()["ann"], "b" in chosen.to_dict()["ann"]
    (4, True, False)
    """
    _check(negatives, strategy, shorter, history)
    relevant = _read(relevance, "relevance")
    had = (
        Rows(Ids.empty_like(relevant.owners), Ids.empty_like(relevant.items))
        if history is None
        else _read(history, "history")
    )
    users, (owners, had_owners) = encode_ids([relevant.owners, had.owners], "user ids")
    offered = encode_ids([had.items, relevant.items])[0] if catalogue is None else read_ids(catalogue, "the catalogue")
    items, (wanted, had_items, offered_codes) = encode_ids([relevant.items, had.items, offered], "item ids")
    weights = np.zeros(len(items))
    if strategy == "popularity":
        weights[offered_codes] = History.of(had).popularity.aligned(offered)
    else:
        weights[offered_codes] = 1.0
    evaluated = sort_unique(owners.astype(np.int64))
    positives = sort_unique(owners.astype(np.int64) * len(items) + wanted)
    met = sort_unique(np.concatenate([positives, had_owners.astype(np.int64) * len(items) + had_items]))
    take = _count_wanted(evaluated, met, weights, negatives, shorter, users, strategy)
    rng = np.random.default_rng(seed)
    sampled = list(_sample(evaluated, take, met, weights, rng))
    keys = np.concatenate([positives, *sampled])
    keys = keys[np.argsort(keys // len(items) + rng.random(len(keys)), kind="stable")]
    owner_codes = np.searchsorted(evaluated, keys // len(items)).astype(np.int32)
    parameters: dict[str, Any] = {"negatives": negatives, "strategy": strategy, "seed": seed}
    return _group(users.take(evaluated), owner_codes, (keys % len(items)).astype(np.int32), items, **parameters)


def _read(value: Any, role: Any) -> Rows:
    return read_rows(read_table(os.fspath(value)) if is_path(value) else value, role)


def _check(negatives: int, strategy: str, shorter: str, history: Any) -> None:
    if negatives < 1:
        raise BadParameterError("negatives must be a whole number from 1 up", f"{negatives}", "99 is usual")
    for name, value, kinds in (("strategy", strategy, Strategy), ("shorter", shorter, Shorter)):
        if value not in get_args(kinds):
            raise BadParameterError(
                f"there is no {name}={value!r}", hint=f"choose one of {', '.join(map(repr, get_args(kinds)))}"
            )
    if strategy == "popularity" and history is None:
        raise BadParameterError('strategy="popularity" needs the history', argument="history")


def _count_wanted(
    evaluated: Positions,
    met: Positions,
    weights: npt.NDArray[np.float64],
    negatives: int,
    shorter: str,
    users: Ids,
    strategy: str,
) -> npt.NDArray[np.int64]:
    """`[U]`: how many items to sample for each user."""
    blocked = met[weights[met % len(weights)] > 0] // len(weights)
    left = np.count_nonzero(weights) - np.bincount(blocked, minlength=len(users))[evaluated]
    short = left < negatives
    if short.any() and shorter == "error":
        first = int(np.flatnonzero(short)[0])
        user = users.take(evaluated[first : first + 1]).tolist()[0]
        what = "unseen items" if strategy == "uniform" else "unseen items that somebody has in the history"
        raise InputError(
            f"{int(short.sum())} user(s) have fewer {what} than the {negatives} asked for",
            f"user {user!r} with {int(left[first])}",
            'ask for fewer negatives, or take what there is with shorter="allow"',
        )
    return np.minimum(left, negatives)


def _sample(
    users: Positions,
    take: npt.NDArray[np.int64],
    met: Positions,
    weights: npt.NDArray[np.float64],
    rng: np.random.Generator,
) -> Iterator[Positions]:
    """Keys user * V + item of the sampled pairs, a chunk of users at a time."""
    up_to = np.cumsum(weights)
    for start in range(0, len(users), USERS_PER_CHUNK):
        chunk, wanted = users[start : start + USERS_PER_CHUNK], take[start : start + USERS_PER_CHUNK]
        kept = np.zeros(0, dtype=np.int64)
        missing = wanted.copy()
        for _ in range(ROUNDS):
            pending = np.flatnonzero(missing > 0)
            if not len(pending):
                break
            drawn = rng.random((len(pending), 2 * int(missing.max()))) * up_to[-1]
            items = np.searchsorted(up_to, drawn, side="right")
            keys = (chunk[pending, None] * len(weights) + items).ravel()
            kept = _take_first(np.concatenate([kept, keys[~_contains(keys, met)]]), chunk, wanted, len(weights))
            missing = wanted - np.bincount(np.searchsorted(chunk, kept // len(weights)), minlength=len(chunk))
        yield kept
        for at in np.flatnonzero(missing > 0):
            yield _sample_few(int(chunk[at]), int(missing[at]), kept, met, weights, rng)


def _take_first(keys: Positions, users: Positions, wanted: npt.NDArray[np.int64], size: int) -> Positions:
    """Of each user's keys the first `wanted` different ones, in the order they came."""
    _, places = np.unique(keys, return_index=True)
    keys = keys[np.sort(places)]
    owners = np.searchsorted(users, keys // size)
    order = np.argsort(owners, kind="stable")
    sorted_owners = owners[order]
    starts = np.searchsorted(sorted_owners, np.arange(len(users)))
    within = np.arange(len(keys)) - starts[sorted_owners]
    chosen: Positions = keys[order[within < wanted[sorted_owners]]]
    return chosen


def _sample_few(
    user: int, count: int, kept: Positions, met: Positions, weights: npt.NDArray[np.float64], rng: np.random.Generator
) -> Positions:
    """Draws from all items that are left, by exponential clocks (Efraimidis and Spirakis 2006): for users with few."""
    keys = user * len(weights) + np.arange(len(weights))
    left = keys[(weights > 0) & ~_contains(keys, met) & ~np.isin(keys, kept)]
    clocks = rng.exponential(size=len(left)) / weights[left % len(weights)]
    chosen: Positions = left[np.argsort(clocks, kind="stable")[:count]]
    return chosen


def _contains(keys: Positions, ordered: Positions) -> npt.NDArray[np.bool_]:
    at = np.searchsorted(ordered, keys)
    at[at == len(ordered)] = 0
    found: npt.NDArray[np.bool_] = ordered[at] == keys
    return found
