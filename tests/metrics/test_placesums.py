"""Numbers of items that share a word: every sum is told apart again."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from bridgeval.engine.blocks import Block
from bridgeval.metrics.blocks.listed_items import bits_over_places, sums_over_places
from bridgeval.metrics.blocks.place_sums import packed

PLACES = 40
SOME = torch.tensor([3.0, 0.0, 7.0, 1.0, 0.0])
FRACTIONS = torch.tensor([0.25, -1.5, 1 / 3, 2e9, 0.0])
HUGE = torch.tensor([2.0**40, 5.0, 1.0, 0.0, 0.0])
BEYOND = torch.tensor([math.inf, math.nan, 1.0, 0.5, 0.0])


@dataclass(frozen=True)
class Given(Block[Tensor]):
    name: str


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"a": SOME}, 1),
        ({"a": FRACTIONS, "b": SOME}, 1),
        ({"a": SOME, "b": SOME.flip(0), "c": FRACTIONS}, 1),
        ({"a": SOME, "b": HUGE, "c": FRACTIONS, "d": HUGE}, 2),
        ({"a": HUGE, "b": HUGE, "c": SOME, "d": BEYOND, "e": FRACTIONS}, 3),
        ({"a": torch.zeros(5), "b": torch.zeros(5)}, 1),
    ],
)
def test_sums_of_words_are_those_of_each_table(tables, words):
    given = {Given(name): numbers.double() for name, numbers in tables.items()}
    items = torch.randint(0, 5, (200, PLACES), generator=torch.Generator().manual_seed(5))
    together = packed(given, PLACES)
    assert len(together) == words
    found = {table: taken(word.numbers[items].sum(1)) for word in together for table, taken in word.shares.items()}
    assert found.keys() == given.keys()
    for table, numbers in given.items():
        torch.testing.assert_close(found[table], numbers[items].sum(1), rtol=1e-13, atol=0, equal_nan=True)


@pytest.mark.parametrize("cutoffs", [(PLACES,), (1, 2, 3), (4, 17, 90)])
def test_sums_over_places_are_those_of_a_loop_for_every_cutoff(cutoffs):
    items = torch.randint(0, 5, (PLACES, 30), generator=torch.Generator().manual_seed(6), dtype=torch.int32)
    added = sums_over_places(items, HUGE.double(), cutoffs)
    joined = bits_over_places(items, torch.tensor([1, 2, 4, 8, 0]), cutoffs)
    for at, k in enumerate(cutoffs):
        for user, shown in enumerate(items[:k].t().tolist()):
            assert added[at, user] == sum(HUGE[item].item() for item in shown)
            assert joined[at, user] == sum({(1, 2, 4, 8, 0)[item] for item in shown})
