"""The data that other evaluators were given: the feeds of the peers' golden files, as arguments of `evaluate`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

Rows = list[tuple[Any, float]]


@dataclass(frozen=True)
class Person:
    """A user of a fixture: (item, score) shown, (item, gain) of the truth, both in file order."""

    user: Any
    shown: Rows
    truth: Rows

    @property
    def relevant(self) -> Rows:
        return [(item, gain) for item, gain in self.truth if gain > 0]

    @property
    def tied(self) -> bool:
        """Whether two of the shown scores are equal."""
        return len({score for _, score in self.shown}) < len(self.shown)


@dataclass(frozen=True)
class World:
    """What was given: the people, the catalogue, and who is named with an empty list."""

    people: tuple[Person, ...]
    catalogue: tuple[Any, ...]
    empty_lists: bool = False
    empty_truths: bool = False

    @property
    def shown(self) -> dict[Any, Rows]:
        return {one.user: one.shown for one in self.people if one.shown or self.empty_lists}

    @property
    def truth(self) -> dict[Any, dict[Any, float]]:
        return {one.user: dict(one.truth) for one in self.people if one.truth or self.empty_truths}

    def map(self, change: Callable[[Person], Person]) -> World:
        return replace(self, people=tuple(map(change, self.people)))

    def keep(self, wanted: Callable[[Person], bool]) -> World:
        return replace(self, people=tuple(filter(wanted, self.people)))


@lru_cache(maxsize=32)
def read_fixture(path: Path) -> World:
    document = json.loads(path.read_text(encoding="utf-8"))
    people = tuple(
        Person(one["user"], [(i, s) for i, s in one["shown"]], [(i, float(g)) for i, g in one["truth"]])
        for one in document["users"]
    )
    return World(people, tuple(document["items"]))


def lay_out(world: World, feed: str) -> World:
    """The world as a feed describes it."""
    return FEEDS[feed](world)


def close_world(world: World) -> World:
    """One group for each user with a list: relevant items that were not shown are lost."""

    def close(one: Person) -> Person:
        shown = {item for item, _ in one.shown}
        return replace(one, truth=[(item, gain) for item, gain in one.truth if item in shown])

    return world.keep(lambda one: bool(one.shown)).map(close)


def _fill(world: World) -> World:
    """All items: those not shown follow, relevant ones last, scored 1 - 1/64, 1 - 2/64, ..."""

    def fill(one: Person) -> Person:
        shown, gains = {item for item, _ in one.shown}, dict(one.truth)
        rest = [item for item in world.catalogue if item not in shown]
        rest.sort(key=lambda item: gains.get(item, 0) > 0)
        return replace(one, shown=one.shown + [(item, 1 - at / 64) for at, item in enumerate(rest, start=1)])

    return world.map(fill)


def _shift(world: World, by: float) -> World:
    return world.map(lambda one: replace(one, shown=[(item, score + by) for item, score in one.shown]))


def _one_target(world: World) -> World:
    """The item with the highest gain, the first in the catalogue among equals, is the only relevant one."""

    def single(one: Person) -> Person:
        gains = dict(one.truth)
        best = max(world.catalogue, key=lambda item: gains.get(item, 0))
        scores = dict(one.shown)
        return replace(one, truth=[(best, 1.0)], shown=[(item, scores[item]) for item in world.catalogue])

    return world.keep(lambda one: bool(one.relevant)).map(single)


def _with_both(world: World) -> World:
    return world.keep(lambda one: bool(one.shown and one.truth))


FEEDS: dict[str, Callable[[World], World]] = {
    "lists": lambda world: world,
    "scores": lambda world: world,
    "pairs": lambda world: world,
    "rows": lambda world: world,
    "rows-10": lambda world: _shift(world, -10.0),
    "closed": close_world,
    "full": _fill,
    "both": _with_both,
    "truth": lambda world: world.keep(lambda one: bool(one.truth)),
    "qrels": lambda world: world.keep(lambda one: bool(one.truth)),
    "train=truth": lambda world: world,
    "items10": lambda world: world.map(lambda one: one if len(one.shown) >= 10 else replace(one, shown=[])),
    "filled": lambda world: replace(world, empty_lists=True, empty_truths=True),
    "onetarget": _one_target,
}


def relabel(world: World, change: Callable[[float], float]) -> World:
    """The same truth with other gains."""
    return world.map(lambda one: replace(one, truth=[(item, change(gain)) for item, gain in one.truth]))


def drop_zeros(world: World) -> World:
    """Without rows of the truth that are not relevant."""
    return world.map(lambda one: replace(one, truth=one.relevant))


def drop_own_ids(world: World) -> World:
    """Without items that have the id of the user."""
    return world.map(lambda one: replace(one, shown=[row for row in one.shown if str(row[0]) != str(one.user)]))
