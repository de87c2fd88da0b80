"""Reads the peers' golden files: numbers that other evaluators gave, one file for each library, on small fixtures.

Each record is a metric as the library spells it, a fixture and a feed; `peer_names` says which name of which convention
is meant. All records of one feed are asked for in one evaluation.
"""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

import bridgeval
from bridgeval.engine.metric import Metric
from tests.golden.compare import Comparison, number
from tests.golden.marks import Place
from tests.golden.peer_feeds import Person, World, lay_out, read_fixture
from tests.golden.peer_names import AFTER, EXTRAS, FLOAT32, ROUNDED, Asked, ask
from tests.golden.peer_ties import ACCIDENT, agree, find_bounds, may_decide

NOTHING = "nobody was shown anything that counts: nothing of nothing is 0 or NaN there, and an error here"
TOLERANCE, SINGLE = 1e-9, 1e-6


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
            together[key] += _split(record, asked) if asked.parts else [(record, asked)]
    for (fixture, ids, feed, change, _), questions in together.items():
        file = path.with_name(f"fixture_{fixture}_{ids}.json")
        fixture = read_fixture(file)
        # What is done to the truth comes first: it decides who has one.
        world = lay_out(fixture if change is None or change in AFTER else change(fixture), feed)
        yield from _answers(library, fixture, change(world) if change in AFTER else world, questions)


def _split(record: dict[str, Any], asked: Asked) -> Iterator[tuple[dict[str, Any], Asked]]:
    """A record of several numbers as one for each of them."""
    for (part, *at), name in asked.parts.items():
        value = record["value"][part]
        for index in at:
            value = value[index]
        called = " ".join(map(str, (record["metric"], part, *at)))
        yield {**record, "metric": called, "value": value}, replace(asked, metric=name, parts={})


def _answers(
    library: str, fixture: World, world: World, questions: list[tuple[dict[str, Any], Asked]]
) -> Iterator[Comparison]:
    if not any(world.shown.values()):
        for record, _ in questions:
            yield from _outside(_where(library, record), record, NOTHING)
        return
    metrics = {asked.metric: bridgeval.parse(asked.metric)[0] for _, asked in questions}
    bounds = {asked.metric: find_bounds(metrics[asked.metric]) for _, asked in questions if asked.no_order is not None}
    everything = {str(metric): metric for metric in (*metrics.values(), *chain.from_iterable(bounds.values()))}
    more: dict[str, Any] = {"catalogue": world.catalogue}
    more |= {argument: given(world, fixture) for argument, given in map(EXTRAS.__getitem__, questions[0][1].extras)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = bridgeval.evaluate(world.shown, world.truth, list(everything.values()), per_user=True, **more)
    people = {one.user: one for one in world.people}
    for record, asked in questions:
        metric, limits = metrics[asked.metric], bounds.get(asked.metric, ())
        where, tolerance = _where(library, record), _tolerance(library, record)
        by_user = list(zip(fixture.people, record.get("per_user", []), strict=False))

        def summarize(
            metric: Metric,
            record: dict[str, Any] = record,
            asked: Asked = asked,
            by_user: list[tuple[Person, Any]] = by_user,
        ) -> float:
            ours = _by_user(report, metric)
            if asked.spreads:
                return fmean(ours.get(one.user, math.nan) for one in world.people)
            if not record["value_by"].startswith("mean of per_user"):
                return report[str(metric)]
            # The recorder's mean, over users for whom the library gave a finite number.
            return fmean(ours.get(one.user, math.nan) for one, theirs in by_user if _is_number(theirs))

        ours, *ends = ({} if not by_user and not limits else _by_user(report, one) for one in (metric, *limits))
        by_accident = {
            user: tuple(end.get(user, math.nan) for end in ends)
            for user, one in people.items()
            if asked.no_order is not None and may_decide(one, metric, asked.no_order)
        }
        by_accident = {user: found for user, found in by_accident.items() if not found or not agree(*found)}
        reason = ACCIDENT if by_accident else asked.value_outside
        theirs = record["value"] if asked.value_outside else asked.pick(record["value"])
        between = tuple(map(summarize, limits)) if by_accident else ()
        yield Comparison(where, _number(theirs), summarize(metric), tolerance, outside=reason, between=between)
        for one, theirs in by_user:
            if isinstance(theirs, str) and "Error" in theirs:
                yield Comparison(f"{where} user {one.user}", skipped="recorded error")
                continue
            reason = ACCIDENT if one.user in by_accident else "" if one.shown else asked.unshown_outside
            found = asked.finish_user(ours.get(one.user, math.nan))
            between = by_accident.get(one.user, ())
            name = f"{where} user {one.user}"
            yield Comparison(name, _number(theirs), found, tolerance, outside=reason, between=between)


def _by_user(report: bridgeval.Report, metric: Metric) -> dict[Any, float]:
    return report.collected[str(metric)].to_dict() if str(metric) in report.collected else {}


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
