"""Faults that authors make, planted one by one: which law tells of each, and in which words."""

from __future__ import annotations

import json
import math
import os
import random
import re
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch

from bridgeval.plugin import (
    Block,
    DeferredSource,
    Hits,
    Metric,
    Needs,
    Ranked,
    Result,
    Scores,
    ShownColumn,
    Sums,
    TopKMetric,
    by_item,
    list_offers,
    make_source,
)
from bridgeval.testing import check_loader, check_metric, world

PAGE = Path(__file__).parents[2] / "docs" / "laws.md"


class Fault(NamedTuple):
    """A fault: what is planted, the law that tells of it, a part of what it tells. NOT_CAUGHT in place of a law."""

    what: str
    planted: Any
    law: str
    phrase: str = ""


NOT_CAUGHT = ""
# With a smaller one few users of the small world have a hit, and none has two.
K = 5
made: Iterator[int] = iter(range(1000))


@dataclass(frozen=True)
class Sound(TopKMetric):
    """The share of hits; each fault changes something of it."""

    name = "Sound"

    def values(self, blocks: Any) -> Any:
        return hits(self, blocks).sum(1).double() / self.k


@dataclass(frozen=True)
class Counting(Metric):
    """Counts users; the other thing that faults change."""

    name = "Counting"

    def start(self) -> Any:
        return Sums()

    def update(self, blocks: Any) -> Any:
        return Sums({"users": len(blocks)})

    def compute(self, state: Any) -> Any:
        return Result(float(state["users"]))


def hits(metric: Any, blocks: Any) -> Any:
    return blocks[Hits(metric.ranking, metric.relevance)][:, : metric.k]


def name_class(kind: type) -> type:
    """Gives a class a name of its own, by which a pickle finds it."""
    kind.__name__ = kind.__qualname__ = f"Planted{next(made)}"
    kind.__module__ = __name__
    globals()[kind.__name__] = kind
    if isinstance(kind.__dict__.get("name"), str):
        return kind
    kind.name = kind.__name__  # type: ignore[attr-defined]
    return kind


def sound(**members: Any) -> Metric:
    """A Sound with other members."""
    return name_class(dataclass(frozen=True)(type("Planted", (Sound,), members)))(K)  # type: ignore[no-any-return]


def values(function: Any, **members: Any) -> Metric:
    """A Sound whose values are function(metric, blocks)."""
    return sound(values=function, **members)


def counting(**members: Any) -> Metric:
    """A Counting with other members."""
    return name_class(dataclass(frozen=True)(type("Planted", (Counting,), members)))()  # type: ignore[no-any-return]


def state(**members: Any) -> Any:
    """A class of states: a frozen dataclass with one field."""
    kind = type("Planted", (), {"__annotations__": {"held": Any}, "held": None, **members})
    return name_class(dataclass(frozen=True)(kind))


def holding(kind: Any, hold: Any, number: Any, **members: Any) -> Metric:
    """A Counting with such a state: what a batch makes it hold, and the number that is made of what it holds."""
    return counting(
        start=lambda self: kind(),
        update=lambda self, blocks: kind(hold(blocks)),
        compute=lambda self, state: Result(float(number(state.held))),
        **members,
    )


def shown_of(blocks: Any) -> Any:
    return blocks.batch.shown


def then(first: Any, second: Any) -> Any:
    """The second of two: a statement and a value."""
    return second


def add_up(one: Any, other: Any) -> Any:
    return one if other is None else other if one is None else one + other


Adding = state(merge=lambda one, other: type(one)(add_up(one.held, other.held)))
TakesFirst = state(merge=lambda one, other: other if one.held is None else one)
TakesLast = state(merge=lambda one, other: one if other.held is None else other)
Subtracting = state(merge=lambda one, other: type(one)((one.held or 0) - (other.held or 0)))
Averaging = state(
    merge=lambda one, other: (
        other if one.held is None else one if other.held is None else type(one)((one.held + other.held) / 2)
    )
)
InPlace = state(
    merge=lambda one, other: (
        one if other.held is None else other if one.held is None else then(one.held.extend(other.held), one)
    )
)


class NoField(Block[Any]):
    """A block whose parameter is no field: two of them are equal."""

    def __init__(self, k: int) -> None:
        self.k = k

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NoField)

    def __hash__(self) -> int:
        return 1

    def make(self, blocks: Any) -> Any:
        return torch.full((len(blocks),), 1.0 / self.k, dtype=torch.float64, device=blocks.device)


@dataclass(frozen=True)
class SetLater(Sound):
    name = "SetLater"

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", 2.0)


@dataclass(frozen=True)
class HoldsFunction(Sound):
    name = "HoldsFunction"
    function: Any = field(default=lambda: None, compare=False)


@dataclass(frozen=True, eq=False)
class EqualToNone(Sound):
    name = "EqualToNone"

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


@dataclass(frozen=True)
class Halved(Sound):
    """Its number is the half of what its users have."""

    name = "Halved"

    def compute(self, state: Any) -> Any:
        result = super().compute(state)
        return result if result.value is None else replace(result, value=result.value / 2)


@dataclass(frozen=True)
class IgnoresUsers(Sound):
    """Counts every user, whatever users= says."""

    name = "IgnoresUsers"

    def counted(self, blocks: Any) -> Any:
        return torch.ones(len(blocks), dtype=torch.bool, device=blocks.device)


class Memory:
    calls: ClassVar[int] = 0


def remember() -> int:
    Memory.calls += 1
    return Memory.calls


def raise_error(error: Exception) -> Any:
    raise error


def add_filter() -> None:
    warnings.filters.insert(0, ("ignore", None, Warning, None, 0))  # type: ignore[attr-defined]


def total_of_items(blocks: Any) -> Any:
    return shown_of(blocks).items[shown_of(blocks).valid]


SHAPE = "values are one per user"
DECLARED = "it reads only what it declares"
WRITTEN = "shared blocks are not written to"
PROCESS = "it leaves the process as it was"
ALIKE = "it answers alike for the same data"
METRIC_FAULTS = [
    # What it is.
    Fault("a parameter set in __post_init__", SetLater(K), "its parameters are fields", "keeps .*weight"),
    Fault("a name that is no identifier", sound(name="alpha-nDCG"), "its name gives it back"),
    Fault("a name with a space", sound(name="No name"), "its name gives it back"),
    Fault("an empty name", sound(name=""), "its name gives it back"),
    Fault("a field that holds a function", HoldsFunction(K), "it pickles", "pickle"),
    Fault("an __eq__ of its own", EqualToNone(K), "its name gives it back|it pickles"),
    Fault("bounds the wrong way round", sound(bounds=(1.0, 0.0)), "it describes itself", "bounds are"),
    Fault(
        "a direction that is a text", sound(higher_is_better="yes"), "it describes itself", "higher_is_better is 'yes'"
    ),
    Fault("no family", sound(family=""), "it describes itself", "family is"),
    # What it needs.
    Fault(
        "a need that is misspelled",
        sound(needs=lambda self: Needs(context=frozenset({"item populrity"}))),
        "its needs can be met",
        "populrity",
    ),
    Fault("needs that are no Needs", counting(needs=lambda self: {"score"}), "its needs can be met", "needs"),
    Fault(
        "popularity that is not declared",
        values(lambda m, b: by_item(b.lookup.items("popularity"), b[Ranked(m.ranking)].items).sum(1).double()),
        DECLARED,
        "needs.. does not declare",
    ),
    Fault(
        "groups of users that are not declared",
        values(lambda m, b: b.lookup.users("groups").double() * 0 + 0.5),
        DECLARED,
        "does not declare",
    ),
    Fault(
        "the catalogue, not declared",
        values(lambda m, b: hits(m, b).sum(1).double() / len(b.lookup.catalogue)),
        DECLARED,
        "does not declare",
    ),
    Fault(
        "scores that are not declared",
        values(lambda m, b: b[ShownColumn("score", m.ranking)][:, : m.k].isfinite().double().mean(1)),
        "it reads scores only if it declares them",
        "score",
    ),
    Fault(
        "scores of the batch, not declared",
        values(lambda m, b: (shown_of(b).column("score").isfinite() & shown_of(b).valid).any(1).double()),
        "it reads scores only if it declares them",
        "score",
    ),
    Fault(
        "needs without those of the base",
        sound(needs=lambda self: Needs(depth=K)),
        "populations are honored",
        "KeyError: .in_given",
    ),
    # What it returns.
    Fault(
        "a value too few", values(lambda m, b: hits(m, b).sum(1).double()[:-1]), SHAPE + "|it answers", "shape|value"
    ),
    Fault(
        "a value too many",
        values(lambda m, b: torch.zeros(len(b) + 1, dtype=torch.float64, device=b.device)),
        SHAPE + "|it answers",
        "shape|value",
    ),
    Fault("values [B, D]", values(lambda m, b: hits(m, b).double()), SHAPE + "|it answers", "shape|value"),
    Fault(
        "values [B, 1]",
        values(lambda m, b: hits(m, b).sum(1, keepdim=True).double()),
        SHAPE + "|it answers",
        "shape|value",
    ),
    Fault(
        "one value for the batch", values(lambda m, b: hits(m, b).sum().double()), SHAPE + "|it answers", "shape|value"
    ),
    Fault(
        "an array of numpy",
        values(lambda m, b: hits(m, b).sum(1).numpy() / 1.0),
        SHAPE + "|it answers",
        "ndarray|tensor",
    ),
    Fault("a list", values(lambda m, b: hits(m, b).sum(1).tolist()), SHAPE + "|it answers", "list|tensor"),
    Fault("float32", values(lambda m, b: hits(m, b).sum(1) / 3), SHAPE, "float32"),
    Fault("float16", values(lambda m, b: (hits(m, b).sum(1) / 3).half()), SHAPE, "float16"),
    Fault(
        "NaN for everyone", values(lambda m, b: hits(m, b).sum(1).double() * math.nan), "values are finite", "NaN|nan"
    ),
    Fault(
        "infinity for everyone", values(lambda m, b: hits(m, b).sum(1).double() + math.inf), "values are finite", "inf"
    ),
    Fault(
        "infinity for users without a hit",
        values(lambda m, b: 1 / hits(m, b).sum(1).double(), bounds=(0.0, math.inf)),
        "values are finite",
        "inf",
    ),
    Fault(
        "the logarithm of 0",
        values(lambda m, b: hits(m, b).sum(1).double().log(), bounds=(-math.inf, math.inf)),
        "values are finite",
        "inf",
    ),
    Fault(
        "a value beyond its bounds",
        values(lambda m, b: hits(m, b).sum(1).double() * 2, bounds=(0.0, 1.0)),
        "values are within bounds",
        "not within",
    ),
    Fault(
        "a negative value",
        values(lambda m, b: -hits(m, b).sum(1).double(), bounds=(0.0, 1.0)),
        "values are within bounds",
        "not within",
    ),
    Fault(
        "a float in place of a Result",
        counting(compute=lambda self, state: float(state["users"])),
        "it answers",
        "compute gives",
    ),
    Fault(
        "nothing in place of a Result", counting(compute=lambda self, state: None), "it answers", "compute gives None"
    ),
    Fault(
        "a tensor as its value", counting(compute=lambda self, state: Result(torch.tensor(1.0))), "it answers", "tensor"
    ),
    Fault(
        "more users than there are",
        counting(compute=lambda self, state: Result(1.0, users=1000)),
        "it answers",
        "1000 users",
    ),
    Fault(
        "a number that is not the mean of its users", Halved(K), "its value is the mean of its users", "the mean of its"
    ),
    Fault(
        "an exception for everyone",
        values(lambda m, b: raise_error(ValueError("ouch"))),
        "it answers",
        "ValueError: ouch",
    ),
    Fault(
        "an exception for short lists",
        values(lambda m, b: torch.tensor([row.nonzero()[0, 0] for row in hits(m, b)])),
        "it answers",
        "IndexError",
    ),
    Fault(
        "an exception for no data",
        counting(compute=lambda self, state: Result(1.0 / state["users"] * state["users"])),
        "an empty state is neutral",
        "Error",
    ),
    # Chance, memory and the process.
    Fault(
        "random numbers of torch",
        values(lambda m, b: torch.rand(len(b), dtype=torch.float64)),
        ALIKE,
        "evaluated again",
    ),
    Fault(
        "random numbers of numpy",
        values(lambda m, b: torch.from_numpy(np.random.rand(len(b)))),
        ALIKE,
        "evaluated again",
    ),
    Fault(
        "random numbers of Python",
        counting(compute=lambda self, state: Result(random.random())),
        ALIKE,
        "evaluated again",
    ),
    Fault("a clock", counting(compute=lambda self, state: Result(time.perf_counter())), ALIKE, "evaluated again"),
    Fault(
        "a memory of calls", counting(compute=lambda self, state: Result(float(remember()))), ALIKE, "evaluated again"
    ),
    Fault(
        "a seed for all of torch",
        values(lambda m, b: then(torch.manual_seed(0), torch.rand(len(b), dtype=torch.float64))),
        PROCESS,
        "generator of torch",
    ),
    Fault(
        "a seed for all of Python",
        counting(compute=lambda self, state: Result(then(random.seed(0), random.random()))),
        PROCESS,
        "generator of Python",
    ),
    Fault(
        "a filter of warnings",
        counting(compute=lambda self, state: Result(then(add_filter(), 1.0))),
        PROCESS,
        "filters of warnings",
    ),
    Fault(
        "the environment",
        counting(compute=lambda self, state: Result(then(os.environ.update(PLANTED=str(remember())), 1.0))),
        PROCESS,
        "the environment",
    ),
    # What is shared.
    Fault(
        "hits doubled in place",
        values(lambda m, b: hits(m, b).logical_not_().sum(1).double() / m.k),
        WRITTEN,
        "written to",
    ),
    Fault(
        "a mask filled in place",
        values(lambda m, b: b[Ranked(m.ranking)].valid.fill_(True)[:, : m.k].sum(1).double() / m.k * 0),
        WRITTEN,
        "written to",
    ),
    Fault(
        "items of the batch sorted in place",
        values(lambda m, b: then(shown_of(b).items.copy_(shown_of(b).items.flip(1)), hits(m, b).sum(1).double() / m.k)),
        WRITTEN,
        "written to",
    ),
    Fault(
        "gains of the batch set to 1",
        values(lambda m, b: then(b.batch.relevant.column("gain").fill_(1), hits(m, b).sum(1).double() / m.k)),
        WRITTEN,
        "written to",
    ),
    Fault(
        "all places that a block has",
        values(lambda m, b: b[Hits(m.ranking, m.relevance)].sum(1).double() / 100),
        "deeper lists change nothing",
        "beside a metric of whole lists",
    ),
    Fault(
        "a block parameter that is no field",
        values(lambda m, b: b[NoField(m.k)]),
        "shared blocks are not written to|it does not mind its kin",
        "field|beside",
    ),
    Fault(
        "a key of lookup.once without its parameter",
        values(lambda m, b: b.lookup.once("planted", lambda: 1.0 / m.k) + hits(m, b).sum(1).double() * 0),
        "it does not mind its kin",
        "beside",
    ),
    # States.
    Fault(
        "a state that starts at one",
        counting(start=lambda self: Sums({"users": 1})),
        "an empty state is neutral",
        "start",
    ),
    Fault(
        "a merge that takes the first",
        holding(TakesFirst, len, lambda held: held or 0),
        "batches change nothing|chunks",
        "became",
    ),
    Fault(
        "a merge that takes the last",
        holding(TakesLast, len, lambda held: held or 0),
        "batches change nothing|chunks",
        "became",
    ),
    Fault(
        "a merge that subtracts",
        holding(Subtracting, len, lambda held: held or 0),
        "an empty state is neutral",
        "became",
    ),
    Fault(
        "a merge that averages averages",
        holding(Averaging, lambda b: float(b.batch.relevant.valid.sum()) / len(b), lambda held: held or 0),
        "batches change nothing|chunks",
        "became",
    ),
    Fault(
        "a merge in place",
        holding(InPlace, lambda b: [len(b)], lambda held: sum(held or [])),
        "states are values",
        "after a merge",
    ),
    Fault(
        "a compute in place",
        holding(Adding, lambda b: [len(b)], lambda held: len(held.append(1) or held) if held else 0),
        "an empty state is neutral",
        "became",
    ),
    Fault(
        "a state that keeps users",
        holding(
            Adding, lambda b: b.batch.slates.users.tolist()[b.batch.start : b.batch.stop], lambda held: len(held or [])
        ),
        "states stay small",
        "times as many",
    ),
    Fault(
        "a state that grows by small integers",
        holding(Adding, lambda b: [1] * len(b), lambda held: len(held or [])),
        "states stay small",
        "bytes",
    ),
    Fault(
        "a state that grows by a byte for each user",
        holding(Adding, lambda b: b"1" * len(b), lambda held: len(held or b"")),
        "states travel",
        "type bytes",
    ),
    Fault(
        "a state that grows by merging",
        holding(Adding, lambda b: [sum(range(len(b)))] * 0 + [7.5 * 0], lambda held: sum(held or [])),
        "states stay small",
        "merged",
    ),
    Fault(
        "item codes kept in a state",
        holding(
            state(merge=lambda one, other: type(one)((one.held or frozenset()) | (other.held or frozenset()))),
            lambda b: frozenset(total_of_items(b).tolist()),
            lambda held: len(held or ()),
        ),
        "chunks and their order change nothing",
        "became",
    ),
    Fault(
        "the largest item code",
        holding(
            state(merge=lambda one, other: type(one)(max(one.held or 0, other.held or 0))),
            lambda b: int(total_of_items(b).max()) if shown_of(b).valid.any() else 0,
            lambda held: held or 0,
        ),
        "chunks and their order change nothing",
        "became",
    ),
    Fault(
        "a lock in a state",
        holding(
            state(merge=lambda one, other: other if one.held is None else one),
            lambda b: threading.Lock(),
            lambda held: 0.0,
        ),
        "states travel",
        "lock|pickle",
    ),
    Fault(
        "a function in a state",
        holding(
            state(merge=lambda one, other: other if one.held is None else one), lambda b: lambda: 1, lambda held: 0.0
        ),
        "states travel",
        "pickle|lambda",
    ),
    Fault(
        "ids taken for numbers",
        holding(
            Adding,
            lambda b: float(sum(b.batch.slates.users.tolist()[b.batch.start : b.batch.stop])),
            lambda held: held or 0.0,
        ),
        "string ids change nothing",
        "TypeError",
    ),
    # Batches, rows, scores, policies, populations, devices.
    Fault(
        "a count of batches",
        counting(update=lambda self, blocks: Sums({"users": 1})),
        "batches change nothing",
        "in batches of 1",
    ),
    Fault(
        "a maximum over the batch",
        values(lambda m, b: hits(m, b).sum(1).double() / hits(m, b).sum(1).max().clamp(min=1)),
        "batches change nothing",
        "in batches of",
    ),
    Fault(
        "a mean over the batch",
        values(lambda m, b: hits(m, b).sum(1).double() * 0 + hits(m, b).double().mean()),
        "batches change nothing",
        "in batches of",
    ),
    Fault(
        "padding read as items",
        values(
            lambda m, b: torch.full((len(b),), shown_of(b).items.shape[1] / 100, dtype=torch.float64, device=b.device)
        ),
        "batches change nothing|deeper lists change nothing",
        "in batches of|beside",
    ),
    Fault(
        "rows in the order in which they came",
        values(lambda m, b: (shown_of(b).items[:, :1] == b.batch.relevant.items[:, :1]).any(1).double()),
        "the order of rows changes nothing|chunks|batches",
        "became",
    ),
    Fault(
        "a ranking of its own in place of the metric's",
        values(lambda m, b: b[Hits(relevance=m.relevance)][:, : m.k].sum(1).double() / m.k),
        "policies are honored",
        "order=.given",
    ),
    Fault(
        "a relevance of its own in place of the metric's",
        values(lambda m, b: b[Hits(m.ranking)][:, : m.k].sum(1).double() / m.k),
        "policies are honored",
        "above=1",
    ),
    Fault("a total that ignores users=", IgnoresUsers(K), "populations are honored", "given users"),
    Fault(
        "a tensor on the wrong device",
        values(lambda m, b: (hits(m, b) * torch.arange(1, 1 + hits(m, b).shape[1])).sum(1).double() / 99),
        "devices change nothing",
        "device",
    ),
    Fault(
        "a result on the wrong device",
        values(lambda m, b: torch.tensor([0.5] * len(b), dtype=torch.float64)),
        "devices change nothing",
        "made on the CPU",
    ),
    Fault(
        ".numpy() without .cpu()",
        values(lambda m, b: torch.from_numpy(hits(m, b).sum(1).numpy() / 3.0)),
        "devices change nothing",
        "on a pretended GPU it raised",
    ),
    # These keep every law.
    Fault("a wrong formula: divided by k + 1", values(lambda m, b: hits(m, b).sum(1).double() / (m.k + 1)), NOT_CAUGHT),
    Fault("a constant", values(lambda m, b: hits(m, b).sum(1).double() * 0 + 0.5), NOT_CAUGHT),
    Fault("a direction the wrong way round", sound(higher_is_better=False), NOT_CAUGHT),
    Fault(
        "a need that is declared and not read",
        sound(needs=lambda self: Sound.needs(self) | Needs(context=frozenset({"item popularity"}))),
        NOT_CAUGHT,
    ),
]


@dataclass(frozen=True)
class Wrapped:
    """Recommendations in a type that only one loader knows."""

    lists: Any


class Own:
    """A sound loader of Wrapped; each fault changes something of it."""

    name = "own"
    label = ""

    def recognizes(self, recommendations: Any, relevance: Any, /) -> bool:
        return isinstance(recommendations, Wrapped)

    def load(self, recommendations: Any, relevance: Any, /, **extras: Any) -> Any:
        return make_source(recommendations.lists, relevance, **extras)


def own(**members: Any) -> Any:
    return type("Planted", (Own,), members)()


def loading(
    lists: Any = lambda lists: lists, relevance: Any = lambda gains: gains, extras: Any = lambda given: given
) -> Any:
    """An Own that changes lists, relevance or extras."""
    return own(
        load=lambda self, shown, truth, /, **given: make_source(lists(shown.lists), relevance(truth), **extras(given))
    )


def recognizing(also: Any) -> Any:
    """An Own that takes other objects as well."""
    return own(recognizes=lambda self, shown, truth, /: isinstance(shown, Wrapped) or also(shown))


def each_pair(change: Any) -> Any:
    return lambda lists: {user: [change(item, score) for item, score in pairs] for user, pairs in lists.items()}


def each_gain(change: Any) -> Any:
    return lambda truth: {user: {item: change(gain) for item, gain in gains.items()} for user, gains in truth.items()}


def offering_all(drop: str) -> Any:
    """An Own that offers an extra and drops it, or that hands on another in its place."""

    def load(self: Any, shown: Any, truth: Any, /, **given: Any) -> Any:
        offers = make_source(shown.lists, truth, **given).offers
        less = {name: one for name, one in given.items() if name != drop}
        return DeferredSource(offers, lambda needs: make_source(shown.lists, truth, **less))

    return own(load=load)


class Once:
    """A source that is used up by one run."""

    label = ""

    def __init__(self, source: Any) -> None:
        self.source, self.offers, self.runs = source, source.offers, 0

    def run(self, plan: Any, how: Any) -> Any:
        self.runs += 1
        return (self.source if self.runs == 1 else make_source({}, {})).run(plan, how)


class Splitting(Once):
    """A source that forgets users if batches are small."""

    def run(self, plan: Any, how: Any) -> Any:
        return (self.source if how.batch_size is None else make_source({}, {})).run(plan, how)


class Unlabeled:
    """A source that lacks what only a report asks for."""

    def __init__(self, source: Any) -> None:
        self.offers, self.run = source.offers, source.run


def refuse_columns(given: dict[str, Any]) -> dict[str, Any]:
    """The extras, of which `columns` must be none."""
    if "columns" in given:
        raise TypeError("load() got an unexpected keyword argument 'columns'")
    return given


@dataclass(frozen=True)
class Written:
    """The path of lists in JSON."""

    path: Path


class Lazy:
    """A sound loader of Written; the class below reads too early."""

    name = "lazy"

    def recognizes(self, recommendations: Any, relevance: Any, /) -> bool:
        return isinstance(recommendations, Written)

    def load(self, recommendations: Any, relevance: Any, /, **extras: Any) -> Any:
        return DeferredSource(
            list_offers({}, **extras) | {"score"},
            lambda needs: make_source(read_json(recommendations.path.read_text()), relevance, **extras),
        )


class Eager(Lazy):
    def load(self, recommendations: Any, relevance: Any, /, **extras: Any) -> Any:
        return make_source(read_json(recommendations.path.read_text()), relevance, **extras)


def read_json(text: str) -> Any:
    return {user: [(item, score) for item, score in pairs] for user, pairs in json.loads(text)}


def import_something() -> bool:
    import xmlrpc.server  # noqa: F401  (nothing else imports it)

    return True


def swap_history(given: dict[str, Any]) -> dict[str, Any]:
    return {**given, "history": {user: [next(iter(items))] for user, items in given["history"].items()}}


OWN = "it recognizes its own and nothing else"
OTHERS = "it leaves to others what is theirs"
DATA = "it gives what the data give"
EXTRAS = "extras that are offered are read"
EVALUATE = "evaluate gives the same"
LOADER_FAULTS = [
    Fault("no name", own(name=""), "it has a name"),
    Fault("a name that is no text", own(name=7), "it has a name"),
    Fault("recognizes gives 1", own(recognizes=lambda self, shown, truth, /: int(isinstance(shown, Wrapped))), OWN),
    Fault(
        "recognizes gives None", own(recognizes=lambda self, shown, truth, /: isinstance(shown, Wrapped) or None), OWN
    ),
    Fault("its own is not recognized", own(recognizes=lambda self, shown, truth, /: False), OWN, "not recognized"),
    Fault("everything is recognized", own(recognizes=lambda self, shown, truth, /: True), OWN, "is recognized"),
    Fault(
        "recognizes raises for strangers",
        own(recognizes=lambda self, shown, truth, /: len(shown.lists) >= 0),
        OWN,
        "AttributeError",
    ),
    Fault("every mapping is recognized", recognizing(lambda one: isinstance(one, dict)), OTHERS, "dict"),
    Fault("every frame is recognized", recognizing(lambda one: isinstance(one, pd.DataFrame)), OTHERS, "DataFrame"),
    Fault(
        "everything with columns is recognized",
        recognizing(lambda one: hasattr(one, "columns")),
        OTHERS,
        "DataFrame|Table",
    ),
    Fault("every path is recognized", recognizing(lambda one: isinstance(one, str)), OTHERS, "str"),
    Fault("every CSV file is recognized", recognizing(lambda one: str(one).endswith(".csv")), OTHERS, "str"),
    Fault("score matrices are recognized", recognizing(lambda one: isinstance(one, Scores)), OTHERS, "Scores"),
    Fault(
        "an import in recognizes",
        own(recognizes=lambda self, shown, truth, /: import_something() and isinstance(shown, Wrapped)),
        "recognizing imports nothing",
        "imports",
    ),
    Fault(
        "load gives nothing",
        own(load=lambda self, shown, truth, /, **given: None),
        "its source offers what it was given",
        "NoneType",
    ),
    Fault(
        "load raises",
        own(load=lambda self, shown, truth, /, **given: raise_error(ValueError("ouch"))),
        "its source offers what it was given",
        "ouch",
    ),
    Fault("extras are dropped", loading(extras=lambda given: {}), "its source offers what it was given", "not offered"),
    Fault(
        "history is dropped",
        loading(extras=lambda given: {n: v for n, v in given.items() if n != "history"}),
        "its source offers what it was given",
        "not offered",
    ),
    Fault(
        "scores are dropped",
        loading(lambda lists: {user: [item for item, _ in pairs] for user, pairs in lists.items()}),
        "its source offers what it was given|" + DATA,
    ),
    Fault("a user is lost", loading(lambda lists: dict(list(lists.items())[:-1])), DATA, "user"),
    Fault(
        "empty lists are lost",
        loading(lambda lists: {user: pairs for user, pairs in lists.items() if pairs}),
        NOT_CAUGHT,
    ),
    Fault(
        "users without relevant items are lost",
        loading(relevance=lambda truth: {u: g for u, g in truth.items() if any(g.values())}),
        DATA,
        "user",
    ),
    Fault("lists are cut at 4", loading(lambda lists: {user: pairs[:4] for user, pairs in lists.items()}), DATA),
    Fault(
        "masked items are kept",
        loading(each_pair(lambda item, score: (item, max(score, -9.0)))),
        EXTRAS,
        "negative score",
    ),
    Fault(
        "the worst comes first",
        loading(each_pair(lambda item, score: (item, -score if score > -math.inf else score))),
        DATA,
    ),
    Fault("scores in float32", loading(each_pair(lambda item, score: (item, float(np.float32(score))))), DATA),
    Fault(
        "scores are rounded",
        loading(each_pair(lambda item, score: (item, round(score, 6) if score > -math.inf else score))),
        DATA,
    ),
    Fault(
        "ranks in place of scores",
        loading(
            lambda lists: {
                user: [(item, -at if score > -math.inf else score) for at, (item, score) in enumerate(pairs)]
                for user, pairs in lists.items()
            }
        ),
        DATA,
    ),
    Fault("gains become 1", loading(relevance=each_gain(lambda gain: 1)), DATA),
    Fault("gains become 0 and 1", loading(relevance=each_gain(lambda gain: min(gain, 1))), DATA),
    Fault(
        "gains of 0 are forgotten",
        loading(relevance=lambda truth: {u: {i: g for i, g in gains.items() if g} for u, gains in truth.items()}),
        DATA,
    ),
    Fault(
        "ids become texts",
        loading(
            lambda lists: {str(user): pairs for user, pairs in lists.items()},
            lambda truth: {str(u): g for u, g in truth.items()},
            lambda given: {},
        ),
        DATA + "|its source offers what it was given",
    ),
    Fault(
        "item ids become floats",
        loading(
            each_pair(lambda item, score: (int(float(item)), score)),
            lambda truth: {u: {int(float(i)): g for i, g in gains.items()} for u, gains in truth.items()},
        ),
        EXTRAS,
    ),
    Fault(
        "a run that is good for one time",
        own(load=lambda self, shown, truth, /, **given: Once(make_source(shown.lists, truth, **given))),
        "it gives the same in batches|it can be run again",
    ),
    Fault(
        "a run that forgets users of small batches",
        own(load=lambda self, shown, truth, /, **given: Splitting(make_source(shown.lists, truth, **given))),
        "it gives the same in batches",
    ),
    Fault("history is offered and dropped", offering_all("history"), EXTRAS),
    Fault("groups of items are offered and dropped", offering_all("item_groups"), EXTRAS),
    Fault("groups of users are offered and dropped", offering_all("user_groups"), EXTRAS),
    Fault("the catalogue is offered and dropped", offering_all("catalogue"), EXTRAS),
    Fault("features of items are offered and dropped", offering_all("item_features"), EXTRAS),
    Fault("previous scores are offered and dropped", offering_all("prev_scores"), EXTRAS),
    Fault("the baseline is offered and dropped", offering_all("baseline"), EXTRAS),
    Fault("the users are offered and dropped", offering_all("users"), EXTRAS),
    Fault("history is cut", loading(extras=swap_history), EXTRAS),
    Fault("a file is read in load", Eager(), "nothing is read in load", "lists.json was moved"),
    Fault(
        "load does not take every argument of evaluate",
        loading(extras=refuse_columns),
        EVALUATE,
        "unexpected .*columns",
    ),
    Fault(
        "a source without a label",
        own(load=lambda self, shown, truth, /, **given: Unlabeled(make_source(shown.lists, truth, **given))),
        EVALUATE,
        "label",
    ),
    Fault(
        "objects in memory are converted in load",
        own(load=lambda self, shown, truth, /, **given: make_source(dict(shown.lists), truth, **given)),
        NOT_CAUGHT,
    ),
]


def check_planted_loader(planted: Any) -> None:
    small = world()
    check_loader(planted, Wrapped(small.recommendations), small.relevance, **small.extras)


def check_planted_reader(planted: Any) -> None:
    small = world()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "lists.json")
        path.write_text(json.dumps(list(small.recommendations.items())))
        check_loader(planted, Written(path), small.relevance, **small.extras)
        assert path.exists()


@pytest.fixture(autouse=True)
def _leave_the_process_alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Some faults change the process."""
    monkeypatch.setenv("PLANTED", "")
    python, numpy, ours = random.getstate(), np.random.get_state(), torch.get_rng_state()
    with warnings.catch_warnings():
        yield
    random.setstate(python)
    np.random.set_state(numpy)
    torch.set_rng_state(ours)


def test_what_is_planted_in_is_sound() -> None:
    check_metric(Sound(K))
    check_metric(Counting())
    check_planted_loader(Own())
    check_planted_reader(Lazy())


CASES = [
    *((check_metric, fault) for fault in METRIC_FAULTS),
    *((check_planted_reader if isinstance(one.planted, Lazy) else check_planted_loader, one) for one in LOADER_FAULTS),
]


@pytest.mark.parametrize(("check", "fault"), [pytest.param(*case, id=case[1].what) for case in CASES])
def test_a_planted_fault_is_told_by_its_law(check: Any, fault: Fault) -> None:
    if fault.law == NOT_CAUGHT:
        check(fault.planted)
        return
    with pytest.raises(AssertionError) as caught:
        check(fault.planted)
    assert re.search(f"breaks the law that ({fault.law}).*: .*({fault.phrase})", str(caught.value), re.DOTALL)


def test_the_page_names_the_faults_that_no_law_catches() -> None:
    section = PAGE.read_text(encoding="utf-8").split("## Not caught")[1]
    listed = [line.removeprefix("- ") for line in section.splitlines() if line.startswith("- ")]
    assert listed == [fault.what for _, fault in CASES if fault.law == NOT_CAUGHT]


@pytest.mark.parametrize(("faults", "number", "caught"), [(METRIC_FAULTS, 60, 57), (LOADER_FAULTS, 25, 23)])
def test_nearly_all_of_many_faults_are_caught(faults: list[Fault], number: int, caught: int) -> None:
    assert len(faults) == len({fault.what for fault in faults}) >= number
    assert sum(fault.law != NOT_CAUGHT for fault in faults) >= len(faults) * caught / number
