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
from statistics import fmean
from typing import Any

import bridgeval
from tests.golden.compare import Comparison, number
from tests.golden.marks import Place
from tests.golden.peer_feeds import World, lay_out, read_fixture
from tests.golden.peer_names import AFTER, EXTRAS, FLOAT32, NO_ORDER, ROUNDED, Asked, ask

TOLERANCE, SINGLE = 1e-9, 1e-6
ACCIDENT = "equal scores have no order there: an unstable sort or top-k (README of the goldens, more-conventions.md 6)"


def reads(document: dict[str, Any]) -> bool:
    return {"versions", "feeds", "records"} <= document.keys()


def is_output(place: Place) -> bool:
    """A value, or a user's; of a value with several numbers those that are asked for are compared."""
    return (place[0] == "records" and place[2:] == ("value",)) or place[2:3] == ("per_user",)


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
            key = (record["fixture"], record["ids"], record["feed"], asked.change, asked.extras)
            together[key].append((record, asked))
    for (fixture, ids, feed, change, _), questions in together.items():
        file = path.with_name(f"fixture_{fixture}_{ids}.json")
        fixture = read_fixture(file)
        # What is done to the truth comes first: it decides who has one.
        world = lay_out(fixture if change is None or change in AFTER else change(fixture), feed)
        yield from _answers(library, fixture, change(world) if change in AFTER else world, questions)


def _answers(
    library: str, fixture: World, world: World, questions: list[tuple[dict[str, Any], Asked]]
) -> Iterator[Comparison]:
    names = list(dict.fromkeys(name for _, asked in questions for name in (asked.metric, *asked.parts.values())))
    more = {argument: given(world) for argument, given in map(EXTRAS.__getitem__, questions[0][1].extras)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = bridgeval.evaluate(world.shown, world.truth, names, catalogue=world.catalogue, per_user=True, **more)
    tied = {one.user for one in fixture.people if one.tied}
    for record, asked in questions:
        (metric,) = bridgeval.parse(asked.metric)
        where, tolerance = _where(library, record), _tolerance(library, record)
        if asked.parts:
            for part, name in asked.parts.items():
                (metric,) = bridgeval.parse(name)
                yield Comparison(f"{where} {part}", _number(record["value"][part]), report[str(metric)], tolerance)
            continue
        ours = report.collected[str(metric)].to_dict() if "per_user" in record else {}
        no_order = tied and (library in NO_ORDER or asked.no_order)
        value = report[str(metric)]
        by_user = list(zip(fixture.people, record.get("per_user", []), strict=False))
        if record["value_by"].startswith("mean of per_user"):
            # The recorder's mean, over users for whom the library gave a finite number.
            value = fmean(ours.get(one.user, math.nan) for one, theirs in by_user if _is_number(theirs))
        reason = ACCIDENT if no_order else asked.value_outside
        theirs = record["value"] if reason else asked.pick(record["value"])
        yield Comparison(where, _number(theirs), value, tolerance, outside=reason)
        for one, theirs in by_user:
            if isinstance(theirs, str) and "Error" in theirs:
                yield Comparison(f"{where} user {one.user}", skipped="recorded error")
                continue
            reason = ACCIDENT if no_order and one.user in tied else "" if one.shown else asked.unshown_outside
            found = asked.finish_user(ours.get(one.user, math.nan))
            yield Comparison(f"{where} user {one.user}", _number(theirs), found, tolerance, outside=reason)


def _is_number(theirs: Any) -> bool:
    return isinstance(theirs, int | float) and math.isfinite(theirs)


def _outside(where: str, record: dict[str, Any], reason: str) -> Iterator[Comparison]:
    values = record["value"]
    for theirs in (*(flatten(values) if isinstance(values, dict) else [values]), *record.get("per_user", ())):
        if theirs is not None:
            yield Comparison(where, _number(theirs), outside=reason)


def flatten(values: dict[str, Any]) -> list[Any]:
    """The numbers of a value that has several, such as a curve."""
    return [one for value in values.values() for one in (value if isinstance(value, list) else [value])]


def _number(theirs: Any) -> float:
    """A value of a user; an error in its place is no value."""
    try:
        return number(theirs)
    except (TypeError, ValueError):
        return math.nan


def _where(library: str, record: dict[str, Any]) -> str:
    params = "".join(f" {name}={value}" for name, value in record["params"].items())
    data = f"{record['fixture']}/{record['ids']} {record['feed']}"
    return f"{library} {record['metric']}{params} k={record['cutoff']} {data}"


def _tolerance(library: str, record: dict[str, Any]) -> float:
    rounded = ROUNDED.get(library, lambda record: None)(record)
    if rounded is not None:
        return 0.51 * 10.0**-rounded
    single = library in FLOAT32 or f"{library} {record['metric']}" in FLOAT32
    return SINGLE if single else TOLERANCE
