"""Names of metrics: every installed one, and text that is nearly one."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random

import bridgeval
from bridgeval import spec
from tests.fuzz.harness import check_bounds, require, target
from tests.fuzz.junk import TEXTS

SHOWN = {1: [("a", 2.0), ("b", 1.0)], 2: [("c", 0.5), ("a", 0.5)], 3: [("b", 1.0)]}
TRUTH = {1: {"b": 1.0}, 2: {"a": 2.0}, 4: {"c": 1.0}}
PIECES = ["(", ")", "@", "@5", "@0", "@-1", "@1e3", "@5,10", "@,", ":", "=", ",", '"', "k=5", "gain=", "users=",
          "users='all'",
          "relevance=", "over='median'", "nDCG", "replay:", "warprec:", "[", "]", "{", "None", "1e309",
          "nan", "F1(metric_1=",
          "@9999999999999999999", "(((((", "\\", "ideal='k'", "empty='one'", "ties='given'", "beta=0"]  # fmt: skip


@cache
def list_names() -> list[str]:
    return list(spec.names())


@target
def names(rng: Random, folder: Path) -> None:
    """A name made of names, pieces of the grammar and odd text; what can be read can be written and read again."""
    parts = [rng.choice(list_names())]
    if rng.random() < 0.5:
        parts.append(f"@{rng.choice([1, 2, 3, 10**8, 2**62])}")
    for _ in range(rng.choice([0, 1, 1, 2, 4])):
        parts.insert(rng.randrange(len(parts) + 1), rng.choice([*PIECES, *TEXTS]))
    found = bridgeval.parse("".join(parts))
    for metric in found:
        again = bridgeval.parse(str(metric))
        require(list(again) == [metric], f"{metric} is read as {again}")
    report = bridgeval.evaluate(
        SHOWN, TRUTH, list(found), history={1: ["c"], 2: ["b"]}, catalogue=list("abcd"), mask_seen=False,
        item_groups={"a": 1, "b": 2, "c": 1, "d": 2}, user_groups={1: "m", 2: "f", 3: "m", 4: "f"},
    )  # fmt: skip
    check_bounds(report)
