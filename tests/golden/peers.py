"""Reads the peers' golden files: numbers that other evaluators gave, one file for each library, on small fixtures.

Each record is a metric as the library spells it, a fixture and a feed; `peer_names` says which name of which convention
is meant. All records of one feed are asked for in one evaluation.
"""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bridgeval
from tests.golden.compare import Comparison, number
from tests.golden.marks import Place
from tests.golden.peer_feeds import World, lay_out, read_fixture
from tests.golden.peer_names import FLOAT32, NO_ORDER, ROUNDED, Asked, ask

TOLERANCE, SINGLE = 1e-9, 1e-6
ACCIDENT = "equal scores have no order there: an unstable sort or top-k (README of the goldens, more-conventions.md 6)"


def reads(document: dict[str, Any]) -> bool:
    return {"versions", "feeds", "records"} <= document.keys()


def is_output(place: Place) -> bool:
    return place[0] == "records" and len(place) > 2 and place[2] in ("value", "per_user")


def comparisons(path: Path, document: dict[str, Any]) -> Iterator[Comparison]:
    library = path.name.partition(".")[0]
    together: dict[Any, list[tuple[dict[str, Any], Asked]]] = defaultdict(list)
    for record in document["records"]:
        asked = ask(library, record)
        if "error" in record:
            yield Comparison(_where(library, record), skipped="recorded error")
        elif asked.outside:
            yield from _outside(_where(library, record), record, asked.outside)
        else:
            key = (record["fixture"], record["ids"], record["feed"], asked.change)
            together[key].append((record, asked))
    for (fixture, ids, feed, change), questions in together.items():
        file = path.with_name(f"fixture_{fixture}_{ids}.json")
        world = lay_out(read_fixture(file), feed)
        yield from _answers(library, read_fixture(file), change(world) if change else world, questions)


def _answers(
    library: str, fixture: World, world: World, questions: list[tuple[dict[str, Any], Asked]]
) -> Iterator[Comparison]:
    names = list(dict.fromkeys(asked.metric for _, asked in questions))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = bridgeval.evaluate(world.shown, world.truth, names, per_user=True)
    tied = {one.user for one in world.people if one.tied}
    for record, asked in questions:
        (metric,) = bridgeval.parse(asked.metric)
        where, tolerance = _where(library, record), _tolerance(library, record)
        ours = report.collected[str(metric)].to_dict() if "per_user" in record else {}
        no_order = tied and (library in NO_ORDER or asked.no_order)
        value = asked.finish(report[str(metric)])
        yield Comparison(where, number(record["value"]), value, tolerance, outside=ACCIDENT if no_order else "")
        for one, theirs in zip(fixture.people, record.get("per_user", []), strict=False):
            reason = ACCIDENT if no_order and one.user in tied else asked.per_user_outside
            found = asked.finish_user(ours.get(one.user, math.nan))
            yield Comparison(f"{where} user {one.user}", _number(theirs), found, tolerance, outside=reason)


def _outside(where: str, record: dict[str, Any], reason: str) -> Iterator[Comparison]:
    for theirs in (record["value"], *record.get("per_user", ())):
        if theirs is not None:
            yield Comparison(where, _number(theirs), outside=reason)


def _number(theirs: Any) -> float:
    """A value of a user; an error in its place is no value."""
    try:
        return number(theirs)
    except (TypeError, ValueError):
        return math.nan


def _where(library: str, record: dict[str, Any]) -> str:
    params = "".join(f" {name}={value}" for name, value in record["params"].items())
    return f"{library} {record['metric']}{params} k={record['cutoff']} {record['fixture']}/{record['ids']} {record['feed']}"


def _tolerance(library: str, record: dict[str, Any]) -> float:
    rounded = ROUNDED.get(library, lambda record: None)(record)
    if rounded is not None:
        return 0.51 * 10.0**-rounded
    return SINGLE if library in FLOAT32 else TOLERANCE
