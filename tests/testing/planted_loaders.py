"""Faults that authors make in loaders."""

from __future__ import annotations

import json
import math
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bridgeval.plugin import (
    DeferredSource,
    Scores,
    list_offers,
    make_source,
)
from bridgeval.testing import world
from tests.testing.planted_fault import NOT_CAUGHT, Fault
from tests.testing.planted_metrics import raise_error


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


class WrittenList(list[Path]):
    """The path of lists in JSON, in a list."""


class EagerList(Lazy):
    """Reads too early; its paths are in a list."""

    def recognizes(self, recommendations: Any, relevance: Any, /) -> bool:
        return isinstance(recommendations, WrittenList)

    def load(self, recommendations: Any, relevance: Any, /, **extras: Any) -> Any:
        return make_source(read_json(recommendations[0].read_text()), relevance, **extras)


def read_json(text: str) -> Any:
    return {user: [(item, score) for item, score in pairs] for user, pairs in json.loads(text)}


def import_something() -> bool:
    import xmlrpc.server  # noqa: F401  (nothing else imports it)

    return True


def swap_history(given: dict[str, Any]) -> dict[str, Any]:
    return {**given, "history": {user: [next(iter(items))] for user, items in given["history"].items()}}


# A user whom nobody has.
MARK = 1 << 60


def without(given: dict[str, Any], name: str) -> dict[str, Any]:
    return {one: value for one, value in given.items() if one != name}


def refuse_context(given: dict[str, Any]) -> dict[str, Any]:
    """The extras, of which `context` must be none."""
    if given.get("context"):
        raise TypeError("load() got an unexpected keyword argument 'context'")
    return given


def swap_roles(self: Any, shown: Any, truth: Any, /, **given: Any) -> Any:
    lists = {user: list(gains.items()) for user, gains in truth.items()}
    gains = {user: {item: 1.0 for item, _ in pairs} for user, pairs in shown.lists.items()}
    return make_source(lists, gains, **given)


def offer_everything(self: Any, shown: Any, truth: Any, /, **given: Any) -> Any:
    offers = make_source(shown.lists, truth, **world().extras, context={"weight": {1: 1.0}}).offers
    return DeferredSource(offers, lambda needs: make_source(shown.lists, truth, **given))


def mark_lists(self: Any, shown: Any, truth: Any, /, **given: Any) -> Any:
    lists = {user: pairs for user, pairs in shown.lists.items() if user != MARK}
    shown.lists[MARK] = []
    return make_source(lists, truth, **given)


def mark_extras(self: Any, shown: Any, truth: Any, /, **given: Any) -> Any:
    history = given.get("history") or {}
    given["history"] = {user: items for user, items in history.items() if user != MARK} or None
    if history:
        history[MARK] = []
    return make_source(shown.lists, truth, **given)


def change_folder(self: Any, shown: Any, truth: Any, /, **given: Any) -> Any:
    os.chdir("/" if os.getcwd() != "/" else tempfile.gettempdir())
    return make_source(shown.lists, truth, **given)


def as_int32(user: int) -> int:
    return int(np.int64(user).astype(np.int32))


def load_in_chunks(change: Any) -> Any:
    """A load that reads users in chunks of 4, of which something is changed."""

    def load(self: Any, shown: Any, truth: Any, /, **given: Any) -> Any:
        users = list(dict.fromkeys([*shown.lists, *truth]))
        lists: dict[Any, Any] = {}
        chunks = change([users[at : at + 4] for at in range(0, len(users), 4)])
        for user in (user for chunk in chunks for user in chunk):
            if user in shown.lists:
                lists[user] = [*lists.get(user, ()), *shown.lists[user]]
        return make_source(lists, truth, **given)

    return load


PROCESS = "it leaves the process as it was"
OWN = "it recognizes its own and nothing else"
CONTEXT = "context tables are handed on"
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
        "it adds no rows",
        "rows that are not masked",
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
        DATA + "|" + EXTRAS,
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
        "users are renumbered",
        loading(
            lambda lists: {at: pairs for at, (_, pairs) in enumerate(sorted(lists.items()))},
            lambda truth: {at: gains for at, (_, gains) in enumerate(sorted(truth.items()))},
        ),
        DATA,
    ),
    Fault("every score becomes 1", loading(each_pair(lambda item, score: (item, min(score, 1.0)))), DATA),
    Fault("the first row of a list is lost", loading(lambda lists: {u: pairs[1:] for u, pairs in lists.items()}), DATA),
    Fault("fractions of gains are lost", loading(relevance=each_gain(int)), DATA),
    Fault("lists and truth are swapped", own(load=swap_roles), DATA),
    Fault(
        "user ids become int32",
        loading(
            lambda lists: {as_int32(user): pairs for user, pairs in lists.items()},
            lambda truth: {as_int32(user): gains for user, gains in truth.items()},
        ),
        DATA,
    ),
    Fault("the last chunk of users is lost", own(load=load_in_chunks(lambda chunks: chunks[:-1])), DATA),
    Fault(
        "context tables are dropped", loading(extras=lambda given: without(given, "context")), CONTEXT, "not offered"
    ),
    Fault("context tables are refused", loading(extras=refuse_context), CONTEXT, "unexpected"),
    Fault("mask_seen is dropped", loading(extras=lambda given: without(given, "mask_seen")), EVALUATE, "mask_seen="),
    Fault("everything is offered", own(load=offer_everything), "what it offers by itself can be read", "is offered"),
    Fault("lists are written to", own(load=mark_lists), "its inputs are left as they were", "recommendations"),
    Fault("extras are written to", own(load=mark_extras), "its inputs are left as they were", "extras"),
    Fault(
        "a seed for all of numpy", loading(lambda lists: (np.random.seed(1), lists)[1]), PROCESS, "generator of numpy"
    ),
    Fault("another working directory", own(load=change_folder), PROCESS, "working directory"),
    Fault("files in a list are read in load", EagerList(), "nothing is read in load", "lists.json was moved"),
    Fault("columns= is ignored", loading(extras=lambda given: without(given, "columns")), EVALUATE, "item"),
    Fault(
        "objects in memory are converted in load",
        own(load=lambda self, shown, truth, /, **given: make_source(dict(shown.lists), truth, **given)),
        NOT_CAUGHT,
    ),
    Fault(
        "rows are repeated",
        loading(lambda lists: {user: [*pairs, *pairs] for user, pairs in lists.items()}),
        "it adds no rows",
        "rows that are not masked",
    ),
    Fault(
        "rows are sorted by their scores",
        loading(lambda lists: {user: sorted(pairs, key=lambda pair: -pair[1]) for user, pairs in lists.items()}),
        NOT_CAUGHT,
    ),
]
