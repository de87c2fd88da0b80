"""A small data set to test metrics and loaders on."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Literal

from bridgeval.engine.inputs import Inputs


@dataclass(frozen=True)
class World:
    """A small data set with a bit of everything.

    Attributes:
        recommendations: user -> (item, score) pairs.
        relevance: user -> item -> gain.
        extras: arguments of `evaluate`: history, catalogue, item_groups, user_groups, item_features, prev_scores,
            baseline, users.
    """

    recommendations: Mapping[Any, Sequence[tuple[Any, float]]]
    relevance: Mapping[Any, Mapping[Any, float]]
    extras: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def inputs(self) -> Inputs:
        return Inputs.of(self.recommendations, self.relevance, **self.extras)


@cache
def world(ids: Literal["integer", "string"] = "integer", *, whole: bool = False) -> World:
    """The same data on every call: 18 users, 12 items of a catalogue.

    It has tied scores, a repeated row, masked items, short and empty lists, users that only one side names, gains of 0,
    items without a group, a previous score or a place in the catalogue.

    Args:
        ids: of users and items.
        whole: every user ranks the whole catalogue without the history, as AUC needs it.
    """
    draw = random.Random(20)
    users = [_id(ids, "user", number) for number in range(18)]
    items = [_id(ids, "item", number) for number in range(12)]
    history = {user: draw.sample(items[:10], 1 + at % 3) for at, user in enumerate(users)}
    lists: dict[Any, list[tuple[Any, float]]] = {}
    relevance: dict[Any, dict[Any, float]] = {}
    for at, user in enumerate(users):
        candidates = [item for item in items if item not in history[user]]
        length = len(candidates) if whole else (0, 1, 4, 7, 9)[at % 5]
        rows = [(item, draw.randrange(1, 9) / 8) for item in draw.sample(candidates, length)]
        if not whole and at % 6 == 2:
            rows += [(rows[0][0], 0.75), (items[11], -math.inf)]
        if whole or at != 3:
            lists[user] = rows
        if at % 7 != 6:
            relevance[user] = {item: draw.choice([0, 1, 1, 2, 3]) for item in draw.sample(candidates, 1 + at % 4)}
    extras = {
        "history": history,
        "catalogue": items if whole else items[:11],
        "item_groups": {item: f"group {at % 3}" for at, item in enumerate(items[:11])},
        "user_groups": {user: ("new", "old")[at % 2] for at, user in enumerate(users)},
        "item_features": {item: [f"f{at % 4}", f"f{at % 3}"] for at, item in enumerate(items)},
        "prev_scores": {
            user: {item: draw.randrange(1, 9) / 8 for item in items if draw.random() < 0.8} for user in users[:16]
        },
        "baseline": {user: draw.sample(items, 5) for user in users[:15]},
        "users": users[::2],
    }
    return World(lists, relevance, extras)


def _id(ids: str, what: str, number: int) -> Any:
    return f"{what} {number:02d}" if ids == "string" else 7 * number - 20
