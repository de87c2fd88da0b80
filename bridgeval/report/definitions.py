"""Definitions of numbers in words, from the metric's docstring and its parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from bridgeval.engine.metric import Metric, literal

# The meaning of the parameters that every per-user metric has.
SHARED = {
    "users": {
        "relevant": "users with at least one relevant item count",
        "shown": "users who were shown something count",
        "both": "users who were shown something and have a relevant item count",
        "any": "every user that either side names counts",
        "truth": "users with a row of relevance count, whatever its gain",
        "history": "users of the history count",
        "baseline": "users of the baseline count",
        "given": "the users given count",
        "known": "all users there are count: those given, else those of the history",
        "listed": "users whom the recommendations name count, with an empty list too",
        "judged": "users whom the relevance names count, with an empty list too",
        "answered": "users with a row of relevance count, whatever its gain, if the recommendations name them",
        "measured": "users whom the recommendations name count, with an empty list if the relevance names them",
    },
    "order": {
        "score": "lists are ordered by score, highest first; lists without scores keep their order",
        "given": "lists keep the order they came in",
    },
    "ties": {
        "item_descending": "equal scores are ordered by item id, highest first",
        "item_ascending": "equal scores are ordered by item id, lowest first",
        "text_descending": "equal scores are ordered by item id as text, highest first",
        "text_ascending": "equal scores are ordered by item id as text, lowest first",
        "given": "equal scores keep the order they came in",
        "random": "equal scores are in an order that ids and the seed decide",
        "optimistic": "of equal scores the item with the higher gain comes first",
        "pessimistic": "of equal scores the item with the lower gain comes first",
        "average": "the number is its mean over all orders of equal scores",
        "first": "equal scores share the first of their places",
        "middle": "equal scores share the middle one of their places, rounded down",
        "last": "equal scores share the last of their places",
    },
    "duplicates": {
        "best": "of a repeated item the best place counts",
        "all": "a repeated item counts each time",
    },
    "masked": {
        "drop": "items scored -inf are not shown",
        "keep": "items scored -inf stay at the end of the list",
    },
    "truth_duplicates": {
        "best": "of a repeated relevant item the highest gain counts, once",
        "first": "of a repeated relevant item the first counts",
        "all": "a repeated relevant item counts each time",
        "each": "a repeated relevant item counts, and is found, each time",
    },
    "unjudged": {
        "keep": "items that the truth does not name are part of the list",
        "skip": "items that the truth does not name are left out of the list",
    },
    "empty": {
        "zero": "a user without relevant items who counts scores 0",
        "one": "a user without relevant items who counts scores 1",
        "match": "a user without relevant items scores 1 if nothing was shown either, else 0",
        "drop": "a user without relevant items has no value",
    },
    "gaps": {
        "close": "where ranks leave places out, later rows move up",
        "keep": "rows stay at their ranks, also where these leave places out",
    },
    "over": {
        "mean": "the mean over users",
        "sum": "the sum over users",
        "variance": "the variance over users",
        "p90": "the 90th percentile over users",
        "median": "the median over users",
        "lower_median": "the lower median over users",
        "min": "the lowest value of a user",
        "max": "the highest value of a user",
        "geometric": "the geometric mean over users, of values from 0.00001 up",
        "pooled": "the sum of all users' numerators over that of their denominators",
        "half_width": "half the width of the interval of the mean",
        "per_user": "one value for each user",
    },
}
COMMON = (*SHARED, "above", "at_least", "cut", "seed", "score_above")
# What the docstrings of `Ranking` and `Relevance` say, in a sentence.
POLICIES = {
    "cut": "lists are cut to this many rows before repeated items are removed; None leaves them whole.",
    "seed": 'of ties="random".',
    "score_above": "an item that scores no more than this has its place, but is no hit; None has no such bar.",
    "at_least": "a row is relevant when its gain is at least this; None takes every row that `above` takes.",
}
ALWAYS = ("users", "ties", "above")
HIDDEN = ("k", "confidence", "lone")


@dataclass(frozen=True)
class Definition:
    """The definition of one number.

    Attributes:
        name: as it was asked for, the toolkit's prefix included.
        native: the same as a native metric with all parameters that matter.
        family: the group it is listed in.
        direction: "higher is better", "lower is better" or "neither is better".
        summary: formula and source, from the metric's docstring.
        rules: the parameters on which toolkits disagree, in words.
    """

    name: str
    native: str
    family: str
    direction: str
    summary: str
    rules: tuple[str, ...]


def define(metric: Metric) -> Definition:
    """The definition of a metric as it stands, its parameters filled in.

    >>> import bridgeval
    >>> definition = define(bridgeval.parse("trec_eval:map_cut@5")[0])
    >>> definition.native
    'MAP(users="answered", ties="text_descending", divide_by="relevant")@5'
    >>> definition.rules[1]
    'equal scores are ordered by item id as text, highest first'
    """
    return Definition(
        str(metric),
        str(replace(metric, label=None)),
        metric.family,
        name_direction(type(metric)),
        read_summary(type(metric)),
        tuple(_rules(metric)),
    )


def name_direction(metric: type[Metric]) -> str:
    if metric.higher_is_better is None:
        return "neither is better"
    return "higher is better" if metric.higher_is_better else "lower is better"


def read_summary(metric: type[Metric]) -> str:
    """The docstring up to its first section or example, as paragraphs."""
    text = re.split(r"\n\s*(?:Attributes|Args|Returns):|\n\s*>>>", inspect.getdoc(metric) or "")[0]
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n"))


def describe_parameters(metric: type[Metric]) -> dict[str, str]:
    """Parameter -> what its docstring says about it; shared ones by the table above, the rest by the class."""
    said: dict[str, str] = {}
    for one in reversed(metric.__mro__):
        said |= _attributes(one.__doc__ or "")
    said |= POLICIES
    said |= {name: "; ".join(f'"{value}", {words}' for value, words in SHARED[name].items()) for name in SHARED}
    return {name: said.get(name, "") for name in metric.default_parameters() if name not in HIDDEN}


def _rules(metric: Metric) -> Iterable[str]:
    values, defaults = metric.parameters, metric.default_parameters()
    for name, said in describe_parameters(type(metric)).items():
        if name not in COMMON or name in ALWAYS or values[name] != defaults[name]:
            yield _in_words(name, values[name], said, values.get("k"))


def _in_words(name: str, value: Any, said: str, k: int | None) -> str:
    if name == "above":
        return (
            "every row of the truth is relevant" if value is None else f"rows with a gain above {value:g} are relevant"
        )
    if name == "at_least":
        return f"rows with a gain of at least {value:g} are relevant"
    if name == "cut":
        return f"lists are cut to {value} rows before repeated items are removed"
    if value in SHARED.get(name, {}):
        return SHARED[name][value]
    chosen = literal(value, k)
    # A parameter's text lists its values: `"linear", r; "binary", 1`.
    meaning = re.search(re.escape(chosen) + r", ([^;]*)", said) if isinstance(value, str) else None
    return f"{name} = {chosen}" + (f": {meaning[1].rstrip('.')}" if meaning else "")


def _attributes(doc: str) -> dict[str, str]:
    """Names and texts of the section `Attributes` of a docstring."""
    _, found, section = inspect.cleandoc(doc).partition("\nAttributes:\n")
    said: dict[str, str] = {}
    names: list[str] = []
    for line in section.splitlines() if found else []:
        entry = re.match(r"    (\w+(?:, \w+)*): (.*)", line)
        if entry:
            names = entry[1].split(", ")
            said |= dict.fromkeys(names, entry[2])
        elif line.startswith("      ") and names:
            said |= {name: f"{said[name]} {line.strip()}" for name in names}
        elif line.strip():
            break
    return said
