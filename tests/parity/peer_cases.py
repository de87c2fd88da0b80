"""Random cases for the fuzz against peers: small, seeded, each with one trait."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

ITEMS = range(1, 26)
KS = [1, 3, 10]
Lists = list[list[Any]]


def make_case(trait: str, seed: int) -> dict[str, Any]:
    """Up to six users with ragged lists and distinct scores, then the trait."""
    draw = random.Random(f"{trait} {seed}")
    users = range(1, draw.randint(2, 6) + 1)
    shown = [[user, _pair(draw.sample(ITEMS, draw.randint(1, 12)), draw)] for user in users]
    truth = [[user, [[item, 1] for item in draw.sample(ITEMS, draw.randint(1, 8))]] for user in users]
    shown, truth = TRAITS[trait](shown, truth, draw)
    return {"shown": shown, "truth": truth, "items": sorted(_name(ITEMS) if trait == "string ids" else ITEMS), "ks": KS}


def _pair(items: list[int], draw: random.Random) -> list[list[Any]]:
    scores = draw.sample(range(100), len(items))
    return [[item, score / 8] for item, score in zip(items, scores, strict=True)]


def _name(items: Any) -> list[str]:
    """Names whose order has nothing to do with that of the numbers."""
    return [f"{'bcad'[item % 4]}{item}" for item in items]


def _plain(shown: Lists, truth: Lists, draw: random.Random) -> tuple[Lists, Lists]:
    return shown, truth


def _tie(shown: Lists, truth: Lists, draw: random.Random) -> tuple[Lists, Lists]:
    return [[user, [[item, draw.choice([0.25, 0.5, 1.0])] for item, _ in rows]] for user, rows in shown], truth


def _tie_long(shown: Lists, truth: Lists, draw: random.Random) -> tuple[Lists, Lists]:
    """More rows than a sort by insertion takes."""
    return _tie([[user, _pair(draw.sample(ITEMS, 24), draw)] for user, _ in shown], truth, draw)


def _tie_nearly(shown: Lists, truth: Lists, draw: random.Random) -> tuple[Lists, Lists]:
    """Scores that float64 tells apart and float32 does not."""
    return [[user, [[item, 0.5 + score * 1e-10] for item, score in rows]] for user, rows in shown], truth


def _empty(shown: Lists, truth: Lists, draw: random.Random) -> tuple[Lists, Lists]:
    """Some users with an empty list, some of them without truth."""
    shown = [[user, [] if user % 2 == 0 else rows] for user, rows in shown]
    return shown, [[user, rows] for user, rows in truth if user == 1 or draw.random() < 0.7]


def _judge_zero(shown: Lists, truth: Lists, draw: random.Random) -> tuple[Lists, Lists]:
    """Judgements of 0 among the others; the first user has nothing else."""
    return shown, [[user, [[item, 0 if user == 1 else draw.randint(0, 1)] for item, _ in rows]] for user, rows in truth]


def _miss_side(shown: Lists, truth: Lists, draw: random.Random) -> tuple[Lists, Lists]:
    """The first user is on both sides, the second has no list, others miss a side at random."""
    lost = {user: draw.choice(["shown", "truth", ""]) for user, _ in shown} | {1: "", 2: "shown"}
    return tuple(
        [[u, rows] for u, rows in side if lost[u] != name] for side, name in ((shown, "shown"), (truth, "truth"))
    )


def _repeat_shown(shown: Lists, truth: Lists, draw: random.Random) -> tuple[Lists, Lists]:
    again = [[user, rows + [[item, score - 1 / 16] for item, score in draw.sample(rows, 1)]] for user, rows in shown]
    return again, truth


def _repeat_truth(shown: Lists, truth: Lists, draw: random.Random) -> tuple[Lists, Lists]:
    return shown, [[user, rows + draw.choices(rows, k=2)] for user, rows in truth]


def _grade(shown: Lists, truth: Lists, draw: random.Random) -> tuple[Lists, Lists]:
    return shown, [[user, [[item, draw.randint(1, 4)] for item, _ in rows]] for user, rows in truth]


def _use_strings(shown: Lists, truth: Lists, draw: random.Random) -> tuple[Lists, Lists]:
    return tuple(
        [[f"u{user}", [[_name([item])[0], number] for item, number in rows]] for user, rows in side]
        for side in (shown, truth)
    )


def _leave_gaps(shown: Lists, truth: Lists, draw: random.Random) -> tuple[Lists, Lists]:
    """Ranks in place of scores."""
    return [
        [user, [[item, rank] for (item, _), rank in zip(rows, draw.sample(range(1, 16), len(rows)), strict=True)]]
        for user, rows in shown
    ], truth


TRAITS: dict[str, Callable[[Lists, Lists, random.Random], tuple[Lists, Lists]]] = {
    "plain": _plain,
    "ties": _tie,
    "ties in long lists": _tie_long,
    "nearly equal scores": _tie_nearly,
    "empty lists": _empty,
    "zero judgements": _judge_zero,
    "one side missing": _miss_side,
    "repeated items": _repeat_shown,
    "repeated truth": _repeat_truth,
    "grades": _grade,
    "string ids": _use_strings,
    "ranks with gaps": _leave_gaps,
}
