"""Numbers of items added up over the places of each list; what several metrics add up is looked up in one go.

A look at an item brings 16 bytes as quickly as 8, so that two numbers share a complex one; and whole numbers, such as
counts, are small enough for two of them to share a float64: `low + high * unit`, with the sums of `low` below `unit`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

import torch
from torch import Tensor

from bridgeval.batch.ranking import Ranking
from bridgeval.engine.blocks import Block, Blocks
from bridgeval.engine.needs import Needs
from bridgeval.metrics.blocks.listed_items import ListedItems, sums_over_places

T = TypeVar("T")
Numbers = Block[Tensor]
"""Numbers of items: `[V + 1]` float64, 0 for V, which is no item."""

# Whole numbers below this are exact in float64.
EXACT = 2.0**53


def sums_needed(ranking: Ranking, numbers: Numbers) -> Needs:
    """What a metric needs that calls `place_sums`."""
    return Needs(sums=frozenset({(ranking, numbers)}))


def place_sums(blocks: Blocks, ranking: Ranking, numbers: Numbers, k: int) -> Tensor:
    """`[B]` float64: numbers of items, added up over the first k places of each list."""
    needed = frozenset(cast("Numbers", other) for policy, other in blocks.needs.sums if policy == ranking)
    cutoffs = blocks.together_with(k)
    return blocks[PlaceSums(ranking, needed | {numbers}, cutoffs)][numbers][cutoffs.index(k)]


@dataclass(frozen=True)
class PlaceSums(Block["Mapping[Numbers, Tensor]"]):
    """Several numbers of items, added up over the first places of each list: `[cutoffs, B]` float64 each."""

    ranking: Ranking
    tables: frozenset[Numbers]
    cutoffs: tuple[int, ...]

    def make(self, blocks: Blocks) -> Mapping[Numbers, Tensor]:
        words = blocks.lookup.once(
            self, lambda: packed({table: blocks[table] for table in sorted(self.tables, key=repr)}, self.cutoffs[-1])
        )
        items = blocks[ListedItems(self.ranking)]
        sums = [(word, sums_over_places(items, word.numbers, self.cutoffs)) for word in words]
        return {table: taken(of_word) for word, of_word in sums for table, taken in word.shares.items()}


@dataclass(frozen=True)
class Word:
    """What is looked up at once.

    Attributes:
        numbers: `[V + 1]` float64, or complex128.
        shares: for each table in it, how its sum is told from that of the word.
    """

    numbers: Tensor
    shares: Mapping[Numbers, Callable[[Tensor], Tensor]]


def packed(tables: Mapping[Numbers, Tensor], places: int) -> list[Word]:
    """All tables in as few words as can be, for sums over up to so many places."""
    whole = {table: numbers for table, numbers in tables.items() if _is_whole(numbers)}
    words = [Word(numbers, {table: _itself}) for table, numbers in tables.items() if table not in whole]
    counts = [Word(numbers, {table: _itself}) for table, numbers in whole.items()]
    words += [word for pair in _pairs(counts) for word in _one_above_the_other(pair, places)]
    return [_side_by_side(*pair) if len(pair) == 2 else pair[0] for pair in _pairs(words)]


def _is_whole(numbers: Tensor) -> bool:
    return bool(((numbers >= 0) & (numbers < EXACT) & (numbers == numbers.floor())).all())


def _one_above_the_other(words: Sequence[Word], places: int) -> Sequence[Word]:
    """Two words of whole numbers in one, where they fit."""
    if len(words) < 2:
        return words
    low, high = words
    unit = 2.0 ** math.ceil(math.log2(float(low.numbers.max()) * places + 1))
    if (float(high.numbers.max()) * places + 1) * unit > EXACT:
        return words
    (below,), (above,) = low.shares, high.shares
    shares = {below: lambda sums: sums - (sums / unit).floor_().mul_(unit), above: lambda sums: (sums / unit).floor_()}
    return [Word(low.numbers + high.numbers * unit, shares)]


def _side_by_side(first: Word, second: Word) -> Word:
    """Two words in one."""
    shares = {table: _then(_real, taken) for table, taken in first.shares.items()}
    shares |= {table: _then(_imag, taken) for table, taken in second.shares.items()}
    return Word(torch.complex(first.numbers, second.numbers), shares)


def _then(first: Callable[[Tensor], Tensor], second: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda sums: second(first(sums))


def _real(sums: Tensor) -> Tensor:
    return sums.real.contiguous()


def _imag(sums: Tensor) -> Tensor:
    return sums.imag.contiguous()


def _itself(sums: Tensor) -> Tensor:
    return sums


def _pairs(some: Sequence[T]) -> Iterator[Sequence[T]]:
    return (some[at : at + 2] for at in range(0, len(some), 2))
