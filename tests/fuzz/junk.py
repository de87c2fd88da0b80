"""Junk: values of every wrong kind, and damaged bytes and trees."""

from __future__ import annotations

import copy
import datetime
import decimal
import math
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import torch


def _deep(levels: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(levels):
        inner = [inner]
    return inner


class Hostile:
    """Pretends to have everything and raises as soon as anything is asked of it."""

    def __repr__(self) -> str:
        return "Hostile()"

    def __len__(self) -> int:
        raise ValueError("no length")

    def __iter__(self) -> Any:
        raise ValueError("no items")

    def __bool__(self) -> bool:
        raise ValueError("neither true nor false")


# Makers, because iterators are used up and arrays may be written to.
JUNK: list[Callable[[], Any]] = [
    lambda: None, lambda: True, lambda: False, lambda: 0, lambda: -1, lambda: 1, lambda: 3, lambda: 10**30,
    lambda: -(2**70), lambda: 1.5, lambda: -0.0, lambda: math.nan, lambda: math.inf, lambda: 1j, lambda: "",
    lambda: "x", lambda: "\0", lambda: "\udc80", lambda: "a" * 10_000, lambda: "../../x", lambda: "/", lambda: ".",
    lambda: "nDCG@5", lambda: "users", lambda: "*.csv", lambda: b"x", lambda: b"", lambda: bytearray(b"xy"),
    lambda: [], lambda: [None], lambda: [[]], lambda: ["a", 1], lambda: [1, 2, 3], lambda: (), lambda: (1, "b"),
    lambda: {}, lambda: {1: 2}, lambda: {"a": None}, lambda: {"a": {"b": "c"}}, lambda: {1: ["a"], "2": ["b"]},
    lambda: {1: [("a", "b", "c")]}, lambda: {1: {"a": math.nan}}, lambda: {None: [1]}, lambda: {"user": 3},
    lambda: {1: 5}, lambda: {(1, 2): ["a"]}, lambda: {1.5: ["a"]}, lambda: {True: ["a"]}, lambda: {1: [["a"]]},
    lambda: {1: "abc"}, lambda: {1: None}, lambda: {1: [None]}, lambda: {1: {"a": "b"}}, lambda: {1: [(1, 2), 3]},
    lambda: {1: [("a", 1j)]}, lambda: {1: [math.nan, 1.0]}, lambda: {1: [b"a"]}, lambda: {"a": [10**30]},
    lambda: set(), lambda: {1, 2}, lambda: frozenset("ab"), lambda: range(3), lambda: iter([1]), lambda: ...,
    lambda: object(), lambda: object, lambda: len, lambda: (lambda: 0), lambda: math, lambda: Hostile(),
    lambda: NotImplemented, lambda: decimal.Decimal("1.5"), lambda: datetime.date(2026, 2, 28),
    lambda: datetime.timedelta(1), lambda: slice(None), lambda: memoryview(b"ab"), lambda: _deep(5000),
    lambda: np.zeros(0), lambda: np.zeros((2, 3)), lambda: np.array(["a", "b"]), lambda: np.array(3),
    lambda: np.zeros((2, 2, 2)), lambda: np.array([1, None], dtype=object), lambda: np.array([1 + 2j]),
    lambda: np.array(["2026-01-01"], dtype="M8[D]"), lambda: np.zeros(2, dtype=[("a", "i4"), ("b", "f8")]),
    lambda: np.float32(1), lambda: np.str_("x"), lambda: np.ma.masked, lambda: np.array([b"x"]),
    lambda: torch.zeros(2, 3), lambda: torch.zeros(2, dtype=torch.complex64), lambda: torch.zeros(0),
    lambda: torch.zeros(2, device="meta"), lambda: torch.zeros(2, 2).to_sparse(), lambda: torch.device("cpu"),
    lambda: pd.DataFrame(), lambda: pd.DataFrame({"user_id": [1]}), lambda: pd.Series([1, 2]), lambda: pd.NA,
    lambda: pd.NaT,
    lambda: pd.DataFrame({"user_id": [1], "item_id": [None]}), lambda: pd.DataFrame([[1, 2]], columns=["a", "a"]),
    lambda: pd.DataFrame({"user_id": [1.5], "item_id": ["a"], "score": ["x"]}), lambda: pd.DataFrame({1: [2]}),
    lambda: pd.DataFrame({"user_id": [1], "item_id": [1], "score": [1j]}), lambda: pd.Series([[1], None]),
    lambda: pd.DataFrame({"user_id": [1, 1], "item_id": [[1, 2], None]}), lambda: pd.Index([1]),
    lambda: pd.DataFrame({"user_id": [1], "item_id": [1], "score": [math.nan]}), lambda: pd.Categorical(["a"]),
    lambda: pd.MultiIndex.from_tuples([(1, 2)]), lambda: pd.Series([], dtype=object), lambda: pd.Timestamp(0),
    lambda: pd.DataFrame({"user_id": pd.Series([], dtype="int64"), "item_id": pd.Series([], dtype="int64")}),
    lambda: pa.table({}), lambda: pa.table({"user_id": [1]}), lambda: pa.array([1]), lambda: pa.schema([]),
    lambda: pa.table({"user_id": pa.nulls(2), "item_id": pa.nulls(2)}), lambda: pa.chunked_array([[1], [2]]),
    lambda: pa.table({"user_id": [{"a": 1}], "item_id": [[1]]}),
    lambda: pa.record_batch({"user_id": [1], "item_id": ["a"]}),
]  # fmt: skip

TEXTS = ["", " ", "\0", "\x1b[31m", "\u202e", "é" * 5, "a" * 300, "=1+1", "<b>", "|", "\n", "NaN", "1e999", "-inf",
         "null",
         "0x10", "1_000", "٣", "2026-02-31", "18446744073709551616", "-9223372036854775809", "1.5", "true", '"',
         "'", ",",
         "\ufeff", "user_id", "Q0", "#", "{", "[", "\\", "%s", "{0}", "../..", "/dev/null", "~"]  # fmt: skip


def pick(rng: Random) -> Any:
    """A value of a wrong kind, most likely."""
    return rng.choice(JUNK)()


def damage(data: bytes, rng: Random) -> bytes:
    """The same bytes with one to four kinds of damage."""
    found = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(found) + 1)
        end = min(len(found), at + rng.choice([1, 2, 4, 8, 64]))
        kind = rng.randrange(8)
        if kind == 0 and at < len(found):
            found[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del found[at:]
        elif kind == 2:
            del found[at:end]
        elif kind == 3:
            found[at:at] = rng.randbytes(rng.choice([1, 4, 16]))
        elif kind == 4:
            found[at:at] = found[at:end] * rng.choice([1, 2, 100])
        elif kind == 5:
            found[at:end] = rng.choice(TEXTS).encode("utf-8")
        elif kind == 6:
            found[at:end] = rng.choice(
                [b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff", b"\x80", b"\r\n", b"\n\n"]
            )
        elif found:
            found[at:at] = rng.choice([b",", b"\t", b"\n", b" ", b'"', b"\xef\xbb\xbf", b"\xe9"])
    return bytes(found)


PLAIN = [
    None,
    True,
    False,
    0,
    -1,
    1.5,
    10**20,
    "",
    "x",
    "\x1b[2J",
    [],
    {},
    [[]],
    {"a": 1},
    "2026-02-31",
    "/etc/passwd",
    [None],
]


def bend(tree: Any, rng: Random, depth: int = 0) -> Any:
    """The same tree of JSON with one node replaced, removed, repeated or renamed."""
    tree = copy.deepcopy(tree)
    spots: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key, one in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
            spots.append((node, key))
            walk(one)

    walk(tree)
    for _ in range(rng.randint(1, 3)):
        if not spots or rng.random() < 0.02:
            return rng.choice(PLAIN)
        node, key = rng.choice(spots)
        if (isinstance(node, dict) and key not in node) or (isinstance(node, list) and key >= len(node)):
            continue
        kind = rng.randrange(6)
        if kind == 0:
            del node[key]
        elif kind == 1 and isinstance(node, dict):
            node[rng.choice(TEXTS)] = node.pop(key)
        elif kind == 2 and isinstance(node, list):
            node.extend(node[:])
        elif kind == 3 and isinstance(node[key], str):
            node[key] = node[key] + rng.choice(TEXTS)
        else:
            node[key] = copy.deepcopy(rng.choice(PLAIN))
    return tree
