"""Small data sets to test metrics and loaders on."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, Literal

from bridgeval.engine.inputs import Inputs

# The scores of the small world. Two pairs are equal in float32, one is below its smallest number.
SCORES = (1e-300, 0.1, 0.1 + 2**-36, 1 / 3, 0.7, 0.7 + 2**-30, 1.0, 2.5)
# Other scores in the same order: negative, beyond the range of float32, neighbors of 0 and of 1.
AWKWARD_SCORES = (-1e300, -2.5, -1e-300, 0.0, 1e-300, 1.0, 1.0 + 2**-50, 1e300)
# Ids that readers of text take for a number, for nothing, or cannot decode.
AWKWARD_TEXTS = {7: "7", 8: "007", 9: "NA", 10: "1e3", 11: "Žižek"}
# Beyond it not every integer is a float64: ids that a loader turns into floats collide.
LARGE = 2**53


@dataclass(frozen=True)
class World:
    """A small data set with a bit of everything.

    Attributes:
        recommendations: user -> (item, score) pairs.
        relevance: user -> item -> gain.
        extras: arguments of `evaluate`: history, catalogue, item_groups, user_groups, item_features, prev_scores,
            baseline, users.
    """

    recommendations: Mapping[Any, Sequence[Any]]
    relevance: Mapping[Any, Mapping[Any, float]]
    extras: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def inputs(self) -> Inputs:
        return Inputs.of(self.recommendations, self.relevance, **self.extras)

    @cached_property
    def awkward(self) -> World:
        """The same order of the items by other scores."""
        scores = sorted({s for pairs in self.recommendations.values() for _, s in pairs if s > -math.inf})
        new = dict(zip(scores, _spread(AWKWARD_SCORES, len(scores)), strict=True))
        return self._with_lists(lambda pairs: [(item, new.get(score, score)) for item, score in pairs])

    @cached_property
    def reversed(self) -> World:
        """The same rows of the lists, last first."""
        return self._with_lists(lambda pairs: pairs[::-1])

    @cached_property
    def reversed_truth(self) -> World:
        """The same rows of the truth, last first."""
        truth = {user: dict(list(gains.items())[::-1]) for user, gains in self.relevance.items()}
        return replace(self, relevance=truth)

    @cached_property
    def distinct(self) -> World:
        """The lists without masked rows, and of repeated rows the best alone."""
        return self._with_lists(lambda pairs: list(_keep_best(pairs).items()))

    @cached_property
    def sorted(self) -> World:
        """The lists of `distinct` from the highest score to the lowest; of equal scores the highest item first."""
        return self.distinct._with_lists(lambda pairs: sorted(pairs, key=lambda pair: (pair[1], pair[0]), reverse=True))

    @cached_property
    def untied(self) -> World:
        """The lists of `sorted` with scores that differ: the order is the same, and nothing is tied."""
        return self.sorted._with_lists(_score_by_place)

    @cached_property
    def untied_ascending(self) -> World:
        """The same, but of equal scores the lowest item first."""
        return self.distinct._with_lists(
            lambda pairs: _score_by_place(sorted(pairs, key=lambda one: (-one[1], one[0])))
        )

    @cached_property
    def found(self) -> World:
        """Lists of what proved relevant and of what the users had before, in turn one or the other first."""
        lists = {}
        for at, (user, gains) in enumerate(self.relevance.items()):
            parts = [[item for item, gain in gains.items() if gain], list(self.extras.get("history", {}).get(user, ()))]
            items = dict.fromkeys([*parts[at % 2], *parts[1 - at % 2]])
            lists[user] = [(item, 9.0 - place) for place, item in enumerate(items)]
        return replace(self, recommendations=lists)

    def cut(self, k: int) -> World:
        """The first k places of the lists of `sorted`."""
        return self.sorted._with_lists(lambda pairs: pairs[:k])

    @cached_property
    def plain(self) -> World:
        """Lists without repeated and masked rows, in an order that is not that of the scores."""
        return self._with_lists(
            lambda pairs: list({item: (item, score) for item, score in pairs if score > -math.inf}.values())
        )

    @cached_property
    def ranked(self) -> World:
        """The lists of `plain` without scores: their order is the ranking."""
        return self.plain._with_lists(lambda pairs: [item for item, _ in pairs])

    @cached_property
    def without_low_gains(self) -> World:
        """Gains of at most 1 become 0."""
        return replace(
            self,
            relevance={
                user: {item: gain if gain > 1 else 0 for item, gain in gains.items()}
                for user, gains in self.relevance.items()
            },
        )

    def _with_lists(self, change: Callable[[Any], Sequence[Any]]) -> World:
        return replace(self, recommendations={user: change(pairs) for user, pairs in self.recommendations.items()})


def _score_by_place(pairs: Sequence[Any]) -> list[Any]:
    return [(item, -float(place)) for place, (item, _) in enumerate(pairs)]


def _keep_best(pairs: Sequence[Any]) -> dict[Any, float]:
    """Item -> its highest score, without masked items."""
    best: dict[Any, float] = {}
    for item, score in pairs:
        if score > -math.inf:
            best[item] = max(score, best.get(item, score))
    return best


def _spread(values: Sequence[float], number: int) -> Sequence[float]:
    """As many values in ascending order."""
    return values[:number] if number <= len(values) else sorted([*values, *(10.0 + n for n in range(number - 8))])


@cache
def world(ids: Literal["integer", "string"] = "integer", *, whole: bool = False, fractions: bool = False) -> World:
    """The same data on every call: 18 users, and 12 items of a catalogue for each half of them.

    The halves share no item, so that what is kept by the number of an item in a chunk goes wrong. It has tied scores,
    scores that are equal in float32, a repeated row, masked items, short and empty lists, users that only one
    side names, gains of 0, ids beyond 2^53 or such as "007" and "NA", items without a group, a
    previous score or a place in the catalogue.

    Args:
        ids: of users and items.
        whole: every user ranks the whole catalogue of 12 items without the history, as AUC needs it.
        fractions: gains of 2.5 in place of 2, for loaders; some metrics take whole gains alone.
    """
    draw = random.Random(20)
    grades = [0.0, 1.0, 1.0, 2.5, 3.0] if fractions else [0, 1, 1, 2, 3]
    users = [_id(ids, "user", number) for number in range(18)]
    items = [_id(ids, "item", number) for number in range(12 if whole else 24)]
    near = {user: items[:12] if whole or at % 4 < 2 else items[12:] for at, user in enumerate(users)}
    history = {user: draw.sample(near[user][:10], 1 + at % 3) for at, user in enumerate(users)}
    lists: dict[Any, list[tuple[Any, float]]] = {}
    relevance: dict[Any, dict[Any, float]] = {}
    for at, user in enumerate(users):
        candidates = [item for item in near[user] if item not in history[user]]
        length = len(candidates) if whole else (0, 1, 4, 7, 9)[at % 5]
        rows = [(item, draw.choice(SCORES)) for item in draw.sample(candidates, length)]
        if not whole and at % 6 == 2:
            rows += [(rows[0][0], 0.7), (near[user][11], -math.inf)]
        if whole or at != 3:
            lists[user] = rows
        if at % 7 != 6:
            relevance[user] = {item: draw.choice(grades) for item in draw.sample(candidates, 1 + at % 4)}
    extras = {
        "history": history,
        "catalogue": items if whole else items[:-1],
        "item_groups": {item: f"group {at % 3}" for at, item in enumerate(items[:-1])},
        "user_groups": {user: ("new", "old")[at % 2] for at, user in enumerate(users)},
        "item_features": {item: [f"f{at % 4}", f"f{at % 3}"] for at, item in enumerate(items)},
        "prev_scores": {
            user: {item: draw.randrange(1, 9) / 8 for item in near[user] if draw.random() < 0.8} for user in users[:16]
        },
        "baseline": {user: draw.sample(near[user], 5) for user in users[:15]},
        "users": users[::2],
    }
    return World(lists, relevance, extras)


def _id(ids: str, what: str, number: int) -> Any:
    if ids == "string":
        return AWKWARD_TEXTS.get(number, f"{what} {number:02d}")
    return LARGE + number - 9 if 9 <= number < 12 else 7 * number - 20
