"""Faults that authors make in metrics."""

from __future__ import annotations

import math
import os
import random
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import torch

from bridgeval.plugin import (
    Block,
    Hits,
    Metric,
    Needs,
    Ranked,
    Result,
    ShownColumn,
    Sums,
    TopKMetric,
    TotalMetric,
    by_item,
)
from tests.testing.planted_fault import NOT_CAUGHT, Fault

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


def count_ranked(metric: Any, blocks: Any, **policy: Any) -> Any:
    """The share of the first k places that is filled, by another ranking than the metric's."""
    return blocks[Ranked(replace(metric.ranking, **policy))].valid[:, : metric.k].sum(1).double() / metric.k


def discounted(hits: Any) -> Any:
    return (hits.double() / torch.arange(1, hits.shape[1] + 1, device=hits.device)).sum(1)


def match_unmasked(metric: Any, blocks: Any) -> Any:
    """Hits by the codes alone, padding included."""
    shown = blocks[Ranked(metric.ranking)].items[:, : metric.k, None]
    return (shown == blocks.batch.relevant.items[:, None, :]).any(2)


def to_tensor(array: Any, blocks: Any) -> Any:
    return torch.from_numpy(array.astype(np.float64)).to(blocks.device)


def users_of(blocks: Any) -> Any:
    return blocks.batch.slates.users.tolist()[blocks.batch.start : blocks.batch.stop]


CACHE: dict[int, Any] = {}


class Mutable:
    """A state that merges in place."""

    def __init__(self, users: int = 0) -> None:
        self.users = users

    def merge(self, other: Any) -> Any:
        self.users += other.users
        return self


NOBODY = Mutable()


@dataclass(frozen=True)
class SharedState(Counting):
    name = "SharedState"

    def start(self) -> Any:
        return NOBODY

    def update(self, blocks: Any) -> Any:
        return Mutable(len(blocks))

    def compute(self, state: Any) -> Any:
        return Result(float(state.users))


@dataclass(frozen=True)
class IgnoringTotal(TotalMetric):
    """The places that are filled, of users with a list."""

    name = "IgnoringTotal"

    def start(self) -> Any:
        return Sums()

    def update(self, blocks: Any) -> Any:
        return Sums({"places": int(blocks[Ranked(self.ranking)].valid[:, : self.k].sum())})

    def compute(self, state: Any) -> Any:
        return Result(float(state["places"]))


@dataclass(frozen=True)
class HalvedInSilence(Sound):
    """Its number is the half of what its users have, and has no deviation that would tell."""

    name = "HalvedInSilence"

    def compute(self, state: Any) -> Any:
        result = super().compute(state)
        return result if result.value is None else replace(result, value=result.value / 2, deviation=None)


@dataclass(frozen=True)
class CollectedThings:
    """A state that grows, and is called as one that may."""

    held: Any = None

    def merge(self, other: Any) -> Any:
        return CollectedThings(add_up(self.held, other.held))


SHAPE = "values are one per user"
FLOAT = "numbers are computed in float64"
DROPPED = "rows that are dropped change nothing"
PLACES = "it reads the first k places"
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
    Fault("float32", values(lambda m, b: hits(m, b).sum(1) / 3), FLOAT, "float32"),
    Fault("float16", values(lambda m, b: (hits(m, b).sum(1) / 3).half()), FLOAT, "float16"),
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
        "states are values",
        "compute writes to the state",
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
        values(lambda m, b: torch.tensor(hits(m, b).sum(1).tolist(), dtype=torch.float64) / m.k),
        "devices change nothing",
        "made on the CPU|on the same device",
    ),
    Fault(
        ".numpy() without .cpu()",
        values(lambda m, b: torch.from_numpy(hits(m, b).sum(1).numpy() / 3.0)),
        "devices change nothing",
        "on a pretended GPU it raised",
    ),
    # These keep every law.
    Fault("a wrong formula: divided by k + 1", values(lambda m, b: hits(m, b).sum(1).double() / (m.k + 1)), NOT_CAUGHT),
    Fault("a direction the wrong way round", sound(higher_is_better=False), NOT_CAUGHT),
    Fault(
        "a need that is declared and not read",
        sound(needs=lambda self: Sound.needs(self) | Needs(context=frozenset({"item popularity"}))),
        "it reads all that it declares",
        "without item popularity it answers alike",
    ),
]


# As authors met it: numbers, rows, places, memory.
METRIC_FAULTS += [
    Fault(
        "float32 that is cast to float64 too late", values(lambda m, b: (hits(m, b).sum(1) / 3).double()), FLOAT, "div"
    ),
    Fault(
        "a logarithm of integers, which is float32",
        values(
            lambda m, b: (hits(m, b).double() / torch.arange(2, hits(m, b).shape[1] + 2, device=b.device).log2()).sum(1)
        ),
        FLOAT,
        "log2 gives float32",
    ),
    Fault(
        "float32 of numpy",
        values(lambda m, b: to_tensor(hits(m, b).sum(1).cpu().numpy().astype(np.float32) / 3, b)),
        FLOAT,
        "digits",
    ),
    Fault(
        "float32 sums in a state",
        holding(Adding, lambda b: b.batch.relevant.valid.sum().float(), lambda held: 0 if held is None else held),
        FLOAT,
        "the state holds float32",
    ),
    Fault(
        "a tensor that requires a gradient",
        values(lambda m, b: (hits(m, b).sum(1).double() / m.k).requires_grad_()),
        "it answers",
        "requires grad.*the engine cannot use",
    ),
    Fault(
        "repeated rows counted twice", values(lambda m, b: shown_of(b).valid.sum(1).double() / 99), DROPPED, "repeated"
    ),
    Fault(
        "repeated rows kept by a ranking of its own",
        values(lambda m, b: count_ranked(m, b, duplicates="all")),
        DROPPED,
        "repeated",
    ),
    Fault("masked rows kept by a ranking of its own", values(lambda m, b: count_ranked(m, b, masked="keep")), DROPPED),
    Fault(
        "the first row of the truth",
        values(lambda m, b: torch.nn.functional.pad(b.batch.relevant.column("gain").double(), (0, 1))[:, 0] / 9),
        "the order of rows changes nothing",
        "reverse",
    ),
    Fault(
        "padding matched with padding",
        values(lambda m, b: match_unmasked(m, b).sum(1).double() / 99),
        "batches change nothing",
        "in batches of",
    ),
    Fault(
        "a cutoff that is one too short", values(lambda m, b: hits(m, b)[:, : m.k - 1].sum(1).double() / m.k), PLACES
    ),
    Fault(
        "a cutoff that is one too long",
        values(
            lambda m, b: b[Hits(m.ranking, m.relevance)][:, : m.k + 1].sum(1).double() / 9,
            needs=lambda self: replace(Sound.needs(self), depth=self.k + 1),
        ),
        PLACES,
        "cut at 5",
    ),
    Fault("a constant", values(lambda m, b: hits(m, b).sum(1).double() * 0 + 0.5), PLACES, "empty lists"),
    Fault(
        "fewer places declared than are read",
        sound(needs=lambda self: replace(Sound.needs(self), depth=1)),
        "deeper lists change nothing",
        "needs.. declares fewer",
    ),
    Fault(
        "a division by k - 1",
        values(lambda m, b: (1 + hits(m, b).sum(1).double()) / (m.k - 1), bounds=(0.0, math.inf)),
        "other cutoffs have finite values",
        "at the cutoff 1 its value is inf",
    ),
    Fault(
        "a history that is not declared",
        values(lambda m, b: hits(m, b).sum(1).double() / len(b.batch.slates.history.items)),
        "it answers",
        "needs.. does not declare",
    ),
    Fault(
        "an operation in place without effect on these data",
        values(
            lambda m, b: b[ShownColumn("score", m.ranking)].nan_to_num_()[:, : m.k].isfinite().sum(1).double() / 99,
            needs=lambda self: Sound.needs(self) | Needs(pairs=frozenset({"score"})),
        ),
        WRITTEN,
        "nan_to_num_",
    ),
    Fault(
        "a value of the place in the batch",
        values(lambda m, b: torch.arange(len(b), device=b.device).double() / 99),
        "batches change nothing",
        "in batches of",
    ),
    Fault(
        "random numbers of a seed in each batch",
        values(lambda m, b: to_tensor(np.random.default_rng(0).random(len(b)), b)),
        "batches change nothing",
        "in batches of",
    ),
    Fault(
        "item codes taken for ids",
        values(lambda m, b: (b[Ranked(m.ranking)].valid & (b[Ranked(m.ranking)].items % 3 == 0))[:, : m.k].sum(1) / 8),
        "chunks and their order change nothing",
        "codes of items",
    ),
    Fault(
        "the vocabulary of a chunk taken for the catalogue",
        values(lambda m, b: hits(m, b).sum(1).double() / len(b.batch.slates.items)),
        "chunks and their order change nothing",
        "the size of a chunk",
    ),
    Fault(
        "a cache by the size of the batch",
        values(lambda m, b: CACHE.setdefault(len(b), hits(m, b).sum(1).double() / m.k)),
        "batches change nothing",
        "in batches of",
    ),
    Fault("a state that all evaluations share", SharedState(), "states are values", "merge writes"),
    Fault("a sum over everyone that ignores users=", IgnoringTotal(K), "populations are honored", "given users"),
    Fault(
        "values of users that its number drops",
        sound(compute=lambda self, state: Result((Sound.compute(self, state).value or 0) / 2)),
        "values are finite",
        "compute drops the values",
    ),
    Fault("a number that hides that it is no mean", HalvedInSilence(K), "its value is the mean of its users"),
    Fault(
        "values of users at another cutoff",
        sound(per_user=lambda self: replace(self, k=self.k - 2, over="per_user")),
        "its value is the mean of its users",
    ),
    Fault(
        "a growing state that is called Collected",
        holding(CollectedThings, lambda b: [1] * len(b), lambda held: len(held or [])),
        "states stay small",
        "bytes",
    ),
    Fault(
        "a state on the device",
        holding(
            Adding, lambda b: b.batch.relevant.valid.sum().double(), lambda held: 0 if held is None else held.numpy()
        ),
        "devices change nothing",
        "pretended GPU",
    ),
    Fault(
        "gradients switched off",
        counting(compute=lambda self, state: Result(then(torch.set_grad_enabled(False), float(state["users"])))),
        PROCESS,
        "gradients",
    ),
    Fault(
        "all warnings switched off",
        counting(compute=lambda self, state: Result(then(warnings.simplefilter("ignore"), float(state["users"])))),
        PROCESS,
        "filters of warnings",
    ),
    # These keep every law.
    Fault(
        "ties by a ranking of its own",
        values(lambda m, b: discounted(b[Hits(replace(m.ranking, ties="item_ascending"), m.relevance)][:, : m.k])),
        "ties are broken by its ranking",
        "item_ascending",
    ),
    Fault(
        "rows of the truth with a gain of 0 counted as relevant",
        values(lambda m, b: hits(m, b).sum(1).double() / b.batch.relevant.valid.sum(1).clamp(min=1)),
        NOT_CAUGHT,
    ),
    Fault(
        "hash() of an id, which for texts differs from process to process",
        holding(Adding, lambda b: float(sum(hash(str(one)) / 2**64 for one in users_of(b))), lambda held: held or 0.0),
        "string ids change nothing",
        "hash.. of a text",
    ),
    Fault(
        "users who were shown nothing left out by NaN, where they should have 0",
        values(lambda m, b: hits(m, b).sum(1).double() / m.k / b[Ranked(m.ranking)].valid.any(1)),
        NOT_CAUGHT,
    ),
]
